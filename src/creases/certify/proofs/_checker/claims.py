"""Claims: what must be shown of all inputs of a domain, the domain itself, and its parts.

A part is a node of a tree: a box, sides of units, and a ball that the domain may have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, floor
from typing import Any

import numpy as np

from creases.certify.proofs._checker.parts import to_fractions
from creases.certify.proofs._norms import Norm
from creases.certify.proofs._rounding import gamma, root_above, round_down
from creases.certify.proofs._spec import Array

#: Multiples of a plane that are tried in a box, relative to the sizes of the functions that are bounded.
MULTIPLES = (0.125, 0.25, 0.5, 1.0, 2.0)


@dataclass(frozen=True, eq=False)
class Ball:
    """Inputs with ``norm(weights * (x - center)) <= radius``."""

    center: Array  #: (n,) fractions
    weights: Array  #: (n,) fractions
    norm: str  #: "l1" or "l2"
    radius: Fraction

    @cached_property
    def _floats(self) -> tuple[Array, Array, Array, float]:
        """Floats near the center and how far they are away, weights not above and a radius not below the exact ones.

        A number beyond the range of floats leaves a weight of 0, or an infinity: bounds by them are infinite or nan.
        """
        below, above = floats_below(self.center), -floats_below(-self.center)
        away = np.where(below == above, 0.0, np.nextafter(above - below, np.inf))
        return below, away, floats_below(self.weights), float(-floats_below(np.array([-self.radius], dtype=object))[0])

    @property
    def floats(self) -> tuple[Array, Array, float]:
        """Floats near the center, the weights and the radius."""
        center, _, weights, radius = self._floats
        return center, weights, np.float64(radius)  # whose square may be infinite

    def is_apart(self, low: Array, high: Array) -> bool:
        """Whether no input of a box is in the ball; its ends are fractions or infinite."""
        away = [max(a - c, c - b, 0) * w for a, b, c, w in zip(low, high, self.center, self.weights, strict=True)]
        if self.norm == "l1":
            return bool(sum(away) > self.radius)
        return bool(sum(part * part for part in away) > self.radius**2)

    def is_inward(self, G: Array, low: Array, high: Array) -> Array:
        """Return where linear functions G (k, n) grow only towards the center of the ball within a box (n,): (k, n)."""
        return np.asarray(np.where(G > 0, high <= self.center, low >= self.center), bool)

    def maximum(self, G: Array, exact: bool) -> Array:
        """Bound linear functions G (k, n) over the ball: (k,)."""
        if not exact:
            center, away, weights, radius = self._floats
            terms, slopes = G * center, np.abs(G / weights)
            reach = slopes.max(axis=1, initial=0) if self.norm == "l1" else np.sqrt((slopes**2).sum(axis=1))
            reach = reach + 2.0**-500  # squares may vanish
            sizes = np.abs(terms).sum(axis=1) + radius * reach
            error = gamma(G.shape[1] + 16) * sizes + 2 * (np.abs(G) @ away) + 2.0**-500
            return np.asarray(terms.sum(axis=1) + radius * reach + error)
        slopes = np.abs(G / self.weights)
        reach = [max(row) if self.norm == "l1" else root_above(sum(v * v for v in row)) for row in slopes]
        return np.asarray([g @ self.center + self.radius * r for g, r in zip(G, reach, strict=True)], dtype=object)


@dataclass(frozen=True, eq=False)
class Node:
    """A part of a domain: a box, and sides of units that are fixed by splits."""

    low: Array  #: (n,) fractions or -inf
    high: Array  #: (n,)
    sides: dict[int, int]  #: 1 on, -1 off, by unit
    ball: Ball | None = None
    plane: tuple[Array, float] | None = None  #: g (n,) and c, floats: only inputs with ``g x + c >= 0`` count

    @cached_property
    def _floats(self) -> tuple[Array, Array]:
        return floats_below(self.low), -floats_below(-self.high)

    def plane_weights(self, G: Array) -> list[Array]:
        """Return multiples (k,) of the plane, with which linear functions G (k, n) may have lower bounds.

        Any that is not negative will do: those that are best in a Euclidean ball, or several for a box.
        """
        assert self.plane is not None
        g, c = self.plane
        low, high = self.box(False)
        half = high / 2 - low / 2
        if self.ball is None or self.ball.norm != "l2":
            size = np.abs(G * half).max(axis=1, initial=0.0) / np.abs(g * half).max(initial=0.0)
            weights = [share * size for share in MULTIPLES]
        else:
            center, weight, radius = self.ball.floats
            q = g / weight
            length = np.sqrt((q * q).sum())
            slopes, q, t = np.where(half > 0, G, 0.0) / weight, q / length, -(g @ center + c) / length
            along = slopes @ q
            across = np.sqrt(np.maximum((slopes * slopes).sum(axis=1) - along**2, 0.0))
            half_width = np.sqrt(np.maximum(radius**2 - t**2, 1e-24 * radius**2))
            weights = [(t / half_width * across - along) / length]
        return [np.where(np.isfinite(weight) & (weight > 0), weight, 0.0) for weight in weights]

    def box(self, exact: bool) -> tuple[Array, Array]:
        """Return the ends of the box: exact ones, or floats around them."""
        return (self.low, self.high) if exact else self._floats


def floats_below(values: Array) -> Array:
    """Return the largest floats that are not above numbers (n,)."""
    return np.array([round_down(value) for value in values], dtype=float)


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
    value: int | None = None  #: the number of the value that y is; None: the output


@dataclass(frozen=True, eq=False)
class GradientClaim:
    """Wherever the Jacobian of rows of y exists in a region, a norm of it in some columns is at most a limit.

    The region has an interior in the columns that are not fixed, of which these are some: pieces that hold on no open
    part of it do not count. Elsewhere a region does not say which pieces are meant.
    """

    region: Region
    rows: list[Array]  #: rows (m,) of fractions
    columns: tuple[int, ...]
    limit: Fraction
    norm: Norm | None = None  #: None: the only entry, with its sign


Claim = RowClaim | GradientClaim


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
