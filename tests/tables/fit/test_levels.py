"""Many levels, missing values and codes: shrunk by what all of them say, each an effect of its own."""

import numpy as np
import pandas as pd
import pytest

import creases
from creases.errors import InputError
from creases.tables._words.model_text import describe_model
from run_exports import run_onnx


def by_level(n_levels, n_rows, seed, deviation):
    """Return rows whose odds depend on the level of a column, by a normal effect."""
    rng = np.random.default_rng(seed)
    effect = rng.normal(0, deviation, n_levels)
    level = np.repeat(np.arange(n_levels), n_rows)
    rng.shuffle(level)
    y = rng.random(len(level)) < 1 / (1 + np.exp(-effect[level]))
    return pd.DataFrame({"zip": 10_007 + 13 * level, "y": np.where(y, "yes", "no")}), effect[level] > 0


def test_zip_codes_are_names_each_with_an_effect_shrunk_more_where_rows_are_few():
    """A curve over their numbers would say nothing: it gave .60 where the levels give .77."""
    table, best = by_level(100, 25, seed=1, deviation=1.7)
    test = np.arange(len(table)) % 5 == 0
    rare = pd.DataFrame({"zip": [99_999] * 3, "y": ["yes"] * 3})
    model = creases.fit_table(pd.concat([table[~test], rare]), "y", test_fraction=0.0)
    assert model.schema.encoding.kinds["zip"] == "category"
    reachable = float((np.where(best, "yes", "no") == table["y"])[test].mean())
    assert float((model.predict(table[test]) == table["y"][test]).mean()) > reachable - 0.03
    effects = model.curves["zip"].values[:, 0]
    assert 0 < effects[-1] < effects.max() / 2


def test_what_is_pooled_is_said():
    """Values in one or two of many rows share an effect."""
    rng = np.random.default_rng(0)
    town = [*rng.choice(["Ulm", "Bonn", "Rom"], 200), "A", "B"]
    table = pd.DataFrame({"town": town, "x": rng.normal(size=202)})
    table["y"] = table["x"] + rng.normal(size=202)
    model = creases.fit_table(table, "y")
    assert "one effect for each of: 2 rare values of 'town'" in describe_model(model)


@pytest.mark.slow
def test_missing_values_that_say_nothing_add_nothing():
    """47 of 1,000 rows lack a skewed number and are like all others; their effect was tens of points."""
    rng = np.random.default_rng(5)
    charge = rng.exponential(1.0, 1000) ** 2
    chance = 1 / (1 + np.exp(-2.5 * np.log(charge + 0.05) - 1))
    y = rng.random(1000) < chance
    hidden = rng.permutation(1000)[:47]
    table = pd.DataFrame({"charge": charge, "age": rng.normal(40, 9, 1000), "y": np.where(y, "stay", "churn")})
    table.loc[hidden, "charge"] = np.nan
    model = creases.fit_table(table, "y", test_fraction=0.0)
    part = float(model.explain([{"charge": None, "age": 40}]).parts["charge"].iloc[0])
    share = y[hidden].mean()
    apart = np.log(share / (1 - share)) - float(model.function.intercept[0])
    assert abs(part) < max(0.4, abs(apart))


@pytest.fixture(scope="module")
def incomes():
    """Incomes of which -999 was not asked and 0 is no income: neither is near the incomes beside it."""
    rng = np.random.default_rng(2)
    income = rng.uniform(500, 5000, 900).round()
    y = income / 1000 + rng.normal(0, 0.2, 900)
    y[:90], y[90:150] = 4 + rng.normal(0, 0.2, 90), 9 + rng.normal(0, 0.2, 60)
    income[:90], income[90:150] = -999, 0
    return pd.DataFrame({"income": income, "age": rng.integers(20, 60, 900), "y": y})


@pytest.fixture(scope="module")
def coded(incomes):
    return creases.fit_table(incomes, "y", codes={"income": [-999, 0]})


def test_a_code_is_a_level_beside_the_curve(coded):
    """The curve has no steep pieces towards codes, and each is predicted by its own rows."""
    assert coded.schema.features == ("income", "income is -999", "income is 0", "age")
    assert coded.curves["income"].knots[0] >= 500
    rows = [{"income": value, "age": 40} for value in (-999, 0, 2000)]
    assert coded.predict(rows) == pytest.approx([4, 9, 2], abs=0.2)
    assert coded.predict([{"income": "-999", "age": 40}]) == pytest.approx(coded.predict(rows[:1]))


def test_a_code_is_told_in_words(coded):
    """In the model's text and in a row's."""
    line = next(line for line in describe_model(coded) if line.startswith("income"))
    assert "; -999: " in line
    assert "; 0: " in line
    assert "income -999" in str(coded.explain([{"income": -999, "age": 40}]))


def test_codes_are_kept_in_folders_and_onnx(coded, tmp_path):
    """A folder and ONNX give the same predictions for codes and numbers."""
    rows = pd.DataFrame({"income": [-999.0, 0.0, 2000.0, np.nan], "age": [30.0, 40.0, 50.0, 35.0]})
    coded.save(tmp_path / "run")
    assert creases.load(tmp_path / "run").predict(rows) == pytest.approx(coded.predict(rows), abs=1e-12)
    pytest.importorskip("onnxruntime")
    values, _ = run_onnx(coded.export(tmp_path / "model.onnx").path, rows.to_dict("records"))
    assert values.reshape(-1) == pytest.approx(coded.predict(rows), abs=1e-9)


def test_codes_of_a_category_are_refused():
    """Its values are levels already."""
    table = pd.DataFrame({"town": ["Ulm", "Bonn"] * 20, "x": np.arange(40.0) ** 2, "y": np.arange(40) % 3 / 2})
    with pytest.raises(InputError, match="'town' is of the kind category"):
        creases.fit_table(table, "y", codes={"town": [0]})
    with pytest.raises(InputError, match="codes must be a column of table, got 'towns'"):
        creases.fit_table(table, "y", codes={"towns": [0]})
