"""The model of a table that can be read completely: a curve for each input, planes for a few pairs, as one network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from math import inf, isinf
from typing import TYPE_CHECKING, Any

import numpy as np

from creases._schema import check_entries, expect, finite
from creases._typing import Floats
from creases.errors import InputError
from creases.tables._stages.basis import Circle, PiecewiseLinear, add_functions, spread_changes, spread_evenly
from creases.tables._stages.families import Link, apply_link, parse_family
from creases.tables._stages.pairs import PairHinges, Variable

if TYPE_CHECKING:
    from torch import nn

    from creases.network import Network


# The parts of a model of a table, in the units of its inputs: curves, planes, units.


@dataclass(frozen=True, eq=False)
class Curve:
    """What one input adds to the scores: straight between its knots, constant beyond them, with mean 0.

    An input that is 0 or 1 has knots there, and two values.
    """

    feature: str
    knots: Floats  #: (k,) rising
    values: Floats  #: (k, m) for each score
    errors: Floats  #: (k, m) standard errors of the values
    is_number: bool = True  #: False where the input is 0 or 1: yes/no, a level of a category, a missing value

    @property
    def function(self) -> PiecewiseLinear:
        """The curve without its name and errors."""
        return PiecewiseLinear(self.knots, self.values, not self.is_number)

    @property
    def slopes(self) -> Floats:
        """(k - 1, m) Slopes of the pieces."""
        return self.function.slopes

    @property
    def bends(self) -> Floats:
        """(b,) The knots within the input's range at which the slope changes."""
        return self.knots[1:-1][self.function.changes[1:-1].any(axis=1)]

    def __call__(self, x: Floats) -> Floats:
        """Return what values x (n,) of the input add to the scores, (n, m)."""
        return self.function(np.asarray(x, np.float64))


@dataclass(frozen=True, eq=False)
class Plane:
    """What two columns add together beyond their curves; its mean along each of them is 0."""

    features: tuple[tuple[str, ...], tuple[str, ...]]  #: the inputs of each column
    hinges: PairHinges
    weights: Floats  #: (h, m) of the hinges
    margins: Mapping[int, PiecewiseLinear]  #: by number of the input: what is taken out
    constant: Floats  #: (m,)

    @property
    def name(self) -> str:
        """The two columns, such as ``age and town``."""
        pairs = zip(self.features, self.hinges.variables, strict=True)
        return " and ".join(each[0] if of.kind == "number" else each[0].partition("=")[0] for each, of in pairs)

    def __call__(self, X: Floats) -> Floats:
        """Return what encoded rows X (n, d) get, (n, m)."""
        return add_margins(self.hinges(X) @ self.weights + self.constant, self.margins, X)


@dataclass(frozen=True)
class Reason:
    """Why a unit was grown: rows that the model before it mispredicted alike."""

    row: int | None  #: number of the typical row in the table; None where rows have none
    count: int  #: different rows that were mispredicted like it
    errors: tuple[float, ...]  #: (m,) of values: by how much these were predicted too low, on average; () of classes
    classes: tuple[int, int] | None  #: that they were assigned to, and their own; None of values
    side: float  #: input of the unit's relu at the typical row: above 0 the unit is active there


@dataclass(frozen=True, eq=False)
class Units:
    """What hidden units add that read many columns together: ``relu(u @ weights.T + biases) @ outputs + constant``.

    u (n, d) are the inputs, each spread over [0, 1] by straight pieces between its knots and clipped there; an input
    that is 0 or 1 has the one knot 0. What curves can say is taken out, by margins.
    """

    knots: tuple[Floats, ...]  #: of each of the d inputs: rising
    weights: Floats  #: (h, d) 0 for inputs whose curves have a shape
    biases: Floats  #: (h,)
    outputs: Floats  #: (h, m)
    constant: Floats  #: (m,) so that the mean is 0
    margins: Mapping[int, PiecewiseLinear] = field(default_factory=dict)  #: by number of the input: what is taken out
    reasons: tuple[Reason, ...] = ()  #: of each unit that grew; () for units that were trained together

    def spread(self, X: Floats) -> Floats:
        """Return the inputs as the units take them, (n, d), of encoded rows X (n, d)."""
        return np.stack([spread_evenly(x, knots) for x, knots in zip(X.T, self.knots, strict=True)], axis=1)

    def __call__(self, X: Floats) -> Floats:
        """Return what encoded rows X (n, d) get, (n, m)."""
        hidden = np.maximum(self.spread(X) @ self.weights.T + self.biases, 0.0)
        return add_margins(hidden @ self.outputs + self.constant, self.margins, X)


