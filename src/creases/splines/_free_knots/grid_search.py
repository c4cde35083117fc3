"""Piecewise-linear fits with knots on a grid, and off it: the best of few, and steps downhill."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from creases._typing import Floats
from creases._validation import check_vector
from creases.splines._samples import Samples

_STARTS = 300  # descents from random and from perturbed knots; fewer for many samples
_WORK = 4e5  # pieces times samples of all those descents: about a third of a second
_TOP = 40  # fits whose knots are added to a finer grid
_BUDGET = 1e6  # quadratics examined in a search on it
_PARTS = 4  # largest number of parts of a cell of the first grid
_ROUNDS = 10  # largest number of searches and descents
_FEW = 5  # fits on the grid from which the first descents start


def descend_best(data: Samples, grid: Floats, trials: list[Floats]) -> Floats:
    """Return the best knots that descents from a few of the best fits on the grid lead to."""
    return _descents(data, trials[:_FEW])[0][1]


def refine_knots(data: Samples, grid: Floats, trials: list[Floats]) -> Floats:
    """Return the best knots anywhere, starting from those of fits on the grid (each (k + 1,), best first).

    The error has many minima in the knots. Descents start from the fits on the grid, from random knots, and from the
    best ones with some of them moved; a search on a grid that contains their results then combines the best parts of
    several.
    """
    rng = np.random.default_rng(0)
    pieces = len(trials[0]) - 1
    count = int(np.clip(_WORK / (pieces * len(data.t)), 10, _STARTS))
    random_knots = [rng.choice(grid[1:-1], pieces - 1, replace=False) for _ in range(count)]
    candidates = _descents(data, [*trials[:count], *(_with_ends(inner) for inner in random_knots)])
    _perturb(data, candidates, rng, count // 2)
    parts = 1
    for _ in range(_ROUNDS):
        least = candidates[0][0]
        finer = _refine_grid(grid, parts, np.concatenate([knots for _, knots in candidates[:_TOP]]))
        combined = search_below(data, finer, pieces, least, _BUDGET)[0]
        candidates = sorted([*candidates, *_descents(data, combined[:count])], key=_error)
        if candidates[0][0] < least * (1 - 1e-7):
            _perturb(data, candidates, rng, count // 4)
        elif combined and parts < _PARTS:
            parts *= 2
        else:
            break
    return candidates[0][1]


_Candidate = tuple[float, Floats]  # error and knots


def _error(candidate: _Candidate) -> float:
    return candidate[0]


def _descents(data: Samples, starts: list[Floats]) -> list[_Candidate]:
    """Return the errors and knots to which descents lead, best first."""
    from creases.splines._free_knots.polish_kernel import polish

    ends = [knots.copy() for knots in starts]
    return sorted([(polish(knots, data.t, data.u, data.w), knots) for knots in ends], key=_error)


def _perturb(data: Samples, candidates: list[_Candidate], rng: np.random.Generator, count: int) -> None:
    """Descend from the best knots with up to three of them moved at random, and add the results."""
    for _ in range(count):
        inner = candidates[0][1][1:-1]
        moved = rng.choice(len(inner), min(int(rng.integers(1, 4)), len(inner)), replace=False)
        start = _with_ends(np.concatenate([np.delete(inner, moved), rng.random(len(moved))]))
        if (np.diff(start) > 0).all():
            candidates.extend(_descents(data, [start]))
            candidates.sort(key=_error)


def _with_ends(inner: Floats) -> Floats:
    return np.concatenate([[0.0], np.sort(inner), [1.0]])


def _refine_grid(grid: Floats, parts: int, more: Floats) -> Floats:
    """Return the grid with its cells divided into equal parts, plus more knots, without nearly equal entries."""
    between = np.linspace(0, 1, parts, endpoint=False)[1:]
    cuts = (grid[:-1, None] + np.diff(grid)[:, None] * between).ravel()
    more = np.unique(more)
    at = np.clip(np.searchsorted(more, cuts), 1, len(more) - 1)
    near = np.minimum(np.abs(cuts - more[at - 1]), np.abs(cuts - more[at])) < 1e-6
    return np.unique(np.concatenate([grid, cuts[~near], more]))


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
