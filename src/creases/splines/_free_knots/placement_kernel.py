"""Compiled kernels for the best position of one knot of a continuous piecewise-linear fit, in closed form.

Let the knot lie at t in a gap between two samples, and let l and r be the separate best fits of what is left and right
of it: neither depends on t as long as t passes no sample, and both are lines in the gap. Joining them there costs
``(l(t) - r(t))^2 / g(t)``, where g(t) is the sum of the variances of the two values, a positive quadratic. So the least
error in a gap is where the two lines cross, or else at one of its ends: the cost has only one other stationary point, a
maximum. Values at knots further away are eliminated one after the other, as in the dynamic program.
"""

from __future__ import annotations

import numpy as np

from creases._compiled import jit, jit_internal
from creases._typing import Floats, Ints
from creases.splines._free_knots.optimal_kernel import extend

INF = np.inf


@jit_internal
def _add(sums: Floats, row: int, s: float, y: float, w: float) -> None:
    """Add one sample to a row of sums of w times 1, s, s^2, y, s y, y^2."""
    sums[row, 0] += w
    sums[row, 1] += w * s
    sums[row, 2] += w * s * s
    sums[row, 3] += w * y
    sums[row, 4] += w * s * y
    sums[row, 5] += w * y * y


@jit_internal
def _start(sums: Floats, row: int, quadratic: Floats, k: int) -> None:
    """Start sums with the samples beyond a knot, whose least error is row k of quadratics in the value there."""
    for column in range(6):
        sums[row, column] = 0.0
    sums[row, 0], sums[row, 3], sums[row, 5] = quadratic[k, 0], -quadratic[k, 1], quadratic[k, 2]


@jit_internal
def _pass(
    x: Floats, y: Floats, w: Floats, begin: int, end: int, knots: Floats, far: int, near: int, quadratics: Floats
) -> None:
    """Compute the least error beyond a knot, as a quadratic in the value there, from that beyond its neighbour.

    Samples ``begin`` to ``end`` lie between the two knots.
    """
    sums = np.zeros((1, 6))
    for n in range(begin, end):
        _add(sums, 0, abs(knots[near] - x[n]), y[n], w[n])
    length = abs(knots[near] - knots[far])
    a, b, c = extend(sums, 0, length, quadratics[far, 0], quadratics[far, 1], quadratics[far, 2])
    quadratics[near, 0], quadratics[near, 1], quadratics[near, 2] = a, b, c


@jit_internal
def _right_of(x: Floats, place: float) -> int:
    """Return the number of samples at a place or left of it."""
    low, high = 0, len(x)
    while low < high:
        middle = (low + high) // 2
        if x[middle] <= place:
            low = middle + 1
        else:
            high = middle
    return low


@jit_internal
def _from_right(knots: Floats, x: Floats, y: Floats, w: Floats, first: Ints, after: Floats) -> None:
    """Compute the least errors right of each knot, as quadratics in the value there, into ``after`` (K + 1, 3).

    The index of the first sample of each piece (t_c, t_c+1], and the number of samples, go into ``first`` (K + 1,).
    """
    last = len(knots) - 1
    first[0], first[last] = 0, len(x)
    for column in range(3):
        after[last, column] = 0.0
    for c in range(last - 1, 0, -1):
        first[c] = _right_of(x, knots[c])
        _pass(x, y, w, first[c], first[c + 1], knots, c + 1, c, after)


@jit_internal
def _line(sums: Floats, row: int) -> tuple[float, float, float, float]:
    """Return value at s = 0, slope and error of the best line, and the determinant, 0 if the slope is free."""
    n, s, ss = sums[row, 0], sums[row, 1], sums[row, 2]
    y, sy, yy = sums[row, 3], sums[row, 4], sums[row, 5]
    det = n * ss - s * s
    if det <= 1e-13 * n * ss:
        return 0.0, 0.0, yy - y * y / n if n > 0 else yy, 0.0
    value, slope = (ss * y - s * sy) / det, (n * sy - s * y) / det
    return value, slope, yy - value * y - slope * sy, det