def add_margins(values: Floats, margins: Mapping[int, PiecewiseLinear], X: Floats) -> Floats:
    """Return values (n, m) with functions of single inputs, by their number, of encoded rows X (n, d) added."""
    for j, part in margins.items():
        values = values + part(X[:, j])
    return values


@dataclass(frozen=True)
class Step:
    """What a stage brought on held-out rows."""

    stage: str  #: "linear", "curves", "3 planes", "10 planes", "folds", "units"
    loss: float  #: squared error in variances of the target, or log loss
    gain: float  #: on the stage before
    error: float  #: standard error of the gain
    bends: float  #: of the model, if kept; else mean over the folds, before those that do not matter are left out
    is_kept: bool
    planes: int = 0  #: of the model, if kept


@dataclass(frozen=True, eq=False)
class CurveModel:
    """A sum of curves, planes and units, which is a ReLU network.

    The scores are the predicted values, or of a family with a logarithmic link their logarithms, the logit of the
    second of two classes, or one score for each of more. Changing
    a part is making another model, ``dataclasses.replace(model, curves=...)``: the network follows.
    """

    features: tuple[str, ...]  #: names of the d encoded inputs
    n_classes: int  #: 0 for a regression
    intercept: Floats  #: (m,) the scores of a row for which all parts are 0
    curves: Mapping[str, Curve]  #: by input, in their order
    planes: tuple[Plane, ...] = ()
    units: Units | None = None
    steps: tuple[Step, ...] = ()  #: what each stage brought
    family: str = "normal"  #: of numbers, by name: see :func:`parse_family`; "classes" of classes
    largest: float = inf  #: the largest prediction, under a logarithmic link

    @property
    def link(self) -> Link:
        """What the score of a number is: the number, or its logarithm."""
        return "identity" if self.n_classes else parse_family(self.family).link

    def outputs(self, X: Floats) -> Floats:
        """Return the predicted numbers (n, m), or a logit (n, n_classes) for each class, of encoded rows X (n, d).

        These are what the network puts out; with a logarithmic link that puts out their logarithms.
        """
        return self.to_outputs(self.scores(X))

    def to_outputs(self, scores: Floats) -> Floats:
        """Return the numbers, or the logits of all classes, that scores (n, m) stand for: see :attr:`link`."""
        return scores * [-0.5, 0.5] if self.n_classes == 2 else apply_link(scores, self.link, self.largest)

    def run_layers(self, X: Floats) -> Floats:
        """Return the same as :meth:`outputs`, computed from layer to layer of the network."""
        *hidden, (last, offset) = to_layers(self)
        for weight, bias in hidden:
            X = np.maximum(X @ weight.T + bias, 0.0)
        return apply_link(X @ last.T + offset, self.link, self.largest)

    @cached_property
    def network(self) -> Network:
        """The same function as a network of encoded rows; with classes it has a logit for each."""
        from creases.network import read

        return read(to_module(self))

    @property
    def n_bends(self) -> int:
        """Knots within the ranges of inputs, hinges of planes, and units."""
        knots = {(j, float(q)) for j, curve in enumerate(self.curves.values()) for q in curve.bends}
        spreads: list[Any] = [each.hinges.knots.items() for each in self.planes]
        spreads += [dict(enumerate(self.units.knots)).items()] if self.units else []
        knots |= {(j, float(q)) for spread in spreads for j, each in spread for q in each[1:-1]}
        n_units = len(self.units.biases) if self.units else 0
        return len(knots) + sum(len(each.weights) for each in self.planes) + n_units

    def scores(self, X: Floats) -> Floats:
        """Return the scores (n, m) of encoded rows X (n, d)."""
        result = np.repeat(self.intercept[None], len(X), axis=0)
        for part in self.parts(X).values():
            result += part
        return result

    def parts(self, X: Floats) -> dict[str, Floats]:
        """Return what each curve, each plane and the units add to the scores of encoded rows X (n, d), (n, m) each.

        Together with the intercept they are the scores. The key of a plane is its name, that of the units ``units``.
        """
        X = np.asarray(X, np.float64)
        parts = {name: curve(X[:, j]) for j, (name, curve) in enumerate(self.curves.items())}
        for name, part in self._mixed_parts():
            while name in parts:  # an input may have this name
                name += "'"
            parts[name] = part(X)
        return parts

    def _mixed_parts(self) -> list[tuple[str, Plane | Units]]:
        planes: list[tuple[str, Plane | Units]] = [(plane.name, plane) for plane in self.planes]
        return planes + ([("units", self.units)] if self.units else [])

    def to_dict(self) -> dict[str, Any]:
        """Return the model as plain JSON values, from which :meth:`from_dict` makes the same model, bit for bit."""
        return model_to_dict(self)

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> CurveModel:
        """Return the model that :meth:`to_dict` stored; ValueError says what is wrong with other values."""
        return model_from_dict(stored)


