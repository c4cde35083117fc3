"""The best continuous piecewise-linear fit with k pieces: what gradient descent can be measured against."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from creases._typing import Floats
from creases._validation import check_count
from creases.splines._samples import merge_samples
from creases.splines._spline import Pieces, Spline
from creases.splines.free_knots._grid_search import EXACT, first_grid, search_grid
from creases.splines.free_knots._off_grid import refine_knots


@dataclass(frozen=True, eq=False)
class OptimalFit:
    """A continuous piecewise-linear least-squares fit, and how good any other can be.

    ``lower_bound <= least error of any such fit <= sse <= grid_sse``, up to rounding (1e-12 of the data's weighted sum
    of squares about their mean).
    """

    pieces: Pieces  #: the function
    sse: float  #: its weighted sum of squared errors
    grid_sse: float  #: the least one with all knots on the grid, which is exact
    lower_bound: float | None  #: least error of as many lines not joined; None where the grid leaves out some x

    @property
    def knots(self) -> Floats:
        """(at most k - 1,) places where the slope may change."""
        return self.pieces.knots

    def spline(self) -> Spline:
        """The function by its breakpoints and delta-slopes."""
        return self.pieces.spline()

    def __call__(self, x: ArrayLike) -> Floats:
        """Values at x, of x's shape."""
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
    """The continuous piecewise-linear function of at most ``pieces`` pieces with the least squared error.

    Knots are first chosen on a grid, and there the result is a global optimum: a dynamic program over (piece, knot)
    whose states hold, as the lower envelope of quadratics, the least error for every value at the knot, and drop what
    a greedy fit's error and the error of lines not joined rule out. From the best of these fits and others the knots
    then descend off the grid to places that no other place for any one of them improves, and the best of all that was
    found is sought again on finer grids. A network of H units realises every such function of H pieces (H - 1 knots).

    Parameters
    ----------
    x, y
        (N,) data in any order; x may repeat.
    pieces
        k, at least 1. Fewer than k + 1 distinct x are interpolated (repeated ones at their mean) by fewer pieces.
    weights
        (N,), not negative: the error is ``sum_n weights_n (f(x_n) - y_n)^2``. 1 where not given.
    grid
        Where knots may lie before they are polished; the least and largest x are added, what lies beyond them dropped.
        Where not given: the distinct x, and of more than 600 these evenly by rank.
    polish
        False: knots stay on the grid.

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
    knots = first_grid(data, grid)
    pieces = min(pieces, len(knots) - 1)
    trials, least, bound = search_grid(data, knots, pieces)
    function = best_on_grid = next(made for made in map(data.fitted, trials) if made is not None)
    if polish and pieces > 1 and least > EXACT * data.total:
        moved = data.fitted(refine_knots(data, knots, trials))
        function = min((moved or function, function), key=data.error)
    return OptimalFit(
        function,
        data.error(function),
        data.error(best_on_grid),
        bound * data.size + data.within if np.isin(data.t, knots).all() else None,
    )
