"""The best continuous piecewise-linear fit with k pieces: what gradient descent can be measured against."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from creases.regions.arguments import check_count
from creases.splines.polish import polish as polished
from creases.splines.samples import Samples, samples
from creases.splines.spline import Floats, Pieces, Spline, check_vector

#: Knots of the grid where the data leave it open: all distinct x, or as many of them, evenly by rank.
GRID = 600

_TRIALS = 30  # fits on a grid, best first, whose knots are polished; of more than 200 data fewer
_FINE, _PARTS = 600, 8  # knots of the finer grid, about, and parts of a cell of the first grid, at most
_BUDGET = 1.5e6  # quadratics of a search on the finer grid: half a second or so
_ROUNDS = 5  # of polishing and searching, at most
_COARSE = 12  # steps of golden sections, but for the best fit
_EXACT = 1e-13  # of the data's sum of squares: errors closer than that are ties


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
    a greedy fit's error and the error of lines not joined rule out. The best few fits are then polished off the
    grid (joint Gauss-Newton steps and golden sections, to a local optimum near each) and what they found is sought
    again on a finer grid. A network of H units realises every such function of H pieces (H - 1 knots).

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
    data = samples(x, y, weights)
    if len(data.x) == 1:
        return OptimalFit(Pieces(np.zeros(0), np.zeros(1), data.y), data.within, data.within, data.within)
    knots = _grid(data, grid)
    pieces = min(pieces, len(knots) - 1)
    trials, least, bound = _on_grid(data, knots, pieces)
    if polish and pieces > 1 and least > _EXACT * data.total:
        trials.insert(0, _off_grid(data, knots, trials))
    function = next(made for made in map(data.fitted, trials) if made is not None)
    return OptimalFit(
        function,
        data.error(function),
        least * data.size + data.within,
        bound * data.size + data.within if np.isin(data.t, knots).all() else None,
    )


def _grid(data: Samples, given: ArrayLike | None) -> Floats:
    """Grid of places t, from 0 to 1."""
    if given is None:
        ranks = np.linspace(0, len(data.t) - 1, min(len(data.t), GRID)).round().astype(np.int64)
        return data.t[ranks]
    places = (check_vector(given, "grid") - data.x[0]) / data.width
    return np.union1d(places[(places > 0) & (places < 1)], [0.0, 1.0])


def _on_grid(data: Samples, grid: Floats, pieces: int) -> tuple[list[Floats], float, float]:
    """Knots of the best fits on the grid, best first; the least error; that of lines not joined."""
    from creases.splines import optimal_kernel as kernel
    from creases.splines.polish_kernel import descend

    start = kernel.greedy(grid, kernel.cell_moments(grid, data.t, data.u, data.w), pieces)
    upper = descend(grid, start, data.t, data.u, data.w)
    found, errors, bound = _search(data, grid, pieces, upper, np.inf)
    least = max(min([upper, *errors[:1]]), 0.0)
    return [*found, grid[start]], least, min(bound, least)


def _search(
    data: Samples, grid: Floats, pieces: int, upper: float, budget: float
) -> tuple[list[Floats], Floats, float]:
    """Knots and errors of fits on the grid as good as ``upper``, best first; the error of lines not joined.

    No fits where ``upper`` is 0 but for rounding, or where there is more to do than ``budget``.
    """
    from creases.splines import optimal_kernel as kernel

    moments = kernel.cell_moments(grid, data.t, data.u, data.w)
    errors = kernel.line_errors(grid, moments)
    rest = kernel.rest_bounds(errors, pieces)
    tie = _EXACT * data.total
    if upper <= tie:
        return [], np.zeros(0), float(rest[pieces, 0])
    bound = upper * (1 + 1e-9) + 10 * tie
    chosen, found = kernel.envelopes(grid, moments, errors, rest, pieces, bound, 0.1 * tie, budget)
    order = np.argsort(found)
    return [grid[row] for row in chosen[order[:_TRIALS]]], found[order], float(rest[pieces, 0])


def _off_grid(data: Samples, grid: Floats, trials: list[Floats]) -> Floats:
    """The best knots found anywhere, from those of fits on the grid.

    They are polished, then sought again on a finer grid that holds them, until that gains nothing: it joins what is
    best in several fits, and has knots in gaps between data where there was none.
    """
    parts = int(np.clip(_FINE // len(grid), 1, _PARTS))
    pieces = len(trials[0]) - 1
    most = int(np.clip(200 * _TRIALS // len(data.t), 2, _TRIALS))  # each takes time in proportion to the data
    trials = [*trials[:most], *_random_knots(grid, pieces, 2 * (most - 2))]
    seen: list[Floats] = []
    best, least = trials[0], np.inf
    for _ in range(_ROUNDS):
        moved = [polished(trial, data.t, data.u, data.w, steps=_COARSE) for trial in trials]
        moved.sort(key=lambda pair: pair[1])
        if moved[0][1] >= least * (1 - 1e-7):
            break
        best, least = moved[0]
        seen += [knots for knots, _ in moved[:most]]
        trials = []
        while not trials and parts:
            finer = _finer(grid, parts, np.concatenate(seen))
            trials = _search(data, finer, pieces, least, _BUDGET)[0][:most]
            parts = parts if trials else parts // 2
        if not trials:
            break
    return polished(best, data.t, data.u, data.w)[0]


def _random_knots(grid: Floats, pieces: int, count: int) -> list[Floats]:
    """So many choices of knots on the grid, the same ones for the same grid."""
    numbers = np.random.default_rng(0)
    chosen = [np.sort(numbers.choice(grid[1:-1], pieces - 1, replace=False)) for _ in range(count)]
    return [np.concatenate([[0.0], inner, [1.0]]) for inner in chosen]


def _finer(grid: Floats, parts: int, more: Floats) -> Floats:
    """The grid, its cells cut into equal parts, and further knots; without cuts that hardly differ from those."""
    between = np.linspace(0, 1, parts, endpoint=False)[1:]
    cuts = (grid[:-1, None] + np.diff(grid)[:, None] * between).ravel()
    more = np.unique(more)
    at = np.clip(np.searchsorted(more, cuts), 1, len(more) - 1)
    near = np.minimum(np.abs(cuts - more[at - 1]), np.abs(cuts - more[at])) < 1e-6
    return np.unique(np.concatenate([grid, cuts[~near], more]))
