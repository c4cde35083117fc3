"""A sum of curves, planes and units as layers of one ReLU network with exactly the same function."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from creases._typing import Floats
from creases.tables._stages.basis import PiecewiseLinear, add_functions, spread_changes

if TYPE_CHECKING:
    from creases.tables._stages.model import CurveModel, Plane, Units

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
        read.append(first.hinges(plane.hinges.input_weights(len(model.features)), plane.hinges.knots))
        bias.append(plane.hinges.weights[:, 2])
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
        spreads: list[Mapping[int, Floats]] = [plane.hinges.knots for plane in model.planes]
        if model.units:
            read = np.abs(model.units.weights).max(axis=0, initial=0.0) > 0
            spreads.append({j: each for j, each in enumerate(model.units.knots) if read[j]})
        for spread in spreads:
            for j, each in spread.items():
                knots[j] |= set(each.tolist())
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

    def hinges(self, weights: Floats, knots: Mapping[int, Floats]) -> Floats:
        """Return weights (h, d) of inputs spread over [0, 1] as weights (h, units) of this layer."""
        result = np.zeros((len(self), len(weights)))
        for j, each in knots.items():
            if weights[:, j].any():
                self.add(result, j, each, spread_changes(each)[:, None] * weights[:, j])
        return result.T
