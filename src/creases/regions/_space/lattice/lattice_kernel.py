"""Compiled loops of the face lattice (numba; imported only when first used).

Faces of one dimension are numbered from 0; a face's facets are ``lists[starts[f] : starts[f] + sizes[f]]``, numbers of
faces one dimension lower. The signs that units have at the vertices of a face are a word, see ``words_kernel``: words
are computed once for the units of a call, and then for new faces alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from creases._compiled import jit, jit_internal

Array = NDArray[Any]

#: Units whose signs fit into a word.
GROUP = 32


@jit_internal
def vertex_words(data: Array, lo: int, hi: int, column: int, count: int, out: Array) -> None:
    """Compute the words of the vertices lo..hi from the signs in ``count`` columns of ``data``."""
    for v in range(lo, hi):
        word = np.uint64(0)
        for j in range(count):
            z = data[v, column + j]
            word |= np.uint64(z > 0) << np.uint64(j) | np.uint64(z < 0) << np.uint64(j + GROUP)
        out[v] = word


@jit_internal
def all_words(
    face: tuple[Array, Array, Array], counts: Array, data: Array, column: int, count: int, out: Array
) -> None:
    """Compute the words of the faces of all dimensions."""
    vertex_words(data, 0, counts[0], column, count, out[0])
    starts, sizes, lists = face
    for k in range(1, len(counts)):
        for f in range(counts[k]):
            word = np.uint64(0)
            for i in range(starts[k, f], starts[k, f] + sizes[k, f]):
                word |= out[k - 1, lists[k, i]]
            out[k, f] = word


@jit_internal
def both_bits(unit: int) -> Any:
    """Return the word of a face that the crease of a unit cuts, all other bits 0."""
    return np.uint64(1) << np.uint64(unit) | np.uint64(1) << np.uint64(unit + GROUP)


@jit_internal
def mask(word: Any, unit: int) -> Any:
    """Return the signs of one unit: bit 1 positive, bit 2 negative; 3 is a face that the crease cuts."""
    positive, negative = word >> np.uint64(unit), word >> np.uint64(unit + GROUP)
    return positive & np.uint64(1) | (negative & np.uint64(1)) << np.uint64(1)


@jit_internal
def select(word: Any, condition: bool) -> Any:
    """Return the word where the condition holds, else 0, without a branch."""
    return word & (np.uint64(0) - np.uint64(condition))


@jit_internal
def signs_met(words: Array, count: int, unit: int) -> int:
    """Return which signs a unit has at the first vertices: the sum of 1, 2, 4 for +, -, 0."""
    met = 0
    for v in range(count):
        signs: Any = np.int64(mask(words[v], unit))
        met |= signs | np.int64(signs == 0) << 2
    return met


@jit_internal
def crossed_faces(words: Array, sizes: Array, count: int, unit: int, crossed: Array) -> tuple[int, int]:
    """Write which of the first faces the crease of a unit cuts; return their number and their number of facets."""
    n = entries = 0
    for f in range(count):
        is_cut: Any = np.int64(mask(words[f], unit) == 3)
        crossed[n] = f  # kept where it is cut: a branch would often be mispredicted
        n += is_cut
        entries += is_cut * sizes[f]
    return n, entries


@jit_internal
def hash64(key: Any) -> Any:
    """Hash a 64-bit number (splitmix64): sums of hashes identify sets."""
    z = np.uint64(key) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@jit_internal
def odd_polygon(
    face: tuple[Array, Array, Array],
    crossed: Array,
    n: int,
    edges: Array,
    ends: Array,
    vertices: Array,
    unit: int,
    touched: bool,
) -> int:
    """Return the first cut polygon (index into ``crossed``) whose boundary does not meet the crease twice; -1: none.

    A crease meets a convex polygon's boundary in two points, cut edges or vertices. Rounding may say otherwise.
    ``edges`` and ``vertices`` are their words.
    """
    starts, sizes, lists = face
    for c in range(n):
        f = crossed[c]
        halves = 0
        for i in range(starts[f], starts[f] + sizes[f]):
            e = lists[i]
            if mask(edges[e], unit) == 3:
                halves += 2
            elif touched:  # a vertex on the crease is the end of two edges
                halves += (mask(vertices[ends[2 * e]], unit) == 0) + (mask(vertices[ends[2 * e + 1]], unit) == 0)
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
    words: Array,
    group: tuple[int, int, Any],
) -> None:
    """Put a vertex where the crease cuts each crossed edge; the positive half keeps the edge's number.

    All columns of ``data`` are affine along an edge. Where the two ends have strictly different signs of another unit
    of the stage (columns from ``first``) the new value is compared with that unit's tolerance: within it, it is 0.
    ``group`` has the first column of the units in a word, their number, and the two bits of this unit, which a cut edge
    keeps until the faces around it are split.
    """
    starts, sizes, lists = edge
    first_in_word, units, both = group
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
        vertex_words(data, v, v + 1, first_in_word, units, words[0])
        words[1, e] = words[0, a] | words[0, v] | both
        words[1, new] = words[0, b] | words[0, v]


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
    low_parts: tuple[Array, Array],
    words: tuple[Array, Array, Array],
    unit: int,
    both: Any,
    touched: bool,
) -> tuple[int, int]:
    """Split the cut faces of a dimension k >= 2 in two, with a new face of dimension k - 1 between the parts.

    The part on the positive side keeps the number; the other is appended, and the new face between them is appended to
    the dimension below. Its facets are the cuts of the crossed facets and, where a vertex is ``touched`` by the crease,
    the faces of dimension k - 2 that lie on it. ``words`` are those of dimension k, k - 1 and k - 2; a cut face keeps
    ``both`` bits of the unit until the faces around it are split.
    Returns the new ends of both lists.
    """
    starts, sizes, lists = face
    low_starts, low_sizes, low_lists = low
    low_minus, low_cut = low_parts
    face_words, low_words, lowest_words = words
    visited = np.full(len(lowest_words) if touched else 1, -1, np.int32)
    for c in range(len(crossed)):
        f = crossed[c]
        lo, hi = starts[f], starts[f] + sizes[f]
        other, between = count + c, low_count + c
        starts[f] = end
        low_starts[between] = low_end
        upper = lower = new = np.uint64(0)
        # Entries are written and kept where they count: branches would be mispredicted half of the time.
        for i in range(lo, hi):
            g = lists[i]
            word = low_words[g]
            signs = mask(word, unit)
            is_upper, is_cut = signs != 2, signs == 3
            lists[end] = g
            end += is_upper
            upper |= select(word, is_upper)
            h = low_cut[g]
            h = h if is_cut else 0
            low_lists[low_end] = h
            low_end += is_cut
            new |= select(lowest_words[h], is_cut)
            if touched and not is_cut:
                for j in range(low_starts[g], low_starts[g] + low_sizes[g]):
                    h = low_lists[j]
                    if mask(lowest_words[h], unit) == 0 and visited[h] != c:
                        visited[h] = c
                        low_lists[low_end] = h
                        low_end += 1
                        new |= lowest_words[h]
        lists[end] = between
        end += 1
        sizes[f] = end - starts[f]
        low_sizes[between] = low_end - low_starts[between]
        starts[other] = end
        for i in range(lo, hi):
            g = lists[i]
            signs = mask(low_words[g], unit)
            part = low_minus[g]
            part = part if signs == 3 else g
            lists[end] = part
            end += signs >= 2
            lower |= select(low_words[part], signs >= 2)
        lists[end] = between
        end += 1
        sizes[other] = end - starts[other]
        minus[f] = other
        cut[f] = between
        low_words[between] = new
        face_words[f] = upper | new | both
        face_words[other] = lower | new
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
    group: tuple[int, int, int],
    words: Array,
    crossed: Array,
    n_crossed: Array,
    entries: Array,
) -> int:
    """Find the faces of all dimensions that a unit cuts and their numbers of facets; return the signs it has.

    ``group`` has the first column of the units in a word, their number, and which of them is the unit. Where rounding
    has given a polygon signs that no line can have, signs are taken back until it is well.
    """
    starts, sizes, lists = face
    column, units, unit = group
    while True:
        met = signs_met(words[0], counts[0], unit)
        if met == 1 or not met & 1:
            return met
        odd = -1
        for k in range(1, len(counts)):
            n_crossed[k], entries[k] = crossed_faces(words[k], sizes[k], counts[k], unit, crossed[k])
            if k == 2:
                level = (starts[2], sizes[2], lists[2])
                odd = odd_polygon(
                    level, crossed[2], n_crossed[2], words[1], lists[1], words[0], unit, met & 4 != 0
                )  # fmt: skip
                if odd >= 0:
                    demote(crossed[2, odd], starts[2], sizes[2], lists[2], lists[1], data, column + unit)
                    all_words(face, counts, data, column, units, words)
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
        if faces > sizes.shape[1] or room >= lists.shape[1]:
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
    limit: int,
) -> tuple[int, bool]:
    """Cut a complex by units of a stage, ``start`` to at most ``stop``, until it has more than ``limit`` regions.

    ``stage``: the column of the stage's first unit, that unit's number, and the side of a unit where it is positive.
    At most ``GROUP`` units are cut in one call. Returns the first unit not done, and whether the arrays are full.
    """
    words, crossed, minus, cut = work
    starts, sizes, lists = face
    first, first_unit, side = stage
    n = len(counts) - 1
    n_crossed, entries = np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
    column, units = first + start, min(stop - start, GROUP)
    all_words(face, counts, data, column, units, words)
    for u in range(units):
        regions, unit = counts[n], first_unit + start + u
        if regions > limit:
            return start + u, False
        met = find_crossed(face, counts, data, (column, units, u), words, crossed, n_crossed, entries)
        if not met & 1:
            continue
        if met == 1:
            for r in range(regions):
                sides[r, unit] = side
            continue
        if n_crossed[n]:  # what has a cut face is cut itself; a region may be cut through vertices alone
            touched = met & 4 != 0
            if not has_room(face, counts, ends, len(data), len(sides), n_crossed, entries, touched):
                return start + u, True
            label_new(creases, counts, crossed[n - 1], n_crossed, unit)
            both = both_bits(u)
            edge, ids = (starts[1], sizes[1], lists[1]), crossed[1, : n_crossed[1]]
            cut_edges(
                edge, counts[1], ids, data, counts[0], column + u, first, tolerance, keys, unit, minus[1], cut[1],
                words, (column, units, both),
            )  # fmt: skip
            counts[0] += n_crossed[1]
            counts[1] += n_crossed[1]
            ends[1] += 2 * n_crossed[1]
            for k in range(2, n + 1):
                level, low = (starts[k], sizes[k], lists[k]), (starts[k - 1], sizes[k - 1], lists[k - 1])
                ids = crossed[k, : n_crossed[k]]
                ends[k], ends[k - 1] = split_faces(
                    level, ends[k], counts[k], ids, minus[k], cut[k], low, ends[k - 1], counts[k - 1],
                    (minus[k - 1], cut[k - 1]), (words[k], words[k - 1], words[k - 2]), u, both, touched,
                )  # fmt: skip
                counts[k] += n_crossed[k]
                counts[k - 1] += n_crossed[k]
            for c in range(n_crossed[n]):
                for j in range(sides.shape[1]):
                    sides[regions + c, j] = sides[crossed[n, c], j]
        for r in range(regions):
            if mask(words[n, r], u) & np.uint64(1):
                sides[r, unit] = side
    return start + units, False


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
