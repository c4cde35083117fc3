"""Prove that a continuous piecewise-linear fit is optimal, or find a better one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from creases._typing import Floats
from creases.splines._samples import Samples

#: With more samples than this there is no search, and only separate lines bound the error.
MAX_SAMPLES = 500

#: With more samples than this, they are put into as many groups for that bound.
_GROUPS = 2500

#: Bounds are lowered by this much of the sum of squares of the data, and errors this close are equal: rounding.
_ROUNDING = 1e-12

#: How many levels below the best error are tried where the budget does not suffice for that error itself.
_LEVELS = 4


class Proof(NamedTuple):
    """The result of a search: better knots, if any, and a bound on the error of all fits."""

    knots: Floats | None  #: scaled, with both ends
    bound: float  #: in scaled units
    is_complete: bool  #: whether the search ended, so that the better of the fit given and ``knots`` is optimal


class BranchAndBound:
    """Bounds on the error of fits with at most ``pieces`` pieces, and the search that uses them."""

    def __init__(self, data: Samples, pieces: int) -> None:
        from creases.splines._free_knots import branch_kernel as bounds

        self._data, self._pieces = data, pieces
        self._tie = _ROUNDING * data.total
        self._moments = bounds.interval_moments(data.t, data.u, data.w)
        lines = bounds.interval_lines(self._moments)
        pairs = bounds.pair_errors(data.t, self._moments, lines)
        self._rest = bounds.rest_of_pairs(lines, pairs, pieces)

    def prove(self, error: float, max_nodes: int) -> Proof:
        """Search for a fit with an error below the one given (scaled), and bound that of all others.

        Where the budget of nodes does not suffice, it is spent again to prove that no fit is below some lower level.
        """
        bound = min(max(float(self._rest[self._pieces, 0]) - self._tie, 0.0), error)
        level = error * (1 - 1e-10) - self._tie
        if bound >= level or max_nodes == 0:
            return Proof(None, bound, bound >= level)
        found, inner, least, left = self._search(level, max_nodes)
        knots = np.unique(np.concatenate([[0.0], inner, [1.0]])) if found else None
        if left >= 0:
            return Proof(knots, max(min(least, error) - self._tie, bound), least >= level or found)
        for _ in range(_LEVELS):
            middle = (bound + level) / 2
            _, _, least, left = self._search(middle, max_nodes // _LEVELS)
            if left >= 0:
                bound = max(bound, least - self._tie)
            else:
                level = middle
        return Proof(knots, bound, False)

    def _search(self, level: float, max_nodes: int) -> tuple[bool, Floats, float, int]:
        from creases.splines._free_knots.branch_kernel import search

        return search(self._data.t, self._data.u, self._moments, self._rest, self._pieces, level, max_nodes)


def separate_lines_bound(data: Samples, pieces: int) -> float:
    """Return a bound on the error (scaled) of at most ``pieces`` pieces: that of lines that need not meet."""
    from creases.splines._free_knots.branch_kernel import separate_lines

    size = len(data.t)
    cuts = np.linspace(0, size, min(size, _GROUPS) + 1).astype(np.int64)
    least = separate_lines(data.cumulative_sums()[cuts], pieces, int(size > _GROUPS))
    return max(least - _ROUNDING * data.total, 0.0)
