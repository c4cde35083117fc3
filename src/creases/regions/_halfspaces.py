"""Half-spaces ``N w <= s`` around the origin: linear programs (HiGHS) and nearest points.

Rows of N have length 1, so ``s`` are distances; callers choose the unit of length so that they are neither tiny nor
huge, because the tolerances of a linear program are absolute.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog, nnls

from creases._typing import Floats, Ints
from creases.errors import CreasesError

#: Feasibility and optimality tolerance of HiGHS, the tightest it accepts.
LP_TOLERANCE = 1e-10

#: Rows describe the same plane when their normals and distances agree to this.
SAME_PLANE = 1e-9

#: A row is redundant when leaving it out moves the set by less than this.
REDUNDANT = 1e-9

#: Nearest points of sets with more rows are found from those that bind, and how many are added at once.
MANY_ROWS, ROWS_AT_ONCE = 1024, 64


class UndecidedError(CreasesError):
    """A linear program that HiGHS cannot solve: its rows are too different in size for the required tolerance."""


def maximize(c: Floats, N: Floats, s: Floats) -> tuple[float, Floats | None]:
    """Maximize ``c w`` over ``N w <= s``: ``(inf, None)`` when unbounded, ``(-inf, None)`` when empty.

    Raises :class:`UndecidedError` where HiGHS gives no answer.
    """
    if not len(N):
        return (np.inf, None) if np.any(c) else (0.0, np.zeros(len(c)))
    answer = _linprog(c, N, s, presolve=True)
    if answer.status not in (0, 2, 3):  # presolve may only know "infeasible or unbounded"
        answer = _linprog(c, N, s, presolve=False)
    if answer.status == 0:
        return -float(answer.fun), np.asarray(answer.x)
    if answer.status == 3:
        return np.inf, None
    if answer.status == 2:
        return -np.inf, None
    raise UndecidedError(f"a linear program with {len(N)} rows in {len(c)} dimensions did not finish: {answer.message}")


def _linprog(c: Floats, N: Floats, s: Floats, *, presolve: bool) -> Any:
    options: Any = {
        "presolve": presolve,
        "primal_feasibility_tolerance": LP_TOLERANCE,
        "dual_feasibility_tolerance": LP_TOLERANCE,
    }
    return linprog(-c, A_ub=N, b_ub=s, bounds=(None, None), method="highs", options=options)


def chebyshev(N: Floats, s: Floats, *, cap: float = np.inf) -> tuple[Floats, float]:
    """Return the center and radius of a largest ball in ``N w <= s``, at most ``cap`` in radius.

    The radius is negative when the set is empty, and infinite when it contains balls of every size.
    """
    d = N.shape[1]
    rows, last = np.column_stack([N, np.ones(len(N))]), np.eye(1, d + 1, d)
    if np.isfinite(cap):
        rows, s = np.vstack([rows, last]), np.append(s, cap)
    value, point = maximize(last[0], rows, s)
    return (np.zeros(d), value) if point is None else (point[:d], value)


def same_plane(N: Floats, s: Floats, row: int) -> NDArray[np.bool_]:
    """Return which rows (c,) describe the same half-space as one of them."""
    same: NDArray[np.bool_] = (np.abs(N - N[row]).max(axis=1) <= SAME_PLANE) & (np.abs(s - s[row]) <= SAME_PLANE)
    return same


def facet_center(N: Floats, s: Floats, row: int) -> tuple[Floats, float]:
    """Return the center, a point of the relative interior, and the radius of a largest disc in the facet of a row."""
    normal = N[row]
    others = np.delete(N, row, axis=0)
    along = others @ normal
    flat = _rotate(others - along[:, None] * normal, normal)  # the other rows within the facet's plane
    lengths = np.linalg.norm(flat, axis=1)
    room = np.delete(s, row) - s[row] * along
    parallel = lengths <= 1e-9  # the same plane, or one on the far side: no edge of the facet
    size = np.abs(room[~parallel]).max(initial=1.0)
    center, radius = chebyshev(
        flat[~parallel] / lengths[~parallel, None], room[~parallel] / lengths[~parallel], cap=size
    )
    return _rotate(center[None], normal, back=True)[0] + s[row] * normal, radius


def _rotate(rows: Floats, normal: Floats, *, back: bool = False) -> Floats:
    """Map rows (c, d) orthogonal to ``normal`` to coordinates (c, d - 1) of the plane orthogonal to it, or ``back``.

    A linear program with a direction that no row constrains may return any point along it, however far. The plane's
    coordinates are all but one of a reflection that takes the normal to that axis.
    """
    axis = int(np.abs(normal).argmax())
    mirror = normal.copy()
    mirror[axis] += np.copysign(1.0, normal[axis])
    if back:
        rows = np.insert(rows, axis, 0.0, axis=1)
        return rows - (rows @ mirror)[:, None] * (2 / (mirror @ mirror)) * mirror
    along = rows[:, axis] * np.copysign(1.0, normal[axis])  # rows @ mirror, without the part that is zero
    return np.delete(rows - along[:, None] * (2 / (mirror @ mirror)) * mirror, axis, axis=1)


def irredundant(N: Floats, s: Floats, inside: Floats) -> Ints:
    """Return the rows without which ``N w <= s`` would be larger; ``inside`` is a point of its interior.

    Each row is decided by a certificate from non-negative least squares, about a hundred times faster than a linear
    program in many dimensions, and by a linear program where that is inconclusive.
    """
    order = np.lexsort((np.arange(len(s)), np.round(np.log1p(s), 12)))
    _, first = np.unique(np.round(N[order], 12) + 0.0, axis=0, return_index=True)
    rows = np.sort(order[first])  # of rows with the same normal the tightest, the first of equal ones
    N, s = N[rows], s[rows] - N[rows] @ inside
    keep = np.ones(len(rows), bool)
    for i in reversed(range(len(rows))):  # of two rows that make each other redundant the first stays
        keep[i] = False
        others, room = N[keep], s[keep] / s[i]
        beyond = _extends_beyond(N[i], others, room)
        if beyond is None:
            value, _ = maximize(N[i], np.vstack([others, N[i]]), np.append(room, 2.0))
            beyond = value > 1 + REDUNDANT
        keep[i] = beyond
    return rows[keep]


def _extends_beyond(normal: Floats, N: Floats, s: Floats) -> bool | None:
    """Return whether ``N w <= s`` extends beyond ``normal w = 1``, None when inconclusive.

    Least distance to ``normal w >= 1 + gap`` within the set: a solution is a witness that it does; the multipliers of
    an unsolvable problem (Farkas) write the row as a combination of others, a witness that it does not.
    """
    gap = 1e-6
    E = np.vstack([np.column_stack([-N.T, normal]), np.append(-s, 1 + gap)])
    try:
        u, norm = nnls(E, np.eye(1, len(E), len(E) - 1)[0], maxiter=100 * E.shape[1])
    except RuntimeError:  # too many steps
        return None
    r = E @ u
    r[-1] -= 1
    if norm > 1e-5:
        w = -r[:-1] / r[-1]
        return True if normal @ w > 1 + gap / 2 and (N @ w <= s + 1e-12).all() else None
    weights = u[:-1] / u[-1] if u[-1] > 0 else None
    if weights is None or np.linalg.norm(weights @ N - normal) > 1e-10 or weights @ s > 1 + REDUNDANT:
        return None
    return False


def nearest_point(N: Floats, s: Floats) -> Floats | None:
    """Return the point of ``N w <= s`` nearest to the origin, None when there is none within 1e7 units of length.

    Lawson & Hanson, Solving Least Squares Problems, ch. 23: non-negative least squares of ``[-N, -s]^T u`` to
    ``(0, ..., 0, 1)``; its residual r gives ``w = -r[:d] / r[d]``. The rows it finds tight are then solved for exactly.
    """
    d = N.shape[1]
    if not len(N) or (s >= 0).all():
        return np.zeros(d)
    E = np.vstack([-N.T, -s[None]])
    u, norm = nnls(E, np.eye(1, d + 1, d)[0], maxiter=100 * len(N))
    if norm <= 1e-7:  # norm is 1 / sqrt(1 + |w|^2)
        return None
    tight = u > 0
    w = np.asarray(np.linalg.lstsq(N[tight], s[tight], rcond=None)[0], np.float64)
    if (N @ w <= s + 1e-9 * (1 + np.linalg.norm(w))).all():
        return w
    r = E @ u
    r[-1] -= 1
    return np.asarray(-r[:-1] / r[-1], np.float64)


def nearest_point_from(N: Floats, s: Floats, normal: Floats, distance: float) -> Floats | None:
    """Return :func:`nearest_point` of ``N w <= s`` and the row ``normal w <= distance``, most rows of N being loose.

    Of more than ``MANY_ROWS`` rows only a few bind at the nearest point. They are found as in cutting-plane methods:
    the nearest point for the rows found so far is the one for all rows once it satisfies all.
    """
    if len(N) <= MANY_ROWS:
        return nearest_point(np.vstack([N, normal]), np.append(s, distance))
    binding = np.zeros(0, np.int64)
    while True:
        w = nearest_point(np.vstack([N[binding], normal]), np.append(s[binding], distance))
        if w is None:
            return None
        excess = N @ w - s
        excess[binding] = 0.0
        violated = np.flatnonzero(excess > 1e-9 * (1 + np.linalg.norm(w)))
        if not len(violated):
            return w
        worst = violated[np.argsort(excess[violated])[-ROWS_AT_ONCE:]]
        binding = np.sort(np.append(binding, worst))
