"""Partitions in many dimensions by linear programs: from region to region across facets, breadth first.

Regions are found, not subdivided, so no vertices are needed: in ten dimensions a region has few facets and very many
vertices. A region is known by its sides, and so is the one across a facet: sides of units whose crease is in the
facet's plane change, the others stay.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Set
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from creases._typing import Floats, Ints
from creases.network import Network
from creases.network.program import pack_sides
from creases.regions._cell import cell
from creases.regions._halfspaces import chebyshev, irredundant, same_plane
from creases.regions._neighbor import facet_ties, first_of_equals, sides_toward, vanishing
from creases.regions._polytope import Polytope, region_polytope

Sides = NDArray[np.int16]

#: A region whose largest ball is smaller than this, with the box as [-1, 1]^n, is left out: below what HiGHS resolves.
THIN = 1e-10


@dataclass(frozen=True)
class Found:
    """One region and what lies across its facets."""

    pattern: bytes
    inner: Floats  #: (n,) center of its largest ball, with the box as a cube
    units: list[int]  #: the unit on each facet that has a region beyond it
    beyond: list[bytes]  #: that region's pattern
    ways: dict[bytes, Sides]  #: the sides of the regions beyond that were not known


def regions_by_facets(
    net: Network, box: Floats, *, n_jobs: int = 1, deadline: float = np.inf
) -> Iterator[Found | None]:
    """Every region that can be reached from the box's center, nearest first; None last when the time is up."""
    start = cell(net, box.mean(axis=1), box=[(float(lo), float(hi)) for lo, hi in box]).sides
    known = {pack_sides(net, start[None]).tobytes()}
    todo = [start]
    while todo:
        batch, todo = todo[: 16 * n_jobs], todo[16 * n_jobs :]
        for found in _expand_all(net, batch, box, known, n_jobs):
            if found is None:
                continue
            yield found
            for pattern, sides in found.ways.items():
                if pattern not in known:
                    known.add(pattern)
                    todo.append(sides)
            if time.time() > deadline:
                yield None
                return


def _expand_all(
    net: Network, batch: list[Sides], box: Floats, known: set[bytes], n_jobs: int
) -> Iterator[Found | None]:
    if n_jobs == 1:
        yield from (expand(net, sides, box, known) for sides in batch)
        return
    from joblib import Parallel, delayed

    told = frozenset(known)
    yield from Parallel(n_jobs=n_jobs)(delayed(expand)(net, sides, box, told) for sides in batch)


def expand(net: Network, sides: Sides, box: Floats, known: Set[bytes]) -> Found | None:
    """The region with given sides and its neighbors, None when it is too thin to be seen.

    Across a facet where only its unit changes lies the region with that one side changed. If a region has that pattern
    then it is the one (both are bounded by the same rows on the facet's plane); else the way across is looked at.
    """
    part = region_polytope(net, sides)
    middle, half = box.mean(axis=1), np.diff(box, axis=1)[:, 0] / 2
    N, s, rows = _rows(part, middle, half)
    center, radius = _centre(N, s)
    if radius <= THIN:
        return None
    room = np.maximum(s - N @ center, 1e-14)
    facets = irredundant(N, room / room.min(), np.zeros(len(center)))  # in the region's own scale
    units: list[int] = []
    beyond: list[bytes] = []
    ways: dict[bytes, Sides] = {}
    for facet in facets[rows[facets] >= 0].tolist():
        row = int(rows[facet])
        other = sides.copy()
        other[part.units[row]] = part.across[row]
        pattern = pack_sides(net, other[None]).tobytes()
        if pattern not in known:
            other = _across(net, sides, part, rows[same_plane(N, s, facet)], part.Q[row] / np.linalg.norm(part.Q[row]))
            pattern = pack_sides(net, other[None]).tobytes()
            ways[pattern] = other
        units.append(int(part.units[row]))
        beyond.append(pattern)
    return Found(pack_sides(net, sides[None]).tobytes(), middle + half * center, units, beyond, ways)


def _rows(part: Polytope, middle: Floats, half: Floats) -> tuple[Floats, Floats, Ints]:
    """``N w <= s`` with normals of length 1 and the box as [-1, 1]^n, and for each the row of Q, -1: a side of the box.

    The box comes first: of equal rows the first counts, and where a crease runs along a side there is nothing beyond.
    """
    N, s = part.Q * half, part.p - part.Q @ middle
    length = np.linalg.norm(N, axis=1)
    rows = np.flatnonzero(length > 0)
    N, s = N[rows] / length[rows, None], s[rows] / length[rows]
    eye, sides = np.eye(len(half)), 2 * len(half)
    return np.vstack([eye, -eye, N]), np.append(np.ones(sides), s), np.append(np.full(sides, -1), rows)


def _centre(N: Floats, s: Floats) -> tuple[Floats, float]:
    """Center and radius of a largest ball in ``N w <= s``; of a small region found coarsely, then in its own scale."""
    center, radius = chebyshev(N, s, cap=1.0)
    for _ in range(2):
        if not THIN < radius < 1e-3:
            break
        room = np.maximum(s - N @ center, 0.0) / radius
        near = room < 1e6
        step, grown = chebyshev(N[near], room[near], cap=1e3)
        if not 0 < grown < np.inf:
            break
        center, radius = center + radius * step, radius * grown
    return center, radius


def _across(net: Network, sides: Sides, part: Polytope, rows: Ints, normal: Floats) -> Sides:
    """Sides beyond a facet on which the given rows lie; what is zero on the whole region may also change."""
    rows = np.concatenate([rows[rows >= 0], vanishing(part.Q, part.p)])
    tied = facet_ties(net, sides, part.units[rows], part.across[rows])
    new = sides_toward(net, sides, tied, normal)
    return first_of_equals(region_polytope(net, new), new)
