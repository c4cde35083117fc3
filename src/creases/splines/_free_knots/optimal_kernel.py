"""Compiled dynamic program for the optimal continuous piecewise-linear fit (numba; imported only when first used).

A state is (s, j): s pieces end at grid knot j with the value q. Its least error is a minimum of convex quadratics
``a q^2 + 2 b q + c`` in q, one per path to it that is best for some q. From (s - 1, i) with the value p, one more
piece costs ``C_ij(p, q)``, a quadratic form; p is eliminated in closed form, so that each quadratic of (s - 1, i) gives
one candidate for (s, j), and only the lower envelope of the candidates is kept.

Samples belong to cells (g_{c-1}, g_c] of the grid (the first cell is closed). Moments are computed about the right end
of a cell, in ``d = g_c - x >= 0``: shifting them to a knot further right only adds positive terms, so nothing cancels.
"""

from __future__ import annotations

import numpy as np

from creases._compiled import jit, jit_internal
from creases._typing import Floats, Ints

INF = np.inf


@jit
def cell_moments(grid: Floats, x: Floats, y: Floats, w: Floats) -> Floats:
    """Return the sums of w times 1, d, d^2, y, d y, y^2 over each cell, (M, 6); row 0 is empty. x is sorted."""
    moments = np.zeros((len(grid), 6))
    cell = 1
    for n in range(len(x)):
        while x[n] > grid[cell]:
            cell += 1
        d = grid[cell] - x[n]
        moments[cell, 0] += w[n]
        moments[cell, 1] += w[n] * d
        moments[cell, 2] += w[n] * d * d
        moments[cell, 3] += w[n] * y[n]
        moments[cell, 4] += w[n] * d * y[n]
        moments[cell, 5] += w[n] * y[n] * y[n]
    return moments


@jit_internal
def _gather(grid: Floats, moments: Floats, j: int, out: Floats) -> None:
    """Compute the moments about knot j of all samples in (g_i, g_j], for every i < j, into rows of ``out``."""
    for column in range(6):
        out[j, column] = 0.0
    for i in range(j - 1, -1, -1):
        shift = grid[j] - grid[i + 1]
        n, d, dd = moments[i + 1, 0], moments[i + 1, 1], moments[i + 1, 2]
        y, dy = moments[i + 1, 3], moments[i + 1, 4]
        out[i, 0] = out[i + 1, 0] + n
        out[i, 1] = out[i + 1, 1] + d + shift * n
        out[i, 2] = out[i + 1, 2] + dd + shift * (2 * d + shift * n)
        out[i, 3] = out[i + 1, 3] + y
        out[i, 4] = out[i + 1, 4] + dy + shift * y
        out[i, 5] = out[i + 1, 5] + moments[i + 1, 5]


@jit
def line_errors(grid: Floats, moments: Floats) -> Floats:
    """Return the least squared error of a separate line on the samples in (g_i, g_j], (M, M), for i < j."""
    size = len(grid)
    errors = np.zeros((size, size))
    sums = np.zeros((size, 6))
    for j in range(1, size):
        _gather(grid, moments, j, sums)
        for i in range(j):
            n, d, dd, y, dy, yy = sums[i, 0], sums[i, 1], sums[i, 2], sums[i, 3], sums[i, 4], sums[i, 5]
            if n > 0:
                spread, cross, rest = dd - d * d / n, dy - d * y / n, yy - y * y / n
                if spread > 1e-13 * dd:
                    rest -= cross * cross / spread
                errors[i, j] = max(rest, 0.0)
    return errors


@jit
def rest_bounds(errors: Floats, pieces: int) -> Floats:
    """Return the least error right of knot j with r separate lines, (pieces + 1, M): a bound for continuous fits."""
    size = len(errors)
    rest = np.full((pieces + 1, size), INF)
    rest[0, size - 1] = 0.0
    for r in range(1, pieces + 1):
        for j in range(size - 1):
            for after in range(j + 1, size):
                rest[r, j] = min(rest[r, j], errors[j, after] + rest[r - 1, after])
    return rest


