"""A polytope of inputs: ``A x <= b`` within a box."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linprog

from creases._typing import Bools, Floats
from creases._validation import check_box, check_numbers, check_vector
from creases.errors import InputError

#: A point is in a polytope if it is beyond no row by more than this, relative to the size of the row's terms.
INSIDE = 1e-9


@dataclass(frozen=True, eq=False)
class Domain:
    """The inputs of a box with ``A x <= b``; a box alone has no rows."""

    box: Floats  #: (n, 2)
    A: Floats  #: (r, n)
    b: Floats  #: (r,)

    @property
    def is_box(self) -> bool:
        """Whether it is a box alone."""
        return not len(self.b)

    def contains(self, X: Floats) -> Bools:
        """Return which points (p, n) are inside, up to rounding: (p,)."""
        room = INSIDE * (np.abs(X) @ np.abs(self.A).T + np.abs(self.b))
        low, high = self.box.T
        in_box = ((low <= X) & (high >= X)).all(axis=1)
        return np.asarray(in_box & (X @ self.A.T - self.b <= room).all(axis=1))

    def within(self, box: Floats) -> Domain:
        """Return the part of the polytope in a smaller box."""
        return Domain(box, self.A, self.b)

    def maximize(self, c: Floats, constant: Floats | None = None) -> tuple[float, Floats | None]:
        """Maximize ``c x``, or the smallest of several ``c x + constant``: ``(-inf, None)`` if the polytope is empty.

        Parameters
        ----------
        c
            (n,), or (k, n) with ``constant`` (k,).
        """
        return maximize_in(self.box, self.A, self.b, np.atleast_2d(c), np.zeros(1) if constant is None else constant)


def maximize_in(box: Floats, A: Floats, b: Floats, C: Floats, d: Floats) -> tuple[float, Floats | None]:
    """Maximize the smallest of ``C x + d`` (k,) over ``A x <= b`` in a box: ``(-inf, None)`` if there is no such point.

    Coordinates are scaled to the unit cube and rows to length 1, because HiGHS's tolerances are absolute.
    """
    low, size = box[:, 0], np.ptp(box, axis=1)
    n, k = len(low), len(d)
    scaled, room = A * size, b - A @ low
    length = np.linalg.norm(scaled, axis=1)
    if (room[length == 0] < -INSIDE * np.abs(b[length == 0])).any():
        return -np.inf, None
    rows = length > 0
    N, s = scaled[rows] / length[rows, None], room[rows] / length[rows]
    objective, base = C * size, d + C @ low
    unit = max(float(np.abs(objective).max(initial=0.0)), 1e-300)
    if k == 1:
        if not len(N):
            w = (objective[0] > 0).astype(float)
            return float(objective[0] @ w + base[0]), low + size * w
        cost, left, right = -objective[0] / unit, N, s
        limits: list[tuple[float | None, float | None]] = [(0.0, 1.0)] * n
    else:  # a further variable t below every function
        cost = np.append(np.zeros(n), -1.0)
        left = np.vstack([np.column_stack([N, np.zeros(len(N))]), np.column_stack([-objective / unit, np.ones(k)])])
        right = np.append(s, (base - base.min()) / unit)
        limits = [(0.0, 1.0)] * n + [(None, None)]
    options: Any = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    answer: Any = linprog(cost, left, right, bounds=limits, method="highs", options=options)
    if answer.status == 2:
        return -np.inf, None
    if answer.status != 0:  # the box alone is a bound
        corner = float((base + np.maximum(objective, 0).sum(axis=1)).min())
        return corner, None
    x = low + size * np.clip(answer.x[:n], 0.0, 1.0)
    reached = float((C @ x + d).min())
    bound = -float(answer.fun) * unit + (base[0] if k == 1 else base.min())
    return max(reached, float(bound)), x


def check_domain(box: Any, A: Any, b: Any, n: int) -> Domain:
    """Return a box with rows ``A`` (r, n) and limits ``b`` (r,), shrunk to the box around the polytope."""
    ends = check_box(box, n)
    if A is None and b is None:
        return Domain(ends, np.zeros((0, n)), np.zeros(0))
    if A is None or b is None:
        raise InputError("b" if b is None else "A", "come with the other of A and b: A x <= b")
    rows = check_numbers(A, "A")
    if rows.ndim != 2 or rows.shape[1] != n:
        raise InputError("A", f"have shape (rows, {n})", f"{rows.shape}")
    if not np.isfinite(rows).all():
        raise InputError("A", "be finite")
    domain = Domain(ends, rows, check_vector(b, "b", len(rows)))
    if domain.maximize(np.zeros(n))[1] is None:
        raise InputError("A", "leave some input of the box: A x <= b", "an empty set")
    return shrink(domain)


def shrink(domain: Domain) -> Domain:
    """Return a polytope with the smallest box around it, in up to 64 dimensions."""
    n = len(domain.box)
    if domain.is_box or n > 64:
        return domain
    ends = domain.box.copy()
    for j in range(n):
        for end, sign in ((0, -1.0), (1, 1.0)):
            value, x = domain.maximize(sign * np.eye(n)[j])
            if x is not None:
                margin = 1e-9 * np.ptp(domain.box[j])
                ends[j, end] = np.clip(sign * value + sign * margin, *domain.box[j])
    flat = ends[:, 1] <= ends[:, 0]
    ends[flat] = domain.box[flat]
    return domain.within(ends)
