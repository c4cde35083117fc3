"""The best piecewise-linear fit with jumps: separate lines on intervals."""

from __future__ import annotations

import numpy as np

from creases.errors import InputError
from creases.splines._free_knots.constraints import Constraints
from creases.splines._samples import Samples
from creases.splines._spline import Pieces, anchors

#: With more samples than this, jumps lie between as many groups of neighbours.
MAX_GROUPS = 2500


def fit_with_jumps(data: Samples, pieces: int, conditions: Constraints) -> tuple[Pieces, float, bool]:
    """Return the function, its error (scaled), and whether that is the least of all: not where samples were grouped.

    Jumps lie half-way between samples, and a function has the value of its left piece there.
    """
    from creases.splines._free_knots.jump_kernel import best_cuts

    ends = np.linspace(0, len(data.t), min(len(data.t), MAX_GROUPS) + 1).astype(np.int64)
    edges = np.concatenate([[0.0], (data.t[ends[1:-1] - 1] + data.t[ends[1:-1]]) / 2, [1.0]])
    sums = data.cumulative_sums()[ends]
    cuts = best_cuts(sums, edges, pieces, *conditions.slopes, conditions.min_length)
    if not len(cuts):
        raise InputError("min_length", "be at most the range of x", f"{conditions.min_length * data.width}")
    starts = np.concatenate([[0], cuts[:-1]])
    lines = np.array([_line(data, ends[a], ends[b], conditions) for a, b in zip(starts, cuts, strict=True)])
    with np.errstate(over="ignore"):
        slopes = lines[:, 2] * (data.height / data.width)
    if not np.isfinite(slopes).all():
        raise InputError("x", "have a range wide enough that slopes fit into float64", hint="scale x up or y down")
    last, first = data.x[ends[cuts[:-1]] - 1], data.x[ends[cuts[:-1]]]
    knots = last + (first - last) / 2
    centers, means = data.x[0] + lines[:, 0] * data.width, data.mean + data.height * lines[:, 1]
    function = Pieces(knots, slopes, means + slopes * (anchors(knots) - centers))
    return function, float(lines[:, 3].sum()), len(data.t) <= MAX_GROUPS


def _line(data: Samples, begin: int, end: int, conditions: Constraints) -> tuple[float, float, float, float]:
    """Return center, mean, slope and error of the best line of some samples, without the rounding of sums."""
    t, u, w = data.t[begin:end], data.u[begin:end], data.w[begin:end]
    center, mean = float(w @ t / w.sum()), float(w @ u / w.sum())
    spread = float(w @ (t - center) ** 2)
    slope = float(np.clip(w @ ((t - center) * (u - mean)) / spread if spread > 0 else 0.0, *conditions.slopes))
    return center, mean, slope, float(w @ (mean + slope * (t - center) - u) ** 2)
