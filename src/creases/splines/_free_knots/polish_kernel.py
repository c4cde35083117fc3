"""Compiled kernels for fits at given knots and the descent to better ones (numba; imported only when first used).

A continuous piecewise-linear function with knots t_0 < ... < t_k is a sum of its values at the knots times hat
functions; the normal equations of its least-squares values are tridiagonal.
"""

from __future__ import annotations

import numpy as np

from creases._compiled import jit, jit_internal
from creases._typing import Floats, Ints
from creases.splines._free_knots.placement_kernel import exchange, place_round

ROUNDS = 100
GAIN = 1e-9  # relative decreases of the error below this do not count


@jit
def error_at(knots: Floats, x: Floats, y: Floats, w: Floats) -> float:
    """Return the squared error of the best values at the knots. x is sorted; the end knots enclose it."""
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
    ridge = 0.0  # a knot without samples would divide by zero
    for k in range(size):
        ridge = max(ridge, 1e-14 * diagonal[k])
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


@jit
def descend(grid: Floats, places: Ints, x: Floats, y: Floats, w: Floats) -> float:
    """Move one knot at a time to its best place on the grid until none moves; ``places`` (grid indices) in place."""
    knots = grid[places]
    best = error_at(knots, x, y, w)
    moved = True
    while moved:
        moved = False
        for k in range(1, len(knots) - 1):
            best_place = places[k]
            for place in range(places[k - 1] + 1, places[k + 1]):
                knots[k] = grid[place]
                error = error_at(knots, x, y, w)
                if error < best * (1 - 1e-12):
                    best, best_place, moved = error, place, True
            places[k], knots[k] = best_place, grid[best_place]
    return best


@jit_internal
def _crossings(knots: Floats, x: Floats, y: Floats, w: Floats, to: Floats) -> None:
    """Compute where the separate best lines of neighbouring pieces cross, into ``to``; knots at free lines stay."""
    n, last = 0, len(knots) - 1
    x1, y1, m1, known = 0.0, 0.0, 0.0, False  # of the previous piece: means, slope, whether it has one
    for c in range(last):
        start, mass, x2, y2 = n, 0.0, 0.0, 0.0
        while n < len(x) and (x[n] <= knots[c + 1] or c == last - 1):
            mass += w[n]
            x2 += w[n] * x[n]
            y2 += w[n] * y[n]
            n += 1
        spread, cross = 0.0, 0.0
        if mass > 0:
            x2, y2 = x2 / mass, y2 / mass
            for i in range(start, n):
                spread += w[i] * (x[i] - x2) ** 2
                cross += w[i] * (x[i] - x2) * (y[i] - y2)
        sloped = spread > 1e-26 * mass
        m2 = cross / spread if sloped else 0.0
        if c > 0:
            to[c] = knots[c]
            if known and sloped and m1 != m2:
                to[c] = min(max(x1 + (y2 - y1 - m2 * (x2 - x1)) / (m1 - m2), knots[0]), knots[last])
        x1, y1, m1, known = x2, y2, m2, sloped


@jit_internal
def _increasing(knots: Floats) -> bool:
    least = np.inf
    for k in range(1, len(knots)):
        least = min(least, knots[k] - knots[k - 1])
    return least > 0


@jit_internal
def _joint(knots: Floats, x: Floats, y: Floats, w: Floats, best: float) -> float:
    """Move all inner knots towards the crossings, with steps halved until the error decreases; ``knots`` in place.

    These are Gauss-Newton steps (Muggeo 2003, "segmented" regression): ``J (x - t - d)_+`` is ``J (x - t)_+ - J d [x >
    t]`` for small d, exactly so while no sample is passed, and with free jumps at the knots the pieces are separate
    lines.
    """
    to, trial = knots.copy(), knots.copy()
    for _ in range(ROUNDS):
        _crossings(knots, x, y, w, to)
        fraction, error = 1.0, np.inf
        while fraction > 2e-4:
            for k in range(1, len(knots) - 1):
                trial[k] = knots[k] + fraction * (to[k] - knots[k])
            error = error_at(trial, x, y, w) if _increasing(trial) else np.inf
            if error < best * (1 - GAIN):
                break
            fraction /= 2
        if not error < best * (1 - GAIN):
            break
        for k in range(1, len(knots) - 1):
            knots[k] = trial[k]
        best = error
    return best


@jit
def polish(knots: Floats, x: Floats, y: Floats, w: Floats) -> float:
    """Move the inner knots to a minimum of the error that moving any single knot does not improve; in place.

    Alternates joint steps, which are fast where knots depend on each other; the best place of each knot between its
    neighbours, which may be past samples; and, if neither helps, the best exchange of one knot for one anywhere.
    """
    best = error_at(knots, x, y, w)
    for _ in range(ROUNDS):
        before = best
        best = _joint(knots, x, y, w, best)
        for way in range(2):
            if best >= before * (1 - GAIN):
                trial = knots.copy()
                if way == 0:
                    place_round(trial, x, y, w)
                else:
                    trial, _ = exchange(knots, x, y, w)
                error = error_at(trial, x, y, w) if _increasing(trial) else np.inf
                if error < best:
                    best = error
                    for k in range(1, len(knots) - 1):
                        knots[k] = trial[k]
        if best >= before * (1 - GAIN):
            break
    return best
