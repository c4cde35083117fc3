"""A model of curves, planes and units as plain JSON values, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from creases._schema import check_entries, expect, finite
from creases._typing import Floats
from creases.tables._stages.model import CurveModel
from creases.tables._stages.pairs import PairHinges, Variable
from creases.tables._stages.parts import Curve, Plane, Reason, Step, Units
from creases.tables._stages.piecewise import PiecewiseLinear

_VERSION = 1

_CURVE = ("feature", "knots", "values", "errors", "is_number")


def model_to_dict(model: CurveModel) -> dict[str, Any]:
    """Return a model as plain values."""
    return {
        "version": _VERSION,
        "features": list(model.features),
        "n_classes": model.n_classes,
        "intercept": model.intercept.tolist(),
        "curves": [_plain(curve, *_CURVE) for curve in model.curves.values()],
        "planes": [_plane_to_dict(plane) for plane in model.planes],
        "units": None if model.units is None else _units_to_dict(model.units),
        "steps": [asdict(step) for step in model.steps],
    }


def model_from_dict(stored: Mapping[str, Any]) -> CurveModel:
    """Return the model of plain values; ValueError says what is wrong with them."""
    try:
        return _model(stored)
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise ValueError(f"the model of curves lacks a part or has one of another type: {error}") from error


def _plain(part: Any, *names: str) -> dict[str, Any]:
    return {name: _plain_value(getattr(part, name)) for name in names}


def _plain_value(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain_value(each) for each in value]
    return value.tolist() if isinstance(value, np.ndarray) else value


def _plane_to_dict(plane: Plane) -> dict[str, Any]:
    hinges = plane.hinges
    return {
        "features": [list(each) for each in plane.features],
        "variables": [_plain(each, "kind", "column", "features") for each in hinges.variables],
        "knots": {str(j): each.tolist() for j, each in hinges.knots.items()},
        **_plain(hinges, "first", "second"),
        "hinges": hinges.weights.tolist(),
        "weights": plane.weights.tolist(),
        "margins": _margins_to_dict(plane.margins),
        "constant": plane.constant.tolist(),
    }


def _units_to_dict(units: Units) -> dict[str, Any]:
    plain = _plain(units, "knots", "weights", "biases", "outputs", "constant")
    reasons = [asdict(reason) for reason in units.reasons]
    return plain | {"margins": _margins_to_dict(units.margins)} | ({"reasons": reasons} if reasons else {})


def _margins_to_dict(margins: Mapping[int, PiecewiseLinear]) -> dict[str, Any]:
    return {str(j): _plain(each, "knots", "values", "is_open") for j, each in margins.items()}


def _model(stored: Mapping[str, Any]) -> CurveModel:
    expect(stored["version"] == _VERSION, f"version {stored['version']} of a model of curves is not known")
    features = tuple(str(name) for name in stored["features"])
    d, n_classes = len(features), int(stored["n_classes"])
    intercept = _array(stored["intercept"], "intercept", None)
    m = len(intercept)
    m_of_classes = 1 if n_classes == 2 else n_classes
    expect(n_classes == 0 or m == m_of_classes, "the number of scores is not that of the classes")
    curves = {each["feature"]: _curve(each, m) for each in stored["curves"]}
    expect(tuple(curves) == features, "curves are not those of the features")
    return CurveModel(
        features,
        n_classes,
        intercept,
        curves,
        tuple(_plane(each, d, m) for each in stored["planes"]),
        None if stored["units"] is None else _units(stored["units"], d, m),
        tuple(Step(**each) for each in stored["steps"]),
    )


def _array(values: Any, name: str, *shape: int | None) -> Floats:
    array = np.array(values, np.float64)
    if array.size == 0:  # the shape of an empty list is not that of the array
        array = array.reshape([0 if each is None else each for each in shape])
    check_entries({name: array}, "the model", **{name: finite(*shape)})
    return array


def _rising(values: Any) -> Floats:
    knots = _array(values, "knots", None)
    expect(len(knots) > 0 and bool((np.diff(knots) > 0).all()), "knots do not rise")
    return knots


def _function(stored: Mapping[str, Any], m: int) -> PiecewiseLinear:
    knots = _rising(stored["knots"])
    expect(len(knots) > 1, "a curve has less than two knots")
    return PiecewiseLinear(knots, _array(stored["values"], "values", len(knots), m), bool(stored["is_open"]))


def _curve(stored: Mapping[str, Any], m: int) -> Curve:
    is_number = bool(stored["is_number"])
    function = _function({**stored, "is_open": not is_number}, m)
    errors = _array(stored["errors"], "errors", len(function.knots), m)
    return Curve(str(stored["feature"]), function.knots, function.values, errors, is_number)


def _plane(stored: Mapping[str, Any], d: int, m: int) -> Plane:
    variables = [
        Variable(each["kind"], int(each["column"]), np.array(each["features"], np.int64))
        for each in stored["variables"]
    ]
    expect(len(variables) == 2 and len(stored["features"]) == 2, "a plane has two columns")
    weights = _array(stored["weights"], "weights", None, m)
    h = len(weights)
    knots = {int(j): _rising(each) for j, each in stored["knots"].items()}
    first, second = (np.array(stored[name], np.int64) for name in ("first", "second"))
    inside = set(first.tolist()) | set(second.tolist()) | {j for each in variables for j in each.features.tolist()}
    expect(len(first) == len(second) == h and inside <= set(knots) <= set(range(d)), "a plane reads other inputs")
    margins = _margins(stored["margins"], d, m)
    hinges = PairHinges((variables[0], variables[1]), knots, first, second, _array(stored["hinges"], "hinges", h, 3))
    names = [tuple(str(name) for name in each) for each in stored["features"]]
    return Plane((names[0], names[1]), hinges, weights, margins, _array(stored["constant"], "constant", m))


def _units(stored: Mapping[str, Any], d: int, m: int) -> Units:
    knots = tuple(_rising(each) for each in stored["knots"])
    expect(len(knots) == d, "units read other inputs")
    biases = _array(stored["biases"], "biases", None)
    h = len(biases)
    weights, outputs = _array(stored["weights"], "weights", h, d), _array(stored["outputs"], "outputs", h, m)
    margins = _margins(stored.get("margins", {}), d, m)  # models of earlier versions have none
    reasons = tuple(_reason(each, m) for each in stored.get("reasons", ()))  # units that were trained have none
    expect(len(reasons) in (0, h), "there are not as many reasons as units")
    return Units(knots, weights, biases, outputs, _array(stored["constant"], "constant", m), margins, reasons)


def _reason(stored: Mapping[str, Any], m: int) -> Reason:
    errors, classes = stored["errors"], stored["classes"]
    numbers = [stored["count"], *([] if stored["row"] is None else [stored["row"]]), *(classes or ())]
    is_count = [isinstance(each, int) and not isinstance(each, bool) and each >= 0 for each in numbers]
    expect(all(is_count) and (classes is None or len(classes) == 2), "the reason of a unit does not count rows")
    own = tuple(_array(errors, "errors", m if classes is None else 0).tolist())
    side = float(_array([stored["side"]], "side", 1)[0])
    return Reason(stored["row"], stored["count"], own, None if classes is None else (classes[0], classes[1]), side)


def _margins(stored: Mapping[str, Any], d: int, m: int) -> dict[int, PiecewiseLinear]:
    margins = {int(j): _function(each, m) for j, each in stored.items()}
    expect(set(margins) <= set(range(d)), "a plane or unit reads other inputs")
    return margins
