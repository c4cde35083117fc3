"""Plain tables with nothing set: what a person would expect of each is what the model does."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import creases
from creases.tables import count_rows
from creases.tables._words.model_text import describe_model

WORDS = np.array(["no", "yes"])


def explained(table: pd.DataFrame) -> float:
    """Return R^2 on the last fourth of the rows of a model fitted to the others."""
    train, test = table.iloc[: 3 * len(table) // 4], table.iloc[3 * len(table) // 4 :]
    error = creases.fit_table(train, "y").predict(test.drop(columns="y")) - test.y
    return float(1 - (error**2).mean() / test.y.var())


@pytest.mark.parametrize(("n_columns", "n_rows"), [(2, 40), (2, 1000), (3, 1000)])
def test_whether_an_odd_number_of_columns_is_yes_is_learned_exactly(n_columns: int, n_rows: int) -> None:
    bits = np.random.default_rng(0).integers(0, 2, (n_rows, n_columns))
    table = pd.DataFrame(WORDS[bits], columns=list("abc")[:n_columns]).assign(y=WORDS[bits.sum(axis=1) % 2])
    model = creases.fit_table(table, "y")
    assert (model.predict(table) == table.y).all()
    assert model.scores.test["HistGradientBoosting"] > 0.9 or n_rows < 100  # others are scored by the same fair split
    assert "few values" in describe_model(model)[-1]


def test_a_number_that_names_a_thing_has_an_effect_for_each_value() -> None:
    rng = np.random.default_rng(0)
    store = rng.integers(1, 51, 1600)
    table = pd.DataFrame({"store": store, "x": rng.normal(size=1600)})
    table["y"] = rng.normal(size=51)[store] + 0.2 * rng.normal(size=1600)
    train, test = table[:1200], table[1200:]
    means = test.store.map(train.groupby("store").y.mean())
    assert explained(table) > 1 - ((test.y - means) ** 2).mean() / test.y.var() - 0.01


def test_a_curve_winds_as_often_as_the_rows_do() -> None:
    x = np.random.default_rng(0).uniform(-3, 3, 1600)
    y = np.sin(10 * x) + 0.1 * np.random.default_rng(1).normal(size=1600)
    assert explained(pd.DataFrame({"x": x, "y": y})) > 0.93


def test_a_curve_jumps_where_the_rows_do() -> None:
    rng = np.random.default_rng(0)
    age = rng.uniform(10, 60, 1600)
    table = pd.DataFrame({"age": age, "y": 2.0 * (age >= 18) + 0.01 * age + 0.15 * rng.normal(size=1600)})
    assert explained(table) > 0.95
    curve = creases.fit_table(table, "y").curves["age"]
    before, after = curve(np.array([17.8, 18.2]))[:, 0]
    assert after - before == pytest.approx(2, abs=0.1)
    assert np.ptp(curve(np.linspace(19, 59, 50))[:, 0]) < 0.6


@pytest.mark.slow
def test_every_column_can_vanish_where_columns_outnumber_rows() -> None:
    X = np.random.default_rng(0).normal(size=(200, 300))
    y = X[:, [3, 77, 200]] @ [2.0, -1.5, 1.0] + 0.5 * np.random.default_rng(1).normal(size=200)
    table = pd.DataFrame(X, columns=[f"x{j}" for j in range(300)]).assign(y=y)
    assert explained(table) > 0.9
    curves = creases.fit_table(table, "y").curves
    assert sum(bool(curve.values.any()) for curve in curves.values()) < 150


def test_values_of_a_category_with_few_rows_share_strength() -> None:
    rng = np.random.default_rng(0)
    customer = rng.permutation(np.resize(np.arange(150), 1500))
    y = rng.normal(size=150)[customer] + 0.5 * rng.normal(size=1500)
    table = pd.DataFrame({"customer": [f"C{k:03d}" for k in customer], "x": rng.normal(size=1500), "y": y})
    assert explained(table) > 0.7


@pytest.mark.slow
def test_two_hills_over_two_numbers_are_found() -> None:
    u, v = np.random.default_rng(0).uniform(size=(2, 1600))
    hills = np.exp(-((u - 0.3) ** 2 + (v - 0.3) ** 2) / 0.02) + np.exp(-((u - 0.7) ** 2 + (v - 0.6) ** 2) / 0.03)
    assert explained(pd.DataFrame({"lat": 47 + u, "lon": 8 + 2 * v, "y": hills})) > 0.96


@pytest.mark.slow
def test_a_model_fitted_again_to_all_rows_keeps_the_scores_of_the_one_before(tmp_path) -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(size=300), "b": rng.normal(size=300)}).assign(y=lambda t: t.a + 0.1 * t.b)
    before, after = creases.fit_table(table, "y"), creases.fit_table(table, "y", refit=True)
    pd.testing.assert_frame_equal(after.scores, before.scores)
    assert count_rows(after) == {"train": 300, "test": 0}
    assert len(after.data.test) == 0
    assert "the scores are those of the model before, fitted to 240 of them" in describe_model(after)[-1]
    after.save(tmp_path / "model")
    loaded = creases.load(tmp_path / "model")
    assert loaded._facts.notes == after._facts.notes
    pd.testing.assert_frame_equal(loaded.scores, after.scores)
