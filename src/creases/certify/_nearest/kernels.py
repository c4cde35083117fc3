"""Compiled solvers of small least-distance problems (numba; imported only when first used).

Both are dual methods: they start at the origin and add violated rows, so every multiplier on the way is valid. What
they return is only a suggestion: callers compute bounds from the multipliers with rounding errors counted.
"""

from __future__ import annotations

import numpy as np

from creases._compiled import jit, jit_internal
from creases._typing import Floats

#: Rows count as violated by more than this, pivots as zero below this.
VIOLATED, PIVOT = 1e-12, 1e-11

#: What a solver ended with.
SOLVED, EMPTY, STOPPED = 0, 1, 2


@jit_internal
def _exchange(T: Floats, r: int, j: int) -> None:
    """Exchange the basic variable of row r with the non-basic one of column j in a condensed tableau."""
    rows, columns = T.shape
    pivot = T[r, j]
    for k in range(columns):
        T[r, k] /= pivot
    T[r, j] = 1.0 / pivot
    for i in range(rows):
        factor = T[i, j]
        if i == r or factor == 0.0:
            continue
        for k in range(columns):
            if k != j:
                T[i, k] -= factor * T[r, k]
        T[i, j] = -factor / pivot


@jit_internal
def _entering(T: Floats, r: int, m: int, n: int) -> int:
    """Return the column that keeps costs non-negative when row r leaves; -1 if there is none."""
    best = np.inf
    for k in range(n):
        if T[r, k] < -PIVOT:
            best = min(best, (T[m, k] + 1e-13) / -T[r, k])  # a little room: among near ties a large pivot is better
    j, size = -1, 0.0
    for k in range(n):
        if T[r, k] < -PIVOT and T[m, k] / -T[r, k] <= best and -T[r, k] > size:
            j, size = k, -T[r, k]
    return j


@jit
def dual_simplex(T: Floats) -> tuple[int, Floats, Floats]:
    """Minimize ``c x`` for ``A x <= b, x >= 0``, c not negative, by the dual simplex method.

    Parameters
    ----------
    T
        (m + 1, n + 1) tableau ``[[A, b], [c, 0]]``; overwritten.

    Returns
    -------
    state, x, y : int, ndarray (n,), (m,)
        ``SOLVED`` with the solution and the multipliers of the rows; ``EMPTY`` with multipliers that show that no x
        exists; ``STOPPED`` after too many steps, with multipliers that are valid still.
    """
    m, n = T.shape[0] - 1, T.shape[1] - 1
    basic, other = np.arange(n, n + m), np.arange(n)
    x, y = np.zeros(n), np.zeros(m)
    state = STOPPED
    for _ in range(20 * (m + n) + 100):
        r, least = -1, -VIOLATED
        for i in range(m):
            if T[i, n] < least:
                r, least = i, T[i, n]
        if r < 0:
            state = SOLVED
            break
        j = _entering(T, r, m, n)
        if j < 0:
            for k in range(n):
                if other[k] >= n:
                    y[other[k] - n] = max(T[r, k], 0.0)
            if basic[r] >= n:
                y[basic[r] - n] = 1.0
            return EMPTY, x, y
        _exchange(T, r, j)
        basic[r], other[j] = other[j], basic[r]
    for i in range(m):
        if basic[i] < n:
            x[basic[i]] = T[i, n]
    for k in range(n):
        if other[k] >= n:
            y[other[k] - n] = max(T[m, k], 0.0)
    return state, x, y


@jit_internal
def _row(N: Floats, i: int, out: Floats) -> None:
    """Write the normal of constraint i: of a row, then of upper limits, then of lower limits."""
    m, n = N.shape
    if i < m:
        for k in range(n):
            out[k] = N[i, k]
        return
    for k in range(n):
        out[k] = 0.0
    if i < m + n:
        out[i - m] = 1.0
    else:
        out[i - m - n] = -1.0


@jit_internal
def _append(Q: Floats, R: Floats, k: int, a: Floats) -> float:
    """Add a normal as column k of a QR factorization; return the length of what is new in it."""
    n = len(a)
    rest = a.copy()
    for j in range(k):
        R[j, k] = 0.0
    for _ in range(2):
        for j in range(k):
            along = 0.0
            for i in range(n):
                along += Q[j, i] * rest[i]
            R[j, k] += along
            for i in range(n):
                rest[i] -= along * Q[j, i]
    size = 0.0
    for i in range(n):
        size += rest[i] * rest[i]
    size = float(np.sqrt(size))
    R[k, k] = size
    for i in range(n):
        Q[k, i] = rest[i] / size if size > 0.0 else 0.0
    return size


