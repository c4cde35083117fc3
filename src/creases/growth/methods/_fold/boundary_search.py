"""Fold points in many dimensions: near rather than nearest, by Newton's method and on segments, without polytopes."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from creases._program import propagate
from creases._typing import Floats, Ints
from creases.growth.methods._fold.fold_point import FoldPoint
from creases.network import Network

#: Rounds of Newton's method, segments that are searched, points on each, and rounds of their refinement.
NEWTON, SEGMENTS, POINTS, REFINEMENTS = 12, 4, 17, 13

#: Samples whose segments are searched at once: bounds the memory.
TOGETHER = 64

#: How far two logits may be apart at a tie, relative to the logits' sizes.
TIE = 1e-10


def near_fold_points(net: Network, X: Floats, predicted: Ints, true: Ints, samples: Ints) -> list[FoldPoint | str]:
    """Return a point of the effective boundary near each of some mispredicted samples, or why there is none.

    Newton's method goes to the foot of the perpendicular on the boundary of the piece at the last point until it stays;
    then the first ties on the segments to the nearest samples predicted as the true class are tried.

    Parameters
    ----------
    X, predicted, true
        All samples (n, d) and their classes (n,), as predicted and in truth.
    samples
        Numbers of the samples in question.
    """
    points = _walk(net, X[samples], predicted[samples], true[samples])
    left = np.flatnonzero([point is None for point in points])
    for some in np.split(left, range(TOGETHER, len(left), TOGETHER)):
        for k, crossing in zip(some, _cross(net, X, predicted, true, samples[some]), strict=True):
            points[k] = crossing
    none = "no boundary between the two classes on the way to a sample predicted as class"
    return [f"{none} {true[t]}" if point is None else point for t, point in zip(samples, points, strict=True)]


def _walk(net: Network, X: Floats, i: Ints, j: Ints) -> list[FoldPoint | None]:
    """Return where Newton's method from samples X (m, d) meets a tie of classes i and j (m,)."""
    out: list[FoldPoint | None] = [None] * len(X)
    rows, points = np.arange(len(X)), X
    for step in range(NEWTON):
        lead, normal, ties = _leads(net, points, i[rows], j[rows])
        if step:
            how = "foot" if step == 1 else "walk"
            made = _make(net, points[ties], X[rows[ties]], lead[ties], normal[ties], how)
            for k, point in zip(rows[ties], made, strict=True):
                out[k] = point
        size = (normal**2).sum(axis=1)
        on = (size > 0) & ~(ties & (step > 0))
        rows, points, lead, normal, size = rows[on], points[on], lead[on], normal[on], size[on]
        if not len(rows):
            break
        to_go = lead + (normal * (X[rows] - points)).sum(axis=1)
        points = X[rows] - (to_go / size)[:, None] * normal
    return out


def _cross(net: Network, X: Floats, predicted: Ints, true: Ints, samples: Ints) -> list[FoldPoint | None]:
    """Return the first tie on the segments from samples to the nearest ones that are predicted as their class."""
    pairs = [(k, other) for k, t in enumerate(samples) for other in _nearest(X, predicted, t, true[t])]
    out: list[FoldPoint | None] = [None] * len(samples)
    if not pairs:
        return out
    owner, other = np.array(pairs).T
    i, j = predicted[samples[owner]], true[samples[owner]]
    points, rows = _first_ties(net, X[samples[owner]], X[other], i, j)
    owner, i, j = owner[rows], i[rows], j[rows]
    lead, normal, _ = _leads(net, points, i, j)
    size = (normal**2).sum(axis=1)
    points = points - np.divide(lead, size, out=np.zeros_like(lead), where=size > 0)[:, None] * normal
    lead, normal, ties = _leads(net, points, i, j)
    made = _make(net, points[ties], X[samples[owner[ties]]], lead[ties], normal[ties], "crossing")
    for k, point in zip(owner[ties], made, strict=True):
        out[k] = point if out[k] is None else out[k]
    return out


def _leads(net: Network, points: Floats, i: Ints, j: Ints) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Return ``z_i - z_j`` at points (m, d), its gradients (m, d), and where the two tie above all other classes."""
    with torch.enable_grad():
        start = torch.from_numpy(points).requires_grad_()
        z = _logits(net, start)
        row = torch.arange(len(points))
        lead = z[row, torch.from_numpy(i)] - z[row, torch.from_numpy(j)]
        # one piece has one gradient per point, and points do not meet: the sum's gradient has theirs as rows
        (gradient,) = torch.autograd.grad(lead.sum(), [start]) if lead.requires_grad else (torch.zeros_like(start),)
    values = z.detach().numpy()
    size = TIE * (1 + np.abs(values).max(axis=1, initial=0.0))
    rest = values.max(axis=1, initial=-np.inf) - values[row, i]
    difference = lead.detach().numpy()
    return difference, gradient.numpy(), (np.abs(difference) <= size) & (rest <= 2 * size)


def _logits(net: Network, x: Tensor) -> Tensor:
    value = propagate(net, {0: x}, lambda i, inputs: net.steps[i].apply(inputs))[len(net.steps)].reshape(len(x), -1)
    return value if value.shape[1] > 1 else torch.cat([torch.zeros_like(value), value], dim=1)


def _make(net: Network, points: Floats, X: Floats, lead: Floats, normal: Floats, how: str) -> list[FoldPoint]:
    if not len(points):
        return []
    offset = lead - (normal * points).sum(axis=1)
    distance = np.linalg.norm(points - X, axis=1)
    rows = zip(points, net.sides(points), normal, offset, distance, lead, strict=True)
    return [FoldPoint(p, side, n, float(b), float(far), how, abs(float(gap))) for p, side, n, b, far, gap in rows]


def _nearest(X: Floats, predicted: Ints, t: int, j: int) -> Ints:
    others = np.flatnonzero(predicted == j)[: 50 * SEGMENTS]
    distance = ((X[others] - X[t]) ** 2).sum(axis=1)
    return np.asarray(others[np.argsort(distance, kind="stable")[:SEGMENTS]])


def _first_ties(net: Network, A: Floats, B: Floats, i: Ints, j: Ints) -> tuple[Floats, Ints]:
    """Return the first ties of i and j that grids show on segments from A to B (m, d), and which segments have one."""
    rows, low, high = np.arange(len(A)), np.zeros(len(A)), np.ones(len(A))
    grid = np.linspace(0.0, 1.0, POINTS)
    for _ in range(REFINEMENTS):
        share = low[:, None] + grid * (high - low)[:, None]
        share[:, -1] = high
        at = A[rows, None] + share[..., None] * (B - A)[rows, None]
        with torch.no_grad():
            z = _logits(net, torch.from_numpy(at.reshape(-1, A.shape[1]))).numpy().reshape(*share.shape, -1)
        row = np.arange(len(rows))
        behind = z[row, :, i[rows]] <= z[row, :, j[rows]]
        first, on = behind.argmax(axis=1), behind.any(axis=1) & ~behind[:, 0]
        rows, low, high = rows[on], share[row, first - 1][on], share[row, first][on]
    return A[rows] + high[:, None] * (B - A)[rows], rows
