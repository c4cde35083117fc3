"""The model of a table that can be read completely: a curve for each input, planes for a few pairs, as one network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf, isinf, log
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from creases._schema import expect
from creases._typing import Floats
from creases.errors import InputError
from creases.tables._folder.records import read_record, write_record
from creases.tables._stages.basis import (
    PiecewiseLinear,
    Reason,
    add_functions,
    check_knots,
    spread_changes,
    spread_inputs,
)
from creases.tables._stages.families import Link, apply_link, parse_family
from creases.tables._stages.pairs import PairHinges

if TYPE_CHECKING:
    from torch import nn

    from creases.network import Network


# The parts of a model of a table, in the units of its inputs: curves, planes, units.


@dataclass(frozen=True, eq=False)
class Curve:
    """What one input adds to the scores: straight between its knots, constant beyond them, with mean 0.

    An input that is 0 or 1 has knots there, and two values.
    """

    knots: Annotated[Floats, "k"]  #: rising
    values: Annotated[Floats, "k", "m"]  #: for each score
    errors: Annotated[Floats, "k", "m"]  #: standard errors of the values
    is_number: bool = True  #: False where the input is 0 or 1: yes/no, a level of a category, a missing value

    def check(self) -> None:
        """Raise ValueError where the knots do not rise."""
        self.function.check()

    @property
    def function(self) -> PiecewiseLinear:
        """The curve without its errors."""
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
    """What two variables add together beyond their curves; its mean along each of them is 0."""

    hinges: PairHinges
    weights: Annotated[Floats, "h", "m"]  #: of the hinges
    margins: Mapping[int, PiecewiseLinear]  #: by number of the input: what is taken out
    constant: Annotated[Floats, "m"]

    def check(self) -> None:
        """Raise ValueError where it has not a weight for each hinge."""
        expect(len(self.weights) == len(self.hinges.first), "a plane has other weights than hinges")

    @property
    def inputs(self) -> tuple[list[int], list[int]]:
        """The numbers of the inputs of its two variables: one, or one for each level of a category."""
        first, second = self.hinges.variables
        return first.features.tolist(), second.features.tolist()

    def add(self, other: Plane) -> Plane:
        """Return the sum with another plane of the same two variables, such as one with fewer bends."""
        margins = {
            j: add_functions([part.margins[j] for part in (self, other) if j in part.margins])
            for j in sorted({*self.margins, *other.margins})
        }
        hinges = self.hinges.join(other.hinges)
        weights = np.concatenate([self.weights, other.weights])
        return replace(self, hinges=hinges, weights=weights, margins=margins, constant=self.constant + other.constant)

    def __call__(self, X: Floats) -> Floats:
        """Return what encoded rows X (n, d) get, (n, m)."""
        return add_margins(self.hinges(X) @ self.weights + self.constant, self.margins, X)


@dataclass(frozen=True, eq=False)
class Units:
    """What hidden units add that read many columns together: ``relu(u @ weights.T + biases) @ outputs + constant``.

    u (n, d) are the inputs, each spread over [0, 1] by straight pieces between its knots and clipped there; an input
    that is 0 or 1 has the one knot 0. What curves can say is taken out, by margins.
    """

    knots: Annotated[tuple[Annotated[Floats, "k"], ...], "d"]  #: of each input: rising
    weights: Annotated[Floats, "h", "d"]  #: 0 for inputs whose curves have a shape
    biases: Annotated[Floats, "h"]
    outputs: Annotated[Floats, "h", "m"]
    constant: Annotated[Floats, "m"]  #: so that the mean is 0
    margins: Mapping[int, PiecewiseLinear] = field(default_factory=dict)  #: by number of the input: what is taken out
    reasons: tuple[Reason, ...] = ()  #: of each unit that grew; () for units that were trained together

    def check(self) -> None:
        """Raise ValueError where knots do not rise, or reasons are not those of the units."""
        for knots in self.knots:
            check_knots(knots, 1)
        expect(len(self.reasons) in (0, len(self.biases)), "there are not as many reasons as units")
        n_errors = [self.outputs.shape[1] if each.classes is None else 0 for each in self.reasons]
        is_sized = [len(each.errors) for each in self.reasons] == n_errors
        expect(is_sized, "a reason has errors of other scores, or of classes")

    def spread(self, X: Floats) -> Floats:
        """Return the inputs as the units take them, (n, d), of encoded rows X (n, d)."""
        return spread_inputs(X, self.knots)

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

    n_classes: int  #: 0 for a regression
    intercept: Annotated[Floats, "m"]  #: the scores of a row for which all parts are 0
    curves: Annotated[tuple[Curve, ...], "d"]  #: of each encoded input
    planes: tuple[Plane, ...] = ()  #: at most one for two variables
    units: Units | None = None
    steps: tuple[Step, ...] = ()  #: what each stage brought
    family: str = "normal"  #: of numbers, by name: see :func:`parse_family`; "classes" of classes
    largest: float = inf  #: the largest prediction, under a logarithmic link
    lookups: tuple[int, ...] = ()  #: inputs that are numbers of values: their curves are read at these, and do not bend

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
        """The same function as a network of encoded rows; with classes it has a logit for each.

        With a logarithmic link it puts out logarithms of predictions, which are at most that of the largest.
        """
        from creases.network import read

        return read(to_module(self))

    @property
    def n_bends(self) -> int:
        """Knots within the ranges of inputs, hinges of planes, and units."""
        curves = [(j, curve) for j, curve in enumerate(self.curves) if j not in self.lookups]
        knots = {(j, float(q)) for j, curve in curves for q in curve.bends}
        spreads: list[Any] = [each.hinges.knots.items() for each in self.planes]
        spreads += [dict(enumerate(self.units.knots)).items()] if self.units else []
        knots |= {(j, float(q)) for spread in spreads for j, each in spread for q in each[1:-1]}
        n_units = len(self.units.biases) if self.units else 0
        return len(knots) + sum(len(each.weights) for each in self.planes) + n_units

    def scores(self, X: Floats) -> Floats:
        """Return the scores (n, m) of encoded rows X (n, d)."""
        return sum(self.parts(X), np.repeat(self.intercept[None], len(X), axis=0))

    def parts(self, X: Floats) -> list[Floats]:
        """Return what each curve, then each plane, then the units add to the scores of encoded rows X (n, d).

        Each is (n, m); together with the intercept they are the scores.
        """
        X = np.asarray(X, np.float64)
        return [curve(X[:, j]) for j, curve in enumerate(self.curves)] + [part(X) for part in self.mixed]

    @property
    def mixed(self) -> list[Plane | Units]:
        """The planes, then the units if there are any."""
        return [*self.planes, *([self.units] if self.units else [])]

    def check(self) -> None:
        """Raise ValueError where its parts do not match each other: they may be of a damaged file."""
        expect(self.n_classes in (0, len(self.intercept) + (self.n_classes == 2)), "it has scores of other classes")
        expect(bool(self.n_classes) or bool(parse_family(self.family)), "it has no family")
        pairs = {tuple(map(tuple, plane.inputs)) for plane in self.planes}
        expect(len(pairs) == len(self.planes), "two planes are of the same inputs")
        read = {j for plane in self.planes for j in plane.hinges.features.tolist()}
        read |= {j for part in self.mixed for j in part.margins}
        expect(read <= set(range(len(self.curves))), "a plane or unit reads other inputs")

    def to_dict(self) -> dict[str, Any]:
        """Return the model as plain JSON values, from which :meth:`from_dict` makes the same model, bit for bit."""
        return {"version": _VERSION} | write_record(self)

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> CurveModel:
        """Return the model that :meth:`to_dict` stored; ValueError says what is wrong with other values."""
        version = stored.get("version")
        expect(version == _VERSION, f"version {version} of a model of curves, expected {_VERSION}")
        try:
            return read_record(cls, stored, "the model")
        except (KeyError, TypeError, AttributeError, InputError) as error:
            raise ValueError(f"the model of curves lacks a part or has one of another type: {error}") from error


#: Of models as plain values.
_VERSION = 3


# A sum of curves, planes and units as layers of one ReLU network with exactly the same function.

#: Weights (k, j) and biases (k,) of a layer.
Layer = tuple[Floats, Floats]


def to_layers(model: CurveModel) -> list[Layer]:
    """Return the network of encoded rows: the scores, and for two classes minus and plus half the logit.

    There is a ReLU between any two layers.

    The first layer has a unit at each knot. A second one, for planes and units, has their hinges and one unit for each
    score that carries the sum of the curves, which is always active. Under a logarithmic link a last one has what each
    score lacks of the largest, c: ``min(s, c) = c - relu(c - s)``.
    """
    layers = _sum_layers(model)
    if model.link == "identity" or isinf(model.largest):
        return layers
    weight, bias = layers.pop()
    most = np.full(len(bias), log(model.largest))
    return [*layers, (-weight, most - bias), (-np.eye(len(bias)), most)]


def _sum_layers(model: CurveModel) -> list[Layer]:
    """Return the layers up to the scores, however large these are."""
    sums = []  # for each input its curve and what is taken out of planes and units
    for j, curve in enumerate(model.curves):
        margins = [part.margins[j] for part in model.mixed if j in part.margins]
        sums.append(add_functions([curve.function, *margins]))
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
            weights = hinges.weights[:, 0] * (hinges.first == key) + hinges.weights[:, 1] * (hinges.second == key)
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
