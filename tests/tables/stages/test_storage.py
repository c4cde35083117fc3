"""Models of curves as plain values."""

from typing import Any

import numpy as np
import pytest

from creases.tables._stages.model import Curve, CurveModel, Units


def make_model() -> CurveModel:
    """Return a model of a number and a yes/no column, with one unit."""
    curves = (
        Curve(np.array([0.0, 1.0, 3.0]), np.array([[0.0], [1.0], [0.0]]), np.zeros((3, 1))),
        Curve(np.array([0.0, 1.0]), np.array([[-1.0], [1.0]]), np.zeros((2, 1)), is_number=False),
    )
    knots = (np.array([0.0, 3.0]), np.zeros(1))
    units = Units(knots, np.array([[1.0, 1.0]]), np.array([-1.0]), np.array([[2.0]]), np.array([-0.25]))
    return CurveModel(0, np.array([10.0]), curves, (), units)


#: Why a unit grew, as it is stored.
REASON = {"row": 3, "count": 2, "errors": [0.5], "classes": None, "side": 0.1}


def test_parts_of_a_model_are_its_network_with_units() -> None:
    X = np.array([[0.0, 0.0], [1.5, 1.0], [3.0, 1.0], [9.0, 0.0]])
    model = make_model()
    assert model.scores(X)[:, 0].tolist() == [8.75, 12.5, 12.75, 8.75]
    assert np.abs(np.asarray(model.network(X)) - model.scores(X)).max() < 1e-14
    assert [part[1, 0] for part in model.parts(X)] == [0.75, 1.0, 0.75]
    assert model.n_bends == 2


def test_a_part_is_changed_by_making_another_model() -> None:
    model = make_model()
    assert CurveModel.from_dict(model.to_dict() | {"units": None}).n_bends == 1


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"version": 2}, "version 2 of a model of curves, expected 3"),
        ({"curves": []}, "the knots of the units of the model must be 0, got 2"),
        ({"n_classes": 3}, "scores of other classes"),
        ({"intercept": "x"}, "the intercept of the model must be m finite numbers"),
        ({"units": {}}, "knots"),
        ({"units": make_model().to_dict()["units"] | {"reasons": [REASON] * 2}}, "not as many reasons as units"),
        ({"units": make_model().to_dict()["units"] | {"reasons": [REASON | {"row": -1}]}}, "the row of the reasons"),
        ({"units": make_model().to_dict()["units"] | {"reasons": [REASON | {"errors": [0.1, 0.2]}]}}, "errors"),
        ({"units": make_model().to_dict()["units"] | {"reasons": [REASON | {"side": np.nan}]}}, "side"),
    ],
)
def test_damaged_values_are_refused(change: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        CurveModel.from_dict(make_model().to_dict() | change)
