"""A finished face lattice: faces of all dimensions in one numbering, their corners, volumes and neighbors."""

from __future__ import annotations

from math import factorial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from creases._compiled import jit, jit_internal
from creases._typing import Floats
from creases.regions._space.lattice.lattice import Ints, Lattice


class Faces(NamedTuple):
    """Faces of all dimensions in one numbering, vertices first, regions last."""

    counts: NDArray[np.int64]  #: (n + 1,) how many of each dimension
    starts: NDArray[np.int64]  #: (faces + 1,)
    lists: NDArray[np.int32]  #: facets of face f are lists[starts[f] : starts[f + 1]]

    def corners(self, k: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return the vertices of the faces of dimension k >= 1, and where those of each face begin."""
        count = int(self.counts[k])
        starts, out = np.zeros(count + 1, np.int64), np.empty(2 ** (k + 1) * count, np.int32)
        while (size := face_corners(self.counts, self.starts, self.lists, k, out, starts)) > len(out):
            out = np.empty(size, np.int32)
        return out[:size], starts

    def centers(self, vertices: Floats, corners: NDArray[np.int32], starts: NDArray[np.int64]) -> Floats:
        """Return the mean (R, n) of the corners of every region."""
        out = np.zeros((int(self.counts[-1]), vertices.shape[1]))
        mean_corners(vertices, corners, starts, out)
        return out

    def volumes(self, vertices: Floats) -> Floats:
        """Return the volume of every region, by a pulling triangulation."""
        regions = int(self.counts[-1])
        lowest, sums = np.empty(len(self.starts) - 1, np.int32), np.empty(regions)
        lowest_vertices(int(self.counts[0]), self.starts, self.lists, lowest)
        simplex_sums(vertices, len(lowest) - regions, self.starts, self.lists, lowest, sums)
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
    counts = lattice.counts.copy()
    entries = sum(int(lattice.sizes[k, : counts[k]].sum()) for k in range(1, lattice.n + 1))
    starts, lists = np.zeros(int(counts.sum()) + 1, np.int64), np.empty(entries, np.int32)
    number_lists(lattice.starts, lattice.sizes, lattice.lists, counts, starts, lists)
    return Faces(counts, starts, lists)


Array = NDArray[Any]


@jit
def face_corners(counts: Array, starts: Array, lists: Array, k: int, out: Array, out_starts: Array) -> int:
    """Write the vertices of the faces of dimension k >= 1; return their number.

    If that is larger than ``out``, call again. A vertex of a face of dimension k is on at least k of its facets, so
    k - 1 of them need not be looked at.
    """
    begin = 0
    for j in range(k):
        begin += counts[j]
    visited = np.full(begin, -1, np.int32)
    faces, facets = np.empty(begin + 1, np.int32), np.empty(begin + 1, np.int32)
    n = 0
    for c in range(counts[k]):
        out_starts[c] = n
        faces[0] = begin + c
        size = 1
        for dimension in range(k, 0, -1):
            found = 0
            for j in range(size - 1, -1, -1):
                f = faces[j]
                for i in range(starts[f] + dimension - 1, starts[f + 1]):
                    g = lists[i]
                    facets[found] = g  # kept where it is new: a branch here would be mispredicted half of the time
                    found += visited[g] != c
                    visited[g] = c
            faces, facets = facets, faces
            size = found
        for j in range(size):
            if n + j < len(out):
                out[n + j] = faces[j]
        n += size
    out_starts[counts[k]] = n
    return n


@jit
def number_lists(starts: Array, sizes: Array, lists: Array, counts: Array, out_starts: Array, out: Array) -> None:
    """Write the facets of the faces of all dimensions in one numbering, one after another, and where each begins."""
    below, face, n = 0, counts[0], 0
    for k in range(1, len(counts)):
        for f in range(counts[k]):
            for i in range(starts[k, f], starts[k, f] + sizes[k, f]):
                out[n] = lists[k, i] + below
                n += 1
            face += 1
            out_starts[face] = n
        below += counts[k - 1]


@jit
def mean_corners(vertices: Array, corners: Array, starts: Array, out: Array) -> None:
    """Compute the mean of the corners of each face."""
    for f in range(len(out)):
        for i in range(starts[f], starts[f + 1]):
            for j in range(out.shape[1]):
                out[f, j] += vertices[corners[i], j]
        for j in range(out.shape[1]):
            out[f, j] /= starts[f + 1] - starts[f]


@jit
def lowest_vertices(n_vertices: int, starts: Array, lists: Array, out: Array) -> None:
    """Compute the vertex with the smallest number of every face."""
    for f in range(len(out)):
        if f < n_vertices:
            out[f] = f
            continue
        best = out[lists[starts[f]]]
        for i in range(starts[f] + 1, starts[f + 1]):
            best = min(best, out[lists[i]])
        out[f] = best


@jit
def simplex_sums(vertices: Array, begin: int, starts: Array, lists: Array, lowest: Array, out: Array) -> None:
    """Compute n! times the volume of each region (numbered from ``begin``), by pulling its vertices.

    A face is the union of the cones from its lowest vertex over its facets that do not have this vertex; so down to
    edges, every chain of such choices is a simplex.
    """
    n = vertices.shape[1]
    regions = len(out)
    at = np.empty(n + 1, np.int64)  # the face chosen in each dimension, and the next of its facets to look at
    place = np.empty(n + 1, np.int64)
    M = np.empty((n, n))
    for r in range(regions):
        total = 0.0
        at[n] = begin + r
        place[n] = starts[at[n]]
        k = n
        while k <= n:
            f = at[k]
            if place[k] == starts[f + 1]:
                k += 1
                continue
            g = lists[place[k]]
            place[k] += 1
            if lowest[g] == lowest[f]:
                continue
            if k > 1:
                k -= 1
                at[k] = g
                place[k] = starts[g]
                continue
            for row in range(n):
                for j in range(n):
                    M[row, j] = vertices[lowest[at[row + 1]], j] - vertices[g, j]
            total += abs(_determinant(M))
        out[r] = total


@jit_internal
def _determinant(M: Array) -> float:
    """Return the determinant by elimination, in place."""
    n = len(M)
    product = 1.0
    for i in range(n):
        pivot = i
        for j in range(i + 1, n):
            if abs(M[j, i]) > abs(M[pivot, i]):
                pivot = j
        if M[pivot, i] == 0.0:
            return 0.0
        if pivot != i:
            for j in range(i, n):
                M[i, j], M[pivot, j] = M[pivot, j], M[i, j]
            product = -product
        product *= M[i, i]
        for j in range(i + 1, n):
            factor = M[j, i] / M[i, i]
            for k in range(i + 1, n):
                M[j, k] -= factor * M[i, k]
    return product
