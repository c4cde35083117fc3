"""The point of a polytope nearest to the origin, in three norms, with a lower bound that needs no trust in a solver.

For any ``y >= 0`` every u with ``N u <= s`` is at least ``-(y s) / |N^T y|`` away, in the dual norm: the multipliers of
the solution make this the distance itself, and multipliers that are a little off a bound that is a little lower. It is
computed with all rounding errors counted against it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls

from creases._typing import Floats
from creases.certify._maximize.linear_program import Solver
from creases.certify._nearest.question import dual_length
from creases.certify.proofs._rounding import TINY, gamma

#: What a solver ended with; the share of 1 below which least squares show that there is no point.
SOLVED, EMPTY, STOPPED, NOTHING = 0, 1, 2, 1e-12

#: Squares of larger numbers overflow: least squares are not made for them.
LARGEST = 1e150

#: Longer than any vector whose squares are too small for floats.
SQUARES = 1e-150

#: Rows shorter than this share of the longest are rounding: they bound nothing.
SHORT = 1e-13


class Nearest(NamedTuple):
    """The nearest point of a polytope, None if none was found, and multipliers that may show its distance."""

    u: Floats | None  #: (n,)
    y: Floats  #: (rows,) of the rows of N, not of the limits
    limits: Floats  #: (n,) of upper limits, less those of lower ones


class Distance(NamedTuple):
    """What multipliers prove of a polytope, in real arithmetic."""

    bound: float  #: no point of the polytope is nearer; infinite or huge where there is none
    toward: Floats | None = None  #: (n,) with ``toward u >= beyond`` in the polytope; None if there is no such plane
    beyond: float = 0.0  #: close to the bound


def project(N: Floats, s: Floats, low: Floats, high: Floats, norm: str) -> Nearest:
    """Return the point of ``N u <= s, low <= u <= high`` nearest to the origin.

    The unit of length should be near the distance: callers divide s and the limits by their best answer.
    """
    m, n = N.shape
    sizes = np.sqrt((N * N).sum(axis=1))
    never = (sizes == 0) & (s < 0)
    if never.any():  # 0 <= a negative number
        return Nearest(None, np.eye(1, m, int(never.argmax()))[0], np.zeros(n))
    if (s >= 0).all() and (low <= 0).all() and (high >= 0).all():
        return Nearest(np.zeros(n), np.zeros(m), np.zeros(n))
    rows = np.flatnonzero(sizes > SHORT * sizes.max(initial=0.0))
    state, u, y, up, down = _solve(N[rows] / sizes[rows, None], s[rows] / sizes[rows], low, high, norm)
    multipliers = np.zeros(m)
    multipliers[rows] = y / sizes[rows]
    limits = np.where(np.isfinite(high), up, 0.0) - np.where(np.isfinite(low), down, 0.0)
    return Nearest(np.clip(u, low, high) if state == SOLVED else None, multipliers, limits)


def bound_distance(
    y: Floats, limits: Floats, polytope: tuple[Floats, Floats, Floats, Floats], norm: str, reach: float = np.inf
) -> Distance:
    """Return what multipliers of rows and limits prove of ``N u <= s, low <= u <= high``, rounding errors included.

    Only points with entries of at most ``reach`` count; without a reach there is no plane.
    """
    N, s, low, high = polytope
    up, down = np.maximum(limits, 0.0), np.maximum(-limits, 0.0)
    top, bottom = np.where(up > 0, high, 0.0), np.where(down > 0, low, 0.0)
    share = gamma(len(s) + 2 * len(low) + 10)
    value = -float(y @ s + up @ top - down @ bottom)
    value -= share * float(y @ np.abs(s) + up @ np.abs(top) + down @ np.abs(bottom)) + TINY
    if not value > 0:  # nan is of overflow
        return Distance(0.0)
    pull = y @ N + limits
    error = share * (y @ np.abs(N) + up + down) + TINY
    size = max(dual_length(np.abs(pull) + error, norm) * (1 + share), SQUARES)
    bound = value / size * (1 - share)
    if not (np.isfinite(reach) and bound > 0):
        return Distance(bound if bound > 0 else 0.0)
    toward = -pull / size  # toward u >= (value - error |u|) / size, up to the roundings of this division
    lost = float((error / size + share * np.abs(toward)).sum()) * reach
    return Distance(bound, toward, bound - lost * (1 + share))


Solution = tuple[int, Floats, Floats, Floats, Floats]


def _solve(N: Floats, s: Floats, low: Floats, high: Floats, norm: str) -> Solution:
    """Return a state, u, and multipliers of rows, of upper and of lower limits."""
    m, n = N.shape
    if norm == "l2":
        state, u, y = least_distance(N, s, low, high)
        return state, u, y[:m], y[m : m + n], y[m + n :]
    if norm == "l1":  # u = p - q
        rows, limits, cost = np.hstack([N, -N]), s, -np.ones(2 * n)
        ends = (np.maximum(np.append(low, -high), 0.0), np.maximum(np.append(high, -low), 0.0))
    else:  # |u| <= t
        eye, t = np.eye(n), np.ones((n, 1))
        rows = np.vstack([np.hstack([N, np.zeros((m, 1))]), np.hstack([eye, -t]), np.hstack([-eye, -t])])
        limits, cost = np.append(s, np.zeros(2 * n)), -np.eye(1, n + 1, n)[0]
        ends = (np.append(low, 0.0), np.append(high, np.inf))
    answer = Solver().maximize(cost, rows, limits, *ends)
    if answer is None:
        return _solve(N, s, low, high, "l2")
    y = answer.multipliers[:m]
    if answer.point is None:
        return EMPTY, np.zeros(n), y, np.maximum(-(y @ N), 0.0), np.maximum(y @ N, 0.0)
    u = answer.point[:n] - answer.point[n:] if norm == "l1" else answer.point[:n]
    # Limits take the part of N^T y that the norm does not pay for.
    if norm == "l1":
        up, down = np.where(high < 0, 1.0, -1.0) - y @ N, np.where(low > 0, 1.0, -1.0) + y @ N
    else:
        down = y @ N + answer.multipliers[m : m + n] - answer.multipliers[m + n :]
        up = -down
    return SOLVED, u, y, np.maximum(up, 0.0), np.maximum(down, 0.0)


def least_distance(N: Floats, s: Floats, low: Floats, high: Floats) -> tuple[int, Floats, Floats]:
    """Return the point of ``N u <= s, low <= u <= high`` nearest to the origin, as least squares [1]_.

    Returns
    -------
    state, u, y : int, ndarray (n,), (m + 2 n,)
        ``SOLVED`` with the point, ``EMPTY`` or ``STOPPED``; multipliers of the rows, of upper and of lower limits.

    References
    ----------
    .. [1] Lawson, Hanson, "Solving Least Squares Problems", 1974, section 23.4: least distance programming.
    """
    m, n = N.shape
    up, down = np.flatnonzero(np.isfinite(high)), np.flatnonzero(np.isfinite(low))
    eye = np.eye(n)
    normals, ends = np.vstack([N, eye[up], -eye[down]]), np.concatenate([s, high[up], -low[down]])
    used = np.concatenate([np.arange(m), m + up, m + n + down])
    y, u = np.zeros(m + 2 * n), np.zeros(n)
    problem, last = np.empty((n + 1, len(ends))), np.zeros(n + 1)
    np.negative(normals.T, out=problem[:n])
    np.negative(ends, out=problem[n])
    last[n] = 1.0
    if not len(ends) or not (np.abs(problem) < LARGEST).all():  # nnls itself crashes without a column
        return STOPPED, u, y
    try:
        weights, _ = nnls(problem, last)
    except RuntimeError:  # too many steps
        return STOPPED, u, y
    rest = 1.0 + float(ends @ weights)  # of the squares: 0 where multipliers show that no point exists
    if rest <= NOTHING:
        y[used] = weights
        return EMPTY, u, y
    y[used] = weights / rest
    return SOLVED, -(y[used] @ normals), y