# A sum of curves, planes and units as layers of one ReLU network with exactly the same function.

#: Weights (k, j) and biases (k,) of a layer.
Layer = tuple[Floats, Floats]


def to_layers(model: CurveModel) -> list[Layer]:
    """Return the network of encoded rows: the scores, and for two classes minus and plus half the logit.

    There is a ReLU between any two layers.

    The first layer has a unit at each knot. A second one, for planes and units, has their hinges and one unit for each
    score that carries the sum of the curves, which is always active.
    """
    sums = _sum_curves(model)
    constant = model.intercept + sum(plane.constant for plane in model.planes)
    constant = constant + (model.units.constant if model.units else 0.0) + sum(each.values[0] for each in sums)
    first = _FirstLayer(model, sums)
    curves = np.zeros((len(first), len(model.intercept)))
    for j, function in enumerate(sums):
        first.add(curves, j, function.knots, function.changes)
    mixture = np.array([[-0.5], [0.5]]) if model.n_classes == 2 else np.eye(len(model.intercept))
    layers = [first.layer()]
    if not model.planes and model.units is None:
        return [*layers, (mixture @ curves.T, mixture @ constant)]
    # Below every sum of curves. The 1 keeps the unit active where rounding matters.
    least = constant + sum((each.values.min(axis=0) - each.values[0] for each in sums), np.zeros_like(constant)) - 1.0
    read, bias, out = [curves.T], [constant - least], [np.eye(len(constant))]
    for plane in model.planes:
        weights, base = first.pair(plane.hinges)
        read.append(weights)
        bias.append(plane.hinges.weights[:, 2] + base)
        out.append(plane.weights.T)
    if model.units:
        read.append(first.hinges(model.units.weights, dict(enumerate(model.units.knots))))
        bias.append(model.units.biases)
        out.append(model.units.outputs.T)
    layers.append((np.concatenate(read), np.concatenate(bias)))
    return [*layers, (mixture @ np.concatenate(out, axis=1), mixture @ least)]


def _sum_curves(model: CurveModel) -> list[PiecewiseLinear]:
    """Return for each input the sum of its curve and of what is taken out of planes and units."""
    sums = []
    mixed: list[Plane | Units] = [*model.planes, *([model.units] if model.units else [])]
    for j, curve in enumerate(model.curves.values()):
        margins = [part.margins[j] for part in mixed if j in part.margins]
        sums.append(add_functions([curve.function, *margins]))
    return sums


class _FirstLayer:
    """Units ``relu(x_j - knot)`` at every knot where something bends."""

    def __init__(self, model: CurveModel, sums: list[PiecewiseLinear]) -> None:
        knots: list[set[float]] = [set(each.knots[each.changes.any(axis=1)].tolist()) for each in sums]
        for hinges in [plane.hinges for plane in model.planes]:
            for key in [*hinges.knots, *hinges.folds]:
                places, changes = hinges.changes(key)
                knots[hinges.feature_of(key)] |= set(places[changes != 0].tolist())
        if model.units:
            for j in np.flatnonzero(model.units.weights.any(axis=0)).tolist():
                knots[j] |= set(model.units.knots[j].tolist())
        self._d = len(sums)
        self._units = [(j, q) for j, each in enumerate(knots) for q in sorted(each)] or [(0, 0.0)]
        self._place = {unit: k for k, unit in enumerate(self._units)}

    def __len__(self) -> int:
        return len(self._units)

    def layer(self) -> Layer:
        """Return the weights and biases."""
        weight = np.zeros((len(self), self._d))
        weight[np.arange(len(self)), [j for j, _ in self._units]] = 1.0
        return weight, np.array([-q for _, q in self._units])

    def add(self, weights: Floats, j: int, knots: Floats, changes: Floats) -> None:
        """Add changes of slope (k, m) of a function of input j to the weights (units, m) that read this layer."""
        for q, change in zip(knots.tolist(), changes, strict=True):
            if change.any():
                weights[self._place[j, q]] += change

    def pair(self, hinges: PairHinges) -> Layer:
        """Return weights (h, units) of this layer and constants (h,) of the hinges of a pair."""
        result, constant = np.zeros((len(self), len(hinges.first))), np.zeros(len(hinges.first))
        for key in [*hinges.knots, *hinges.folds]:
            weights = hinges.weights_of(key)
            places, changes = hinges.changes(key)
            self.add(result, hinges.feature_of(key), places, changes[:, None] * weights)
            constant += weights * (hinges.fold(key).values[0, 0] if key < 0 else 0.0)
        return result.T, constant

    def hinges(self, weights: Floats, knots: Mapping[int, Floats]) -> Floats:
        """Return weights (h, d) of inputs spread over [0, 1] as weights (h, units) of this layer."""
        result = np.zeros((len(self), len(weights)))
        for j, each in knots.items():
            if weights[:, j].any():
                self.add(result, j, each, spread_changes(each)[:, None] * weights[:, j])
        return result.T


