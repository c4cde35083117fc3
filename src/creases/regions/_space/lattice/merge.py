"""Merging regions of a face lattice, and joining face lattices that were split.

``merge_regions`` unites regions with the same sides. In a complex where regions meet face to face every point is inside
exactly one face, which is determined by the regions (and outer walls) that contain the point. So after regions are
united, old faces with the same set of regions around them are parts of one new face.

``join_lattices`` unites complexes that tile one box: faces are the same when they have the same vertices, vertices when
they have the same key, which encodes how they were computed.
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
    creases = lattice.creases[sources[-2]]
    _relabel(creases, faces[-1], sides[sources[-1]])
    return Lattice(lattice.data[sources[0]], lattice.keys[sources[0]], faces, creases, sides[sources[-1]])


def _relabel(creases: NDArray[np.int32], regions: tuple[Ints, Ints], sides: NDArray[Any]) -> None:
    """Label facets by a unit that changes there: the unit that cut first may not be the largest on either side."""
    sizes, lists = regions
    owner = np.repeat(np.arange(len(sizes)), sizes)
    order = np.argsort(lists, kind="stable")
    twice = np.flatnonzero(lists[order[1:]] == lists[order[:-1]])
    facet, a, b = lists[order[twice]], owner[order[twice]], owner[order[twice + 1]]
    stale = sides[a, creases[facet, 0]] == sides[b, creases[facet, 0]]
    creases[facet[stale], 0] = np.argmax(sides[a[stale]] != sides[b[stale]], axis=1)


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
        faces.append(_select_lists(np.concatenate([part[0] for part in pieces]), numbers[k - 1][lists], sources[k]))
    data: Floats = np.concatenate([part.data[: part.n_vertices] for part in parts])[sources[0]]
    creases = np.concatenate([part.creases[: part.counts[-2]] for part in parts])[sources[-2]]
    sides = np.concatenate([part.sides[: part.count] for part in parts])
    return Lattice(data, keys[0][sources[0]], faces, creases, sides)


def _select_lists(sizes: Ints, lists: Ints, ids: Ints) -> tuple[Ints, Ints]:
    """Return the sizes and entries of some of consecutive lists."""
    starts = np.cumsum(sizes) - sizes
    return sizes[ids], lists[runs(starts[ids], sizes[ids])]
