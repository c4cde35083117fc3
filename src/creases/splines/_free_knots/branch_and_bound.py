"""Prove that a continuous piecewise-linear fit is optimal, or find a better one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from creases._compiled import jit, jit_internal
from creases._typing import Floats, Ints
from creases.splines._free_knots.optimal_kernel import extend
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
        self._data, self._pieces = data, pieces
        self._tie = _ROUNDING * data.total
        self._moments = interval_moments(data.t, data.u, data.w)
        lines = interval_lines(self._moments)
        pairs = pair_errors(data.t, self._moments, lines)
        self._rest = rest_of_pairs(lines, pairs, pieces)

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
        return search(self._data.t, self._data.u, self._moments, self._rest, self._pieces, level, max_nodes)


def separate_lines_bound(data: Samples, pieces: int) -> float:
    """Return a bound on the error (scaled) of at most ``pieces`` pieces: that of lines that need not meet."""
    size = len(data.t)
    cuts = np.linspace(0, size, min(size, _GROUPS) + 1).astype(np.int64)
    least = separate_lines(data.cumulative_sums()[cuts], pieces, int(size > _GROUPS))
    return max(least - _ROUNDING * data.total, 0.0)


# Compiled branch and bound for the optimal continuous piecewise-linear fit (numba; imported only when first used).

INF = np.inf
START, DATUM, CROSSING, JUMP, END = 0, 1, 2, 3, 4

#: Values of two lines closer than this, relative to the largest y, are equal.
_TOUCH = 1e-10


@jit_internal
def _samples(x: Floats, moments: Floats, kind: int, at: int, end: int, sums: Floats) -> float:
    """Copy the moments of a piece from one knot to ``end`` into row 0 of ``sums``, and return its length.

    A piece after a datum has the samples behind it; others begin with their first sample.
    """
    first = at + 1 if kind == DATUM else at
    for column in range(6):
        sums[0, column] = moments[first, end, column]
    return float(x[end] - x[at])


@jit_internal
def _value_before(sums: Floats, length: float, a: float, b: float, q: float) -> float:
    """Return the best value at the left end of a piece for the value q at its right end (see :func:`extend`)."""
    d, dd, dy = sums[0, 1] / length, sums[0, 2] / (length * length), sums[0, 4] / length
    total = a + dd
    return -(b - dy + (d - dd) * q) / total if total > 1e-15 * (sums[0, 0] + a) else 0.0


@jit_internal
def _end_lines(
    x: Floats, y: Floats, moments: Floats, kinds: Ints, ats: Ints, states: Floats, depth: int, end: int, sums: Floats
) -> tuple[float, float, float, float, bool]:
    """Return the first and last line of the joined pieces that end with sample ``end``, and whether they are unique.

    A line is given by its value at the first, or last, sample and its slope.
    """
    if ats[depth] == end:
        return y[end], 0.0, y[end], 0.0, True
    a, b = states[depth, 3], states[depth, 4]
    if a <= 0:
        return 0.0, 0.0, 0.0, 0.0, False
    q = -b / a
    last_value, last_slope, first_slope, right = q, 0.0, 0.0, end
    for level in range(depth, -1, -1):
        length = _samples(x, moments, kinds[level], ats[level], right, sums)
        p = _value_before(sums, length, states[level, 0], states[level, 1], q)
        first_slope = (q - p) / length
        if level == depth:
            last_slope = first_slope
        q, right = p, ats[level]
        if kinds[level] != DATUM:
            break
    return q, first_slope, last_value, last_slope, True


@jit_internal
def _crossing(x: Floats, end: int, value: float, slope: float, first_value: float, first_slope: float) -> float:
    """Return where a line through sample ``end`` and one through the next cross between these samples, NaN if not."""
    gap = x[end + 1] - x[end]
    before, after = value - (first_value - first_slope * gap), value + slope * gap - first_value
    touch = _TOUCH * (1 + gap * (abs(slope) + abs(first_slope)))
    if abs(before) <= touch:
        return float(x[end])
    if abs(after) <= touch:
        return float(x[end + 1])
    return float(x[end] + gap * (before / (before - after))) if (before < 0) != (after < 0) else np.nan


@jit_internal
def _inner_knots(x: Floats, kinds: Ints, ats: Ints, borders: Floats, depth: int) -> Floats:
    """Return the knots of a structure; those of a jump divide the gap into three."""
    knots, count = np.zeros(2 * depth), 0
    for level in range(1, depth + 1):
        at = ats[level]
        if kinds[level] == JUMP:
            knots[count] = (2 * x[at - 1] + x[at]) / 3
            count += 1
            knots[count] = (x[at - 1] + 2 * x[at]) / 3
        else:
            knots[count] = x[at] if kinds[level] == DATUM else borders[level, 2]
        count += 1
    return knots[:count]


@jit_internal
def _close_block(
    x: Floats,
    y: Floats,
    moments: Floats,
    kinds: Ints,
    ats: Ints,
    states: Floats,
    borders: Floats,
    depth: int,
    end: int,
    new: int,
    sums: Floats,
) -> int:
    """Return whether a block may end with sample ``end``: 1 if it crosses the block before it, 0 if not, -1 if unknown.

    Its last line goes into row ``depth + 1`` of ``borders`` (value, slope, crossing), and the place where its first
    line crosses the block before it into the row of its start.
    """
    start = depth
    while kinds[start] == DATUM:
        start -= 1
    if start == depth and end == ats[depth] and (new == CROSSING or kinds[start] == CROSSING):
        return 0  # a single sample, with a free slope: the structure with a datum beside it is as good
    first, first_slope, last, slope, unique = _end_lines(x, y, moments, kinds, ats, states, depth, end, sums)
    if not unique:
        return -1
    if kinds[start] == CROSSING:
        borders[start, 2] = _crossing(x, ats[start] - 1, borders[start, 0], borders[start, 1], first, first_slope)
        if np.isnan(borders[start, 2]):
            return 0
    borders[depth + 1, 0], borders[depth + 1, 1] = last, slope
    return 1


@jit_internal
def _measure(x: Floats, moments: Floats, kind: int, at: int, end: int, state: Floats, depth: int, sums: Floats) -> None:
    """Extend the quadratic in row ``depth`` of the states (columns 0 to 2) by a piece to ``end`` (columns 3 to 5)."""
    if end == at:  # a single sample: any line through it
        state[depth, 3], state[depth, 4], state[depth, 5] = 0.0, 0.0, state[depth, 2]
        return
    length = _samples(x, moments, kind, at, end, sums)
    a, b, c = extend(sums, 0, length, state[depth, 0], state[depth, 1], state[depth, 2])
    state[depth, 3], state[depth, 4], state[depth, 5] = a, b, c


@jit
def search(
    x: Floats, y: Floats, moments: Floats, rest: Floats, pieces: int, level: float, budget: int
) -> tuple[bool, Floats, float, int]:
    """Return whether a fit has an error below ``level``, the inner knots of the best one, and a bound on all errors.

    The bound is the error of that fit, or ``level``, or less where rounding leaves a structure undecided. The last
    result is what is left of the budget of nodes; if it is negative, the search was cut short and nothing is proved.
    x is strictly increasing.
    """
    size = len(x)
    kinds, ats, used = np.zeros(pieces + 1, np.int64), np.zeros(pieces + 1, np.int64), np.zeros(pieces + 1, np.int64)
    ends, ways = np.zeros(pieces + 1, np.int64), np.zeros(pieces + 1, np.int64)
    states, borders, sums = np.zeros((pieces + 1, 6)), np.zeros((pieces + 2, 3)), np.zeros((1, 6))
    found, best, undecided, depth = False, np.zeros(0), INF, 0
    while depth >= 0:
        end, way = ends[depth], ways[depth]
        if end >= size:
            depth -= 1
            continue
        if way == 0:
            budget -= 1
            if budget < 0:
                break
            _measure(x, moments, kinds[depth], ats[depth], end, states, depth, sums)
        a, b, c = states[depth, 3], states[depth, 4], states[depth, 5]
        low = c - b * b / a if a > 0 else c
        is_last = end == size - 1
        new, cost = END if is_last else way + 1, 2 if way + 1 == JUMP else 1
        ways[depth] += 1
        if way == 2 or is_last:
            ends[depth], ways[depth] = end + 1, 0
        if not low < level:  # longer pieces cost more
            ends[depth] = size
            undecided = 0.0 if np.isnan(low) else undecided
            continue
        left = pieces - used[depth] - cost
        total = low + (rest[left, end + 1] if left >= 0 else INF)
        if not total < level or (new == DATUM and end == ats[depth]):
            continue
        if new != DATUM:
            answer = _close_block(x, y, moments, kinds, ats, states, borders, depth, end, new, sums)
            if answer < 0:
                undecided = min(undecided, total)
            elif answer > 0 and new == END:
                found, level, best = True, low, _inner_knots(x, kinds, ats, borders, depth)
            if answer <= 0 or new == END:
                continue
            a, b, c = 0.0, 0.0, low
        depth += 1
        states[depth, 0], states[depth, 1], states[depth, 2] = a, b, c
        kinds[depth], used[depth], ways[depth] = new, used[depth - 1] + cost, 0
        ats[depth] = end if new == DATUM else end + 1
        ends[depth] = end + 1
    return found, best, min(level, undecided), budget


# Compiled lower bounds on the error of continuous piecewise-linear fits (numba; imported only when first used).


@jit
def interval_moments(x: Floats, y: Floats, w: Floats) -> Floats:
    """Return the sums of w times 1, d, d^2, y, d y, y^2 over samples i to j, (n, n, 6), with ``d = x_j - x``."""
    size = len(x)
    moments = np.zeros((size, size, 6))
    for j in range(size):
        for i in range(j, -1, -1):
            d = x[j] - x[i]
            if i < j:
                for column in range(6):
                    moments[i, j, column] = moments[i + 1, j, column]
            moments[i, j, 0] += w[i]
            moments[i, j, 1] += w[i] * d
            moments[i, j, 2] += w[i] * d * d
            moments[i, j, 3] += w[i] * y[i]
            moments[i, j, 4] += w[i] * d * y[i]
            moments[i, j, 5] += w[i] * y[i] * y[i]
    return moments


@jit
def interval_lines(moments: Floats) -> Floats:
    """Return the best line of samples i to j, (n, n, 5): its error, value at x_j, slope, and two variances.

    These are of its value at x_j and of its slope, for samples with variance 1 / weight; infinite for a single sample.
    """
    size = len(moments)
    lines = np.zeros((size, size, 5))
    for i in range(size):
        for j in range(i, size):
            n, d, dd = moments[i, j, 0], moments[i, j, 1], moments[i, j, 2]
            y, dy, yy = moments[i, j, 3], moments[i, j, 4], moments[i, j, 5]
            spread, cross, rest = dd - d * d / n, dy - d * y / n, yy - y * y / n
            lines[i, j, 1], lines[i, j, 3], lines[i, j, 4] = y / n, INF, INF
            if spread > 1e-13 * dd:
                slope = -cross / spread
                rest -= cross * cross / spread
                lines[i, j, 1] = y / n + slope * d / n
                lines[i, j, 2], lines[i, j, 3], lines[i, j, 4] = slope, dd / (n * spread), 1 / spread
            lines[i, j, 0] = max(rest, 0.0)
    return lines


@jit_internal
def _pair_error(x: Floats, moments: Floats, lines: Floats, i: int, j: int) -> float:
    """Return the least error of two lines that meet, on samples i to j."""
    best: float = lines[i, j, 0]
    for m in range(i, j):
        error = lines[i, m, 0] + lines[m + 1, j, 0]
        if error >= best:
            continue
        if m > i and m + 1 < j and lines[i, m, 3] < INF and lines[m + 1, j, 3] < INF:
            gap, far = x[m + 1] - x[m], x[j] - x[m]
            at_left = lines[i, m, 1] - (lines[m + 1, j, 1] - lines[m + 1, j, 2] * far)
            at_right = at_left + (lines[i, m, 2] - lines[m + 1, j, 2]) * gap
            if (at_left < 0) == (at_right < 0):  # they do not cross between the samples; joined at x_m:
                n, d, dd = moments[m + 1, j, 0], moments[m + 1, j, 1], moments[m + 1, j, 2]
                variance = (dd - 2 * far * d + far * far * n) / n * lines[m + 1, j, 4]
                error += at_left * at_left / (lines[i, m, 3] + variance)
        best = min(best, error)
    return best


@jit
def pair_errors(x: Floats, moments: Floats, lines: Floats) -> Floats:
    """Return the least error of two lines that meet, on samples i to j, (n, n).

    Lines that do not cross between the last sample of one and the first of the other are joined at a sample.
    """
    size = len(x)
    errors = np.zeros((size, size))
    for i in range(size):
        for j in range(i, size):
            errors[i, j] = _pair_error(x, moments, lines, i, j)
    return errors


@jit
def rest_of_pairs(lines: Floats, pairs: Floats, pieces: int) -> Floats:
    """Return bounds on the error of samples j, j + 1, ... with at most r pieces, (pieces + 1, n + 1)."""
    size = len(pairs)
    rest = np.full((pieces + 1, size + 1), INF)
    rest[0, size] = 0.0
    for r in range(1, pieces + 1):
        rest[r, size] = 0.0
        for j in range(size):
            single, double = INF, INF if r > 1 else 0.0
            for end in range(j, size):
                single = min(single, lines[j, end, 0] + rest[r - 1, end + 1])
                if r > 1:
                    double = min(double, pairs[j, end] + rest[r - 2, end + 1])
            rest[r, j] = max(single, double)
    return rest


@jit
def separate_lines(sums: Floats, pieces: int, dropped: int) -> float:
    """Return the least error of at most ``pieces`` separate lines on groups of samples.

    ``sums`` (G + 1, 6) are cumulative sums over the groups of w times 1, x, x^2, y, x y, y^2. If ``dropped`` is 0,
    lines begin and end between groups; if it is 1, they may do so inside a group, whose samples then do not count.
    """
    size = len(sums) - 1
    rest = np.full((pieces + 1, size + 2), INF)
    for r in range(pieces + 1):
        rest[r, size] = rest[r, size + 1] = 0.0
    for begin in range(size - 1, -1, -1):
        for end in range(begin + 1 - dropped, size + 1):
            error = 0.0
            if end > begin:
                n, x, xx = sums[end, 0] - sums[begin, 0], sums[end, 1] - sums[begin, 1], sums[end, 2] - sums[begin, 2]
                y, xy, yy = sums[end, 3] - sums[begin, 3], sums[end, 4] - sums[begin, 4], sums[end, 5] - sums[begin, 5]
                spread, cross, error = xx - x * x / n, xy - x * y / n, yy - y * y / n
                if spread > 1e-12 * xx:
                    error -= cross * cross / spread
                error = max(error, 0.0)
            after = min(end + dropped, size) if end < size else size
            for r in range(1, pieces + 1):
                rest[r, begin] = min(rest[r, begin], error + rest[r - 1, after])
    return float(rest[pieces, 0])
