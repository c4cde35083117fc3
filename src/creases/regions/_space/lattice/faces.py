"""A finished face lattice: faces of all dimensions in one numbering, their corners, volumes and neighbors."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from math import factorial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from creases._typing import Floats
from creases.regions._space.lattice.lattice import Ints, Lattice
from creases.regions._threads import map_in_threads, thread_count

#: The corners of so many faces of dimension 0, half as many of dimension 1, ... are found on one thread.
THREADED = 2**16


class Faces(NamedTuple):
    """Faces of all dimensions in one numbering, vertices first, regions last."""

    counts: NDArray[np.int64]  #: (n + 1,) how many of each dimension
    starts: NDArray[np.int64]  #: (faces + 1,)
    lists: NDArray[np.int32]  #: facets of face f are lists[starts[f] : starts[f + 1]]

    def corners(self, k: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return the vertices of the faces of dimension k >= 1, and where those of each face begin."""
        count, threads = int(self.counts[k]), thread_count()
        if count << k < THREADED:
            threads = 1
        bounds = pairwise([count * i // threads for i in range(threads + 1)])
        parts = list(map_in_threads(partial(self._corners, k), bounds, threads))
        ends = np.cumsum([0, *(len(corners) for corners, _ in parts)])
        starts = [part[:-1] + end for (_, part), end in zip(parts, ends[:-1], strict=True)]
        return np.concatenate([corners for corners, _ in parts]), np.concatenate([*starts, ends[-1:]])

    def _corners(self, k: int, bounds: tuple[int, int]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return the vertices of a range of faces, and where those of each face begin, and the last ends."""
        from creases.regions._space.lattice import faces_kernel as kernel

        count = bounds[1] - bounds[0]
        starts, out = np.zeros(count + 1, np.int64), np.empty(2 ** (k + 1) * count, np.int32)
        while True:
            size = kernel.face_corners(self.counts, self.starts, self.lists, k, *bounds, out, starts)
            if size <= len(out):
                return out[:size], starts
            out = np.empty(size, np.int32)

    def centers(self, vertices: Floats, corners: NDArray[np.int32], starts: NDArray[np.int64]) -> Floats:
        """Return the mean (R, n) of the corners of every region."""
        from creases.regions._space.lattice import faces_kernel as kernel

        out = np.zeros((int(self.counts[-1]), vertices.shape[1]))
        kernel.mean_corners(vertices, corners, starts, out)
        return out

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
    from creases.regions._space.lattice import faces_kernel as kernel

    counts = lattice.counts.copy()
    entries = sum(int(lattice.sizes[k, : counts[k]].sum()) for k in range(1, lattice.n + 1))
    starts, lists = np.zeros(int(counts.sum()) + 1, np.int64), np.empty(entries, np.int32)
    kernel.number_lists(lattice.starts, lattice.sizes, lattice.lists, counts, starts, lists)
    return Faces(counts, starts, lists)
