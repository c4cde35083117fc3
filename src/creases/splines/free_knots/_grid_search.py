"""The best continuous piecewise-linear fits with knots on a grid."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from creases._typing import Floats
from creases._validation import check_vector
from creases.splines._samples import Samples

#: Knots of the grid where the data leave it open: all distinct x, or as many of them, evenly by rank.
GRID = 600

#: Fits that a search gives, at most.
TRIALS = 30

#: Of the data's sum of squares: errors closer than that are ties.
EXACT = 1e-13


def first_grid(data: Samples, given: ArrayLike | None) -> Floats:
    """Grid of places t, from 0 to 1."""
    if given is None:
        ranks = np.linspace(0, len(data.t) - 1, min(len(data.t), GRID)).round().astype(np.int64)
        return data.t[ranks]
    places = (check_vector(given, "grid") - data.x[0]) / data.width
    return np.union1d(places[(places > 0) & (places < 1)], [0.0, 1.0])


def search_grid(data: Samples, grid: Floats, pieces: int) -> tuple[list[Floats], float, float]:
    """Knots of the best fits on the grid, best first; the least error; that of lines not joined."""
    from creases.splines.free_knots import _optimal_kernel as kernel
    from creases.splines.free_knots._polish_kernel import descend

    start = kernel.greedy(grid, kernel.cell_moments(grid, data.t, data.u, data.w), pieces)
    upper = descend(grid, start, data.t, data.u, data.w)
    found, errors, bound = search_below(data, grid, pieces, upper, np.inf)
    least = max(min([upper, *errors[:1]]), 0.0)
    return [*found, grid[start]], least, min(bound, least)


def search_below(
    data: Samples, grid: Floats, pieces: int, upper: float, budget: float
) -> tuple[list[Floats], Floats, float]:
    """Knots and errors of fits on the grid as good as ``upper``, best first; the error of lines not joined.

    No fits where ``upper`` is 0 but for rounding, or where there is more to do than ``budget``.
    """
    from creases.splines.free_knots import _optimal_kernel as kernel

    moments = kernel.cell_moments(grid, data.t, data.u, data.w)
    errors = kernel.line_errors(grid, moments)
    rest = kernel.rest_bounds(errors, pieces)
    tie = EXACT * data.total
    if upper <= tie:
        return [], np.zeros(0), float(rest[pieces, 0])
    bound = upper * (1 + 1e-9) + 10 * tie
    chosen, found = kernel.envelopes(grid, moments, errors, rest, pieces, bound, 0.1 * tie, budget)
    order = np.argsort(found)
    return [grid[row] for row in chosen[order[:TRIALS]]], found[order], float(rest[pieces, 0])
