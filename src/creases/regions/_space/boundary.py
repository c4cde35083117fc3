"""The decision boundary in n dimensions: where the two largest outputs tie."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from creases._typing import Floats
from creases.regions._boundary import output_term_sizes
from creases.regions._space.lattice import Lattice, merge_regions, number_faces
from creases.regions._space.lattice.lattice import runs
from creases.regions._space.vertices import tournament
from creases.regions._tolerance import SIGN_TOLERANCE

if TYPE_CHECKING:
    from creases.regions._space.partition import SpacePartition


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


def split_by_class(partition: SpacePartition) -> ClassParts:
    """Cut a partition where the largest output changes, or where a single output changes sign."""
    p, n = partition, len(partition.box)
    outputs = p.values.shape[1]
    size = SIGN_TOLERANCE * output_term_sizes(p.net, p.vertices) if p.count else np.zeros(outputs)
    values = np.where(np.abs(p.values) <= size, 0.0, p.values) if outputs == 1 else p.values
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
