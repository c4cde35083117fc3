"""Compiled dynamic program for the best piecewise-linear fit with jumps (numba; imported only when first used)."""

from __future__ import annotations

import numpy as np

from creases._compiled import jit, jit_internal
from creases._typing import Floats, Ints

INF = np.inf


@jit_internal
def bounded_line(sums: Floats, begin: int, end: int, low: float, high: float) -> tuple[float, float, float]:
    """Return mean, slope and error of the best line with a slope from low to high on groups ``begin`` to ``end``."""
    n, x, xx = sums[end, 0] - sums[begin, 0], sums[end, 1] - sums[begin, 1], sums[end, 2] - sums[begin, 2]
    y, xy, yy = sums[end, 3] - sums[begin, 3], sums[end, 4] - sums[begin, 4], sums[end, 5] - sums[begin, 5]
    spread, cross, error = xx - x * x / n, xy - x * y / n, yy - y * y / n
    if spread <= 1e-12 * xx:
        return y / n, min(max(0.0, low), high), max(error, 0.0)
    slope = min(max(cross / spread, low), high)
    return y / n, slope, max(error - slope * (2 * cross - slope * spread), 0.0)


@jit
def best_cuts(sums: Floats, edges: Floats, pieces: int, low: float, high: float, min_length: float) -> Ints:
    """Return the ends of at most ``pieces`` lines with the least error, as indices of edges; empty if infeasible.

    ``sums`` (G + 1, 6) are cumulative sums over groups of samples of w times 1, x, x^2, y, x y, y^2; ``edges`` (G + 1,)
    lie between the groups.
    """
    size = len(edges) - 1
    rest, after = np.full((pieces + 1, size + 1), INF), np.zeros((pieces + 1, size + 1), np.int64)
    for r in range(pieces + 1):
        rest[r, size] = 0.0
    for begin in range(size - 1, -1, -1):
        for end in range(begin + 1, size + 1):
            if edges[end] - edges[begin] < min_length * (1 - 1e-12):
                continue
            error = bounded_line(sums, begin, end, low, high)[2]
            for r in range(1, pieces + 1):
                if error + rest[r - 1, end] < rest[r, begin]:
                    rest[r, begin], after[r, begin] = error + rest[r - 1, end], end
    cuts, count, at = np.zeros(pieces, np.int64), 0, 0
    if rest[pieces, 0] == INF:
        return cuts[:0]
    while at < size:
        at = after[pieces - count, at]
        cuts[count] = at
        count += 1
    return cuts[:count]
