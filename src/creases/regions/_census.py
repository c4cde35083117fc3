"""A census of a partition: how many regions, how large, what they decide, where data lies, what there could be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from creases._typing import Floats, Ints
from creases._validation import check_points
from creases.network import Network
from creases.regions._bounds import bounds
from creases.regions._line.partition import LinePartition
from creases.regions._plane.plane import PlanePartition


@dataclass(frozen=True, eq=False)
class Census:
    """What the regions of a plane or of a segment amount to; sizes are areas or lengths in slice coordinates."""

    sizes: Floats  #: (R,) of the regions
    data: Ints | None  #: (R,) samples in each region; None where no samples were given
    outside: int  #: samples that are in no region: outside the box or segment
    decided: Floats  #: (classes,) size of where each class is decided; adds up to all
    regions_by_class: Ints  #: (classes,) regions in which each class is decided somewhere
    boundary: float  #: length of the decision boundary; of a segment the number of its points
    distinct: int  #: regions left when neighbours with the same affine function are taken for one
    upper: int | None  #: no network of these widths has more regions on a plane or line; None where none is known

    @property
    def count(self) -> int:
        """Number of regions."""
        return len(self.sizes)


def census(partition: PlanePartition | LinePartition, t: Any = None) -> Census:
    """Count and measure the regions of a plane or of a segment (not of a whole line).

    Parameters
    ----------
    partition
        What :func:`creases.plane` or :func:`creases.line` gives.
    t
        Samples in slice coordinates, (n, 2) on a plane and (n, 1) on a segment.

    Examples
    --------
    >>> import creases
    >>> net = creases.read([([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0]), ([[1.0, 1.0]], [-1.0])])
    >>> found = census(creases.plane(net), [(0.5, 0.5), (0.1, 0.2), (-0.5, 0.5)])
    >>> found.count, found.decided.tolist(), sorted(found.data.tolist()), found.upper
    (4, [3.5, 0.5], [0, 0, 1, 2], 4)
    """
    if isinstance(partition, PlanePartition):
        sizes, decided, by_class, length, distinct = _on_plane(partition)
    else:
        sizes, decided, by_class, length, distinct = _on_line(partition)
    d = 2 if isinstance(partition, PlanePartition) else 1
    data, outside = None, 0
    if t is not None:
        points = check_points(t, d, "t")
        region = partition.locate(points if d == 2 else points[:, 0])
        data = np.bincount(region[region >= 0], minlength=len(sizes)).astype(np.int64)
        outside = int((region < 0).sum())
    return Census(sizes, data, outside, decided, by_class, length, distinct, most_regions(partition.net, d))


def most_regions(net: Network, d: int) -> int | None:
    """The least proved bound on the regions that weights in this network's place could make of d dimensions.

    For networks whose bends are all ReLUs: each layer cuts what it sees, which has at most d dimensions; where layers
    follow one another and have no leak, the sharper bounds of :func:`creases.regions.bounds` hold too.
    """
    steps = [net.steps[i] for i in net.bends]
    if any(step.op != "relu" for step in steps):
        return None
    widths = [int(n) for n in np.diff(net.unit_starts) if n]
    if not widths:
        return 1
    found = bounds(widths, d)
    if not _is_chain(net):
        return min(found.product, found.montufar_2014)
    return found.montufar_2017 if any(step.leak is not None for step in steps) else found.upper


def _is_chain(net: Network) -> bool:
    """Whether every step reads the value just before it."""
    return all(step.inputs == (i,) for i, step in enumerate(net.steps))


Measured = tuple[Floats, Floats, Ints, float, int]  # sizes, decided, regions by class, boundary, distinct


def _on_plane(partition: PlanePartition) -> Measured:
    boundary = partition.boundary()
    decided = boundary.areas()
    pairs = np.unique(np.column_stack([boundary.part_class, boundary.part_region]), axis=0)
    by_class = np.bincount(pairs[:, 0].astype(np.int64), minlength=len(decided)).astype(np.int64)
    return partition.areas(), decided, by_class, boundary.length, int(partition.same_piece().max(initial=-1)) + 1


def _on_line(partition: LinePartition) -> Measured:
    found, ends = partition.classes(), partition.ends
    decided = np.bincount(found.classes, weights=np.diff(found.ends)).astype(np.float64)
    by_class = np.zeros(len(decided), np.int64)
    for index in range(len(decided)):
        own = found.classes == index
        first = np.searchsorted(ends, found.ends[:-1][own], side="right") - 1
        last = np.searchsorted(ends, found.ends[1:][own], side="left") - 1
        touched = [np.arange(a, b + 1) for a, b in zip(first, last, strict=True)]
        by_class[index] = len(np.unique(np.concatenate(touched))) if touched else 0
    return np.diff(ends), decided, by_class, float(len(found.classes) - 1), _distinct_on_line(partition)


def _distinct_on_line(partition: LinePartition, tolerance: float = 1e-9) -> int:
    """Regions of a segment when neighbours with the same affine function are taken for one."""
    J, y = partition.pieces()
    flat = np.concatenate([J[:, :, 0], y], axis=1)
    jumps = np.abs(np.diff(flat, axis=0)).max(axis=1, initial=0.0)
    return 1 + int((jumps > tolerance * np.abs(flat).max(initial=0.0)).sum())
