"""A sum of curves and planes as one ReLU network with exactly the same function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from creases._typing import Floats
from creases.tables._stages.basis import CurveBasis
from creases.tables._stages.pairs import PairHinges, PlaneBasis
from creases.tables._stages.penalized import Fit

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True, eq=False)
class PiecewiseLinear:
    """A function of one feature: values at rising knots, straight between them, constant outside."""

    knots: Floats  #: (k,)
    values: Floats  #: (k, m)

    @property
    def slopes(self) -> Floats:
        """(k - 1, m) Slope of each piece, in units of the output for one unit of the feature."""
        return np.diff(self.values, axis=0) / np.diff(self.knots)[:, None]

    @property
    def changes(self) -> Floats:
        """(k, m) Change of slope at each knot; the function is ``values[0] + relu(x - knots) @ changes``."""
        flat = np.zeros((1, self.values.shape[1]))
        return np.diff(np.concatenate([flat, self.slopes, flat]), axis=0)

    def __call__(self, x: Floats) -> Floats:
        """Return the values (n, m) at x (n,)."""
        return np.stack([np.interp(x, self.knots, column) for column in self.values.T], axis=1)


def curve_parts(basis: CurveBasis, weights: Floats) -> tuple[list[PiecewiseLinear], Floats]:
    """Return a sum (p, m) of a basis' functions as functions of each feature, and their constant (m,)."""
    lines, changes, constant = basis.slopes(weights)
    parts = []
    for j, knots in enumerate(basis.knots):
        bends = changes[basis.feature_of_hinge == j]
        slopes = np.cumsum(np.vstack([lines[j : j + 1], bends]), axis=0) / basis.span[j]
        rises = np.vstack([np.zeros((1, weights.shape[1])), slopes * np.diff(knots)[:, None]])
        parts.append(PiecewiseLinear(knots, np.cumsum(rises, axis=0)))
    return parts, constant


def plane_weights(fit: Fit) -> list[tuple[PairHinges, Floats, Floats, Floats]]:
    """Return each pair with weights (h, m) of its hinges, of the curves' functions (p, m), and its constant (m,)."""
    basis = fit.basis
    if not isinstance(basis, PlaneBasis):
        return []
    at, result = len(basis.curves.penalty), []
    for pair, margin, offset, scale in zip(basis.pairs, basis.margins, basis.offsets, basis.scales, strict=True):
        weights = fit.weights[at : at + len(pair.first)] / scale
        at += len(pair.first)
        result.append((pair, weights, -margin @ weights, -offset @ weights))
    return result


def to_module(fit: Fit, is_numeric: tuple[bool, ...], center: Floats, scale: Floats, mixture: Floats) -> nn.Sequential:
    """Return the network (float64) of outputs ``mixture @ (center + scale * scores)`` on encoded rows.

    The first layer has a unit at each knot; a second one, for planes, has the hinges of pairs and one unit for each
    score that carries the sum of the curves, which is always active.
    """
    from torch import nn

    basis = fit.basis.curves
    planes = plane_weights(fit)
    p = len(basis.penalty)
    parts, constant = curve_parts(basis, fit.weights[:p] + sum(margin for _, _, margin, _ in planes))
    constant = constant + fit.offset + sum(shift for _, _, _, shift in planes)
    knots = _knots(parts, planes, is_numeric)
    first = [(j, q) for j, each in enumerate(knots) for q in each] or [(0, 0.0)]
    place = {key: k for k, key in enumerate(first)}
    weight = np.zeros((len(first), len(knots)))
    weight[np.arange(len(first)), [j for j, _ in first]] = 1.0
    sums, least = np.zeros((len(constant), len(first))), constant.copy()
    for j, part in enumerate(parts):
        constant = constant + part.values[0]
        least = least + part.values.min(axis=0)
        for q, change in zip(part.knots.tolist(), part.changes, strict=True):
            if (j, q) in place:
                sums[:, place[j, q]] += change
    layers: list[nn.Module] = [_linear(weight, np.array([-q for _, q in first])), nn.ReLU()]
    output, offset = mixture * scale, mixture @ center
    if planes:
        least = least - 1.0
        spread, bias, out = [sums], [constant - least], [np.eye(len(constant))]
        for pair, weights, _, _ in planes:
            hinges = np.zeros((len(pair.first), len(first)))
            for i, column in ((pair.first, 0), (pair.second, 1)):
                for h, j in enumerate(i.tolist()):
                    even = PiecewiseLinear(pair.knots[j], np.linspace(0, 1, len(pair.knots[j]))[:, None])
                    for q, change in zip(even.knots.tolist(), even.changes[:, 0].tolist(), strict=True):
                        if (j, q) in place:
                            hinges[h, place[j, q]] += pair.weights[h, column] * change
            spread.append(hinges)
            bias.append(pair.weights[:, 2])
            out.append(weights.T)
        layers += [_linear(np.concatenate(spread), np.concatenate(bias)), nn.ReLU()]
        layers.append(_linear(output @ np.concatenate(out, axis=1), offset + output @ least))
    else:
        layers.append(_linear(output @ sums, offset + output @ constant))
    return nn.Sequential(*layers)


def _knots(
    parts: list[PiecewiseLinear], planes: list[tuple[PairHinges, Floats, Floats, Floats]], is_numeric: tuple[bool, ...]
) -> list[list[float]]:
    """Return the knots of each feature where a function of it bends: 0 alone of one that is 0 or 1."""
    knots: list[set[float]] = [set(part.knots.tolist()) if np.any(part.changes) else set() for part in parts]
    for pair, _, _, _ in planes:
        for j, each in pair.knots.items():
            knots[j] |= set(each.tolist())
    return [sorted(each) if numeric else sorted(each)[:1] for each, numeric in zip(knots, is_numeric, strict=True)]


def _linear(weight: Floats, bias: Floats) -> nn.Linear:
    import torch
    from torch import nn

    layer = nn.Linear(weight.shape[1], weight.shape[0], dtype=torch.float64, device="meta").to_empty(device="cpu")
    with torch.no_grad():
        layer.weight.copy_(torch.from_numpy(weight))
        layer.bias.copy_(torch.from_numpy(bias))
    return layer
