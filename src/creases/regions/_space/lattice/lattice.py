"""The face lattice of a polyhedral complex in n dimensions, subdivided unit by unit.

Faces of every dimension are kept with their facets, so splitting by a crease is combinatorics once each vertex has its
sign: a face with vertices strictly on both sides splits in two with a new face between, whose facets are the cuts of
the face's facets and the part of the face that is on the crease already. Only vertices on cut edges are computed, once
per edge. There is no linear program, and the parts tile the box whatever the rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from creases._typing import Floats

Ints = NDArray[np.integer]


#: Capacity of even a small complex, in faces; reallocation costs more than memory that stays unused.
ROOM = 16384


@lru_cache(maxsize=1)
def _kernel() -> Any:
    """Import the compiled loops on first use: importing numba is slow."""
    from creases.regions._space.lattice import lattice_kernel

    return lattice_kernel


class Lattice:
    """A complex of regions with shared faces; :meth:`cut` cuts it by units.

    Facets of face f of dimension k = 1, ..., n are ``lists[k, starts[k, f] : starts[k, f] + sizes[k, f]]``, faces of
    dimension k - 1. Arrays have spare capacity: ``counts[k]`` faces and ``ends[k]`` entries of lists are in use.

    Attributes
    ----------
    data
        (room, columns): a row for each vertex; its coordinates, then values that are affine on every region.
    keys
        (room,) uint64: names of vertices that do not depend on numbering, equal in all parts of a split complex.
    creases
        (room, 2): for each face of dimension n - 1 the unit whose crease it lies on, -1 on a side of the box, and the
        wall of :meth:`mark_walls` that it is part of, -1: none.
    sides
        (room, n_units): the side of every unit on every region.
    """

    def __init__(
        self,
        data: Floats,
        keys: NDArray[np.uint64],
        faces: Sequence[tuple[Ints, Ints]],
        creases: NDArray[np.int32],
        sides: NDArray[Any],
        room: int = ROOM,
    ) -> None:
        """Create a complex; ``faces``: for dimension 1, ..., n the sizes of the faces and their facets, in sequence.

        ``room``: how many faces of each dimension fit before arrays must grow, at least.
        """
        self.counts = np.array([len(data), *(len(sizes) for sizes, _ in faces)], np.int64)
        self.ends = np.array([0, *(len(lists) for _, lists in faces)], np.int64)
        n, size = len(faces) + 1, 2 * int(self.counts.max()) + room  # the same capacity for vertices, faces and regions
        self.starts, self.sizes = np.empty((n, size), np.int64), np.empty((n, size), np.int32)
        self.lists = np.empty((n, 4 * int(self.ends.max()) + 8 * room), np.int32)
        for k, (sizes, lists) in enumerate(faces, 1):
            self.sizes[k, : len(sizes)] = sizes
            self.starts[k, : len(sizes)] = np.cumsum(sizes) - sizes
            self.lists[k, : len(lists)] = lists
        self._work = _work_arrays((n, size))
        self.keys, self.creases = _enlarge(keys, (size,)), _enlarge(creases, (size, 2))
        self.sides = _enlarge(sides, (size, sides.shape[1]))
        self.set_data(data)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the faces without spare capacity."""
        faces = [self.faces(k) for k in range(1, self.n + 1)]
        data, keys = self.data[: self.n_vertices], self.keys[: self.n_vertices]
        return Lattice, (data, keys, faces, self.creases[: self.counts[-2]], self.sides[: self.count])

    @property
    def n(self) -> int:
        """Number of dimensions."""
        return len(self.counts) - 1

    @property
    def count(self) -> int:
        """Number of regions."""
        return int(self.counts[-1])

    @property
    def n_vertices(self) -> int:
        """Number of vertices."""
        return int(self.counts[0])

    @property
    def nbytes(self) -> int:
        """Bytes of the parts of all arrays that are in use."""
        arrays: list[NDArray[Any]] = [self.starts, self.sizes, *self._work]
        per_face = sum(array.itemsize for array in arrays)
        rows = self.n_vertices * (self.data.itemsize * self.data.shape[1] + self.keys.itemsize)
        regions = self.count * self.sides.itemsize * self.sides.shape[1]
        return int(self.counts.sum() * per_face + self.ends.sum() * self.lists.itemsize + rows + regions)

    def faces(self, k: int, ids: Ints | slice = slice(None)) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return the sizes and facets, in sequence, of faces of dimension k >= 1."""
        sizes, starts = self.sizes[k, : self.counts[k]][ids], self.starts[k, : self.counts[k]][ids]
        lists = np.empty(int(sizes.sum()), np.int32)
        _kernel().gather(starts, sizes, self.lists[k], lists)
        return sizes, lists

    def cut(
        self,
        column: int,
        unit: int,
        side: int,
        tolerance: Floats,
        start: int,
        stop: int,
        limit: int = np.iinfo(np.int64).max,
    ) -> int:
        """Cut by the zeros of columns of ``data``: units ``start`` to ``stop`` of a stage; return the first not done.

        Parameters
        ----------
        column, unit
            Column and number of the stage's first unit; the others follow.
        side
            The entry of ``sides`` for regions where a unit is positive; others are unchanged.
        tolerance
            For every unit of the stage: values at new vertices within it are 0.
        limit
            Number of regions from which on no more units are cut.
        """
        while start < stop and self.count <= limit:
            start, is_full = _kernel().cut_by_units(
                (self.starts, self.sizes, self.lists), self.counts, self.ends, self.data, self.keys, self.creases,
                self.sides, self._work, (column, unit, side), tolerance, start, stop, limit,
            )  # fmt: skip
            if is_full:
                self._grow()
        return start

    def _grow(self) -> None:
        """Double the capacity of all arrays, and copy what is used: memory that is not touched costs nothing."""
        n, size, entries = self.n + 1, self.sizes.shape[1], self.lists.shape[1]
        self.starts, self.sizes = (_enlarge_rows(array, self.counts, 2 * size) for array in (self.starts, self.sizes))
        self.lists = _enlarge_rows(self.lists, self.ends, 2 * entries)
        self._work = _work_arrays((n, 2 * size))
        self.sides = _enlarge(self.sides[: self.count], (2 * size, self.sides.shape[1]))
        self.creases = _enlarge(self.creases[: self.counts[-2]], (2 * size, 2))
        self.keys = _enlarge(self.keys[: self.n_vertices], (2 * size,))
        self.set_data(self.data[: self.n_vertices])

    def set_data(self, *parts: Floats) -> None:
        """Replace the values at the vertices, in parts (n_vertices, columns)."""
        self.data = np.empty((self.sizes.shape[1], sum(part.shape[1] for part in parts)))
        np.concatenate(parts, axis=1, out=self.data[: len(parts[0])])

    def mark_walls(self) -> None:
        """Mark the faces of dimension n - 1 with a region on one side only by numbers, which parts of them keep."""
        _, lists = self.faces(self.n)
        below = int(self.counts[-2])
        outer = np.bincount(lists, minlength=below) == 1
        self.creases[:below, 1] = np.where(outer, np.arange(below), -1)

    def compact(self) -> None:
        """Free the space of lists that are no longer in use, of more than a small complex has room for."""
        for k in range(2, self.n + 1):
            if self.ends[k] > ROOM and 2 * self.sizes[k, : self.counts[k]].sum() < self.ends[k]:
                sizes, lists = self.faces(k)
                self.starts[k, : len(sizes)] = np.cumsum(sizes) - sizes
                self.lists[k, : len(lists)] = lists
                self.ends[k] = len(lists)

    def part(self, regions: Ints) -> Lattice:
        """Return the complex of these regions alone, with all their faces."""
        ids, faces = np.asarray(regions), []
        sides, creases = self.sides[ids], self.creases
        for k in range(self.n, 0, -1):
            sizes, lists = self.faces(k, ids)
            used = np.zeros(self.counts[k - 1], bool)
            used[lists] = True
            faces.append((sizes, (np.cumsum(used) - 1)[lists]))
            ids = np.flatnonzero(used)
            if k == self.n:
                creases = self.creases[ids]
        return Lattice(self.data[ids], self.keys[ids], faces[::-1], creases, sides)

    def split(self) -> tuple[Lattice, Lattice]:
        """Split the regions into two complexes of about equal size, across the longest axis."""
        any_vertex = np.arange(self.n_vertices)
        for k in range(1, self.n + 1):
            any_vertex = any_vertex[self.lists[k, self.starts[k, : self.counts[k]]]]
        places = self.data[any_vertex, : self.n]
        axis = int(np.argmax(np.ptp(places, axis=0)))
        order = np.argsort(places[:, axis], kind="stable")
        middle = len(order) // 2
        return self.part(np.sort(order[:middle])), self.part(np.sort(order[middle:]))


def scramble(keys: NDArray[Any]) -> NDArray[np.uint64]:
    """Hash 64-bit numbers (splitmix64), so that their sums identify sets."""
    z = keys.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def runs(starts: Ints, sizes: Ints) -> NDArray[np.int64]:
    """Return the indices of all entries of runs: run i has ``sizes[i]`` entries from ``starts[i]`` on."""
    return np.repeat(starts - (np.cumsum(sizes) - sizes), sizes) + np.arange(sizes.sum())


def _work_arrays(shape: tuple[int, int]) -> tuple[NDArray[Any], ...]:
    """Allocate working arrays of the compiled loops for the faces of every dimension: words, cut faces, parts."""
    return tuple(np.empty(shape, kind) for kind in (np.uint64, np.int32, np.int32, np.int32))


def _enlarge(array: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Copy an array to the beginning of a larger one; the rest is not set."""
    new = np.empty([max(pair) for pair in zip(shape, array.shape, strict=True)], array.dtype)
    new[tuple(slice(size) for size in array.shape)] = array
    return new


