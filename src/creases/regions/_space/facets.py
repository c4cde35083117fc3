"""Partitions in many dimensions by linear programs: a breadth-first traversal of regions across facets.

Regions are traversed, not subdivided, so no vertices are needed: in ten dimensions a region has few facets and very
many vertices. A region is identified by its sides, and so is the one across a facet: the sides of units whose crease
contains the facet change, the others stay.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Set
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from creases._program import pack_sides
from creases._typing import Floats, Ints
from creases.network import Network
from creases.regions._cell import cell
from creases.regions._halfspaces import chebyshev, irredundant, same_plane
from creases.regions._locate import canonical_sides, facet_ties, sides_toward, zero_rows
from creases.regions._polytope import Polytope, region_polytope

Sides = NDArray[np.int16]

#: A region whose largest ball is smaller than this, with the box as [-1, 1]^n, is left out: HiGHS cannot resolve it.
THIN = 1e-10


@dataclass(frozen=True)
class TraversedRegion:
    """A region and its neighbors across facets."""

    pattern: bytes
    inner: Floats  #: (n,) center of its largest ball, with the box as a cube
    units: list[int]  #: the unit on each facet that has a region beyond it
    beyond: list[bytes]  #: that region's pattern
    new: dict[bytes, Sides]  #: the sides of neighbors that were not known

    @property
    def nbytes(self) -> int:
        """Bytes of its patterns and numbers, without those of Python's objects."""
        patterns = (1 + len(self.beyond)) * len(self.pattern) + sum(2 * sides.nbytes for sides in self.new.values())
        return patterns + self.inner.nbytes + 8 * len(self.units)


def traverse_regions(
    net: Network, box: Floats, *, n_jobs: int = 1, deadline: float = np.inf
) -> Iterator[TraversedRegion | None]:
    """Yield every region that can be reached from the box's center, nearest first; None at the deadline."""
    start = cell(net, box.mean(axis=1), box=[(float(lo), float(hi)) for lo, hi in box]).sides
    known = {pack_sides(net, start[None]).tobytes()}
    todo = [start]
    while todo:
        batch, todo = todo[: 16 * n_jobs], todo[16 * n_jobs :]
        if n_jobs == 1:
            explored = (explore_region(net, sides, box, known) for sides in batch)
        else:
            from joblib import Parallel, delayed

            snapshot = frozenset(known)
            explored = Parallel(n_jobs=n_jobs)(delayed(explore_region)(net, sides, box, snapshot) for sides in batch)
        for region in explored:
            if region is None:
                continue
            yield region
            for pattern, sides in region.new.items():
                if pattern not in known:
                    known.add(pattern)
                    todo.append(sides)
            if time.time() > deadline:
                yield None
                return


def explore_region(net: Network, sides: Sides, box: Floats, known: Set[bytes]) -> TraversedRegion | None:
    """Return the region with given sides and its neighbors, None when it is too thin.

    Across a facet where only its unit changes is the region with that one side changed. If a known region has that
    pattern it is this one (both are bounded by the same rows on the facet's plane); otherwise the sides across the
    facet are computed.
    """
    part = region_polytope(net, sides)
    middle, half = box.mean(axis=1), np.diff(box, axis=1)[:, 0] / 2
    N, s, rows = _rows(part, middle, half)
    center, radius = _inner_ball(N, s)
    if radius <= THIN:
        return None
    room = np.maximum(s - N @ center, 1e-14)
    facets = irredundant(N, room / room.min(), np.zeros(len(center)))  # in the region's own scale
    units: list[int] = []
    beyond: list[bytes] = []
    new: dict[bytes, Sides] = {}
    for facet in facets[rows[facets] >= 0].tolist():
        row = int(rows[facet])
        other = sides.copy()
        other[part.units[row]] = part.across[row]
        pattern = pack_sides(net, other[None]).tobytes()
        if pattern not in known:
            on = rows[same_plane(N, s, facet)]
            on = np.concatenate([on[on >= 0], zero_rows(part.Q, part.p)])  # units zero on the region may change too
            tied = facet_ties(net, sides, part.units[on], part.across[on])
            other = sides_toward(net, sides, tied, part.Q[row] / np.linalg.norm(part.Q[row]))
            other = canonical_sides(region_polytope(net, other), other)
            pattern = pack_sides(net, other[None]).tobytes()
            new[pattern] = other
        units.append(int(part.units[row]))
        beyond.append(pattern)
    return TraversedRegion(pack_sides(net, sides[None]).tobytes(), middle + half * center, units, beyond, new)


def _rows(part: Polytope, middle: Floats, half: Floats) -> tuple[Floats, Floats, Ints]:
    """Return ``N w <= s`` with normals of length 1 and the box as [-1, 1]^n, and the row of Q of each, -1: the box.

    The box comes first: of equal rows the first counts, and a crease along a side of the box has no region beyond it.
    """
    N, s = part.Q * half, part.p - part.Q @ middle
    length = np.linalg.norm(N, axis=1)
    rows = np.flatnonzero(length > 0)
    N, s = N[rows] / length[rows, None], s[rows] / length[rows]
    eye, sides = np.eye(len(half)), 2 * len(half)
    return np.vstack([eye, -eye, N]), np.append(np.ones(sides), s), np.append(np.full(sides, -1), rows)


def _inner_ball(N: Floats, s: Floats) -> tuple[Floats, float]:
    """Return the center and radius of a largest ball in ``N w <= s``; for a small region refined in its own scale."""
    center, radius = chebyshev(N, s, cap=1.0)
    for _ in range(2):
        if not THIN < radius < 1e-3:
            break
        room = np.maximum(s - N @ center, 0.0) / radius
        near = room < 1e6
        step, factor = chebyshev(N[near], room[near], cap=1e3)
        if not 0 < factor < np.inf:
            break
        center, radius = center + radius * step, radius * factor
    return center, radius
