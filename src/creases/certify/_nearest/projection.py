"""The point of a polytope nearest to the origin, in three norms, with a lower bound that needs no trust in a solver.

For any ``y >= 0`` every u with ``N u <= s`` is at least ``-(y s) / |N^T y|`` away, in the dual norm: the multipliers of
the solution make this the distance itself, and multipliers that are a little off a bound that is a little lower.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linprog, nnls
from scipy.sparse import csr_array

from creases._typing import Floats
from creases.certify._nearest.question import dual_length

#: Feasibility tolerance of linear programs, the tightest that HiGHS accepts.
LP_TOLERANCE = 1e-10

#: Rows shorter than this share of the longest are rounding: they bound nothing.
SHORT = 1e-13

#: A row without a normal holds nowhere when its end is negative by more than this share of the other rows' sizes.
TIE = 1e-11


class Nearest(NamedTuple):
    """The nearest point of a polytope (None: none was found), a proven bound, and the multipliers of its rows."""

    u: Floats | None  #: (n,)
    bound: float  #: no point of the polytope is nearer; infinite or huge where there is none
    y: Floats  #: (rows,) of the rows of N, not of the limits
    toward: Floats | None = None  #: (n,) of dual norm 1: ``toward u >= bound`` in the polytope


def project(N: Floats, s: Floats, low: Floats, high: Floats, norm: str) -> Nearest:
    """Return the point of ``N u <= s, low <= u <= high`` nearest to the origin.

    The unit of length should be near the distance: callers divide s and the limits by their best answer.
    """
    if (low > high).any():
        return Nearest(None, np.inf, np.zeros(len(s)))
    sizes = np.linalg.norm(N, axis=1)
    longest = sizes.max(initial=0.0)
    y = np.zeros(len(s))
    never = (sizes == 0) & (s < -TIE * max(longest, np.abs(s).max(initial=0.0)))
    if never.any():  # 0 <= a negative number
        y[never.argmax()] = 1.0
        return Nearest(None, np.inf, y)
    rows = np.flatnonzero(sizes > SHORT * longest)
    part = _project(N[rows] / sizes[rows, None], s[rows] / sizes[rows], low, high, norm)
    y[rows] = part.y / sizes[rows]
    return Nearest(part.u, part.bound, y, part.toward)


def _project(N: Floats, s: Floats, low: Floats, high: Floats, norm: str) -> Nearest:
    if (s >= 0).all() and (low <= 0).all() and (high >= 0).all():
        return Nearest(np.zeros(len(low)), 0.0, np.zeros(len(s)))
    return _project_l2(N, s, low, high) if norm == "l2" else _project_lp(N, s, low, high, norm)


def row_bound(N: Floats, s: Floats, norm: str) -> float:
    """Return the distance of the farthest of the planes ``N u <= s`` alone."""
    sizes = np.array([dual_length(row, norm) for row in N])
    far = s < 0
    if (far & (sizes == 0)).any():
        return np.inf
    return float((-s[far] / sizes[far]).max(initial=0.0))


def dual_bound(y: Floats, N: Floats, s: Floats, norm: str) -> float:
    """Return the bound that multipliers y >= 0 prove, 0 at least."""
    value = -float(y @ s)
    if value <= 0:
        return 0.0
    size = dual_length(y @ N, norm)
    return np.inf if size == 0 else value / size


def _project_l2(N: Floats, s: Floats, low: Floats, high: Floats) -> Nearest:
    """Solve by non-negative least squares (Lawson & Hanson, ch. 23); limits join when they are violated."""
    n, m = N.shape[1], len(s)
    limit_rows = np.zeros((0, n))
    limit_s = np.zeros(0)
    eye = np.eye(n)
    u = np.zeros(n)
    used = np.zeros(2 * n, bool)
    while True:
        room = 1e-12 * (1 + np.abs(u))
        over = np.concatenate([u > high + room, u < low - room]) & ~used
        if over.any():
            used |= over
            which = np.flatnonzero(used)
            limit_rows = np.where(which[:, None] < n, eye[which % n], -eye[which % n])
            limit_s = np.concatenate([high, -low])[which]
        rows, ends = np.vstack([N, limit_rows]), np.concatenate([s, limit_s])
        y, u = _least_distance(rows, ends)
        bound = dual_bound(y, rows, ends, "l2")
        room = 1e-12 * (1 + np.abs(u))
        if bound > 1e7:
            return Nearest(None, bound, y[:m])
        if not (np.concatenate([u > high + room, u < low - room]) & ~used).any():
            pull = y @ rows
            return Nearest(np.clip(u, low, high), bound, y[:m], -pull / max(float(np.linalg.norm(pull)), 1e-300))


def _least_distance(N: Floats, s: Floats) -> tuple[Floats, Floats]:
    """Return multipliers and the point of ``N u <= s`` nearest to the origin; a far point where there is none."""
    n = N.shape[1]
    if (s >= 0).all():
        return np.zeros(len(s)), np.zeros(n)
    E = np.vstack([-N.T, -s[None]])
    try:
        y, _ = nnls(E, np.eye(1, n + 1, n)[0], maxiter=30 * (len(s) + n))
    except RuntimeError:  # too many steps: bound by the farthest plane alone
        y = np.zeros(len(s))
        y[s.argmin()] = 1.0
    r = E @ y
    r[-1] -= 1.0
    u = -r[:-1] / min(r[-1], -1e-300)
    tight = y > 0
    if tight.any() and np.abs(u).max(initial=0.0) < 1e6:
        exact = np.linalg.lstsq(N[tight], s[tight], rcond=None)[0]
        if (N @ exact <= s + 1e-12 * (1 + np.linalg.norm(exact))).all():
            u = exact
    return y, u


def _project_lp(N: Floats, s: Floats, low: Floats, high: Floats, norm: str) -> Nearest:
    """Solve as a linear program: u = p - q for L1, |u| <= t for Linf."""
    n, m = N.shape[1], len(s)
    ends: tuple[Floats, Floats]
    A: Any
    if norm == "l1":
        A, b, cost = np.hstack([N, -N]), s, np.ones(2 * n)
        ends = (np.maximum(np.append(low, -high), 0.0), np.maximum(np.append(high, -low), 0.0))
    else:
        A = np.zeros((m + 2 * n, n + 1))
        A[:m, :n], A[m : m + n, :n], A[m + n :, :n], A[m:, n] = N, np.eye(n), -np.eye(n), -1.0
        A = csr_array(A) if n > 100 else A
        b, cost = np.append(s, np.zeros(2 * n)), np.eye(1, n + 1, n)[0]
        ends = (np.append(low, 0.0), np.append(high, np.inf))
    options: Any = {"primal_feasibility_tolerance": LP_TOLERANCE, "dual_feasibility_tolerance": LP_TOLERANCE}
    limits: Any = np.column_stack(ends)
    answer: Any = linprog(cost, A, b, bounds=limits, method="highs", options=options)
    if answer.status == 2:
        return _infeasible(N, s, low, high, norm)
    if answer.status != 0:
        return Nearest(None, row_bound(N, s, norm), np.zeros(m))
    u = answer.x[:n] - answer.x[n:] if norm == "l1" else answer.x[:n]
    y = np.maximum(-answer.ineqlin.marginals[:m], 0.0)
    if norm == "l1":  # limits take the part of N^T y that the norm does not pay for
        pull = y @ N
        up = np.maximum(np.where(high < 0, 1.0, -1.0) - pull, 0.0)
        down = np.maximum(np.where(low > 0, 1.0, -1.0) + pull, 0.0)
    else:
        up, down = np.maximum(-answer.upper.marginals[:n], 0.0), np.maximum(answer.lower.marginals[:n], 0.0)
    bound, toward = _bound_with_limits(y, N, s, (up, high), (down, low), norm)
    return Nearest(np.clip(u, low, high), bound, y, toward)


def _bound_with_limits(
    y: Floats, N: Floats, s: Floats, upper: tuple[Floats, Floats], lower: tuple[Floats, Floats], norm: str
) -> tuple[float, Floats]:
    """Return the bound that multipliers prove, of rows and of limits (with their ends), and the way it points."""
    (up, high), (down, low) = (
        (np.where(np.isfinite(end), weight, 0.0), np.where(np.isfinite(end), end, 0.0))
        for weight, end in (upper, lower)
    )
    value = -float(y @ s + up @ high - down @ low)
    pull = y @ N + up - down
    size = dual_length(pull, norm)
    bound = 0.0 if value <= 0 else np.inf if size == 0 else value / size
    return bound, -pull / max(size, 1e-300)


def _infeasible(N: Floats, s: Floats, low: Floats, high: Floats, norm: str) -> Nearest:
    """Return the bound of a polytope that the solver calls empty: that of multipliers which show it."""
    near = _project_l2(N, s, low, high)
    factor = {"l1": 1.0, "linf": 1.0 / np.sqrt(max(1, N.shape[1]))}[norm]  # |u|_1 >= |u|_2 >= |u|_inf >= |u|_2 / sqrt n
    return Nearest(None, near.bound * factor, near.y)
