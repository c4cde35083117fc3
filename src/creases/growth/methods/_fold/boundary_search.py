"""A fold point in many dimensions: near rather than nearest, by Newton's method and on segments, without polytopes."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from creases._typing import Floats
from creases.growth.methods._fold.fold_point import FoldPoint
from creases.network import Network
from creases.network.program import propagate

#: Rounds of Newton's method, segments that are searched, points on each, and rounds of their refinement.
NEWTON, SEGMENTS, POINTS, REFINEMENTS = 12, 4, 17, 13

#: How far two logits may be apart at a tie, relative to the logits' sizes.
TIE = 1e-10


def near_fold_point(net: Network, X: Floats, predicted: NDArray[np.int64], t: int, i: int, j: int) -> FoldPoint | str:
    """Return a point of the effective boundary near sample t of X (n, d) of class j, predicted i; or why there is none.

    Newton's method goes to the foot of the perpendicular on the boundary of the piece at the last point until it stays;
    then the first ties on the segments to the nearest samples predicted j are tried.
    """
    x = X[t]
    point, how = x, "foot"
    for _ in range(NEWTON):
        lead, normal, z = _lead(net, point, i, j)
        if point is not x and _is_top_tie(z, i, j):
            return _make(net, point, x, lead, normal, how)
        size = float(normal @ normal)
        if size == 0:
            break
        how = "foot" if point is x else "walk"
        point = x - (lead + normal @ (x - point)) / size * normal
    for other in _nearest(X, predicted, t, j):
        tie = _first_tie(net, x, X[other], i, j)
        if tie is not None:
            lead, normal, z = _lead(net, tie, i, j)
            if normal.any():
                tie = tie - lead / float(normal @ normal) * normal
                lead, normal, z = _lead(net, tie, i, j)
            if _is_top_tie(z, i, j):
                return _make(net, tie, x, lead, normal, "crossing")
    return f"no boundary between the two classes on the way to a sample predicted as class {j}"


def _lead(net: Network, x: Floats, i: int, j: int) -> tuple[float, Floats, Floats]:
    """Return ``z_i - z_j`` at x, its gradient (d,), and all logits."""
    with torch.enable_grad():
        start = torch.from_numpy(x)[None].requires_grad_()
        z = _logits(net, start)[0]
        lead = z[i] - z[j]
        (gradient,) = torch.autograd.grad(lead, [start]) if lead.requires_grad else (torch.zeros_like(start),)
    return float(lead.detach()), gradient[0].numpy(), z.detach().numpy()


def _logits(net: Network, x: Tensor) -> Tensor:
    value = propagate(net, {0: x}, lambda i, inputs: net.steps[i].apply(inputs))[len(net.steps)].reshape(len(x), -1)
    return value if value.shape[1] > 1 else torch.cat([torch.zeros_like(value), value], dim=1)


def _is_top_tie(z: Floats, i: int, j: int) -> bool:
    size = TIE * (1 + float(np.abs(z).max()))
    return bool(abs(z[i] - z[j]) <= size and z.max() - z[i] <= 2 * size)


def _make(net: Network, point: Floats, x: Floats, lead: float, normal: Floats, how: str) -> FoldPoint:
    offset, distance = lead - float(normal @ point), float(np.linalg.norm(point - x))
    return FoldPoint(point, net.sides(point), normal, offset, distance, how, abs(lead))


def _nearest(X: Floats, predicted: NDArray[np.int64], t: int, j: int) -> NDArray[np.int64]:
    others = np.flatnonzero(predicted == j)[: 50 * SEGMENTS]
    distance = ((X[others] - X[t]) ** 2).sum(axis=1)
    return np.asarray(others[np.argsort(distance, kind="stable")[:SEGMENTS]])


def _first_tie(net: Network, a: Floats, b: Floats, i: int, j: int) -> Floats | None:
    """Return the first tie of i and j that a grid shows on the segment from a to b, to rounding."""
    low, high = 0.0, 1.0
    for _ in range(REFINEMENTS):
        share = np.linspace(low, high, POINTS)
        with torch.no_grad():
            z = _logits(net, torch.from_numpy(a + share[:, None] * (b - a))).numpy()
        behind = np.flatnonzero(z[:, i] <= z[:, j])
        if not len(behind) or behind[0] == 0:
            return None
        low, high = float(share[behind[0] - 1]), float(share[behind[0]])
    return np.asarray(a + high * (b - a))