def _enlarge_rows(array: NDArray[Any], used: Ints, width: int) -> NDArray[Any]:
    """Copy the first entries of each row, so many as are used, to longer rows; the rest is not set."""
    new = np.empty((len(array), width), array.dtype)
    for row, old, count in zip(new, array, used, strict=True):
        row[:count] = old[:count]
    return new


def box_lattice(box: Floats, n_units: int, dtype: type = np.uint8) -> Lattice:
    """Return the box (n, 2) as a complex of one region, all sides 0."""
    n = len(box)
    corners, faces = _cube(n)
    data = np.where(corners == 0, box[:, 0], box[:, 1])
    keys = scramble(np.arange(len(data)) + 2**40)  # unlike the small numbers that stand for units
    creases = np.full((2 * n, 2), -1, np.int32)
    return Lattice(data, keys, faces, creases, np.zeros((1, n_units), dtype), room=4 * ROOM)


@lru_cache(maxsize=8)
def _cube(n: int) -> tuple[Ints, Sequence[tuple[Ints, Ints]]]:
    """Return the corners (2^n, n) of the cube, and its faces of dimension 1..n as (sizes, facets)."""
    by_dimension: list[list[tuple[int, ...]]] = [[] for _ in range(n + 1)]
    for code in product((0, 1, 2), repeat=n):  # 2: this axis is free
        by_dimension[code.count(2)].append(code)
    number = [{code: i for i, code in enumerate(codes)} for codes in by_dimension]
    faces: list[tuple[Ints, Ints]] = []
    for k in range(1, n + 1):
        lists = [
            number[k - 1][(*code[:axis], end, *code[axis + 1 :])]
            for code in by_dimension[k]
            for axis in range(n)
            if code[axis] == 2
            for end in (0, 1)
        ]
        faces.append((np.full(len(by_dimension[k]), 2 * k, np.int32), np.array(lists, np.int32)))
    return np.array(by_dimension[0], np.int64).reshape(-1, n), faces


