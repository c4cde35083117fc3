"""Agreement of a partition with its network: the pieces against the network's values, in regions and at corners."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from creases._program import propagate
from creases._typing import Floats, Ints
from creases._validation import check_count
from creases.network import Network, Piece
from creases.regions._line.partition import LinePartition
from creases.regions._plane.plane import PlanePartition
from creases.regions._tolerance import EPS, SIGN_TOLERANCE


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
    errors = np.abs(by_piece - _values(net, points.x)).max(axis=1, initial=0.0)
    if not len(errors):
        return 0.0, np.zeros(net.n_in)
    return float(errors.max()), points.x[errors.argmax()]


def _values(net: Network, x: Floats) -> Floats:
    return np.asarray(net.to(torch.float64)(x), np.float64).reshape(len(x), -1)


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