@jit_internal
def _spread(sums: Floats, row: int, s: float, det: float) -> float:
    """Return the variance of the line's value at s, for samples with variance 1 / weight."""
    return float((sums[row, 2] - 2 * s * sums[row, 1] + s * s * sums[row, 0]) / det)


@jit_internal
def _between(
    x: Floats, y: Floats, w: Floats, begin: int, end: int, left: float, right: float, sums: Floats
) -> tuple[float, float]:
    """Return the best place for a knot between two others, and the total error with it there.

    Samples ``begin`` to ``end`` lie between them. In sums (N + 2, 6) the last row holds what is left of the left knot,
    row ``end`` what is right of the right one; the rows from ``begin`` on are scratch space.
    """
    for n in range(end - 1, begin - 1, -1):
        for column in range(6):
            sums[n, column] = sums[n + 1, column]
        _add(sums, n, right - x[n], y[n], w[n])
    left_row = len(x) + 1
    place, best, low = left, INF, left
    for n in range(begin, end + 1):
        high = x[n] if n < end else right
        if high > low:
            p, m, error, det = _line(sums, left_row)
            q, k, more, other = _line(sums, n)
            error += more
            at_low = p + m * (low - left) - q - k * (right - low)
            at_high = p + m * (high - left) - q - k * (right - high)
            candidate = high
            if det == 0 or other == 0:  # one side can meet the other anywhere
                candidate = (low + high) / 2
            elif (at_low < 0) != (at_high < 0):
                candidate = low + (high - low) * (at_low / (at_low - at_high))
            elif high < right:
                error += at_high**2 / (
                    _spread(sums, left_row, high - left, det) + _spread(sums, n, right - high, other)
                )
            if error < best and left < candidate < right:
                place, best = candidate, error
        if n < end:
            _add(sums, left_row, x[n] - left, y[n], w[n])
            low = max(low, x[n])
    return place, best


@jit
def place_round(knots: Floats, x: Floats, y: Floats, w: Floats) -> None:
    """Move each inner knot in turn to the best place between its neighbours, in place."""
    size, end = len(knots), len(x)
    first, before, after = np.zeros(size, np.int64), np.zeros((size, 3)), np.zeros((size, 3))
    sums = np.zeros((end + 2, 6))
    _from_right(knots, x, y, w, first, after)
    for k in range(1, size - 1):
        _start(sums, end + 1, before, k - 1)
        _start(sums, first[k + 1], after, k + 1)
        place, error = _between(x, y, w, first[k - 1], first[k + 1], knots[k - 1], knots[k + 1], sums)
        if error < INF:
            knots[k] = place
            first[k] = _right_of(x, place)
        _pass(x, y, w, first[k - 1], first[k], knots, k - 1, k, before)


@jit
def exchange(knots: Floats, x: Floats, y: Floats, w: Floats) -> tuple[Floats, float]:
    """Return the best knots that differ in one from the given ones, and their error up to rounding."""
    size, end = len(knots), len(x)
    first, before, after = np.zeros(size - 1, np.int64), np.zeros((size - 1, 3)), np.zeros((size - 1, 3))
    sums, rest = np.zeros((end + 2, 6)), np.zeros(size - 1)
    best, least = knots.copy(), INF
    for removed in range(1, size - 1):
        for k in range(size - 1):
            rest[k] = knots[k] if k < removed else knots[k + 1]
        _from_right(rest, x, y, w, first, after)
        for k in range(size - 2):
            _start(sums, end + 1, before, k)
            _start(sums, first[k + 1], after, k + 1)
            place, error = _between(x, y, w, first[k], first[k + 1], rest[k], rest[k + 1], sums)
            if error < least:
                least = error
                for c in range(size):
                    best[c] = rest[c] if c <= k else place if c == k + 1 else rest[c - 1]
            _pass(x, y, w, first[k], first[k + 1], rest, k, k + 1, before)
    return best, least
