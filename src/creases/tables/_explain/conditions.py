"""What separates the rows of a region from all others: few half-spaces, chosen among those that bound the region.

A region is the polytope ``Q x <= p``, with a row for each unit of the network. Most rows of Q say nothing about the
data: a few suffice to exclude every row of the table that is not in the region. They are chosen as a greedy set cover,
one after the other, each excluding the most rows that are still left [1]_; then those that the others make superfluous
go. What is said about the rows is exact: all of the region's rows meet the conditions, and no other row does. A row on
a crease is in both regions, whose functions agree there.

References
----------
.. [1] V. Chvátal, "A greedy heuristic for the set-covering problem", Mathematics of Operations Research 4(3), 1979.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from creases._typing import Bools, Floats, Ints
from creases.network import Network
from creases.regions.geometry import region_polytope
from creases.tables._explain.table import Table

#: Regions of one function whose bounds are looked at, those with the most rows.
MAX_MEMBERS = 16

#: Rows times half-spaces that are compared at once; beyond, with few rows at first, and those they miss are added.
MAX_NUMBERS = 20_000_000

#: A row counts as on a crease if its distance, relative to the terms, is below this.
TOLERANCE = 1e-12


@dataclass(frozen=True, eq=False)
class Condition:
    """A half-space ``normal . x < bound`` that holds in a region, in the table's own units."""

    normal: Floats  #: (d,)
    bound: float
    neighbor: int | None  #: number of the region of most rows that fail this condition only; None if no row does

    def holds(self, X: Floats, *, strict: bool = False) -> Bools:
        """Return whether rows (n, d) meet the condition; those on the crease do, unless ``strict``."""
        return ~_excess(X, self.normal[None], np.array([self.bound]), -1.0 if strict else 1.0)[:, 0]


@dataclass(frozen=True, eq=False)
class _Bounds:
    """Half-spaces ``Q x <= p``."""

    Q: Floats  #: (c, d)
    p: Floats  #: (c,)

    def fails(self, X: Floats) -> Bools:
        """Return which rows (n, d) are beyond which half-spaces: (n, c)."""
        return _excess(X, self.Q, self.p, 1.0)

    def excludes(self, X: Floats) -> Bools:
        """Return which rows (n, d) are beyond which half-spaces or on their creases: (n, c)."""
        return _excess(X, self.Q, self.p, -1.0)

    def part(self, which: Ints) -> _Bounds:
        return _Bounds(self.Q[which], self.p[which])


def _excess(X: Floats, Q: Floats, p: Floats, sign: float) -> Bools:
    """Return where ``Q x > p``, by more than the tolerance, or for a negative sign up to the tolerance."""
    room = TOLERANCE * (np.abs(X) @ np.abs(Q).T + np.abs(p))
    return np.asarray(X @ Q.T - p > sign * room)


def find_conditions(
    table: Table, members: Ints, region_of: Ints, region: int
) -> tuple[tuple[tuple[Condition, ...], ...], bool]:
    """Return when a row is in a region, as alternatives, each a set of conditions; and whether they hold for all rows.

    Parameters
    ----------
    table
        The network with the rows (n, d).
    members
        A row in each polytope of the region, those with the most rows first.
    region_of
        (n,) the region of each row.
    region
        The number of this region.
    """
    inside, outside = np.flatnonzero(region_of == region), np.flatnonzero(region_of != region)
    if not len(outside):
        return ((),), True
    bounds = [_member_bounds(table, row) for row in members[:MAX_MEMBERS]]
    every = _merge(bounds)
    every = every.part(np.flatnonzero(~every.fails(table.X[inside]).any(axis=0)))
    chosen = _cover(every, table.X[outside])
    alternatives = [] if chosen is None else [chosen]
    left = inside if chosen is None else inside[:0]
    for bound in bounds:  # no convex set has these rows and no others: one set of conditions for each polytope
        met = ~bound.fails(table.X[left]).any(axis=1)
        if not met.any():
            continue
        part = _cover(bound, table.X[outside])
        if part is None:
            continue
        alternatives.append(part)
        left = left[part.fails(table.X[left]).any(axis=1)]
    conditions = tuple(_name_neighbors(part, table.X, region_of, region) for part in alternatives)
    return conditions, not len(left)


def _member_bounds(table: Table, row: int) -> _Bounds:
    """Return the half-spaces of the polytope around a row, in the table's own units, without those of no constraint."""
    net: Network = table.net
    polytope = region_polytope(net, net.sides(table.to_network(table.X[row : row + 1]))[0])
    real = polytope.Q.any(axis=1)
    Q, p = table.half_spaces(polytope.Q[real], polytope.p[real])
    return _Bounds(Q, p)


def _merge(bounds: list[_Bounds]) -> _Bounds:
    """Return the half-spaces of several polytopes, each once."""
    Q, p = np.concatenate([bound.Q for bound in bounds]), np.concatenate([bound.p for bound in bounds])
    if len(bounds) > 1:
        rows = np.column_stack([Q, p])
        size = np.abs(Q).max(axis=1, initial=0)[:, None]
        _, first = np.unique(np.round(rows / np.where(size > 0, size, 1.0), 9), axis=0, return_index=True)
        Q, p = Q[np.sort(first)], p[np.sort(first)]
    return _Bounds(Q, p)


def _cover(bounds: _Bounds, X: Floats) -> _Bounds | None:
    """Return few of the half-spaces that exclude all rows X (n, d); None if even all together do not."""
    rows = np.arange(len(X))
    if len(X) * max(len(bounds.p), 1) > MAX_NUMBERS:
        rows = np.random.default_rng(0).permutation(len(X))[: max(MAX_NUMBERS // len(bounds.p), 1)]
    while True:
        chosen = _greedy_cover(bounds.excludes(X[rows]))
        if chosen is None:
            return None
        part = bounds.part(chosen)
        missed = np.flatnonzero(~part.excludes(X).any(axis=1))
        if not len(missed):
            return part
        rows = np.concatenate([rows, missed])


def _greedy_cover(excludes: Bools) -> Ints | None:
    """Return columns of a matrix (n, c) so that every row has a True in one of them; None if there are none."""
    left = np.ones(len(excludes), bool)
    chosen: list[int] = []
    while left.any():
        counts = excludes[left].sum(axis=0) if excludes.shape[1] else np.zeros(1, np.int64)
        best = int(counts.argmax())
        if not counts[best]:
            return None
        chosen.append(best)
        left &= ~excludes[:, best]
    for column in list(chosen):
        others = [other for other in chosen if other != column]
        if others and excludes[:, others].any(axis=1).all():
            chosen = others
    return np.array(chosen, np.int64)


def _name_neighbors(bounds: _Bounds, X: Floats, region_of: Ints, region: int) -> tuple[Condition, ...]:
    """Return the half-spaces as conditions, each with the region beyond it."""
    fails = bounds.excludes(X) & (region_of != region)[:, None]
    alone = fails & (fails.sum(axis=1) == 1)[:, None]
    beyond = [region_of[rows] for rows in alone.T]
    neighbors = [int(np.bincount(numbers).argmax()) if len(numbers) else None for numbers in beyond]
    return tuple(
        Condition(normal, float(limit), neighbor)
        for normal, limit, neighbor in zip(bounds.Q, bounds.p, neighbors, strict=True)
    )