Keys = NDArray[np.uint64]


def _sums(keys: Keys, sizes: Ints) -> Keys:
    """Return the sum of the keys of each run of given size; no run is empty."""
    return np.add.reduceat(keys, np.cumsum(sizes) - sizes) if len(sizes) else keys[:0]


def merge_regions(lattice: Lattice) -> Lattice:
    """Return the complex with regions of equal sides united; walls were marked before cutting."""
    sides = lattice.sides[: lattice.count]
    _, first, label = np.unique(sides, axis=0, return_index=True, return_inverse=True)
    if len(first) == lattice.count:
        return lattice
    names = _surroundings(lattice, label.reshape(-1))
    numbers, sources, used_names = [], [], np.zeros(0, np.uint64)
    for name in names[::-1]:  # a face with the surroundings of a larger face is inside it
        unique, where, number = np.unique(name, return_index=True, return_inverse=True)
        is_new = ~np.isin(unique, used_names)
        renumber = np.where(is_new, np.cumsum(is_new) - 1, -1)
        numbers.append(renumber[number.reshape(-1)])
        sources.append(where[is_new])
        used_names = np.concatenate([used_names, unique])
    numbers, sources = numbers[::-1], sources[::-1]
    faces = []
    for k in range(1, lattice.n + 1):
        sizes, lists = lattice.faces(k)
        face, facet = np.repeat(numbers[k], sizes), numbers[k - 1][lists]
        pairs = np.unique(np.stack([face, facet], axis=1)[(face >= 0) & (facet >= 0)], axis=0)
        faces.append((np.bincount(pairs[:, 0], minlength=len(sources[k])), pairs[:, 1]))
    if not (faces[0][0] == 2).all():  # by rounding regions do not meet face to face: leave them unmerged
        return lattice
    creases, sides = lattice.creases[sources[-2]], sides[sources[-1]]
    counts, lists = faces[-1]  # label facets by a unit that changes there: that which cut first may not be the largest
    owner = np.repeat(np.arange(len(counts)), counts)
    order = np.argsort(lists, kind="stable")
    twice = np.flatnonzero(lists[order[1:]] == lists[order[:-1]])
    facet, a, b = lists[order[twice]], owner[order[twice]], owner[order[twice + 1]]
    stale = sides[a, creases[facet, 0]] == sides[b, creases[facet, 0]]
    creases[facet[stale], 0] = (sides[a[stale]] != sides[b[stale]]).argmax(axis=1)
    return Lattice(lattice.data[sources[0]], lattice.keys[sources[0]], faces, creases, sides)


