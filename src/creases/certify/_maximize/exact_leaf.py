"""A node without open units, decided in rational arithmetic: there the network is affine, its extreme a vertex."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from creases._typing import Bools, Floats, Ints
from creases.certify._form import Form
from creases.certify._maximize.domain import Domain
from creases.certify._maximize.exact_program import Vector, maximize_exactly
from creases.certify._nodes import FREE, ON
from creases.certify.proofs._checker.parts import Dyadic
from creases.certify.proofs._format import Multipliers

#: The most points next to a vertex that are tried.
MAX_ROUNDINGS = 64


@dataclass(frozen=True, eq=False)
class ExactLeaf:
    """The largest of the smallest of several rows in a node."""

    value: Fraction | None  #: None: the node is empty
    point: Vector | None  #: where
    multipliers: Multipliers  #: show it


def solve_leaf(
    form: Form, domain: Domain, sides: Ints, is_on: Bools, rows: Floats, offsets: Floats, near: Floats
) -> ExactLeaf | None:
    """Maximize the smallest of ``rows y + offsets`` in a node; None if the program is not solved.

    The numbers of the network must be known as fractions.

    Parameters
    ----------
    sides
        (units,) sides that the node's splits fix: FREE, OFF or ON.
    is_on
        (units,) the side of every unit.
    near
        (n,) a point near the optimum.
    """
    n, k = len(near), len(offsets)
    slopes = form.split(np.where(is_on, 1.0, form.leak))
    functions = form.entering(Dyadic.of(np.eye(n, n + 1)), slopes)  # the constant of each at the end
    entering = [row for z in functions[:-1] for row in z.fractions().tolist()]
    outputs = functions[-1].fractions().tolist()
    A: list[Vector] = []
    b: Vector = []
    for row, offset in zip(rows.tolist(), offsets.tolist(), strict=True):  # t <= row y + offset
        *slope, constant = _combine(row, outputs)
        A.append([*(-value for value in slope), Fraction(1)])
        b.append(constant + Fraction(offset))
    A += [[*as_fractions(row), Fraction(0)] for row in domain.A]
    b += as_fractions(domain.b)
    fixed = np.flatnonzero(sides != FREE)
    for unit in fixed.tolist():  # the side's sign times what enters is not negative
        sign = 1 if sides[unit] == ON else -1
        *slope, constant = entering[unit]
        A.append([*(-sign * value for value in slope), Fraction(0)])
        b.append(sign * constant)
    first_end = len(b)
    for j, (low, high) in enumerate(domain.box.tolist()):
        for sign, end in ((-1, low), (1, high)):
            A.append([*(Fraction(sign * (i == j)) for i in range(n)), Fraction(0)])
            b.append(sign * Fraction(end))
    answer = maximize_exactly(A, b, [Fraction(0)] * n + [Fraction(1)], _order(A, b, near, k))
    if answer is None:
        return None
    used = {row: value for row, value in answer.multipliers.items() if row < first_end}
    r = len(domain.b)
    multipliers = Multipliers(
        () if answer.point is None else tuple(used.get(i, Fraction(0)) for i in range(k)),
        {row - k: value for row, value in used.items() if k <= row < k + r},
        {int(fixed[row - k - r]): value for row, value in used.items() if row >= k + r},
    )
    if answer.point is None:
        return None if any(row < k for row in used) else ExactLeaf(None, None, multipliers)
    return ExactLeaf(answer.value, answer.point[:n], multipliers)


def as_fractions(x: Floats) -> Vector:
    """Return floats as fractions."""
    return [Fraction(value) for value in x.tolist()]


def _combine(weights: list[Any], vectors: list[Vector]) -> Vector:
    total = [Fraction(0)] * (len(vectors[0]) if vectors else 0)
    for weight, vector in zip(weights, vectors, strict=True):
        if weight:
            exact = Fraction(weight)
            total = [a + exact * value if value else a for a, value in zip(total, vector, strict=True)]
    return total


def _order(A: list[Vector], b: Vector, near: Floats, k: int) -> list[int]:
    """Return row numbers, the tightest at a point first; the objective's rows before all others."""
    x = [Fraction(value) for value in near.tolist()]
    room = [
        limit - sum((a * v for a, v in zip(row, x, strict=False) if a), Fraction(0))
        for row, limit in zip(A, b, strict=True)
    ]
    size = [max(map(abs, row)) or Fraction(1) for row in A]
    tightest = min(range(k), key=lambda i: room[i])
    others = sorted((i for i in range(len(b)) if i != tightest), key=lambda i: abs(room[i] / size[i]))
    return [tightest, *others]


def nearby_floats(point: Vector, box: Floats) -> Floats:
    """Return float points (p, n) around a rational one, in a box: coordinates rounded to either side."""
    ends = []
    for value, (low, high) in zip(point, box.tolist(), strict=True):
        nearest = float(value)
        toward = np.inf if Fraction(nearest) < value else -np.inf
        both = [nearest] if Fraction(nearest) == value else [nearest, float(np.nextafter(nearest, toward))]
        ends.append([end for end in both if low <= end <= high] or [min(max(nearest, low), high)])
    return np.array([x for x, _ in zip(product(*ends), range(MAX_ROUNDINGS), strict=False)])
