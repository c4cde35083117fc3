"""Statistics of a partition, and its agreement with the network it was computed from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from creases._program import find_chain_break, propagate
from creases._text import OneLine
from creases._typing import Floats, Ints
from creases._validation import check_count, check_points
from creases.network import Network, Piece
from creases.regions._counts import bounds
from creases.regions._line.partition import LinePartition
from creases.regions._plane.partition import PlanePartition
from creases.regions._tolerance import EPS, SIGN_TOLERANCE


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
    if t is None:
        return measured
    points = check_points(t, d, "t")
    region = partition.locate(points if d == 2 else points[:, 0])
    samples = np.bincount(region[region >= 0], minlength=partition.count).astype(np.int64)
    return replace(measured, samples=samples, n_outside=int((region < 0).sum()))


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
    if find_chain_break(net.steps) is not None:
        return min(known.product, known.montufar_2014)
    return known.montufar_2017 if any(step.leak is not None for step in steps) else known.upper


def _measure_plane(partition: PlanePartition) -> PartitionSummary:
    """Return the summary of a plane without samples."""
    boundary = partition.boundary()
    class_sizes = boundary.areas()
    pairs = np.unique(np.column_stack([boundary.part_class, boundary.part_region]), axis=0)
    class_regions = np.bincount(pairs[:, 0].astype(np.int64), minlength=len(class_sizes)).astype(np.int64)
    n_pieces = int(partition.same_piece().max(initial=-1)) + 1
    sizes, most = partition.areas(), max_regions(partition.net, 2)
    return PartitionSummary(sizes, None, 0, class_sizes, class_regions, boundary.length, n_pieces, most)


def _measure_line(partition: LinePartition) -> PartitionSummary:
    """Return the summary of a segment without samples."""
    decisions, ends = partition.classes(), partition.ends
    class_sizes = np.bincount(decisions.classes, weights=np.diff(decisions.ends)).astype(np.float64)
    class_regions = np.zeros(len(class_sizes), np.int64)
    for index in range(len(class_sizes)):
        intervals = decisions.classes == index
        first = np.searchsorted(ends, decisions.ends[:-1][intervals], side="right") - 1
        last = np.searchsorted(ends, decisions.ends[1:][intervals], side="left") - 1
        regions = [np.arange(a, b + 1) for a, b in zip(first, last, strict=True)]
        class_regions[index] = len(np.unique(np.concatenate(regions))) if regions else 0
    J, y = partition.pieces()
    flat = np.concatenate([J[:, :, 0], y], axis=1)
    jumps = np.abs(np.diff(flat, axis=0)).max(axis=1, initial=0.0)
    n_pieces = 1 + int((jumps > 1e-9 * np.abs(flat).max(initial=0.0)).sum())
    boundary, most = float(len(decisions.classes) - 1), max_regions(partition.net, 1)
    return PartitionSummary(np.diff(ends), None, 0, class_sizes, class_regions, boundary, n_pieces, most)


@dataclass(frozen=True, eq=False)
class Verification:
    """Largest difference between pieces and network, at random points and at all corners of all regions."""

    n_points: int  #: points drawn uniformly from the box or segment
    error_at_points: float  #: largest ``|f - piece|`` of any output at them
    n_corners: int  #: corners of regions: a vertex counts once for each region that it belongs to
    error_at_corners: float  #: largest ``|f - piece|`` of any output at them, by each region's own piece
    tolerance: float  #: the largest difference that rounding can explain
    worst_point: Floats  #: (n_in,) the input with the largest difference

    @property
    def max_error(self) -> float:
        """Largest difference anywhere."""
        return float(np.maximum(self.error_at_points, self.error_at_corners))  # NaN if either is NaN

    @property
    def holds(self) -> bool:
        """Whether rounding explains the largest difference."""
        return self.max_error <= self.tolerance


def verify_partition(partition: PlanePartition | LinePartition, *, points: int = 2000, seed: int = 0) -> Verification:
    """Compare the pieces of a partition with the values of the network itself, in float64.

    A piece is affine. If the network is affine on the region too, which the points inside test, then a piece that
    agrees at all corners agrees everywhere.

    Parameters
    ----------
    partition
        Of a plane or of a segment.
    points
        Number of points to draw.
    seed
        Seed of the random points.

    Examples
    --------
    >>> import creases
    >>> net = creases.read([([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0]), ([[1.0, 1.0]], [-1.0])])
    >>> verification = verify_partition(creases.plane(net))
    >>> verification.holds, verification.n_corners, verification.max_error
    (True, 16, 0.0)
    """
    count = check_count(points, "points")
    fraction = np.random.default_rng(seed).random((count, 2))
    if isinstance(partition, PlanePartition):
        inside, corners, size = _plane_points(partition, fraction)
    else:
        inside, corners, size = _line_points(partition, fraction[:, 0])
    piece = partition.pieces()
    (at_points, point), (at_corners, corner) = (_max_error(partition.net, piece, part) for part in (inside, corners))
    return Verification(
        n_points=len(inside.t),
        error_at_points=at_points,
        n_corners=len(corners.t),
        error_at_corners=at_corners,
        tolerance=_rounding(partition.net, size),
        worst_point=corner if at_corners > at_points else point,
    )


class _Points(NamedTuple):
    """Points of a partition at which it is compared."""

    t: Floats  #: (n, k) in slice coordinates
    x: Floats  #: (n, n_in) the inputs
    region: Ints  #: (n,)


def _plane_points(partition: PlanePartition, fraction: Floats) -> tuple[_Points, _Points, Floats]:
    """Return random points and corners of a plane, and the largest magnitude of each input."""
    box, starts = partition.box, partition.starts
    points = box[:, 0] + fraction * np.diff(box, axis=1)[:, 0]
    corners = partition.vertices[partition.corners]
    region = np.repeat(np.arange(partition.count), np.diff(starts))
    size = np.abs(partition.origin) + np.abs(partition.basis) @ np.abs(box).max(axis=1)
    inside = _Points(points, partition.points(points), partition.locate(points))
    return inside, _Points(corners, partition.points(corners), region), size


def _line_points(partition: LinePartition, fraction: Floats) -> tuple[_Points, _Points, Floats]:
    """As on a plane, for a segment; the first and last region of an infinite line have no outer corner."""
    ends, region = partition.ends, np.repeat(np.arange(partition.count), 2)
    corners = np.column_stack([ends[:-1], ends[1:]]).ravel()
    finite = np.isfinite(corners)
    corners, region = corners[finite], region[finite]
    length = max(1.0, float(np.abs(corners).max(initial=0.0)))
    size = np.abs(partition.a) + length * np.abs(partition.b - partition.a)
    inside = _Points(fraction[:, None], partition.points(fraction), partition.locate(fraction))
    return inside, _Points(corners[:, None], partition.points(corners), region), size


def _max_error(net: Network, piece: Piece, points: _Points) -> tuple[float, Floats]:
    """Return the largest ``|f - (J t + y)|`` over all outputs, and the input where it occurs."""
    by_piece = np.einsum("nmk,nk->nm", piece.J[points.region], points.t) + piece.y[points.region]
    values = np.asarray(net.to(torch.float64)(points.x), np.float64).reshape(len(points.x), -1)
    errors = np.abs(by_piece - values).max(axis=1, initial=0.0)
    if not len(errors):
        return 0.0, np.zeros(net.n_in)
    return float(errors.max()), points.x[errors.argmax()]


def _rounding(net: Network, size: Floats) -> float:
    """Bound the rounding error of any output: the units in the last place of all its terms, at their largest.

    ``size`` (n_in,) is the largest magnitude of each input. Magnitudes are carried through the network with no sign
    that could cancel; each sum rounds once for each of its terms, and signs are decided up to SIGN_TOLERANCE.
    """
    net = net.to("cpu").to(torch.float64)

    def through(i: int, inputs: list[Tensor]) -> Tensor:
        step = net.steps[i]
        if not step.is_bend:
            return step.magnitude(inputs)
        if step.op == "choice":
            return inputs[0].amax(-1)
        return inputs[0] if step.leak is None else inputs[0] * step.leak.abs().clamp(min=1)

    with torch.no_grad():
        sizes = propagate(net, {0: torch.from_numpy(size).reshape(1, *net.input_shape)}, through)[len(net.steps)]
    return float(sizes.max()) * (SIGN_TOLERANCE + EPS * sum(net.sizes)) if sizes.numel() else 0.0
