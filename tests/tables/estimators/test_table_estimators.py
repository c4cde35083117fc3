"""The estimators of the model of a table: in words, row by row, and as the table's report."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import creases
from creases import GrowingRegressor, TableClassifier, TableRegressor
from report_pages import parse


@pytest.fixture(scope="module")
def homes() -> pd.DataFrame:
    """Prices of 160 homes by area, town and year, some of it missing."""
    rng = np.random.default_rng(0)
    area, town = rng.uniform(30, 150, 160).round(), rng.choice(["Ulm", "Bonn"], 160)
    price = 2 * np.minimum(area, 90) + 40 * (town == "Bonn") + rng.normal(size=160)
    frame = pd.DataFrame({"area": area, "town": town, "year": rng.integers(1950, 2020, 160), "price": price.round(1)})
    frame.loc[::20, "area"] = np.nan
    return frame


@pytest.fixture(scope="module")
def regressor(homes: pd.DataFrame) -> TableRegressor:
    return TableRegressor(random_state=0).fit(homes.drop(columns="price"), homes["price"])


def test_a_table_is_summed_up_explained_and_changed(homes: pd.DataFrame, regressor: Any) -> None:
    rows = homes.drop(columns="price")
    assert "area: " in regressor.summary()
    assert "curves" in regressor.summary()
    parts = regressor.explain(rows[:4]).parts
    np.testing.assert_allclose(parts.sum(axis=1), regressor.predict(rows[:4]))
    row = rows.iloc[3]
    (answer,) = regressor.counterfactual(row, to=">= 200", fixed=["year"]).answers
    assert regressor.predict(pd.DataFrame([answer.cells]))[0] >= 200
    assert "year" not in {change.column for change in answer.changes}


def test_the_report_of_an_estimator_is_that_of_its_table(homes: pd.DataFrame, regressor: Any) -> None:
    titles = [section["title"] for section in parse(creases.report(regressor).html)[0]["sections"]]
    assert {"Scores", "Load it", "Reproduce it"} <= set(titles)
    with pytest.raises(creases.errors.InputError, match="result must be fitted"):
        creases.report(TableClassifier())


def test_only_parameters_that_act_are_taken() -> None:
    shared = {"shapes", "kinds", "missing_marks", "random_state"}
    assert set(TableRegressor().get_params()) == shared | {"family"}
    assert set(TableClassifier().get_params()) == shared | {"class_weight", "threshold"}
    with pytest.raises(TypeError, match="budget"):
        TableRegressor(budget=3)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="shapes"):
        GrowingRegressor(shapes={})  # type: ignore[call-arg]


@pytest.mark.slow
def test_a_growing_regressor_explains_and_changes_values_too(homes: pd.DataFrame) -> None:
    rows = homes.drop(columns="price")
    model = GrowingRegressor(budget=5, random_state=0).fit(rows, homes["price"])
    np.testing.assert_allclose(model.explain(rows[:3]).parts.sum(axis=1), model.predict(rows[:3]), rtol=1e-9)
    goal = float(model.predict(rows[1:2])[0]) + 10
    answers = model.counterfactual(rows.iloc[1], to=f">= {goal:.1f}").answers
    assert model.predict(pd.DataFrame([answers[0].cells]))[0] >= round(goal, 1)
