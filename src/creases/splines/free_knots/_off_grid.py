"""The best continuous piecewise-linear fit with knots anywhere, as far as it is found from fits on a grid."""

from __future__ import annotations

import numpy as np

from creases._typing import Floats
from creases.splines._samples import Samples
from creases.splines.free_knots._grid_search import search_below

_STARTS = 300  # descents from random knots, and from the best knots with some of them moved; of many data fewer
_WORK = 4e5  # pieces times data of all those descents: a third of a second or so
_TOP = 40  # fits whose knots make a finer grid
_BUDGET = 1e6  # quadratics of a search on it
_PARTS = 4  # of a cell of the first grid on the finest, at most
_ROUNDS = 10  # of searching and descending, at most


def refine_knots(data: Samples, grid: Floats, trials: list[Floats]) -> Floats:
    """The best knots found anywhere, from those of fits on the grid (each (k + 1,), best first).

    Error has many minima in the knots. Descents start from the fits on the grid, from random knots, and from the best
    ones with some of them put elsewhere; a search on a grid that holds what they found then joins what is best in
    several of them.
    """
    numbers = np.random.default_rng(0)
    pieces = len(trials[0]) - 1
    count = int(np.clip(_WORK / (pieces * len(data.t)), 10, _STARTS))
    random = [numbers.choice(grid[1:-1], pieces - 1, replace=False) for _ in range(count)]
    found = _descents(data, [*trials[:count], *(_with_ends(inner) for inner in random)])
    _hop(data, found, numbers, count // 2)
    parts = 1
    for _ in range(_ROUNDS):
        least = found[0][0]
        finer = _finer(grid, parts, np.concatenate([knots for _, knots in found[:_TOP]]))
        joined = search_below(data, finer, pieces, least, _BUDGET)[0]
        found = sorted([*found, *_descents(data, joined[:count])], key=_error)
        if found[0][0] < least * (1 - 1e-7):
            _hop(data, found, numbers, count // 4)
        elif joined and parts < _PARTS:
            parts *= 2
        else:
            break
    return found[0][1]


_Found = tuple[float, Floats]  # error and knots


def _error(found: _Found) -> float:
    return found[0]


def _descents(data: Samples, starts: list[Floats]) -> list[_Found]:
    """Where the knots end that start from the given ones, best first."""
    from creases.splines.free_knots._polish_kernel import polish

    ends = [knots.copy() for knots in starts]
    return sorted([(polish(knots, data.t, data.u, data.w), knots) for knots in ends], key=_error)


def _hop(data: Samples, found: list[_Found], numbers: np.random.Generator, count: int) -> None:
    """Descend from the best knots with up to three of them put elsewhere, so many times; what is found joins in."""
    for _ in range(count):
        inner = found[0][1][1:-1]
        moved = numbers.choice(len(inner), min(int(numbers.integers(1, 4)), len(inner)), replace=False)
        start = _with_ends(np.concatenate([np.delete(inner, moved), numbers.random(len(moved))]))
        if (np.diff(start) > 0).all():
            found.extend(_descents(data, [start]))
            found.sort(key=_error)


def _with_ends(inner: Floats) -> Floats:
    return np.concatenate([[0.0], np.sort(inner), [1.0]])


def _finer(grid: Floats, parts: int, more: Floats) -> Floats:
    """The grid, its cells cut into equal parts, and further knots; without cuts that hardly differ from those."""
    between = np.linspace(0, 1, parts, endpoint=False)[1:]
    cuts = (grid[:-1, None] + np.diff(grid)[:, None] * between).ravel()
    more = np.unique(more)
    at = np.clip(np.searchsorted(more, cuts), 1, len(more) - 1)
    near = np.minimum(np.abs(cuts - more[at - 1]), np.abs(cuts - more[at])) < 1e-6
    return np.unique(np.concatenate([grid, cuts[~near], more]))