@jit_internal
def extend(sums: Floats, i: int, length: float, a: float, b: float, c: float) -> tuple[float, float, float]:
    """Return the quadratic in q after one more piece from a quadratic in p, with the best p for each q.

    A value q that matters to less than 1e-11 of the weight of the samples is treated as free: the rest is rounding.
    """
    n, d, dd = sums[i, 0], sums[i, 1] / length, sums[i, 2] / (length * length)
    y, dy = sums[i, 3], sums[i, 4] / length
    pp, pq, qq = dd, d - dd, n - 2 * d + dd
    bp, bq = b - dy, dy - y
    total = a + pp
    if total <= 1e-15 * (n + a):  # p is free: nothing left of q depends on it
        total, pq, bp = 1.0, 0.0, 0.0
    ratio = pq / total
    curvature, least = qq - pq * ratio, c + sums[i, 5] - bp * bp / total
    if curvature <= 1e-11 * n:
        return 0.0, 0.0, least
    return curvature, bq - bp * ratio, least


@jit_internal
def _least(a: float, b: float, c: float) -> float:
    return c - b * b / a if a > 0 else c


@jit
def greedy(grid: Floats, moments: Floats, pieces: int) -> Ints:
    """Return a greedy fit, as grid indices of pieces + 1 knots: the dynamic program with one quadratic per state."""
    size = len(grid)
    a, b, c = np.zeros((pieces + 1, size)), np.zeros((pieces + 1, size)), np.full((pieces + 1, size), INF)
    best, parent = np.full((pieces + 1, size), INF), np.zeros((pieces + 1, size), np.int64)
    best[0, 0] = c[0, 0] = 0.0
    sums = np.zeros((size, 6))
    for j in range(1, size):
        _gather(grid, moments, j, sums)
        for s in range(1, pieces + 1):
            for i in range(s - 1, j):
                if best[s - 1, i] == INF:
                    continue
                na, nb, nc = extend(sums, i, grid[j] - grid[i], a[s - 1, i], b[s - 1, i], c[s - 1, i])
                low = _least(na, nb, nc)
                if low < best[s, j]:
                    best[s, j], parent[s, j] = low, i
                    a[s, j], b[s, j], c[s, j] = na, nb, nc
    knots = np.zeros(pieces + 1, np.int64)
    knots[pieces] = size - 1
    for s in range(pieces, 0, -1):
        knots[s - 1] = parent[s, knots[s]]
    return knots


@jit_internal
def _lower(da: float, db: float, dc: float) -> tuple[float, float, bool]:
    """Return where ``da q^2 + 2 db q + dc < 0``: between two numbers or, if the flag is set, outside them."""
    if da == 0:
        if db == 0:
            return (-INF, INF, False) if dc < 0 else (INF, -INF, False)
        return (-INF, -dc / (2 * db), False) if db > 0 else (-dc / (2 * db), INF, False)
    disc = db * db - da * dc
    if disc <= 0:
        return INF, -INF, da < 0
    turn = -(db + np.sqrt(disc)) if db >= 0 else -(db - np.sqrt(disc))
    first, second = turn / da, dc / turn
    return min(first, second), max(first, second), da < 0


