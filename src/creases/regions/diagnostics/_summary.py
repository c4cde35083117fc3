"""Statistics of a partition: how many regions there are, how large they are, and which classes they decide."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from creases._text import OneLine
from creases._typing import Floats, Ints
from creases._validation import check_points
from creases.network import Network
from creases.regions._bounds import bounds
from creases.regions._line.partition import LinePartition
from creases.regions._plane.plane import PlanePartition


@dataclass(frozen=True, eq=False, repr=False)
class PartitionSummary(OneLine):
    """Counts and sizes of the regions of a plane or segment; sizes are areas or lengths in slice coordinates."""

    sizes: Floats  #: (R,) of the regions
    samples: Ints | None  #: (R,) number of samples in each region; None without samples
    n_outside: int  #: samples in no region: outside the box or segment
    class_sizes: Floats  #: (classes,) size of the set where each class is decided; they add up to the total
    class_regions: Ints  #: (classes,) number of regions in which each class is decided somewhere
    boundary_size: float  #: length of the decision boundary; on a segment the number of its points
    n_pieces: int  #: regions left when neighbors with the same affine function are merged
    max_regions: int | None  #: no network of these widths has more regions on a plane or line; None if not known

    @property
    def count(self) -> int:
        """Number of regions."""
        return len(self.sizes)


def summarize_partition(partition: PlanePartition | LinePartition, t: Any = None) -> PartitionSummary:
    """Count and measure the regions of a plane or of a segment (not of an infinite line).

    Parameters
    ----------
    partition
        The result of :func:`creases.plane` or :func:`creases.line`.
    t
        Samples in slice coordinates, (n, 2) on a plane and (n, 1) on a segment.

    Examples
    --------
    >>> import creases
    >>> net = creases.read([([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0]), ([[1.0, 1.0]], [-1.0])])
    >>> summary = summarize_partition(creases.plane(net), [(0.5, 0.5), (0.1, 0.2), (-0.5, 0.5)])
    >>> summary.count, summary.class_sizes.tolist(), sorted(summary.samples.tolist()), summary.max_regions
    (4, [3.5, 0.5], [0, 0, 1, 2], 4)
    """
    d = 2 if isinstance(partition, PlanePartition) else 1
    measured = _measure_plane(partition) if isinstance(partition, PlanePartition) else _measure_line(partition)
    samples, n_outside = None, 0
    if t is not None:
        points = check_points(t, d, "t")
        region = partition.locate(points if d == 2 else points[:, 0])
        samples = np.bincount(region[region >= 0], minlength=partition.count).astype(np.int64)
        n_outside = int((region < 0).sum())
    return PartitionSummary(
        samples=samples, n_outside=n_outside, max_regions=max_regions(partition.net, d), **measured._asdict()
    )


def max_regions(net: Network, d: int) -> int | None:
    """Return the smallest proven bound on the regions that a network of these widths can have in d dimensions.

    For networks whose bends are all ReLUs, else None: each layer subdivides its input, which has at most d dimensions.
    Where layers follow one another and have no leak, the sharper bounds of :func:`creases.regions.bounds` hold too.
    """
    steps = [net.steps[i] for i in net.bends]
    if any(step.op != "relu" for step in steps):
        return None
    widths = [int(n) for n in np.diff(net.unit_starts) if n]
    if not widths:
        return 1
    known = bounds(widths, d)
    if not _is_chain(net):
        return min(known.product, known.montufar_2014)
    return known.montufar_2017 if any(step.leak is not None for step in steps) else known.upper


def _is_chain(net: Network) -> bool:
    """Whether every step reads the value just before it."""
    return all(step.inputs == (i,) for i, step in enumerate(net.steps))


class _Measured(NamedTuple):
    """The fields of :class:`PartitionSummary` that depend on the regions alone."""

    sizes: Floats
    class_sizes: Floats
    class_regions: Ints
    boundary_size: float
    n_pieces: int


def _measure_plane(partition: PlanePartition) -> _Measured:
    boundary = partition.boundary()
    class_sizes = boundary.areas()
    pairs = np.unique(np.column_stack([boundary.part_class, boundary.part_region]), axis=0)
    class_regions = np.bincount(pairs[:, 0].astype(np.int64), minlength=len(class_sizes)).astype(np.int64)
    n_pieces = int(partition.same_piece().max(initial=-1)) + 1
    return _Measured(partition.areas(), class_sizes, class_regions, boundary.length, n_pieces)


def _measure_line(partition: LinePartition) -> _Measured:
    decisions, ends = partition.classes(), partition.ends
    class_sizes = np.bincount(decisions.classes, weights=np.diff(decisions.ends)).astype(np.float64)
    class_regions = np.zeros(len(class_sizes), np.int64)
    for index in range(len(class_sizes)):
        intervals = decisions.classes == index
        first = np.searchsorted(ends, decisions.ends[:-1][intervals], side="right") - 1
        last = np.searchsorted(ends, decisions.ends[1:][intervals], side="left") - 1
        regions = [np.arange(a, b + 1) for a, b in zip(first, last, strict=True)]
        class_regions[index] = len(np.unique(np.concatenate(regions))) if regions else 0
    boundary_size = float(len(decisions.classes) - 1)
    return _Measured(np.diff(ends), class_sizes, class_regions, boundary_size, _count_line_pieces(partition))


def _count_line_pieces(partition: LinePartition) -> int:
    """Return the number of regions of a segment when neighbors with the same affine function are merged."""
    J, y = partition.pieces()
    flat = np.concatenate([J[:, :, 0], y], axis=1)
    jumps = np.abs(np.diff(flat, axis=0)).max(axis=1, initial=0.0)
    return 1 + int((jumps > 1e-9 * np.abs(flat).max(initial=0.0)).sum())
