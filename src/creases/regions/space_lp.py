"""Partitions in many dimensions by linear programs: from region to region across facets, breadth first.

Regions are found, not subdivided, so no vertices are needed: in ten dimensions a region has few facets and very many
vertices. Each region costs one linear program for every unit that might bound it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from creases.network.network import Network
from creases.network.patterns import pack
from creases.regions.cell import Cell, cell

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Found:
    """One region and what lies across its facets."""

    pattern: bytes
    inner: Floats  #: (n,) centre of its largest ball
    units: list[int]  #: the unit on each facet that has a region beyond it
    beyond: list[bytes]  #: that region's pattern
    ways: dict[bytes, Floats]  #: a point of each region beyond that was not known


def regions_by_facets(
    net: Network, box: Floats, *, processes: int = 1, deadline: float = np.inf
) -> Iterator[Found | None]:
    """Every region that can be reached from the box's centre, nearest first; None last when the time is up."""
    bounds = [(float(lo), float(hi)) for lo, hi in box]
    start = cell(net, box.mean(axis=1), box=bounds)
    first = cell(net, start.center, box=bounds)
    known = {first.pattern.tobytes()}
    todo = [first.center]
    while todo:
        batch, todo = todo[: 16 * processes], todo[16 * processes :]
        for found in _expand_all(net, batch, bounds, known, processes):
            yield found
            for pattern, point in found.ways.items():
                if pattern not in known:
                    known.add(pattern)
                    todo.append(point)
            if time.time() > deadline:
                yield None
                return


def _expand_all(
    net: Network, points: list[Floats], box: list[tuple[float, float]], known: set[bytes], processes: int
) -> Iterator[Found]:
    if processes == 1:
        yield from (expand(net, point, box, known) for point in points)
        return
    from joblib import Parallel, delayed  # type: ignore[import-untyped]

    told = frozenset(known)
    yield from Parallel(n_jobs=processes)(delayed(expand)(net, point, box, told) for point in points)


def expand(net: Network, x: Floats, box: list[tuple[float, float]], known: set[bytes] | frozenset[bytes]) -> Found:
    """The region of a point of its interior, with its neighbours.

    Across a facet where only its unit changes lies the region with that one side changed. If a region has that pattern
    then it is the one (both are bounded by the same rows on the facet's plane); else the way across is looked at.
    """
    here = cell(net, x, box=box)
    units: list[int] = []
    beyond: list[bytes] = []
    ways: dict[bytes, Floats] = {}
    for row in here.facets[here.units[here.facets] >= 0].tolist():
        sides = here.sides.copy()
        sides[here.units[row]] = here.across[row]
        pattern = pack(net, sides[None]).tobytes()
        if pattern not in known:
            other: Cell = here.neighbour(row)
            pattern = other.pattern.tobytes()
            ways[pattern] = other.x
        units.append(int(here.units[row]))
        beyond.append(pattern)
    return Found(here.pattern.tobytes(), here.center, units, beyond, ways)
