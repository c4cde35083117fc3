"""The best continuous piecewise-linear fits with knots on a grid."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from creases._typing import Floats
from creases._validation import check_vector
from creases.splines._samples import Samples

#: Size of the default grid: all distinct x, or this many of them, evenly spaced by rank.
GRID = 600

#: Largest number of fits that a search returns.
MAX_FITS = 30

#: Errors closer than this, relative to the sum of squares of the data, are ties.
TIE_TOLERANCE = 1e-13


def initial_grid(data: Samples, grid: ArrayLike | None) -> Floats:
    """Return the grid of scaled inputs t, from 0 to 1."""
    if grid is None:
        ranks = np.linspace(0, len(data.t) - 1, min(len(data.t), GRID)).round().astype(np.int64)
        return data.t[ranks]
    places = (check_vector(grid, "grid") - data.x[0]) / data.width
    return np.union1d(places[(places > 0) & (places < 1)], [0.0, 1.0])


def search_grid(data: Samples, grid: Floats, pieces: int) -> tuple[list[Floats], float]:
    """Return the knots of the best fits on the grid, best first, and the least error."""
    from creases.splines._free_knots import optimal_kernel as kernel
    from creases.splines._free_knots.polish_kernel import descend

    start = kernel.greedy(grid, kernel.cell_moments(grid, data.t, data.u, data.w), pieces)
    upper = descend(grid, start, data.t, data.u, data.w)
    knots, errors = search_below(data, grid, pieces, upper, np.inf)
    return [*knots, grid[start]], max(min([upper, *errors[:1]]), 0.0)


def search_below(data: Samples, grid: Floats, pieces: int, upper: float, budget: float) -> tuple[list[Floats], Floats]:
    """Return knots and errors of fits on the grid as good as ``upper``, best first.

    There are no fits if ``upper`` is 0 up to rounding, or if the search exceeds ``budget``.
    """
    from creases.splines._free_knots import optimal_kernel as kernel

    moments = kernel.cell_moments(grid, data.t, data.u, data.w)
    tie = TIE_TOLERANCE * data.total
    if upper <= tie:
        return [], np.zeros(0)
    errors = kernel.line_errors(grid, moments)
    rest = kernel.rest_bounds(errors, pieces)
    bound = upper * (1 + 1e-9) + 10 * tie
    rows, fit_errors = kernel.envelopes(grid, moments, errors, rest, pieces, bound, 0.1 * tie, budget)
    order = np.argsort(fit_errors)
    return [grid[row] for row in rows[order[:MAX_FITS]]], fit_errors[order]
