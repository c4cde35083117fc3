"""Linear programs in rational arithmetic, by the criss-cross method [1]_: for the few that rounding does not decide.

References
----------
.. [1] Terlaky, "A convergent criss-cross method", Optimization 16, 1985.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

Vector = list[Fraction]

#: The most exchanges of a program.
MAX_PIVOTS = 1000


@dataclass(frozen=True, eq=False)
class ExactOptimum:
    """The solution of a program, or a proof that nothing fulfils its rows."""

    point: Vector | None  #: (n,) None if the rows contradict each other
    value: Fraction  #: of the cost; without a point the sum of ``multipliers * (b - A v)``, below 0 for every v
    multipliers: dict[int, Fraction]  #: positive, by the number of the row


def maximize_exactly(A: list[Vector], b: Vector, cost: Vector, order: Sequence[int]) -> ExactOptimum | None:
    """Maximize ``cost v`` where ``A v <= b``, (m, n) and (m,), over a bounded set; None after too many exchanges.

    Parameters
    ----------
    order
        All row numbers; the first are tight at a point near the optimum, which saves exchanges.
    """
    table = _Dictionary(A, b, cost)
    if not table.enter(order):
        return None
    for _ in range(MAX_PIVOTS):
        exchange = table.next_exchange()
        if exchange is None:
            return table.read()
        if exchange[1] < 0:
            return table.contradiction(exchange[0]) if exchange[0] >= 0 else None
        table.pivot(*exchange)
    return None


class _Dictionary:
    """Basic variables as affine functions of the others: rooms ``b - A v`` of the rows, numbered from 0, and v after.

    Each row is a list with the constant at its end; the last row is the cost.
    """

    def __init__(self, A: list[Vector], b: Vector, cost: Vector) -> None:
        self.m, self.n = len(b), len(cost)
        self.rows = [[-a for a in row] + [limit] for row, limit in zip(A, b, strict=True)]
        self.rows.append([*cost, Fraction(0)])
        self.basic = list(range(self.m))
        self.other = [self.m + j for j in range(self.n)]

    def enter(self, order: Sequence[int]) -> bool:
        """Express v by rooms of rows, the first ones of an order if possible; False if the cost has no bound then."""
        for row in order:
            free = [j for j, name in enumerate(self.other) if name >= self.m]
            if not free:
                break
            entries = self.rows[row]
            j = max(free, key=lambda j: abs(entries[j]))
            if entries[j]:
                self.pivot(row, j)
        return all(name < self.m or not cost for name, cost in zip(self.other, self.rows[-1], strict=False))

    def pivot(self, i: int, j: int) -> None:
        """Exchange the i-th basic variable with the j-th other one."""
        row = self.rows[i]
        inverse = 1 / row[j]
        row = [-value * inverse if value else value for value in row]
        row[j] = inverse
        self.rows[i] = row
        for k, other in enumerate(self.rows):
            factor = other[j]
            if k != i and factor:
                own = [a + factor * value if value else a for a, value in zip(other, row, strict=True)]
                own[j] = factor * inverse
                self.rows[k] = own
        self.basic[i], self.other[j] = self.other[j], self.basic[i]

    def next_exchange(self) -> tuple[int, int] | None:
        """Return the next exchange; None at the optimum; (i, -1) where row i can't hold; (-1, -1) without bounds."""
        cost = self.rows[-1]
        wrong = [(name, i, -1) for i, name in enumerate(self.basic) if name < self.m and self.rows[i][-1] < 0]
        wrong += [(name, -1, j) for j, name in enumerate(self.other) if cost[j] > 0]
        if not wrong:
            return None
        _, i, j = min(wrong)
        if i >= 0:
            columns = [(name, j) for j, name in enumerate(self.other) if self.rows[i][j] > 0]
            return (i, min(columns)[1]) if columns else (i, -1)
        rows = [(name, i) for i, name in enumerate(self.basic) if name < self.m and self.rows[i][j] < 0]
        return (min(rows)[1], j) if rows else (-1, -1)

    def read(self) -> ExactOptimum:
        point = [Fraction(0)] * self.n
        for i, name in enumerate(self.basic):
            if name >= self.m:
                point[name - self.m] = self.rows[i][-1]
        cost = self.rows[-1]
        return ExactOptimum(point, cost[-1], {name: -cost[j] for j, name in enumerate(self.other) if cost[j]})

    def contradiction(self, i: int) -> ExactOptimum:
        row = self.rows[i]
        used = {name: -row[j] for j, name in enumerate(self.other) if row[j]}
        return ExactOptimum(None, row[-1], {self.basic[i]: Fraction(1), **used})
