"""The best continuous piecewise-linear fit with a given number of pieces."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from creases._typing import Floats
from creases._validation import check_count
from creases.splines._samples import merge_samples
from creases.splines._spline import Pieces, Spline
from creases.splines.free_knots._grid_search import TIE_TOLERANCE, initial_grid, search_grid
from creases.splines.free_knots._off_grid import refine_knots


@dataclass(frozen=True, eq=False)
class OptimalFit:
    """A continuous piecewise-linear least-squares fit, and a bound on the error of any other.

    ``lower_bound <= least error of any such fit <= sse <= grid_sse``, up to rounding (1e-12 of the weighted sum of
    squares of y about its mean).
    """

    pieces: Pieces  #: the function
    sse: float  #: its weighted sum of squared errors
    grid_sse: float  #: the least possible with all knots on the grid
    lower_bound: float | None  #: least error of as many separate lines; None if the grid does not contain every x

    @property
    def knots(self) -> Floats:
        """Knots, at most k - 1, at which the slope may change."""
        return self.pieces.knots

    def spline(self) -> Spline:
        """Return the function by its breakpoints and delta-slopes."""
        return self.pieces.spline()

    def __call__(self, x: ArrayLike) -> Floats:
        """Return the values at x, in the shape of x."""
        return self.pieces(x)


def optimal_fit(
    x: ArrayLike,
    y: ArrayLike,
    pieces: int,
    *,
    weights: ArrayLike | None = None,
    grid: ArrayLike | None = None,
    polish: bool = True,
) -> OptimalFit:
    """Return the continuous piecewise-linear function with at most ``pieces`` pieces and the least squared error.

    Knots are first chosen on a grid, where the result is a global optimum: a dynamic program over (piece, knot) keeps,
    as a lower envelope of quadratics, the least error for every value at the knot, and prunes by the error of a greedy
    fit and of separate lines. From these fits and others the knots then descend off the grid until moving any one of
    them does not help, and the best of all are combined on finer grids. A network of H units computes every such
    function with H pieces (H - 1 knots).

    Parameters
    ----------
    x, y
        Samples (N,) in any order; x may repeat.
    pieces
        The number of pieces k. With fewer than k + 1 distinct x, these are interpolated (repeated ones at their mean)
        by fewer pieces.
    weights
        Non-negative weights (N,), 1 by default: the error is ``sum_n weights_n (f(x_n) - y_n)^2``.
    grid
        Where knots may lie before they are polished; the least and largest x are added, and entries beyond them are
        dropped. By default all distinct x, or 600 of them, evenly spaced by rank.
    polish
        Whether knots may leave the grid.

    Returns
    -------
    OptimalFit
        The function, its error, and a lower bound on the error of any other.

    Examples
    --------
    >>> import numpy as np
    >>> from creases.splines import optimal_fit
    >>> x = np.linspace(-1, 2, 31)
    >>> fit = optimal_fit(x, np.abs(x - 0.5) - np.maximum(x - 1.234, 0), 3)
    >>> fit.knots.round(6), bool(fit.sse < 1e-20)
    (array([0.5  , 1.234]), True)
    """
    pieces = check_count(pieces, "pieces")
    data = merge_samples(x, y, weights)
    if len(data.x) == 1:
        return OptimalFit(Pieces(np.zeros(0), np.zeros(1), data.y), data.within, data.within, data.within)
    knots = initial_grid(data, grid)
    pieces = min(pieces, len(knots) - 1)
    trials, least, bound = search_grid(data, knots, pieces)
    function = best_on_grid = next(function for function in map(data.fit, trials) if function is not None)
    if polish and pieces > 1 and least > TIE_TOLERANCE * data.total:
        moved = data.fit(refine_knots(data, knots, trials))
        function = min((moved or function, function), key=data.error)
    return OptimalFit(
        function,
        data.error(function),
        data.error(best_on_grid),
        bound * data.size + data.within if np.isin(data.t, knots).all() else None,
    )
