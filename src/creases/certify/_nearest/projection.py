"""The point of a polytope nearest to the origin, in three norms, with a lower bound that needs no trust in a solver.

For any ``y >= 0`` every u with ``N u <= s`` is at least ``-(y s) / |N^T y|`` away, in the dual norm: the multipliers of
the solution make this the distance itself, and multipliers that are a little off a bound that is a little lower. It is
computed with all rounding errors counted against it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array

from creases._typing import Floats
from creases.certify._nearest.layers import gamma
from creases.certify._nearest.question import dual_length
from creases.certify._nearest.rounding import TINY
from creases.certify._nearest.solvers import SOLVED, dual_simplex, l1_tableau, least_distance, linf_tableau

#: Feasibility tolerance of linear programs, the tightest that HiGHS accepts.
LP_TOLERANCE = 1e-10

#: Longer than any vector whose squares are too small for floats.
SQUARES = 1e-150

#: Rows shorter than this share of the longest are rounding: they bound nothing.
SHORT = 1e-13

#: Most entries of a dense tableau; larger programs are sparse.
TABLEAU = 2**17


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
    if value <= 0:
        return Distance(0.0)
    pull = y @ N + limits
    error = share * (y @ np.abs(N) + up + down) + TINY
    size = max(dual_length(np.abs(pull) + error, norm) * (1 + share), SQUARES)
    bound = value / size * (1 - share)
    if not np.isfinite(reach):
        return Distance(bound)
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
    if (m + 3 * n) * 2 * n > TABLEAU:
        return _solve_sparse(N, s, low, high, norm)
    tableau = (l1_tableau if norm == "l1" else linf_tableau)(N, s, low, high)
    state, x, y = dual_simplex(tableau)
    u = x[:n] - x[n:] if norm == "l1" else x[:n] - x[n]
    up, down, first = np.zeros(n), np.zeros(n), m
    for part, end in ((up, high), (down, low)):
        finite = np.isfinite(end)
        part[finite] = y[first : first + int(finite.sum())]
        first += int(finite.sum())
    return state, u, y[:m], up, down


def _solve_sparse(N: Floats, s: Floats, low: Floats, high: Floats, norm: str) -> Solution:
    """Solve a larger linear program by HiGHS: u = p - q for L1, |u| <= t for Linf."""
    n, m = N.shape[1], len(s)
    A: Any
    if norm == "l1":
        A, b, cost = np.hstack([N, -N]), s, np.ones(2 * n)
        ends = (np.maximum(np.append(low, -high), 0.0), np.maximum(np.append(high, -low), 0.0))
    else:
        A = np.zeros((m + 2 * n, n + 1))
        A[:m, :n], A[m : m + n, :n], A[m + n :, :n], A[m:, n] = N, np.eye(n), -np.eye(n), -1.0
        A = csr_array(A)
        b, cost = np.append(s, np.zeros(2 * n)), np.eye(1, n + 1, n)[0]
        ends = (np.append(low, 0.0), np.append(high, np.inf))
    options: Any = {"primal_feasibility_tolerance": LP_TOLERANCE, "dual_feasibility_tolerance": LP_TOLERANCE}
    limits: Any = np.column_stack(ends)
    answer: Any = linprog(cost, A, b, bounds=limits, method="highs", options=options)
    if answer.status != 0:
        return _solve(N, s, low, high, "l2")
    u = answer.x[:n] - answer.x[n:] if norm == "l1" else answer.x[:n]
    y = np.maximum(-answer.ineqlin.marginals[:m], 0.0)
    if norm == "l1":  # limits take the part of N^T y that the norm does not pay for
        pull = y @ N
        up = np.maximum(np.where(high < 0, 1.0, -1.0) - pull, 0.0)
        down = np.maximum(np.where(low > 0, 1.0, -1.0) + pull, 0.0)
    else:
        up, down = np.maximum(-answer.upper.marginals[:n], 0.0), np.maximum(answer.lower.marginals[:n], 0.0)
    return SOLVED, u, y, up, down