@jit
def least_distance(N: Floats, s: Floats, low: Floats, high: Floats) -> tuple[int, Floats, Floats]:
    """Return the point of ``N u <= s, low <= u <= high`` nearest to the origin (Goldfarb & Idnani 1983).

    Rows of N have length 1.

    Returns
    -------
    state, u, y : int, ndarray (n,), (m + 2 n,)
        As for :func:`dual_simplex`; multipliers of the rows, of upper and of lower limits.
    """
    m, n = N.shape
    u, y = np.zeros(n), np.zeros(m + 2 * n)
    active = np.empty(n + 1, np.int64)
    Q, R = np.zeros((n + 1, n)), np.zeros((n + 1, n + 1))
    a, r = np.empty(n), np.empty(n + 1)
    count = 0
    for _ in range(20 * (m + n) + 100):
        size = 1.0
        for k in range(n):
            size = max(size, abs(u[k]))
        p, worst = -1, VIOLATED * size
        for i in range(m):
            over = -s[i]
            for k in range(n):
                over += N[i, k] * u[k]
            if over > worst and y[i] == 0.0:
                p, worst = i, over
        for k in range(n):
            if u[k] - high[k] > worst and y[m + k] == 0.0:
                p, worst = m + k, u[k] - high[k]
            if low[k] - u[k] > worst and y[m + n + k] == 0.0:
                p, worst = m + n + k, low[k] - u[k]
        if p < 0:
            return SOLVED, u, y
        _row(N, p, a)
        for _ in range(m + 2 * n + 1):
            fresh = _append(Q, R, count, a)
            for j in range(count - 1, -1, -1):
                r[j] = R[j, count]
                for i in range(j + 1, count):
                    r[j] -= R[j, i] * r[i]
                r[j] /= R[j, j]
            full, drop, part = np.inf, -1, np.inf
            if fresh > 1e-10 and count < n:
                full = worst / (fresh * fresh)
            for j in range(count):
                if r[j] > 1e-14 and y[active[j]] / r[j] < part:
                    part, drop = y[active[j]] / r[j], j
            if full == np.inf and drop < 0:
                for j in range(m + 2 * n):
                    y[j] = 0.0
                for j in range(count):
                    y[active[j]] = max(-r[j], 0.0)
                y[p] = 1.0
                return EMPTY, u, y
            step = min(full, part)
            if full < np.inf:
                for k in range(n):
                    u[k] -= step * fresh * Q[count, k]
            for j in range(count):
                y[active[j]] = max(y[active[j]] - step * r[j], 0.0)
            y[p] += step
            worst -= step * fresh * fresh if full < np.inf else 0.0
            if full <= part:
                active[count] = p
                count += 1
                break
            y[active[drop]] = 0.0
            for j in range(drop, count - 1):
                active[j] = active[j + 1]
            kept, count = count - 1, drop
            while count < kept:
                normal = np.empty(n)
                _row(N, active[count], normal)
                _append(Q, R, count, normal)
                count += 1
    return STOPPED, u, y


@jit
def l1_tableau(N: Floats, s: Floats, low: Floats, high: Floats) -> Floats:
    """Return the tableau of the least ``|u|_1``: u = p - q, rows of N, then finite upper, then finite lower limits."""
    m, n = N.shape
    rows = m
    for k in range(n):
        rows += np.isfinite(high[k]) + np.isfinite(low[k])
    T = np.zeros((rows + 1, 2 * n + 1))
    for i in range(m):
        for k in range(n):
            T[i, k], T[i, n + k] = N[i, k], -N[i, k]
        T[i, 2 * n] = s[i]
    _limit_rows(T, m, low, high, n, 0.0)
    for k in range(2 * n):
        T[rows, k] = 1.0
    return T


@jit
def linf_tableau(N: Floats, s: Floats, low: Floats, high: Floats) -> Floats:
    """Return the tableau of the least ``|u|_inf = t``: variables u + t and t, rows as for L1, then u <= t."""
    m, n = N.shape
    rows = m
    for k in range(n):
        rows += np.isfinite(high[k]) + np.isfinite(low[k])
    T = np.zeros((rows + n + 1, n + 2))
    for i in range(m):
        for k in range(n):
            T[i, k] = N[i, k]
            T[i, n] -= N[i, k]
        T[i, n + 1] = s[i]
    _limit_rows(T, m, low, high, n, -1.0)
    for k in range(n):
        T[rows + k, k], T[rows + k, n] = 1.0, -2.0
        T[rows + n, k] = 1e-11 * (1.0 + (k % 7) / 7.0)  # without ties the method does not cycle
    T[rows + n, n] = 1.0
    return T


@jit_internal
def _limit_rows(T: Floats, first: int, low: Floats, high: Floats, n: int, shift: float) -> None:
    """Write finite limits of u as rows; u is the difference of columns (shift 0) or less the column n (shift -1)."""
    i = first
    last = T.shape[1] - 1
    for sign in (1.0, -1.0):
        for k in range(n):
            end = high[k] if sign > 0 else -low[k]
            if not np.isfinite(end):
                continue
            T[i, k] = sign
            if shift == 0.0:
                T[i, n + k] = -sign
            else:
                T[i, n] = -sign
            T[i, last] = end
            i += 1
