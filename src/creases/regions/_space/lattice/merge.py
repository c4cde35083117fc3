"""Putting face lattices together: regions that belong together, and complexes that were cut apart.

``merged`` unites regions with the same sides. In a complex where regions meet face to face every point lies inside
exactly one face, and that face is told by which regions (and outer walls) the point belongs to. So after regions are
united, old faces with the same set of regions around them are parts of one new face.

``joined`` unites complexes that tile one box: faces are the same when they have the same vertices, vertices when they
came about in the same way (their keys).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from creases._typing import Floats
from creases.regions._space.lattice.lattice import Ints, Lattice, runs, scramble

Keys = NDArray[np.uint64]


def _sums(keys: Keys, sizes: Ints) -> Keys:
    """Sum of the keys of each run of given size; no run is empty."""
    return np.add.reduceat(keys, np.cumsum(sizes) - sizes) if len(sizes) else keys[:0]


def merged(lattice: Lattice) -> Lattice:
    """The complex with regions of equal sides united, one for every pattern; walls were marked before cutting."""
    sides = lattice.sides[: lattice.count]
    _, first, label = np.unique(sides, axis=0, return_index=True, return_inverse=True)
    if len(first) == lattice.count:
        return lattice
    names = _surroundings(lattice, label.reshape(-1))
    numbers, chosen, taken = [], [], np.zeros(0, np.uint64)
    for name in names[::-1]:  # a face whose surroundings are those of a larger face lies inside it
        unique, where, number = np.unique(name, return_index=True, return_inverse=True)
        own = ~np.isin(unique, taken)
        renumber = np.where(own, np.cumsum(own) - 1, -1)
        numbers.append(renumber[number.reshape(-1)])
        chosen.append(where[own])
        taken = np.concatenate([taken, unique])
    numbers, chosen = numbers[::-1], chosen[::-1]
    faces = []
    for k in range(1, lattice.n + 1):
        sizes, lists = lattice.faces(k)
        whole, part = np.repeat(numbers[k], sizes), numbers[k - 1][lists]
        pairs = np.unique(np.stack([whole, part], axis=1)[(whole >= 0) & (part >= 0)], axis=0)
        faces.append((np.bincount(pairs[:, 0], minlength=len(chosen[k])), pairs[:, 1]))
    if not (faces[0][0] == 2).all():  # rounding has left regions that do not meet face to face: tile as found
        return lattice
    creases = lattice.creases[chosen[-2]]
    _relabel(creases, faces[-1], sides[chosen[-1]])
    return Lattice(lattice.data[chosen[0]], lattice.keys[chosen[0]], faces, creases, sides[chosen[-1]])


def _relabel(creases: NDArray[np.int32], regions: tuple[Ints, Ints], sides: NDArray[Any]) -> None:
    """Put facets on the crease of a unit that changes there: who cut first may have been outdone on both sides."""
    sizes, lists = regions
    owner = np.repeat(np.arange(len(sizes)), sizes)
    order = np.argsort(lists, kind="stable")
    twice = np.flatnonzero(lists[order[1:]] == lists[order[:-1]])
    facet, a, b = lists[order[twice]], owner[order[twice]], owner[order[twice + 1]]
    stale = sides[a, creases[facet, 0]] == sides[b, creases[facet, 0]]
    creases[facet[stale], 0] = np.argmax(sides[a[stale]] != sides[b[stale]], axis=1)


def _surroundings(lattice: Lattice, label: Ints) -> list[Keys]:
    """For the faces of each dimension 0, ..., n a name for the set of united regions and walls they belong to."""
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
        pairs = np.unique(pairs)
        owner, inside = pairs // many, pairs % many
        names.append(_sums(scramble(inside), np.bincount(owner, minlength=lattice.counts[k - 1])))
    return names[::-1]


def face_keys(lattice: Lattice) -> list[Keys]:
    """Names of the faces of dimension 0, ..., n that do not depend on numbering."""
    keys = [lattice.keys[: lattice.n_vertices]]
    for k in range(1, lattice.n + 1):
        sizes, lists = lattice.faces(k)
        keys.append(scramble(_sums(scramble(keys[-1])[lists], sizes)))
    return keys


def joined(parts: Sequence[Lattice]) -> Lattice:
    """One complex from several that tile a box between them, with equal columns of data."""
    if len(parts) == 1:
        return parts[0]
    keys = [np.concatenate(same) for same in zip(*(face_keys(part) for part in parts), strict=True)]
    numbers, chosen = [], []
    for key in keys[:-1]:
        _, where, number = np.unique(key, return_index=True, return_inverse=True)
        numbers.append(number.reshape(-1))
        chosen.append(where)
    chosen.append(np.arange(len(keys[-1])))  # regions are all different
    faces = []
    for k in range(1, parts[0].n + 1):
        offsets = np.cumsum([0, *(part.counts[k - 1] for part in parts)])
        pieces = [part.faces(k) for part in parts]
        lists = np.concatenate([part[1] + offset for part, offset in zip(pieces, offsets[:-1], strict=True)])
        faces.append(_taken(np.concatenate([part[0] for part in pieces]), numbers[k - 1][lists], chosen[k]))
    data: Floats = np.concatenate([part.data[: part.n_vertices] for part in parts])[chosen[0]]
    creases = np.concatenate([part.creases[: part.counts[-2]] for part in parts])[chosen[-2]]
    sides = np.concatenate([part.sides[: part.count] for part in parts])
    return Lattice(data, keys[0][chosen[0]], faces, creases, sides)


def _taken(sizes: Ints, lists: Ints, ids: Ints) -> tuple[Ints, Ints]:
    """Sizes and entries of some of the lists that follow each other."""
    starts = np.cumsum(sizes) - sizes
    return sizes[ids], lists[runs(starts[ids], sizes[ids])]
