"""Claims: what must be shown of all inputs of a domain, and the domain itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import Any

import numpy as np

from creases.certify.proofs._checker.node import Ball, Node
from creases.certify.proofs._checker.parts import Array, to_fractions


class Refusal(Exception):
    """A proof does not show what it states; the message says where and why."""


def require(holds: bool, otherwise: str) -> None:
    """Refuse the proof unless a fact holds."""
    if not holds:
        raise Refusal(otherwise)


def show(value: Any) -> str:
    """Return a number for a message."""
    try:
        return f"{float(value):.17g}"
    except OverflowError:  # of a fraction
        return "a number beyond 1e308"


@dataclass(frozen=True, eq=False)
class Region:
    """Inputs of a box with ``A x <= b``, perhaps in a ball, perhaps with columns of whole numbers."""

    low: Array  #: (n,) fractions or -inf
    high: Array
    A: list[Array]  #: rows (n,) of fractions
    b: list[Fraction]
    integer: frozenset[int] = frozenset()
    ball: Ball | None = None

    @property
    def root(self) -> Node:
        """The whole region as a node: the ends of integer columns are whole numbers."""
        low, high = self.low.copy(), self.high.copy()
        for j in self.integer:
            low[j] = low[j] if low[j] == -np.inf else Fraction(ceil(low[j]))
            high[j] = high[j] if high[j] == np.inf else Fraction(floor(high[j]))
        return Node(low, high, {}, self.ball)

    def contains(self, x: Array) -> bool:
        """Whether an input (n,) of fractions is inside (of the ball or not)."""
        inside = bool(((self.low <= x) & (x <= self.high)).all())
        whole = all(x[j].denominator == 1 for j in self.integer)
        return inside and whole and all(row @ x <= limit for row, limit in zip(self.A, self.b, strict=True))

    def contains_inside(self, x: Array) -> bool:
        """Whether an input is strictly inside of the rows and, where it has a width, of the box."""
        free = self.low < self.high
        inside = bool(((self.low < x) & (x < self.high))[free].all()) and bool((self.low == x)[~free].all())
        return inside and all(row @ x < limit for row, limit in zip(self.A, self.b, strict=True))


@dataclass(frozen=True, eq=False)
class RowClaim:
    """Everywhere in a region at least one of ``C y + D x + e`` is at most 0; where ``strict``, below 0."""

    region: Region
    C: list[Array]  #: rows (m,) of fractions
    e: list[Fraction]
    strict: tuple[bool, ...]
    D: list[Array] | None = None  #: rows (n,)


@dataclass(frozen=True, eq=False)
class CoefficientClaim:
    """Wherever the gradient of ``row . y`` exists in a region, its entry of a column is at most a limit.

    The region has an interior in the columns that are not fixed, of which the column is one: pieces that hold on no
    open part of it do not count. Elsewhere a region does not say which pieces are meant.
    """

    region: Region
    row: Array  #: (m,) fractions
    column: int
    limit: Fraction


Claim = RowClaim | CoefficientClaim


def read_region(box: Any, A: Any, b: Any, n: int) -> Region:
    """Return the region of a box and rows as a statement has them."""
    require(len(box) == n, f"the box has {len(box)} columns, the network {n} inputs")
    low, high = to_fractions([end[0] for end in box]), to_fractions([end[1] for end in box])
    for j in range(n):
        require(low[j] <= high[j], f"the box has no value for column {j}: {show(low[j])} to {show(high[j])}")
        require(low[j] < np.inf and high[j] > -np.inf, f"the box of column {j} is at infinity")
    return Region(low, high, read_rows(A, n, len(b)), [Fraction(value) for value in b])


def read_rows(rows: Any, n: int, count: int) -> list[Array]:
    """Return so many rows of n numbers as fractions."""
    require(len(rows) == count, f"there are {len(rows)} rows but {count} limits")
    require(all(len(row) == n for row in rows), f"a row does not have {n} entries")
    return [to_fractions(list(row)) for row in rows]


def read_point(x: Sequence[Any] | None, n: int, what: str) -> Array:
    """Return a point of a statement as fractions."""
    require(x is not None, f"the statement has no {what}")
    assert x is not None
    require(len(x) == n, f"the {what} has {len(x)} entries, the network {n} inputs")
    return to_fractions(list(x))