@jit_internal
def _insert(
    starts: Floats, ids: Ints, count: int, new_starts: Floats, new_ids: Ints, rows: Floats, new: int, slack: float
) -> int:
    """Insert a quadratic, row ``new`` with the interval of q where it is valid, into a lower envelope.

    The envelope is given by the starts of its intervals and their owners; the new one is written to ``new_starts`` and
    ``new_ids``, and its length is returned, 0 if nothing changed. The quadratic replaces others only where it is lower
    by more than ``slack``, so that ties and rounding make no slivers.
    """
    begin, end = rows[new, 3], rows[new, 4]
    k, above = 0, count  # the last interval that starts at ``begin`` or before, or the first
    while k + 1 < above:
        middle = (k + above) // 2
        if starts[middle] <= begin:
            k = middle
        else:
            above = middle
    size = 0
    for at in range(k, count):
        if starts[at] >= end:
            break
        old = ids[at]
        left, right = max(starts[at], begin), min(starts[at + 1] if at + 1 < count else INF, end)
        low, high, outside = _lower(
            rows[new, 0] - rows[old, 0], rows[new, 1] - rows[old, 1], rows[new, 2] - rows[old, 2] + slack
        )
        low, high = max(low, left), min(high, right)
        if low >= high:
            low, high = left, left
        if size == 0 and (high == left and not outside) | (low == left and high == right and outside):
            continue  # no gain so far
        if size == 0:
            for before in range(at):
                new_starts[before], new_ids[before] = starts[before], ids[before]
            size = at
        size = _push(new_starts, new_ids, size, starts[at], left, old)
        size = _push(new_starts, new_ids, size, left, low, new if outside else old)
        size = _push(new_starts, new_ids, size, low, high, old if outside else new)
        size = _push(new_starts, new_ids, size, high, right, new if outside else old)
        size = _push(new_starts, new_ids, size, right, starts[at + 1] if at + 1 < count else INF, old)
        k = at
    if size > 0:
        for at in range(k + 1, count):
            size = _push(new_starts, new_ids, size, starts[at], starts[at + 1] if at + 1 < count else INF, ids[at])
    return size


@jit_internal
def _push(new_starts: Floats, new_ids: Ints, size: int, begin: float, end: float, owner: int) -> int:
    """Append an interval to an envelope unless it is empty or has the same owner as the previous one."""
    if begin < end and (size == 0 or new_ids[size - 1] != owner):
        new_starts[size], new_ids[size] = begin, owner
        size += 1
    return size


@jit_internal
def _valid_values(
    sums: Floats, i: int, length: float, a: float, b: float, left: float, right: float
) -> tuple[float, float]:
    """Return the values q at the new knot for which the best value p at the previous knot is between left and right."""
    dd = sums[i, 2] / (length * length)
    pq = sums[i, 1] / length - dd
    total, bp = a + dd, b - sums[i, 4] / length
    if pq <= 1e-14 * total or total <= 1e-15 * (sums[i, 0] + a):  # the best p is the same for all q
        return -INF, INF
    return -(total * right + bp) / pq, -(total * left + bp) / pq


@jit
def envelopes(
    grid: Floats, moments: Floats, errors: Floats, rest: Floats, pieces: int, bound: float, slack: float
) -> tuple[Ints, Floats]:
    """Return the best fits on the grid among those with an error of at most ``bound``.

    These are the knots (n, pieces + 1), as grid indices, of the best fit for each place of the last inner knot, and
    their errors (n,).
    """
    size = len(grid)
    pool, links = np.zeros((1024, 5)), np.zeros((1024, 2), np.int64)  # quadratic, interval of q; parent, its knot
    begin, count = np.zeros((pieces, size), np.int64), np.zeros((pieces, size), np.int64)
    lows = np.full((pieces, size), INF)
    pool[0, 3], pool[0, 4] = -INF, INF
    count[0, 0], lows[0, 0], used = 1, 0.0, 1
    sums = np.zeros((size, 6))
    final, final_parent = np.full(size, INF), np.zeros(size, np.int64)
    for j in range(1, size):
        _gather(grid, moments, j, sums)
        for s in range(1, pieces + 1):
            level = bound - rest[pieces - s, j]
            if (s == pieces) != (j == size - 1) or level < 0:
                continue
            if s == pieces:
                for i in range(s - 1, j):
                    for old in range(begin[s - 1, i], begin[s - 1, i] + count[s - 1, i]):
                        a, b, c = extend(sums, i, grid[j] - grid[i], pool[old, 0], pool[old, 1], pool[old, 2])
                        if _least(a, b, c) < min(final[i], level):
                            final[i], final_parent[i] = _least(a, b, c), old
                continue
            rows, parents, starts, ids = _state(
                grid, sums, errors, pool, begin[s - 1], count[s - 1], lows[s - 1], j, s, level, slack
            )
            while used + len(ids) > len(pool):
                pool, links = np.concatenate((pool, pool)), np.concatenate((links, links))
            begin[s, j] = used
            for k in range(len(ids)):
                row = ids[k]
                if row > 0:
                    pool[used, 0], pool[used, 1], pool[used, 2] = rows[row, 0], rows[row, 1], rows[row, 2]
                    pool[used, 3], pool[used, 4] = starts[k], starts[k + 1] if k + 1 < len(ids) else INF
                    links[used, 0], links[used, 1] = parents[row, 0], parents[row, 1]
                    lows[s, j] = min(lows[s, j], _least(rows[row, 0], rows[row, 1], rows[row, 2]))
                    used += 1
            count[s, j] = used - begin[s, j]
    return _trace_back(final, final_parent, links, pieces), final[final < INF]


