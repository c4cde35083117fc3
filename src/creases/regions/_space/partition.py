"""The regions of a network in a box of n dimensions, with their faces."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from creases._display import plot
from creases._program import pattern_pieces
from creases._text import plural
from creases._typing import Floats
from creases._validation import check_points
from creases.errors import InputError
from creases.network import Network, Piece
from creases.regions._archive import Archived
from creases.regions._locate import PatternIndex, near_regions, pattern_at
from creases.regions._space.boundary import SpaceBoundary, space_boundary
from creases.regions._space.lattice import Faces

if TYPE_CHECKING:
    import networkx
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class SpacePartition(Archived):
    """The regions of a network in a box; all of them if ``complete``.

    With ``method="lp"`` regions have no vertices: the arrays of vertices and faces are empty.
    """

    net: Network
    box: Floats  #: (n, 2)
    vertices: Floats  #: (V, n)
    values: Floats  #: (V, n_out) the network's output there
    corners: NDArray[np.int32]  #: (C,) vertices of all regions, in no order
    starts: NDArray[np.int64]  #: (R + 1,) region r is corners[starts[r] : starts[r + 1]]
    patterns: NDArray[np.uint8]  #: (R, n_bytes)
    pairs: NDArray[np.int64]  #: (A, 2) regions that share a facet
    facet_units: NDArray[np.int32]  #: (A,) the unit whose crease that facet is on
    inner: Floats  #: (R, n) a point inside every region
    complete: bool  #: whether these are all regions of the box
    ended: str  #: why not, "" when complete
    face_counts: NDArray[np.int64]  #: (n + 1,) faces of dimension 0, ..., n
    face_starts: NDArray[np.int64]  #: (faces + 1,) faces of all dimensions numbered through, vertices first
    face_lists: NDArray[np.int32]  #: facets of face f are face_lists[face_starts[f] : face_starts[f + 1]]
    creases: NDArray[np.int32]  #: for each face of dimension n - 1 its unit, -1 for a side of the box

    @property
    def count(self) -> int:
        """Number of regions."""
        return len(self.patterns)

    def __repr__(self) -> str:
        ended = "" if self.complete else f", incomplete: {self.ended}"
        return f"SpacePartition({plural(self.count, 'region')} in {plural(len(self.box), 'dimension')}{ended})"

    @property
    def flat(self) -> Faces:
        """The faces of all dimensions."""
        return Faces(self.face_counts, self.face_starts, self.face_lists)

    def _need_vertices(self, what: str) -> None:
        if self.count and not len(self.vertices):
            raise InputError("method", f"be 'vertices' for {what}", "'lp', whose regions have no vertices")

    def f_vector(self) -> tuple[int, ...]:
        """Return the number of faces of dimension 0 (vertices), 1 (edges), ..., n (regions)."""
        self._need_vertices("f_vector")
        return tuple(int(count) for count in self.face_counts)

    def volumes(self) -> Floats:
        """Return the volume of every region: (R,)."""
        self._need_vertices("volumes")
        return self.flat.volumes(self.vertices)

    def sides(self) -> NDArray[np.int16]:
        """Return the side of every unit on every region: (R, n_units)."""
        return self.net.unpack(self.patterns)

    @cached_property
    def _net(self) -> Network:
        return self.net.to("cpu").to(torch.float64)

    def pieces(self) -> Piece:
        """Return the affine function on every region: J (R, n_out, n) and y (R, n_out), in float64."""
        n = len(self.box)
        return pattern_pieces(self._net, self.patterns, np.zeros(n), np.eye(n))

    def locate(self, points: Any) -> NDArray[np.int64]:
        """Return the region of each point (k, n): (k,), -1 outside the box or where no region is known.

        On a crease it is one of the adjacent regions.
        """
        x = check_points(points, len(self.box))
        region = np.full(len(x), -1, np.int64)
        inside = np.flatnonzero(((x >= self.box[:, 0]) & (x <= self.box[:, 1])).all(axis=1))
        if not self.count or not len(inside):
            return region
        region[inside] = self._index.find(pattern_at(self._net, torch.from_numpy(x[inside])))
        # On a crease, or where a unit is zero up to rounding, no region may have the pattern.
        lost = inside[region[inside] < 0]
        if len(lost):
            region[lost] = near_regions(self._net, self.sides(), x[lost])
        return region

    @cached_property
    def _index(self) -> PatternIndex:
        return PatternIndex(self.patterns)

    def boundary(self) -> SpaceBoundary:
        """Return the decision boundary: where the two largest outputs tie, or a single output is zero."""
        self._need_vertices("boundary")
        return space_boundary(self)

    def to_networkx(self) -> networkx.Graph[int]:
        """Return a graph with regions as nodes (``inner``: a point inside) and shared facets as edges (unit)."""
        import networkx

        graph: networkx.Graph[int] = networkx.Graph()
        for region, inner in enumerate(self.inner.tolist()):
            graph.add_node(region, inner=tuple(inner))
        for (a, b), unit in zip(self.pairs.tolist(), self.facet_units.tolist(), strict=True):
            graph.add_edge(a, b, unit=unit)
        return graph

    def plot(self, ax: Axes | None = None, **options: Any) -> Axes:
        """Plot the partition, in three dimensions: see :func:`creases.show.plot_space`."""
        axes: Axes = plot(self, ax=ax, **options)
        return axes
