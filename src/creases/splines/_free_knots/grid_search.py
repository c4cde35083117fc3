"""Piecewise-linear fits with knots on a grid, and off it: the best of few, and steps downhill."""

from __future__ import annotations

import numpy as np

from creases._compiled import jit, jit_internal
from creases._typing import Floats, Ints
from creases.splines._free_knots.optimal_kernel import extend
from creases.splines._samples import Samples

_STARTS = 300  # descents from random knots; fewer for many samples
_WORK = 4e5  # pieces times samples of all those descents: about a third of a second
_FEW = 5  # fits on the grid from which the first descents start


def refine_knots(data: Samples, grid: Floats, trials: list[Floats], *, few: bool) -> Floats:
    """Return the best knots to which descents lead: from fits on the grid (each (k + 1,)) and random knots, or a few.

    The error has many minima in the knots; searches on finer grids between the descents found no better ones.
    """
    rng = np.random.default_rng(0)
    pieces = len(trials[0]) - 1
    count = 0 if few else int(np.clip(_WORK / (pieces * len(data.t)), 10, _STARTS))
    ends = [knots.copy() for knots in trials[: count or _FEW]]
    for _ in range(count):
        ends.append(np.concatenate([[0.0], np.sort(rng.choice(grid[1:-1], pieces - 1, replace=False)), [1.0]]))
    return ends[int(np.argmin([polish(knots, data.t, data.u, data.w) for knots in ends]))]


#: Size of the grid: all distinct x, or this many of them, evenly spaced by rank.
GRID = 600

#: Largest number of fits that a search returns.
MAX_FITS = 30

#: Errors closer than this, relative to the sum of squares of the data, are ties.
TIE_TOLERANCE = 1e-13


def initial_grid(data: Samples) -> Floats:
    """Return the grid of scaled inputs t, from 0 to 1."""
    ranks = np.linspace(0, len(data.t) - 1, min(len(data.t), GRID)).round().astype(np.int64)
    return data.t[ranks]


def search_grid(data: Samples, grid: Floats, pieces: int) -> tuple[list[Floats], float]:
    """Return the knots of the best fits on the grid, best first, and the least error."""
    from creases.splines._free_knots import optimal_kernel as kernel

    moments = kernel.cell_moments(grid, data.t, data.u, data.w)
    start = kernel.greedy(grid, moments, pieces)
    upper = descend(grid, start, data.t, data.u, data.w)
    tie = TIE_TOLERANCE * data.total
    if upper <= tie:
        return [grid[start]], max(upper, 0.0)
    errors = kernel.line_errors(grid, moments)
    rest = kernel.rest_bounds(errors, pieces)
    rows, least = kernel.envelopes(grid, moments, errors, rest, pieces, upper * (1 + 1e-9) + 10 * tie, 0.1 * tie)
    order = np.argsort(least)
    return [*(grid[row] for row in rows[order[:MAX_FITS]]), grid[start]], max(min([upper, *least]), 0.0)


# Compiled kernels for fits at given knots and the descent to better ones (numba; imported only when first used).

# Compiled kernels for the best position of one knot of a continuous piecewise-linear fit, in closed form.

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
