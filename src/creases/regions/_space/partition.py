"""The regions of a network in a box of n dimensions, with their faces."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from creases._display import plot
from creases._document import Document, facts
from creases._program import pattern_pieces
from creases._text import plural
from creases._typing import Floats
from creases._validation import check_points
from creases.errors import InputError
from creases.network import Network, Piece
from creases.regions._archive import Archived
from creases.regions._boundary import output_term_sizes
from creases.regions._locate import PatternIndex, near_regions, pattern_at
from creases.regions._space.lattice import Faces, Lattice, merge_regions, number_faces
from creases.regions._space.lattice.lattice import runs
from creases.regions._space.vertices import tournament
from creases.regions._tolerance import SIGN_TOLERANCE
from creases.regions._topology import Topology, class_values, dual_graph, find_topology

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from scipy.sparse import csr_array


@dataclass(frozen=True, eq=False)
class SpaceBoundary:
    """The decision boundary as flat faces of dimension n - 1, each inside one region or between two.

    A network of one output decides by its sign: class 1 where it is positive, class 0 elsewhere.
    """

    vertices: Floats  #: (V, n) of the partition, and those of the boundary
    corners: NDArray[np.int32]  #: vertices of all faces
    starts: NDArray[np.int64]  #: (S + 1,) face s has corners[starts[s] : starts[s + 1]]
    classes: NDArray[np.int64]  #: (S, 2) the class on either side
    regions: NDArray[np.int64]  #: (S, 2) the region on either side (the same, except along a crease)

    @property
    def count(self) -> int:
        """Number of faces."""
        return len(self.classes)

    def face(self, s: int) -> Floats:
        """Return the corners of one face (k, n), in no order."""
        return self.vertices[self.corners[self.starts[s] : self.starts[s + 1]]]


class ClassParts(NamedTuple):
    """The parts of regions where each class is decided."""

    lattice: Lattice
    classes: NDArray[np.int64]  #: (P,) the class of each part
    regions: NDArray[np.int64]  #: (P,) the region each is part of


def split_by_class(partition: SpacePartition, output: int | None = None, level: float = 0.0) -> ClassParts:
    """Cut a partition where the largest output changes, or where a single output crosses the level."""
    p, n = partition, len(partition.box)
    terms = output_term_sizes(p.net, p.vertices) if p.count else np.zeros(p.values.shape[1])
    values, terms = class_values(p.values, terms, output, level)
    outputs, size = values.shape[1], SIGN_TOLERANCE * terms
    values = np.where(np.abs(values) <= size, 0.0, values) if outputs == 1 else values
    kind = np.dtype(np.uint8 if outputs <= 256 else np.uint16)  # of a class, in a column behind those of the region
    region = np.arange(p.count, dtype=np.uint32).view(kind).reshape(p.count, 4 // kind.itemsize)
    column = region.shape[1]
    lattice = Lattice(
        np.concatenate([p.vertices, values], axis=1),
        np.arange(len(p.vertices), dtype=np.uint64),
        p.flat.by_dimension(),
        np.zeros((len(p.creases), 2), np.int32),  # what unit made a facet does not matter here
        np.concatenate([region, np.zeros((p.count, 1), kind)], axis=1),
    )
    if outputs == 1:
        lattice.cut(n, column, 1, size, 0, 1)
    else:
        tournament(lattice, slice(n, n + outputs), outputs, size, column)
        lattice = merge_regions(lattice)
    side = lattice.sides[: lattice.count, column].astype(np.int64)
    parent = np.ascontiguousarray(lattice.sides[: lattice.count, :column]).view(np.uint32)[:, 0].astype(np.int64)
    return ClassParts(lattice, side, parent)


def space_boundary(partition: SpacePartition) -> SpaceBoundary:
    """Return the faces between parts of different classes."""
    lattice, side, parent = split_by_class(partition)
    n = lattice.n
    faces = number_faces(lattice)
    beside = faces.cofaces(n)
    between = np.flatnonzero((beside >= 0).all(axis=1) & (side[beside[:, 0]] != side[beside[:, 1]]))
    corners, starts = faces.corners(n - 1) if n > 1 else (np.arange(faces.counts[0]), np.arange(faces.counts[0] + 1))
    sizes = np.diff(starts)[between]
    return SpaceBoundary(
        lattice.data[: lattice.n_vertices, :n].copy(),
        corners[runs(starts[between], sizes)].astype(np.int32),
        np.concatenate([[0], np.cumsum(sizes)]),
        side[beside[between]],
        parent[beside[between]],
    )


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

    def __str__(self) -> str:
        return f"{self!r}\n{self.topology()}" if self.complete and len(self.vertices) else repr(self)

    def describe(self) -> Document:
        """Return how many regions and neighbors there are, and whether these are all."""
        about = {
            "regions": f"{self.count:,}" + ("" if self.complete else f", incomplete: {self.ended}"),
            "dimensions": str(len(self.box)),
            "vertices": f"{len(self.vertices):,}" if len(self.vertices) else "not computed",
            "pairs of neighbors": f"{len(self.pairs):,}",
            "inputs, outputs": f"{self.net.n_in}, {self.net.n_out}",
        }
        return Document("SpacePartition", "", [facts("Partition", about.items())], about)

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

    def topology(self, *, output: int | None = None, level: float = 0.0) -> Topology:
        """Return the islands of each class with their Betti numbers; see :meth:`PlanePartition.topology`.

        The regions of the box must all be known.
        """
        self._need_vertices("topology")
        if not self.complete:
            raise InputError("partition", "hold all regions of its box for its topology", self.ended)
        done = split_by_class(self, output, level)
        faces, n = number_faces(done.lattice), done.lattice.n
        volumes = faces.volumes(done.lattice.data[: done.lattice.n_vertices, :n])
        parts = (*faces.corners(n), done.classes, done.regions, volumes)
        return find_topology(int(faces.counts[0]), faces.by_dimension(), *parts)

    def dual_graph(self) -> csr_array:
        """Return the neighbors of every region, a sparse matrix (R, R): 1 + the unit whose crease two regions share."""
        return dual_graph(self.pairs, self.facet_units, self.count)

    def plot(self, ax: Axes | None = None, **options: Any) -> Axes:
        """Plot the partition, in three dimensions: see :func:`creases.show.plot_space`."""
        axes: Axes = plot(self, ax=ax, **options)
        return axes
