"""Groups and times: rows of one customer, or later ones, are never on both sides of a split."""

import numpy as np
import pandas as pd
import pytest

import creases
from creases import TableRegressor
from creases.errors import InputError
from creases.tables import read_table
from creases.tables._reading.options import CurveConfig
from creases.tables._split.split import TableSplit, fold_weights
from creases.tables._words.model_text import describe_model


def visits(n=600, n_customers=60, seed=0):
    """Return rows of customers, each with an effect of its own that a number of theirs gives away."""
    rng = np.random.default_rng(seed)
    who = rng.integers(0, n_customers, n)
    own, size = rng.normal(size=n_customers), rng.normal(size=n_customers)
    when = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 700, n), unit="D")
    x = rng.normal(size=n)
    return pd.DataFrame({
        "customer_id": [f"c{k}" for k in who], "size": size[who].round(3), "x": x, "day": when, "y": x + 3 * own[who],
    })  # fmt: skip


def test_rows_of_one_customer_are_in_one_part_and_one_fold():
    table = visits()
    problem = read_table(table, "y", groups="customer_id")
    assert "customer_id" not in problem.encoding.kinds or not any("customer" in name for name in problem.features)
    split = TableSplit.from_problem(problem, CurveConfig())
    who = table["customer_id"].to_numpy()
    assert not set(who[split.test]) & set(who[split.train])
    assert 0.1 < len(split.test) / len(table) < 0.3
    among = split.parts[0]
    held = fold_weights(split.rows, among, 5, 0, stratify=False) > 0
    assert (held.sum(axis=0) == 1).all()
    sizes = [
        held[:, split.rows.group[among] == group].any(axis=1).sum() for group in np.unique(split.rows.group[among])
    ]
    assert set(sizes) == {1}
    assert held.sum(axis=1).min() > 0.8 * held.sum(axis=1).max()


@pytest.mark.slow
def test_with_groups_scores_are_those_of_new_customers():
    """Without, the number of a customer gives the effect away that no new one has."""
    table = visits()
    apart = creases.fit_table(table, "y", groups="customer_id", inputs=["size", "x"])
    mixed = creases.fit_table(table, "y", inputs=["size", "x"])
    assert mixed.scores["test"].iloc[0] > apart.scores["test"].iloc[0] + 0.2
    assert any("whole groups" in line for line in describe_model(apart))


def test_the_last_rows_are_tested_on():
    table = visits()
    model = creases.fit_table(table, "y", time="day", drop=["customer_id"])
    day = table["day"].to_numpy()
    assert day[model.data.test].min() > day[model.data.train].max()
    assert "day month" in model.schema.features
    folds = fold_weights(model.data.rows, model.data.parts[0], 5, 0, stratify=False) > 0
    order = model.data.rows.group[model.data.parts[0]]
    assert order[folds[0]].min() > order[~folds[0]].max()  # the first fold holds out the last stretch
    assert any("the latest ones" in line for line in describe_model(model))


@pytest.mark.slow
def test_a_split_that_customers_or_dates_cross_is_said():
    lines = describe_model(creases.fit_table(visits(), "y"))
    assert any("--groups customer_id (in Python groups='customer_id')" in line for line in lines)
    assert any("--time day (in Python time='day')" in line for line in lines)
    different = visits().assign(customer_id=[f"c{row:04}" for row in range(600)])  # each customer came once
    assert not any("--groups" in line for line in describe_model(creases.fit_table(different, "y")))


def test_an_estimator_keeps_groups_together():
    table = visits(300, 30)
    X, y, groups = table[["size", "x"]], table["y"], table["customer_id"]
    model = TableRegressor(random_state=0).fit(X, y, groups=groups)
    assert model.model_.data.rows.group is not None
    kept = model.model_.data.rows.group[model.model_.data.rows.inverse]
    assert len(np.unique(kept)) == 30
    with pytest.raises(InputError, match=r"groups must have shape \(300,\)"):
        TableRegressor().fit(X, y, groups=groups[:5])


@pytest.mark.slow
def test_a_class_of_one_row_in_300_keeps_a_chance():
    """Its rows are at one end of a column, which would give all others a chance of 1e-8."""
    rng = np.random.default_rng(0)
    x = np.sort(rng.normal(size=3000))
    label = np.where(np.arange(3000) >= 2990, "rare", "usual")
    model = creases.fit_table(pd.DataFrame({"x": x, "z": rng.normal(size=3000), "label": label}), "label")
    chance = model.predict_proba(pd.DataFrame({"x": x, "z": 0.0}))[:, list(model.classes).index("rare")]
    assert chance.min() > 1e-6
    assert model.predict([{"x": 4.0, "z": 0.0}]).tolist() == ["rare"]
