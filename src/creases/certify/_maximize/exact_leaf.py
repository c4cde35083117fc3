"""A node without open units, decided in rational arithmetic: there the network is affine, its extreme a vertex."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np

from creases._typing import Bools, Floats, Ints
from creases.certify._form import Form, stack_rows
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
    n, k, r, lift = len(near), len(offsets), len(domain.b), Dyadic.of
    z, outputs = form.functions(lift(np.eye(n, n + 1)), np.where(is_on, 1.0, form.leak))
    fixed = np.flatnonzero(sides != FREE)
    low, high = domain.box.T[:, :, None]
    eye, pad = np.eye(n), np.zeros((k, n))
    functions = [  # the constant last: those of the objective are at least t, the others at least 0
        lift(rows) @ outputs + lift(np.hstack([pad, offsets[:, None]])),
        lift(np.hstack([-domain.A, domain.b[:, None]])),
        z[fixed] * lift(np.where(sides[fixed] == ON, 1.0, -1.0)[:, None]),
        lift(np.vstack([np.hstack([eye, -low]), np.hstack([-eye, high])])),
    ]
    table = stack_rows(functions).fractions().tolist()
    A = [[*(-value for value in row[:-1]), Fraction(i < k)] for i, row in enumerate(table)]
    b, first_end = [row[-1] for row in table], len(table) - 2 * n
    answer = maximize_exactly(A, b, [Fraction(0)] * n + [Fraction(1)], _order(A, b, near, k))
    if answer is None:
        return None
    used = {row: value for row, value in answer.multipliers.items() if row < first_end}
    multipliers = Multipliers(
        () if answer.point is None else tuple(used.get(i, Fraction(0)) for i in range(k)),
        {row - k: value for row, value in used.items() if k <= row < k + r},
        {int(fixed[row - k - r]): value for row, value in used.items() if row >= k + r},
    )
    if answer.point is None:
        return None if any(row < k for row in used) else ExactLeaf(None, None, multipliers)
    return ExactLeaf(answer.value, answer.point[:n], multipliers)


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
