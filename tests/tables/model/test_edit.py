"""Models changed by hand: the new function is the changed one, the report of the change is right."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import creases
from creases.errors import InputError
from creases.tables import TableModel
from run_exports import run_onnx


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    age, town, dose = rng.uniform(20, 80, 300), rng.choice(["Rom", "Ulm"], 300), rng.uniform(0, 9, 300)
    logit = 3 * np.sin(age / 12) + 0.8 * (dose - 4.5) * np.where(town == "Rom", 1, -1)
    sick = np.where(logit + rng.logistic(size=300) > 0, "yes", "no")
    return pd.DataFrame({"age": age.round(1), "town": town, "dose": dose.round(2), "sick": sick})


@pytest.fixture(scope="module")
def model(frame: pd.DataFrame) -> TableModel:
    model = creases.fit_table(frame, "sick")
    assert len(model.curves["age"].knots) > 3
    assert model.planes
    return model


def test_a_moved_knot_changes_its_curve_alone(frame: pd.DataFrame, model: TableModel) -> None:
    knots, values = model.curves["age"].knots, model.curves["age"].values
    goal = (knots[1] + knots[2]) / 2
    edit = model.edit(move={"age": {float(knots[1]): (float(goal), 2.0)}})
    curve = edit.model.curves["age"]
    assert curve.knots[1] == goal
    assert curve(np.array([goal]))[0, 0] == 2.0
    assert np.array_equal(curve.values[2:], values[2:])
    before, after = model.explain(frame).parts, edit.model.explain(frame).parts
    assert before.drop(columns="age").equals(after.drop(columns="age"))
    np.testing.assert_allclose(edit.changes[:, 0], (after - before)["age"], atol=1e-12)


def test_flips_are_the_rows_that_are_decided_otherwise(frame: pd.DataFrame, model: TableModel) -> None:
    edit = model.edit(flatten=["age"])
    assert edit.flips.tolist() == np.flatnonzero(model.predict(frame) != edit.model.predict(frame)).tolist()
    assert len(edit.flips) > 10
    assert edit.scores is not None
    assert edit.scores.loc["train", "before"] > edit.scores.loc["train", "after"]
    assert edit.scores.loc["test", "before"] == model.scores.loc["curves", "test"]
    assert not edit.model.explain(frame).parts["age"].any()
    assert f"{len(edit.flips)} rows of 300 decided otherwise" in str(edit)


def test_removed_knots_and_forbidden_planes_are_gone(frame: pd.DataFrame, model: TableModel) -> None:
    knot = float(model.curves["age"].knots[1])
    pair = next(iter(model.planes))
    edit = model.edit(remove={"age": [knot]}, forbid=[pair[::-1]])
    assert knot not in edit.model.curves["age"].knots
    assert pair not in edit.model.planes
    assert len(edit.model.planes) == len(model.planes) - 1
    assert np.array_equal(edit.model.network(model.encode(frame).X) > 0, edit.model._outputs(model.encode(frame).X) > 0)


def test_an_edited_model_gives_the_same_numbers_in_onnxruntime(
    frame: pd.DataFrame, model: TableModel, tmp_path: Path
) -> None:
    pytest.importorskip("onnxruntime")
    knot = float(model.curves["age"].knots[1])
    edited = model.edit(move={"age": {knot: knot + 0.5}}, flatten=["town"], forbid=list(model.planes)[:1]).model
    path = edited.export(tmp_path / "edited.onnx").path
    chances, label = run_onnx(path, frame[["age", "town", "dose"]].to_dict("records"))
    np.testing.assert_allclose(chances, edited.predict_proba(frame), atol=1e-12)
    assert label.tolist() == edited.predict(frame).tolist()
    loaded = creases.load(edited.save(tmp_path / "edited"))
    assert loaded.predict_proba(frame).tolist() == edited.predict_proba(frame).tolist()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"move": {"height": {1.0: 2.0}}}, "move must name inputs of the model, got 'height'"),
        ({"move": {"age": {-5.0: 2.0}}}, "move must name knots of 'age', got -5; they are at "),
        ({"flatten": ["height"]}, "flatten must name columns of the model, got 'height'"),
        ({"forbid": [("age", "age")]}, "forbid must name pairs of columns with a plane"),
    ],
)
def test_what_is_not_there_cannot_be_changed(model: TableModel, options: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        model.edit(**options)


def test_knots_stay_in_their_order(model: TableModel) -> None:
    knots = model.curves["age"].knots.tolist()
    with pytest.raises(InputError, match="move must leave the knots of 'age' in their order"):
        model.edit(move={"age": {knots[1]: knots[2] + 1}})
    with pytest.raises(InputError, match="remove must leave two knots of 'age'"):
        model.edit(remove={"age": knots[1:]})
