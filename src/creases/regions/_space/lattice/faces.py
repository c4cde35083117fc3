"""A finished face lattice: faces of all dimensions in one numbering, their corners, volumes and neighbors."""

from __future__ import annotations

from math import factorial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from creases._typing import Floats
from creases.regions._space.lattice.lattice import Ints, Lattice


class Faces(NamedTuple):
    """Faces of all dimensions in one numbering, vertices first, regions last."""

    counts: NDArray[np.int64]  #: (n + 1,) how many of each dimension
    starts: NDArray[np.int64]  #: (faces + 1,)
    lists: NDArray[np.int32]  #: facets of face f are lists[starts[f] : starts[f + 1]]

    def corners(self, k: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return the vertices of the faces of dimension k >= 1, and where those of each face begin."""
        from creases.regions._space.lattice import faces_kernel as kernel

        begin, count = int(self.counts[:k].sum()), int(self.counts[k])
        starts, out = np.zeros(count + 1, np.int64), np.empty(2 ** (k + 1) * count, np.int32)
        while True:
            size = kernel.face_corners(int(self.counts[0]), self.starts, self.lists, begin, count, out, starts)
            if size <= len(out):
                return out[:size], starts
            out = np.empty(size, np.int32)

    def volumes(self, vertices: Floats) -> Floats:
        """Return the volume of every region, by a pulling triangulation."""
        from creases.regions._space.lattice import faces_kernel as kernel

        regions = int(self.counts[-1])
        lowest, sums = np.empty(len(self.starts) - 1, np.int32), np.empty(regions)
        kernel.lowest_vertices(int(self.counts[0]), self.starts, self.lists, lowest)
        kernel.simplex_sums(vertices, len(lowest) - regions, self.starts, self.lists, lowest, sums)
        return sums / factorial(vertices.shape[1])

    def cofaces(self, k: int) -> NDArray[np.int64]:
        """Return, for each face of dimension k - 1, the first and last face of dimension k that has it, -1 for none."""
        begin, below = int(self.counts[:k].sum()), int(self.counts[: k - 1].sum())
        starts = self.starts[begin : begin + int(self.counts[k]) + 1]
        facets = self.lists[starts[0] : starts[-1]] - below
        rows = np.repeat(np.arange(self.counts[k]), np.diff(starts))
        out = np.full((int(self.counts[k - 1]), 2), -1, np.int64)
        out[facets[::-1], 0] = rows[::-1]
        out[facets, 1] = rows
        return out

    def by_dimension(self) -> list[tuple[Ints, Ints]]:
        """Return for dimension 1, ..., n the sizes of the faces and their facets."""
        ends = np.cumsum(self.counts)
        out: list[tuple[Ints, Ints]] = []
        for k in range(1, len(self.counts)):
            starts = self.starts[ends[k - 1] : ends[k] + 1]
            below = ends[k - 1] - self.counts[k - 1]
            out.append((np.diff(starts), self.lists[starts[0] : starts[-1]] - below))
        return out


def number_faces(lattice: Lattice) -> Faces:
    """Return the faces of a lattice in one numbering."""
    sizes, lists, below = [np.zeros(lattice.n_vertices, np.int32)], [], 0
    for k in range(1, lattice.n + 1):
        size, entries = lattice.faces(k)
        sizes.append(size)
        lists.append(entries + np.int32(below))
        below += int(lattice.counts[k - 1])
    starts = np.concatenate([[0], np.cumsum(np.concatenate(sizes), dtype=np.int64)])
    return Faces(lattice.counts.copy(), starts, np.concatenate(lists))
