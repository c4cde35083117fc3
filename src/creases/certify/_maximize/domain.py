"""A polytope of inputs: ``A x <= b`` within a box."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from creases._typing import Bools, Floats
from creases._validation import check_box, check_numbers, check_vector
from creases.certify._exact import exact_room
from creases.certify._maximize.linear_program import Least, Solver, maximize_least
from creases.certify._maximize.multipliers import Rows, shift_rows
from creases.certify.proofs import _format as proof_format
from creases.certify.proofs._rounding import TINY, UNIT, gamma
from creases.errors import InputError

#: How far a point beyond a row is moved towards the inside, relative to the way there.
INWARDS = (1e-14, 1e-12, 1e-9)


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

    @property
    def middle(self) -> Floats:
        """The middle of the box, in floats."""
        return np.asarray(self.box[:, 0] / 2 + self.box[:, 1] / 2)

    def contains(self, X: Floats) -> Bools:
        """Return which points (p, n) are inside, in exact arithmetic: (p,)."""
        low, high = self.box.T
        inside = ((low <= X) & (high >= X)).all(axis=1)
        if self.is_box:
            return np.asarray(inside)
        error = gamma(len(low)) * (np.abs(X) @ np.abs(self.A).T + np.abs(self.b)) + TINY
        room = self.b - X @ self.A.T
        inside &= (room >= -error).all(axis=1)
        for i in np.flatnonzero(inside & (room < error).any(axis=1)):
            near = room[i] < error[i]
            inside[i] = bool((exact_room(self.A[near], X[i], self.b[near]).whole >= 0).all())
        return np.asarray(inside)

    def move_inside(self, x: Floats) -> Floats:
        """Return a point (n,) that rounding put beyond a row moved a little towards an inner one; else ``x``."""
        x = np.clip(x, *self.box.T)
        if self.is_box or self.contains(x[None])[0] or self.inner_point is None:
            return x
        for share in INWARDS:
            moved = np.clip(x + share * (self.inner_point - x), *self.box.T)
            if self.contains(moved[None])[0]:
                return moved
        return x

    def stated(self) -> proof_format.Domain:
        """Return the domain as a proof states it."""
        box = tuple((low, high) for low, high in self.box.tolist())
        return proof_format.Domain(box, tuple(map(tuple, self.A.tolist())), tuple(self.b.tolist()))

    def within(self, box: Floats) -> Domain:
        """Return the part of the polytope in a smaller box."""
        return Domain(box, self.A, self.b)

    def maximize(self, c: Floats, constant: Floats | None = None) -> tuple[float, Floats | None]:
        """Maximize ``c x``, or the smallest of several ``c x + constant``: ``(-inf, None)`` if it is proved empty.

        Parameters
        ----------
        c
            (n,), or (k, n) with ``constant`` (k,).
        """
        return maximize_in(self.box, self.A, self.b, np.atleast_2d(c), np.zeros(1) if constant is None else constant)

    @cached_property
    def inner_point(self) -> Floats | None:
        """A point strictly inside of all rows and, where it has a width, of the box; None if none is known."""
        if self.is_box:
            return self.middle
        size = np.abs(self.A) @ np.ptp(self.box, axis=1)
        free = self.box[:, 0] < self.box[:, 1]
        eye, (low, high) = np.eye(len(self.box))[free], self.box[free].T
        rows = np.vstack([-self.A, eye, -eye])
        scale = np.concatenate([np.where(size > 0, size, 1.0), high - low, high - low])
        limits = np.concatenate([self.b, -low, high])
        with np.errstate(over="ignore"):
            scaled = np.column_stack([rows, limits]) / scale[:, None]
        scaled = scaled[np.isfinite(scaled).all(axis=1)]  # the point is checked against all rows
        x = maximize_in(self.box, self.A, self.b, scaled[:, :-1], scaled[:, -1])[1] if len(scaled) else None
        if x is None or not ((low < x[free]) & (x[free] < high)).all():
            return None
        return x if (exact_room(self.A, x, self.b).whole > 0).all() else None


def maximize_in(box: Floats, A: Floats, b: Floats, C: Floats, d: Floats) -> tuple[float, Floats | None]:
    """Maximize the smallest of ``C x + d`` (k,) over ``A x <= b`` in a box: ``(-inf, None)`` if it is proved empty.

    Returns an upper bound that holds in real arithmetic, whatever the solver's tolerance, and a point near the optimum.
    """
    middle = box[:, 0] / 2 + box[:, 1] / 2
    rows, cost = shift_rows(A, b, middle), shift_rows(-C, d, middle)  # C x + d is the room of -C x <= d
    radius = np.ptp(box, axis=1) / 2
    answer = propose(Solver(), rows.A, rows.b, C, cost.b, radius)
    if answer is not None:
        bound = _safe_bound(box, middle, rows, C, cost.b, answer.weights, answer.multipliers)
        if answer.point is not None:
            return bound, np.clip(middle + answer.point, *box.T)
        if bound < 0:
            return -np.inf, None
    return _safe_bound(box, middle, rows, C, cost.b, None, None), None


def propose(solver: Solver, A: Floats, b: Floats, C: Floats, d: Floats, radius: Floats) -> Least | None:
    """Return a point v near the largest of the smallest of ``C v + d`` where ``A v <= b``, ``|v| <= radius``."""
    ends = np.ones(len(radius))
    answer = maximize_least(solver, np.column_stack([C * radius, d]), A * radius, b, -ends, ends)
    if answer is None or answer.point is None:
        return answer
    return answer._replace(point=radius * np.clip(answer.point, -1.0, 1.0))


def _safe_bound(
    box: Floats, middle: Floats, rows: Rows, C: Floats, d: Floats, weights: Floats | None, multipliers: Floats | None
) -> float:
    """Bound the smallest of ``C v + d`` by multipliers; with none of the functions, the sum of the rows alone."""
    low, high = outward(box, middle)
    if weights is None or multipliers is None or (weights.any() and not weights.sum() > 0):
        each = d + np.maximum(C * low, C * high).sum(axis=1)
        size = np.abs(d) + np.abs(C) @ np.maximum(np.abs(low), np.abs(high))
        return float((each + gamma(len(low)) * size + TINY).min())
    G = weights @ C - multipliers @ rows.A
    size = np.abs(weights) @ np.abs(C) + multipliers @ np.abs(rows.A)
    reach = np.maximum(np.abs(low), np.abs(high))
    g = gamma(len(low) + len(d) + len(rows.b))
    error = g * (size @ reach + np.abs(weights) @ np.abs(d) + multipliers @ np.abs(rows.b)) + TINY
    total = weights @ d + multipliers @ rows.b + np.maximum(G * low, G * high).sum() + error
    if not weights.any():
        return float(total)
    bound = float(total / weights.sum())
    return bound + 8 * UNIT * (len(d) + 1) * abs(bound)


def outward(box: Floats, middle: Floats) -> tuple[Floats, Floats]:
    """Return the ends of a box less its middle, rounded outwards."""
    low, high = box[:, 0] - middle, box[:, 1] - middle
    return (
        np.where(_is_difference(low, box[:, 0], middle), low, np.nextafter(low, -np.inf)),
        np.where(_is_difference(high, box[:, 1], middle), high, np.nextafter(high, np.inf)),
    )


def _is_difference(s: Floats, a: Floats, b: Floats) -> Bools:
    """Whether ``s = a - b`` without rounding (Knuth's two-sum)."""
    back = s - a
    return np.asarray((a - (s - back)) - (b + back) == 0.0)


def check_domain(box: Any, A: Any, b: Any, n: int, *, interior: bool = False) -> Domain:
    """Return a box with rows ``A`` (r, n) and limits ``b`` (r,); for coefficients it must have an interior."""
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
    if domain.maximize(np.zeros(n))[0] == -np.inf:
        raise InputError("A", "leave some input of the box: A x <= b", "an empty set")
    if interior and domain.inner_point is None:
        raise InputError(
            "A",
            "leave an input strictly inside of all rows and of the box: elsewhere coefficients have no meaning",
            hint="fix no input by two rows: leave the column out, or allow a little room",
        )
    return domain


def shrink(domain: Domain) -> Domain:
    """Return a polytope with a small box around it, in up to 64 dimensions."""
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
