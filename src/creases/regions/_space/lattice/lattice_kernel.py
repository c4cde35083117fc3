"""Compiled loops of the face lattice (numba; imported only when first used).

Faces of one dimension are numbered from 0; a face's facets are ``lists[starts[f] : starts[f] + sizes[f]]``, numbers of
faces one dimension lower. A face's mask says which signs of the unit at hand its vertices have: bit 1 positive, bit 2
negative; 3 is a face that the crease cuts, 0 one that lies on it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from creases._compiled import jit, jit_internal

Array = NDArray[Any]


@jit_internal
def hash64(key: Any) -> Any:
    """Hash a 64-bit number (splitmix64): sums of hashes identify sets."""
    z = np.uint64(key) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@jit_internal
def vertex_masks(data: Array, count: int, column: int, out: Array) -> int:
    """Compute masks of the vertices from the signs in a column of ``data``: 1, 2, 4 for +, -, 0; return their union."""
    met = 0
    for v in range(count):
        z = data[v, column]
        if z > 0:
            out[v] = 1
            met |= 1
        elif z < 0:
            out[v] = 2
            met |= 2
        else:
            out[v] = 0
            met |= 4
    return met


@jit_internal
def face_masks(face: tuple[Array, Array, Array], count: int, low: Array, out: Array, crossed: Array) -> tuple[int, int]:
    """Compute masks of faces from those of their facets; which faces are cut, their number and number of facets."""
    starts, sizes, lists = face
    n, entries = 0, 0
    for f in range(count):
        mask = 0
        for i in range(starts[f], starts[f] + sizes[f]):
            mask |= low[lists[i]]
        out[f] = mask
        if mask == 3:
            crossed[n] = f
            n += 1
            entries += sizes[f]
    return n, entries


@jit_internal
def odd_polygon(
    face: tuple[Array, Array, Array], crossed: Array, n: int, masks: Array, ends: Array, vertices: Array, touched: bool
) -> int:
    """Return the first cut polygon (index into ``crossed``) whose boundary does not meet the crease twice; -1: none.

    A crease meets a convex polygon's boundary in two points, cut edges or vertices. Rounding may say otherwise.
    """
    starts, sizes, lists = face
    for c in range(n):
        f = crossed[c]
        halves = 0
        for i in range(starts[f], starts[f] + sizes[f]):
            e = lists[i]
            if masks[e] == 3:
                halves += 2
            elif touched:  # a vertex on the crease is the end of two edges
                halves += (vertices[ends[2 * e]] == 0) + (vertices[ends[2 * e + 1]] == 0)
        if halves != 4:
            return c
    return -1


@jit_internal
def cut_edges(
    edge: tuple[Array, Array, Array],
    count: int,
    crossed: Array,
    data: Array,
    vertices: int,
    column: int,
    first: int,
    tolerance: Array,
    keys: Array,
    unit: int,
    minus: Array,
    cut: Array,
) -> None:
    """Put a vertex where the crease cuts each crossed edge; the positive half keeps the edge's number.

    All columns of ``data`` are affine along an edge. Where the two ends have strictly different signs of another unit
    of the stage (columns from ``first``) the new value is compared with that unit's tolerance: within it, it is 0.
    """
    starts, sizes, lists = edge
    for c in range(len(crossed)):
        e = crossed[c]
        a, b = lists[2 * e], lists[2 * e + 1]
        if data[a, column] < 0:
            a, b = b, a
        up, down = data[a, column], -data[b, column]
        wa, wb = down / (up + down), up / (up + down)
        v = vertices + c
        for j in range(data.shape[1]):
            p, q = data[a, j], data[b, j]
            data[v, j] = p if p == q else wa * p + wb * q
        for j in range(len(tolerance)):
            p, q = data[a, first + j], data[b, first + j]
            if ((p > 0 and q < 0) or (p < 0 and q > 0)) and abs(data[v, first + j]) <= tolerance[j]:
                data[v, first + j] = 0.0
        data[v, column] = 0.0
        keys[v] = hash64(keys[a] + keys[b] + hash64(np.uint64(unit + 1)))
        new = count + c
        lists[2 * e], lists[2 * e + 1] = a, v
        lists[2 * new], lists[2 * new + 1] = v, b
        starts[new], sizes[new] = 2 * new, 2
        minus[e] = new
        cut[e] = v


@jit_internal
def split_faces(
    face: tuple[Array, Array, Array],
    end: int,
    count: int,
    crossed: Array,
    minus: Array,
    cut: Array,
    low: tuple[Array, Array, Array],
    low_end: int,
    low_count: int,
    below: tuple[Array, Array, Array],
    touched: bool,
    lowest_masks: Array,
) -> tuple[int, int]:
    """Split the cut faces of a dimension k >= 2 in two, with a new face of dimension k - 1 between the parts.

    The part on the positive side keeps the number; the other is appended, and the new face between them is appended to
    the dimension below. Its facets are the cuts of the crossed facets and, where a vertex is ``touched`` by the crease,
    the faces of dimension k - 2 that lie on it (mask 0 in ``lowest_masks``).
    Returns the new ends of both lists.
    """
    starts, sizes, lists = face
    low_starts, low_sizes, low_lists = low
    low_masks, low_minus, low_cut = below
    visited = np.full(len(lowest_masks) if touched else 1, -1, np.int32)
    for c in range(len(crossed)):
        f = crossed[c]
        lo, hi = starts[f], starts[f] + sizes[f]
        other, between = count + c, low_count + c
        starts[f] = end
        low_starts[between] = low_end
        for i in range(lo, hi):
            g = lists[i]
            mask = low_masks[g]
            if mask != 2:
                lists[end] = g
                end += 1
            if mask == 3:
                low_lists[low_end] = low_cut[g]
                low_end += 1
            elif touched:
                for j in range(low_starts[g], low_starts[g] + low_sizes[g]):
                    h = low_lists[j]
                    if lowest_masks[h] == 0 and visited[h] != c:
                        visited[h] = c
                        low_lists[low_end] = h
                        low_end += 1
        lists[end] = between
        end += 1
        sizes[f] = end - starts[f]
        low_sizes[between] = low_end - low_starts[between]
        starts[other] = end
        for i in range(lo, hi):
            g = lists[i]
            mask = low_masks[g]
            if mask >= 2:
                lists[end] = low_minus[g] if mask == 3 else g
                end += 1
        lists[end] = between
        end += 1
        sizes[other] = end - starts[other]
        minus[f] = other
        cut[f] = between
    return end, low_end


@jit_internal
def demote(f: int, starts: Array, sizes: Array, lists: Array, ends: Array, data: Array, column: int) -> None:
    """Put the vertex of polygon f nearest to the crease on it: by rounding its sign is one that no line allows."""
    best, nearest = np.inf, -1
    for i in range(starts[f], starts[f] + sizes[f]):
        for j in range(2):
            v = ends[2 * lists[i] + j]
            z = abs(data[v, column])
            if 0 < z < best:
                best, nearest = z, v
    data[nearest, column] = 0.0


@jit_internal
def find_crossed(
    face: tuple[Array, Array, Array],
    counts: Array,
    data: Array,
    column: int,
    masks: Array,
    crossed: Array,
    n_crossed: Array,
    entries: Array,
) -> int:
    """Compute masks of the faces of all dimensions for one unit, the cut faces and their numbers of facets; the signs.

    Where rounding has given a polygon signs that no line can have, signs are taken back until it is well.
    """
    starts, sizes, lists = face
    while True:
        met = vertex_masks(data, counts[0], column, masks[0])
        if met == 1 or not met & 1:
            return met
        odd = -1
        for k in range(1, len(counts)):
            level = (starts[k], sizes[k], lists[k])
            n_crossed[k], entries[k] = face_masks(level, counts[k], masks[k - 1], masks[k], crossed[k])
            if k == 2:
                odd = odd_polygon(level, crossed[2], n_crossed[2], masks[1], lists[1], masks[0], met & 4 != 0)
                if odd >= 0:
                    demote(crossed[2, odd], starts[2], sizes[2], lists[2], lists[1], data, column)
                    break
        if odd < 0:
            return met


@jit_internal
def has_room(
    face: tuple[Array, Array, Array],
    counts: Array,
    ends: Array,
    rows: int,
    regions: int,
    n_crossed: Array,
    entries: Array,
    touched: bool,
) -> bool:
    """Whether the arrays have capacity for the parts of the crossed faces."""
    _, sizes, lists = face
    n = len(counts) - 1
    if counts[0] + n_crossed[1] > rows or counts[n] + n_crossed[n] > regions:
        return False
    for k in range(1, n + 1):
        faces, room = counts[k] + n_crossed[k], ends[k] + 2 * (entries[k] + n_crossed[k])
        if k < n:
            largest = 1
            if touched:
                for f in range(counts[k]):
                    largest = max(largest, 1 + sizes[k, f])
            faces += n_crossed[k + 1]
            room += entries[k + 1] * largest
        if faces > sizes.shape[1] or room > lists.shape[1]:
            return False
    return True


@jit
def cut_by_units(
    face: tuple[Array, Array, Array],
    counts: Array,
    ends: Array,
    data: Array,
    keys: Array,
    creases: Array,
    sides: Array,
    work: tuple[Array, Array, Array, Array],
    stage: tuple[int, int, int],
    tolerance: Array,
    start: int,
    stop: int,
) -> int:
    """Cut a complex by the units ``start``, ... of a stage; return the first not done: ``stop``, or out of capacity.

    ``stage``: the column of the stage's first unit, that unit's number, and the side of a unit where it is positive.
    """
    masks, crossed, minus, cut = work
    starts, sizes, lists = face
    first, first_unit, side = stage
    n = len(counts) - 1
    n_crossed, entries = np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
    for u in range(start, stop):
        column, unit = first + u, first_unit + u
        met = find_crossed(face, counts, data, column, masks, crossed, n_crossed, entries)
        if not met & 1:
            continue
        regions = counts[n]
        if met == 1:
            for r in range(regions):
                sides[r, unit] = side
            continue
        if n_crossed[n]:  # what has a cut face is cut itself; a region may be cut through vertices alone
            touched = met & 4 != 0
            if not has_room(face, counts, ends, len(data), len(sides), n_crossed, entries, touched):
                return u
            label_new(creases, counts, crossed[n - 1], n_crossed, unit)
            edge = (starts[1], sizes[1], lists[1])
            ids = crossed[1, : n_crossed[1]]
            cut_edges(edge, counts[1], ids, data, counts[0], column, first, tolerance, keys, unit, minus[1], cut[1])
            counts[0] += n_crossed[1]
            counts[1] += n_crossed[1]
            ends[1] += 2 * n_crossed[1]
            for k in range(2, n + 1):
                level, low = (starts[k], sizes[k], lists[k]), (starts[k - 1], sizes[k - 1], lists[k - 1])
                below = (masks[k - 1], minus[k - 1], cut[k - 1])
                ids = crossed[k, : n_crossed[k]]
                ends[k], ends[k - 1] = split_faces(
                    level, ends[k], counts[k], ids, minus[k], cut[k], low, ends[k - 1], counts[k - 1], below, touched,
                    masks[k - 2],
                )  # fmt: skip
                counts[k] += n_crossed[k]
                counts[k - 1] += n_crossed[k]
            for c in range(n_crossed[n]):
                for j in range(sides.shape[1]):
                    sides[regions + c, j] = sides[crossed[n, c], j]
        for r in range(regions):
            if masks[n, r] & 1:
                sides[r, unit] = side
    return stop


@jit_internal
def label_new(creases: Array, counts: Array, parents: Array, n_crossed: Array, unit: int) -> None:
    """Set the creases of the faces of dimension n - 1 that a unit adds: halves of old ones, then its own."""
    n = len(counts) - 1
    at = counts[n - 1]
    if n > 1:
        for c in range(n_crossed[n - 1]):
            creases[at + c, 0] = creases[parents[c], 0]
            creases[at + c, 1] = creases[parents[c], 1]
        at += n_crossed[n - 1]
    for c in range(n_crossed[n]):
        creases[at + c, 0] = unit
        creases[at + c, 1] = -1


@jit
def gather(starts: Array, sizes: Array, lists: Array, out: Array) -> None:
    """Copy lists one after another."""
    n = 0
    for f in range(len(starts)):
        for i in range(starts[f], starts[f] + sizes[f]):
            out[n] = lists[i]
            n += 1
