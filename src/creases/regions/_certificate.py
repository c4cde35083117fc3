"""Whether a partition is the network: its pieces against the network's own values, inside regions and at corners."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from creases._typing import Floats, Ints
from creases._validation import check_count
from creases.network import Network, Piece
from creases.network.program import carry
from creases.regions._line.partition import LinePartition
from creases.regions._plane.plane import PlanePartition
from creases.regions._tolerance import EPS, SIGN


@dataclass(frozen=True, eq=False)
class Certificate:
    """How far pieces are from the network, over points drawn evenly and over all corners of all regions."""

    points: int  #: points drawn evenly over the box or segment
    at_points: float  #: largest ``|f - piece|`` of any output at them
    corners: int  #: corners of regions: a vertex counts once for each region that it belongs to
    at_corners: float  #: largest ``|f - piece|`` of any output at them, by each region's own piece
    allowed: float  #: what rounding can make of it at most
    where: Floats  #: (n_in,) the input where it is largest

    @property
    def largest(self) -> float:
        """Largest difference anywhere."""
        return float(np.maximum(self.at_points, self.at_corners))  # not a number if either is not

    @property
    def holds(self) -> bool:
        """Whether it is no more than rounding."""
        return self.largest <= self.allowed


def certificate(partition: PlanePartition | LinePartition, *, points: int = 2000, seed: int = 0) -> Certificate:
    """Hold a partition's pieces against the network itself, in float64.

    A piece is affine. If the network is affine on the region too, which the points inside look at, then a piece that
    agrees at all corners agrees everywhere.

    Parameters
    ----------
    partition
        Of a plane or of a segment.
    points, seed
        How many points are drawn, and how.

    Examples
    --------
    >>> import creases
    >>> net = creases.read([([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0]), ([[1.0, 1.0]], [-1.0])])
    >>> found = certificate(creases.plane(net))
    >>> found.holds, found.corners, found.largest
    (True, 16, 0.0)
    """
    count = check_count(points, "points")
    share = np.random.default_rng(seed).random((count, 2))
    if isinstance(partition, PlanePartition):
        drawn, corners, reach = _on_plane(partition, share)
    else:
        drawn, corners, reach = _on_line(partition, share[:, 0])
    piece = partition.pieces()
    (inside, at), (outer, corner) = (_gap(partition.net, piece, looked) for looked in (drawn, corners))
    return Certificate(
        points=len(drawn.t),
        at_points=inside,
        corners=len(corners.t),
        at_corners=outer,
        allowed=_rounding(partition.net, reach),
        where=corner if outer > inside else at,
    )


class _Looked(NamedTuple):
    """Where a partition is looked at."""

    t: Floats  #: (n, k) in slice coordinates
    x: Floats  #: (n, n_in) the inputs there
    region: Ints  #: (n,)


def _on_plane(partition: PlanePartition, share: Floats) -> tuple[_Looked, _Looked, Floats]:
    """Points drawn and corners of a plane, and the largest magnitude of each input."""
    box, starts = partition.box, partition.starts
    drawn = box[:, 0] + share * np.diff(box, axis=1)[:, 0]
    corners = partition.vertices[partition.corners]
    own = np.repeat(np.arange(partition.count), np.diff(starts))
    reach = np.abs(partition.origin) + np.abs(partition.basis) @ np.abs(box).max(axis=1)
    inside = _Looked(drawn, partition.points(drawn), partition.locate(drawn))
    return inside, _Looked(corners, partition.points(corners), own), reach


def _on_line(partition: LinePartition, share: Floats) -> tuple[_Looked, _Looked, Floats]:
    """As on a plane, of a segment; of a whole line its first and last region have no outer corner."""
    ends, own = partition.ends, np.repeat(np.arange(partition.count), 2)
    corners = np.column_stack([ends[:-1], ends[1:]]).ravel()
    finite = np.isfinite(corners)
    corners, own = corners[finite], own[finite]
    size = max(1.0, float(np.abs(corners).max(initial=0.0)))
    reach = np.abs(partition.a) + size * np.abs(partition.b - partition.a)
    inside = _Looked(share[:, None], partition.points(share), partition.locate(share))
    return inside, _Looked(corners[:, None], partition.points(corners), own), reach


def _gap(net: Network, piece: Piece, looked: _Looked) -> tuple[float, Floats]:
    """Largest ``|f - (J t + y)|`` over all outputs, and the input where it is."""
    by_piece = np.einsum("nmk,nk->nm", piece.J[looked.region], looked.t) + piece.y[looked.region]
    gaps = np.abs(by_piece - _values(net, looked.x)).max(axis=1, initial=0.0)
    if not len(gaps):
        return 0.0, np.zeros(net.n_in)
    return float(gaps.max()), looked.x[gaps.argmax()]


def _values(net: Network, x: Floats) -> Floats:
    return np.asarray(net.to(torch.float64)(x), np.float64).reshape(len(x), -1)


def _rounding(net: Network, reach: Floats) -> float:
    """What rounding can change an output by: the units in the last place of all its terms, at their largest.

    ``reach`` (n_in,) is the largest magnitude of each input. Magnitudes are carried through the network with no sign
    that could cancel; each sum rounds once for each of its terms, and signs are decided up to SIGN of theirs.
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
        sizes = carry(net, {0: torch.from_numpy(reach).reshape(1, *net.input_shape)}, through)[len(net.steps)]
    return float(sizes.max()) * (SIGN + EPS * sum(net.sizes)) if sizes.numel() else 0.0