@jit_internal
def _state(
    grid: Floats,
    sums: Floats,
    errors: Floats,
    pool: Floats,
    begin: Ints,
    count: Ints,
    lows: Floats,
    j: int,
    s: int,
    level: float,
    slack: float,
) -> tuple[Floats, Ints, Floats, Ints]:
    """Return the envelope of one state.

    It consists of the rows of quadratics, their parents, the starts of the intervals and their owners. Row 0 is the
    level above which nothing can be part of a fit within the bound.
    """
    rows, parents = np.zeros((256, 5)), np.zeros((256, 2), np.int64)
    starts, ids, new_starts, new_ids = np.zeros(256), np.zeros(256, np.int64), np.zeros(256), np.zeros(256, np.int64)
    rows[0, 2], starts[0] = level, -INF
    filled, used = 1, 1
    for i in range(s - 1, j):
        if lows[i] + errors[i, j] > level:
            continue
        length = grid[j] - grid[i]
        for old in range(begin[i], begin[i] + count[i]):
            a, b, c = extend(sums, i, length, pool[old, 0], pool[old, 1], pool[old, 2])
            if _least(a, b, c) > level:
                continue
            if used == len(rows):
                rows, parents = np.concatenate((rows, rows)), np.concatenate((parents, parents))
            if 3 * filled + 3 > len(starts):
                starts, new_starts = np.concatenate((starts, starts)), np.concatenate((new_starts, new_starts))
                ids, new_ids = np.concatenate((ids, ids)), np.concatenate((new_ids, new_ids))
            rows[used, 0], rows[used, 1], rows[used, 2] = a, b, c
            rows[used, 3], rows[used, 4] = _valid_values(
                sums, i, length, pool[old, 0], pool[old, 1], pool[old, 3], pool[old, 4]
            )
            longer = _insert(starts, ids, filled, new_starts, new_ids, rows, used, slack)
            if longer > 0:
                parents[used, 0], parents[used, 1] = old, i
                starts, new_starts, ids, new_ids, filled = new_starts, starts, new_ids, ids, longer
                used += 1
    return rows, parents, starts[:filled], ids[:filled]


@jit_internal
def _trace_back(final: Floats, final_parent: Ints, links: Ints, pieces: int) -> Ints:
    """Return the knots of the fits, from the last to the first."""
    knots = np.zeros((len(final[final < INF]), pieces + 1), np.int64)
    row = 0
    for i in range(len(final)):
        if final[i] < INF:
            knots[row, pieces], knots[row, pieces - 1] = len(final) - 1, i
            at = final_parent[i]
            for s in range(pieces - 2, -1, -1):
                knots[row, s] = links[at, 1]
                at = links[at, 0]
            row += 1
    return knots
