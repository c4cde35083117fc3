"""Compiled fits at given knots, and their improvement knot by knot (numba; imported only when first used).

A continuous piecewise-linear function with knots t_0 < ... < t_k is a sum of its values at the knots times hat
functions; the normal equations of its least-squares values are tridiagonal.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from creases.regions.compiled import compiled, inner

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

GOLDEN = (np.sqrt(5.0) - 1) / 2


@compiled
def error_at(knots: Floats, x: Floats, y: Floats, w: Floats) -> float:
    """Squared error of the best values at the knots, summed over residuals. x is sorted; the end knots enclose it."""
    size = len(knots)
    diagonal, above, right = np.zeros(size), np.zeros(size), np.zeros(size)
    piece = 0
    for n in range(len(x)):
        while piece < size - 2 and x[n] > knots[piece + 1]:
            piece += 1
        t = (x[n] - knots[piece]) / (knots[piece + 1] - knots[piece])
        diagonal[piece] += w[n] * (1 - t) * (1 - t)
        above[piece] += w[n] * t * (1 - t)
        diagonal[piece + 1] += w[n] * t * t
        right[piece] += w[n] * (1 - t) * y[n]
        right[piece + 1] += w[n] * t * y[n]
    ridge = 1e-14 * diagonal.max()  # a knot that no datum sees would divide by zero
    diagonal[0] += ridge
    for k in range(1, size):
        factor = above[k - 1] / diagonal[k - 1]
        diagonal[k] = max(diagonal[k] - factor * above[k - 1], 0.0) + ridge
        right[k] -= factor * right[k - 1]
    right[size - 1] /= diagonal[size - 1]
    for k in range(size - 2, -1, -1):
        right[k] = (right[k] - above[k] * right[k + 1]) / diagonal[k]
    error = 0.0
    piece = 0
    for n in range(len(x)):
        while piece < size - 2 and x[n] > knots[piece + 1]:
            piece += 1
        t = (x[n] - knots[piece]) / (knots[piece + 1] - knots[piece])
        miss = y[n] - (1 - t) * right[piece] - t * right[piece + 1]
        error += w[n] * miss * miss
    return error


@compiled
def descend(grid: Floats, chosen: Ints, x: Floats, y: Floats, w: Floats) -> float:
    """Move one knot at a time to its best place on the grid until none moves; ``chosen`` (grid indices) in place."""
    knots = grid[chosen]
    best = error_at(knots, x, y, w)
    moved = True
    while moved:
        moved = False
        for k in range(1, len(knots) - 1):
            here = chosen[k]
            for place in range(chosen[k - 1] + 1, chosen[k + 1]):
                knots[k] = grid[place]
                error = error_at(knots, x, y, w)
                if error < best * (1 - 1e-12):
                    best, here, moved = error, place, True
            chosen[k], knots[k] = here, grid[here]
    return best


@inner
def _golden(
    knots: Floats, k: int, low: float, high: float, x: Floats, y: Floats, w: Floats, steps: int
) -> tuple[float, float]:
    """Place and error of knot k at a minimum between low and high, by golden section."""
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    knots[k] = left
    at_left = error_at(knots, x, y, w)
    knots[k] = right
    at_right = error_at(knots, x, y, w)
    for _ in range(steps):
        if at_left < at_right:
            high, right, at_right = right, left, at_left
            left = high - GOLDEN * (high - low)
            knots[k] = left
            at_left = error_at(knots, x, y, w)
        else:
            low, left, at_left = left, right, at_right
            right = low + GOLDEN * (high - low)
            knots[k] = right
            at_right = error_at(knots, x, y, w)
    return (left, at_left) if at_left < at_right else (right, at_right)


@compiled
def golden_round(knots: Floats, x: Floats, y: Floats, w: Floats, best: float, reach: int, steps: int) -> float:
    """Move each inner knot in turn to the best place near it; the error, ``knots`` in place.

    Near are the gap between data that it is in and ``reach`` gaps on either side: the error is smooth within a gap, and
    may be least at a datum.
    """
    for k in range(1, len(knots) - 1):
        here = knots[k]
        gap = np.searchsorted(x, here)  # x[gap - 1] < here <= x[gap]
        for right in range(max(gap - reach, 1), min(gap + reach, len(x) - 1) + 1):
            low, high = max(x[right - 1], knots[k - 1]), min(x[right], knots[k + 1])
            if high <= low:
                continue
            knots[k] = high
            place, error = high, error_at(knots, x, y, w) if high < knots[k + 1] else np.inf
            between, less = _golden(knots, k, low, high, x, y, w, steps)
            if less < error:
                place, error = between, less
            if error < best and knots[k - 1] < place < knots[k + 1]:
                best, here = error, place
        knots[k] = here
    return best
