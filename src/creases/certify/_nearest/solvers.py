"""Solvers of small least-distance problems: by non-negative least squares for L2, by a dual simplex for L1 and Linf.

What they return is only a suggestion: callers compute bounds from the multipliers with rounding errors counted. Nothing
is compiled, so the first question does not wait.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import nnls

from creases._typing import Floats

#: Rows count as violated by more than this, pivots as zero below this.
VIOLATED, PIVOT = 1e-12, 1e-11

#: What a solver ended with.
SOLVED, EMPTY, STOPPED = 0, 1, 2


def least_distance(N: Floats, s: Floats, low: Floats, high: Floats) -> tuple[int, Floats, Floats]:
    """Return the point of ``N u <= s, low <= u <= high`` nearest to the origin, as least squares [1]_.

    Returns
    -------
    state, u, y : int, ndarray (n,), (m + 2 n,)
        As for :func:`dual_simplex`; multipliers of the rows, of upper and of lower limits.

    References
    ----------
    .. [1] Lawson, Hanson, "Solving Least Squares Problems", 1974, section 23.4: least distance programming.
    """
    m, n = N.shape
    up, down = np.flatnonzero(np.isfinite(high)), np.flatnonzero(np.isfinite(low))
    normals, ends = (N, s) if not len(up) + len(down) else _with_limits(N, s, low, high)
    used = np.concatenate([np.arange(m), m + up, m + n + down])
    y, u = np.zeros(m + 2 * n), np.zeros(n)
    problem, last = np.empty((n + 1, len(ends))), np.zeros(n + 1)
    np.negative(normals.T, out=problem[:n])
    np.negative(ends, out=problem[n])
    last[n] = 1.0
    try:
        weights, _ = nnls(problem, last)
    except RuntimeError:  # too many steps
        return STOPPED, u, y
    rest = 1.0 + float(ends @ weights)  # of the squares: 0 where multipliers show that no point exists
    if rest <= VIOLATED:
        y[used] = weights
        return EMPTY, u, y
    y[used] = weights / rest
    return SOLVED, -(y[used] @ normals), y


def dual_simplex(T: Floats) -> tuple[int, Floats, Floats]:
    """Minimize ``c x`` for ``A x <= b, x >= 0``, c not negative, by the dual simplex method.

    It starts at the origin and adds violated rows, so the multipliers are valid at every step.

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
        r = int(T[:m, n].argmin()) if m else -1
        if r < 0 or T[r, n] >= -VIOLATED:
            state = SOLVED
            break
        falls = np.flatnonzero(T[r, :n] < -PIVOT)
        if not len(falls):
            rows = other >= n
            y[other[rows] - n] = np.maximum(T[r, :n][rows], 0.0)
            if basic[r] >= n:
                y[basic[r] - n] = 1.0
            return EMPTY, x, y
        sizes, costs = -T[r, falls], T[m, falls]
        best = ((costs + 1e-13) / sizes).min()  # a little room: among near ties a large pivot is better
        j = int(falls[np.where(costs / sizes <= best, sizes, 0.0).argmax()])
        _exchange(T, r, j)
        basic[r], other[j] = other[j], basic[r]
    inside = basic < n
    x[basic[inside]] = T[:m, n][inside]
    rows = other >= n
    y[other[rows] - n] = np.maximum(T[m, :n][rows], 0.0)
    return state, x, y


def _exchange(T: Floats, r: int, j: int) -> None:
    """Exchange the basic variable of row r with the non-basic one of column j in a condensed tableau."""
    pivot, column = T[r, j], T[:, j].copy()
    T[r] /= pivot
    column[r] = 0.0
    T[:, j] = 0.0
    row = T[r].copy()
    T -= column[:, None] * row
    T[:, j] = -column / pivot
    T[r, j] = 1.0 / pivot


def l1_tableau(N: Floats, s: Floats, low: Floats, high: Floats) -> Floats:
    """Return the tableau of the least ``|u|_1``: u = p - q, rows of N, then finite upper, then finite lower limits."""
    normals, ends = _with_limits(N, s, low, high)
    T = np.zeros((len(ends) + 1, 2 * N.shape[1] + 1))
    T[:-1] = np.hstack([normals, -normals, ends[:, None]])
    T[-1, :-1] = 1.0
    return T


def linf_tableau(N: Floats, s: Floats, low: Floats, high: Floats) -> Floats:
    """Return the tableau of the least ``|u|_inf = t``: variables u + t and t, rows as for L1, then u <= t."""
    n = N.shape[1]
    normals, ends = _with_limits(N, s, low, high)
    T = np.zeros((len(ends) + n + 1, n + 2))
    T[: len(ends)] = np.hstack([normals, -normals.sum(axis=1, keepdims=True), ends[:, None]])
    T[len(ends) : -1, :n], T[len(ends) : -1, n] = np.eye(n), -2.0
    T[-1, :n] = 1e-11 * (1.0 + (np.arange(n) % 7) / 7.0)  # without ties the method does not cycle
    T[-1, n] = 1.0
    return T


def _with_limits(N: Floats, s: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Return rows and ends with finite limits of u below them."""
    eye, up, down = np.eye(N.shape[1]), np.isfinite(high), np.isfinite(low)
    return np.vstack([N, eye[up], -eye[down]]), np.concatenate([s, high[up], -low[down]])