# A sum of curves, planes and units as a torch module.


def to_module(model: CurveModel) -> nn.Sequential:
    """Return the network (float64) of encoded rows."""
    from torch import nn  # slow to import

    layers = [layer for weight, bias in to_layers(model) for layer in (_linear(weight, bias), nn.ReLU())]
    return nn.Sequential(*layers[:-1])


def _linear(weight: Floats, bias: Floats) -> nn.Linear:
    import torch
    from torch import nn

    layer = nn.Linear(weight.shape[1], weight.shape[0], dtype=torch.float64, device="meta")  # draws no random numbers
    layer.weight = nn.Parameter(torch.tensor(weight))
    layer.bias = nn.Parameter(torch.tensor(bias))
    return layer


# A model of curves, planes and units as plain JSON values, and back.

_VERSION = 1

_CURVE = ("feature", "knots", "values", "errors", "is_number")


def model_to_dict(model: CurveModel) -> dict[str, Any]:
    """Return a model as plain values."""
    return {
        "version": _VERSION,
        "features": list(model.features),
        "n_classes": model.n_classes,
        "family": model.family,
        "largest": None if isinf(model.largest) else model.largest,
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
        "variables": [_plain(each, "kind", "column", "features", "circle") for each in hinges.variables],
        "knots": {str(j): each.tolist() for j, each in hinges.knots.items()},
        "folds": {str(key): list(fold) for key, fold in hinges.folds.items()},
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
        *_family(stored),
    )


def _family(stored: Mapping[str, Any]) -> tuple[str, float]:
    family, largest = stored["family"], stored["largest"]
    expect(isinstance(family, str), "the family is no name")
    if not stored["n_classes"]:
        try:
            parse_family(family)
        except InputError as error:
            raise ValueError(str(error)) from None
    return family, inf if largest is None else float(_array([largest], "largest", 1)[0])


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
        Variable(each["kind"], int(each["column"]), np.array(each["features"], np.int64), _circle(each["circle"]))
        for each in stored["variables"]
    ]
    expect(len(variables) == 2 and len(stored["features"]) == 2, "a plane has two columns")
    weights = _array(stored["weights"], "weights", None, m)
    h = len(weights)
    knots = {int(j): _rising(each) for j, each in stored["knots"].items()}
    first, second = (np.array(stored[name], np.int64) for name in ("first", "second"))
    folds = {int(key): (int(j), float(place)) for key, (j, place) in stored["folds"].items()}
    owners = {j for each in variables for j in each.features.tolist()}
    round_ = {j for each in variables if each.circle is not None for j in each.features.tolist()}
    inside = {*first.tolist(), *second.tolist()} <= {*knots, *folds} and set(knots) == owners - round_
    expect(len(first) == len(second) == h and inside and owners <= set(range(d)), "a plane reads other inputs")
    expect(all(key < 0 and j in round_ for key, (j, _) in folds.items()), "a plane folds an input that is no circle")
    margins = _margins(stored["margins"], d, m)
    table = _array(stored["hinges"], "hinges", h, 3)
    hinges = PairHinges((variables[0], variables[1]), knots, first, second, table, folds)
    names = [tuple(str(name) for name in each) for each in stored["features"]]
    return Plane((names[0], names[1]), hinges, weights, margins, _array(stored["constant"], "constant", m))


def _circle(stored: Any) -> Circle:
    """Return where a circle begins and ends."""
    if stored is None:
        return None
    low, high = _rising(stored).tolist()
    return float(low), float(high)


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