def _surroundings(lattice: Lattice, label: Ints) -> list[Keys]:
    """Return, for the faces of each dimension, a key for the set of united regions and walls that contain them."""
    owner, inside = np.arange(lattice.count), label  # pairs (face, region label) of the dimension at hand
    names = [scramble(label)]
    walls = lattice.creases[: lattice.counts[-2], 1].astype(np.int64)
    labels = int(label.max()) + 1
    many = labels + int(walls.max(initial=0)) + 1
    for k in range(lattice.n, 0, -1):
        sizes, lists = lattice.faces(k)
        starts = np.searchsorted(owner, np.arange(lattice.counts[k]))
        counts = np.diff(np.append(starts, len(owner)))
        face = np.repeat(np.arange(len(sizes)), sizes)
        each = counts[face]  # every facet belongs to all that its face belongs to
        pairs = np.repeat(lists, each).astype(np.int64) * many + inside[runs(starts[face], each)]
        if k == lattice.n:
            on = np.flatnonzero(walls >= 0)
            pairs = np.concatenate([pairs, on * many + labels + walls[on]])
        pairs.sort()  # numpy's unique hashes integers, which takes several times as long as sorting
        pairs = pairs[np.append(True, pairs[1:] != pairs[:-1])] if len(pairs) else pairs
        owner, inside = pairs // many, pairs % many
        names.append(_sums(scramble(inside), np.bincount(owner, minlength=lattice.counts[k - 1])))
    return names[::-1]


def face_keys(lattice: Lattice) -> list[Keys]:
    """Return keys of the faces of dimension 0, ..., n that do not depend on numbering."""
    keys = [lattice.keys[: lattice.n_vertices]]
    for k in range(1, lattice.n + 1):
        sizes, lists = lattice.faces(k)
        keys.append(scramble(_sums(scramble(keys[-1])[lists], sizes)))
    return keys


def join_lattices(parts: Sequence[Lattice]) -> Lattice:
    """Return one complex from several that together tile a box, with equal columns of data."""
    if len(parts) == 1:
        return parts[0]
    keys = [np.concatenate(same) for same in zip(*(face_keys(part) for part in parts), strict=True)]
    numbers, sources = [], []
    for key in keys[:-1]:
        _, where, number = np.unique(key, return_index=True, return_inverse=True)
        numbers.append(number.reshape(-1))
        sources.append(where)
    sources.append(np.arange(len(keys[-1])))  # regions are all different
    faces = []
    for k in range(1, parts[0].n + 1):
        offsets = np.cumsum([0, *(part.counts[k - 1] for part in parts)])
        pieces = [part.faces(k) for part in parts]
        lists = np.concatenate([part[1] + offset for part, offset in zip(pieces, offsets[:-1], strict=True)])
        sizes = np.concatenate([part[0] for part in pieces])
        starts = np.cumsum(sizes) - sizes
        kept = runs(starts[sources[k]], sizes[sources[k]])
        faces.append((sizes[sources[k]], numbers[k - 1][lists][kept]))
    data: Floats = np.concatenate([part.data[: part.n_vertices] for part in parts])[sources[0]]
    creases = np.concatenate([part.creases[: part.counts[-2]] for part in parts])[sources[-2]]
    sides = np.concatenate([part.sides[: part.count] for part in parts])
    return Lattice(data, keys[0][sources[0]], faces, creases, sides)
