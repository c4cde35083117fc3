"""Columns, planes and units are known by the inputs they read; what they are called is for people only."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import creases
from creases import problems
from creases.errors import InputError
from creases.tables import TableModel, certify_model, model_graphs, model_words
from creases.tables._stages.model import Plane
from creases.tables._stages.pairs import PairHinges, Variable
from creases.tables._words.column_text import decode_row
from readable_models import make_model


def gap_frame(n: int = 250) -> pd.DataFrame:
    """Rows whose target has a product of two numbers, and something else where the first one is missing."""
    rng = np.random.default_rng(0)
    distance, lift = rng.uniform(0, 10, n), rng.uniform(0, 4, n)
    is_missing = rng.random(n) < 0.3
    y = np.where(is_missing, 9 - 6 * lift, 2 * (distance - 5) * (lift - 2)) + rng.normal(0, 0.5, n)
    return pd.DataFrame({"distance": np.where(is_missing, np.nan, distance).round(2), "lift": lift.round(2), "y": y})


@pytest.fixture(scope="module")
def model() -> TableModel:
    model = creases.fit_table(gap_frame(), "y")
    pairs = [set(names) for names in model.planes]
    assert {"distance", "lift"} in pairs
    assert {"distance is missing", "lift"} in pairs
    return model


def test_an_edit_of_nothing_changes_no_prediction(model: TableModel) -> None:
    frame = gap_frame()
    for name, curve in model.curves.items():
        knot, value = float(curve.knots[0]), tuple(curve.values[0])
        assert not model.edit(frame, move={name: {knot: (knot, value)}}).changes.any()


def test_each_pair_of_variables_has_one_plane_and_one_name(model: TableModel) -> None:
    pairs = [frozenset(names) for names in model.planes]
    assert len(pairs) == len(set(pairs)) == len(model.function.planes)
    names = [name for name, _ in model_words(model).entries]
    assert len(names) == len(set(names))
    assert any("distance is missing" in name for name in names)


def test_only_the_plane_that_is_named_is_forbidden(model: TableModel) -> None:
    left = model.edit(forbid=[("distance is missing", "lift")]).model
    assert {frozenset(names) for names in left.planes} == {frozenset(names) for names in model.planes} - {
        frozenset(("distance is missing", "lift"))
    }


def test_the_values_of_is_missing_are_no_and_yes(model: TableModel) -> None:
    (graph,) = [each for each in model_graphs(model) if "distance is missing" in each.name]
    sides = {side.name: side.levels for side in (graph.first, graph.second)}
    assert sides == {"distance is missing": ("no", "yes"), "lift": ()}


def test_a_pair_that_some_folds_fit_finer_is_one_plane() -> None:
    rng = np.random.default_rng(3)
    x = rng.uniform(-1, 1, (900, 2))
    frame = pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "y": np.sin(4 * x[:, 0] * x[:, 1]) + rng.normal(0, 0.15, 900)})
    fitted = creases.fit_table(frame, "y")
    assert "finer planes" in [step.stage for step in fitted.function.steps]
    assert len(fitted.planes) == len(fitted.function.planes)


def test_planes_of_the_same_variables_add_up() -> None:
    variables = Variable("number", 0, np.array([0])), Variable("number", 1, np.array([1]))
    knots = {0: np.array([0.0, 2.0, 8.0]), 1: np.array([0.0, 5.0, 6.0])}
    planes = [
        Plane(PairHinges(variables, knots, np.zeros(n, int), np.ones(n, int), np.tile([1.0, -1.0, c], (n, 1))),
              np.full((n, 1), 2.0), {}, np.ones(1))
        for n, c in ((1, 0.1), (3, -0.2))
    ]  # fmt: skip
    X = np.random.default_rng(0).uniform(-1, 9, (50, 2))
    np.testing.assert_allclose(planes[0].add(planes[1])(X), planes[0](X) + planes[1](X), atol=1e-12)


#: Names that look like what other names are made of.
NAMES = ["a", "a=b", "a=c", "a is missing", "a and b", "price: net", "weight (kg)", "weight (lb)", "units"]


def named_frame() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(200, len(NAMES))), columns=NAMES)
    frame["a=b"], frame["a=c"] = rng.choice(["x", "c=d"], 200), rng.choice(["x", "d"], 200)
    frame.loc[rng.random(200) < 0.2, "a"] = np.nan
    frame["intercept"] = rng.choice(["missing", "other values", "x: y"], 200)
    frame.loc[rng.random(200) < 0.2, "intercept"] = None
    y = frame["a"].fillna(2) * (frame["a=b"] == "x") + (frame["a=c"] == "d") + frame["price: net"]
    y += frame["weight (kg)"] - frame["weight (lb)"] + 2.0 * (frame["intercept"] == "missing")
    return frame.assign(y=y + rng.normal(0, 0.2, 200))


@pytest.fixture(scope="module")
def named() -> TableModel:
    return creases.fit_table(named_frame(), "y")


def test_columns_with_signs_in_their_names_stay_apart(named: TableModel, tmp_path: Path) -> None:
    frame = named_frame()
    features = named.schema.features
    assert len(set(features)) == len(features)
    parts = named.explain(frame).parts
    assert len(set(parts.columns)) == len(parts.columns)
    assert [*NAMES, "intercept"] == [name for name in parts.columns[1:] if name in {*NAMES, "intercept"}]
    np.testing.assert_allclose(parts.sum(axis=1), named.predict(frame), atol=1e-9)
    names = [name for name, _ in model_words(named).entries]
    assert len(names) == len(set(names))
    assert {"weight (kg)", "weight (lb)", "price: net"} <= set(names)
    named.save(tmp_path / "run")
    loaded = creases.load(tmp_path / "run")
    assert np.array_equal(loaded.predict(frame), named.predict(frame))
    assert dict(loaded.importance) == dict(named.importance)


@pytest.mark.parametrize(
    ("value", "text"), [("missing", "missing"), ("other values", "other values"), ("x: y", "x: y"), (None, "missing'")]
)
def test_a_value_called_missing_is_not_what_is_missing(named: TableModel, value: str | None, text: str) -> None:
    row = named_frame().assign(intercept=value).iloc[[0]]
    cells = {effect.name: effect.cell for effect in named.explain(row)[0].effects}
    assert cells["intercept"] == text
    assert decode_row(named._terms(), named.encode(row).X[0])["intercept"] == value


def test_a_target_called_probability_is_no_probability() -> None:
    rows = "".join(f"{k},{k}.5\n" for k in range(100))
    model, problem = make_model("a,probability_score\n" + rows, {"a": ([0, 99], [0, 99])})
    sentences = " ".join(certify_model(model, trained=problem.X).sentences())
    assert "probability_score is 0 to 99" in sentences


def test_entries_of_a_report_are_not_cut(named: TableModel) -> None:
    (section,) = [each for each in named.describe().sections if each["title"] == "In words"]
    entries = dict(section["table"]["rows"])
    assert "per 0.1" in entries["price: net"]


def test_inputs_with_one_name_are_refused() -> None:
    problem = problems.get("iris")
    with pytest.raises(InputError, match="different names"):
        creases.fit_table(replace(problem, features=("a", "b", "a", "c")))
