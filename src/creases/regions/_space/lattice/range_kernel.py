"""Compiled loops over ranges of faces, for threads (numba; imported only when first used).

Faces of one dimension can be cut by a unit in any order: what a face needs of others is ready before, and its parts
have numbers of their own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from creases._compiled import jit
from creases.regions._space.lattice.lattice_kernel import cut_edges, has_room, label_new, odd_polygon, split_faces
from creases.regions._space.lattice.words_kernel import (
    GROUP,
    both_bits,
    crossed_faces,
    face_words,
    mask,
    signs_met,
    vertex_words,
)

__all__ = [
    "GROUP",
    "is_well",
    "join_crossed",
    "prepare",
    "range_crossed",
    "range_edges",
    "range_faces",
    "range_sides",
    "range_words",
]

Array = NDArray[Any]


@jit
def range_words(
    face: tuple[Array, Array, Array], k: int, data: Array, group: tuple[int, int], out: Array, lo: int, hi: int
) -> None:
    """Compute the words of the faces lo..hi of dimension k; ``group``: the first column and the number of columns."""
    if k == 0:
        vertex_words(data, lo, hi, group[0], group[1], out[0])
    else:
        face_words(face, k, lo, hi, out)


@jit
def range_crossed(
    sizes: Array, counts: Array, words: Array, unit: int, part: int, parts: int, crossed: Array, found: Array
) -> int:
    """Find the faces of all dimensions that a unit cuts, of part ``part`` of the faces; return the signs it has there.

    Those of dimension k are written to ``crossed[k]`` from the first face of the part on; ``found[part, k]`` becomes
    their number and their number of facets.
    """
    for k in range(1, len(counts)):
        lo, hi = counts[k] * part // parts, counts[k] * (part + 1) // parts
        found[part, k, 0], found[part, k, 1] = crossed_faces(words[k], sizes[k], lo, hi, unit, crossed[k])
    lo, hi = counts[0] * part // parts, counts[0] * (part + 1) // parts
    return signs_met(words[0], lo, hi, unit)


@jit
def join_crossed(counts: Array, crossed: Array, found: Array) -> None:
    """Move the faces that :func:`range_crossed` found in all parts together."""
    parts = len(found)
    for k in range(1, len(counts)):
        n = found[0, k, 0]
        for part in range(1, parts):
            lo = counts[k] * part // parts
            for i in range(lo, lo + found[part, k, 0]):
                crossed[k, n] = crossed[k, i]
                n += 1


@jit
def is_well(face: tuple[Array, Array, Array], crossed: Array, words: Array, unit: int) -> bool:
    """Return whether the boundary of every cut polygon meets the crease twice."""
    level = (face[0][2], face[1][2], face[2][2])
    return odd_polygon(level, crossed, len(crossed), words[1], face[2][1], words[0], unit, False) < 0


@jit
def prepare(
    face: tuple[Array, Array, Array],
    counts: Array,
    ends: Array,
    room: tuple[int, int],
    found: Array,
    creases: Array,
    crossed: Array,
    unit: int,
) -> bool:
    """Label the new faces of dimension n - 1; False where the arrays have no capacity for all new faces."""
    n = len(counts) - 1
    n_crossed, entries = np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
    for part in range(len(found)):
        for k in range(1, n + 1):
            n_crossed[k] += found[part, k, 0]
            entries[k] += found[part, k, 1]
    if not has_room(face, counts, ends, room[0], room[1], n_crossed, entries, False):
        return False
    label_new(creases, counts, crossed[n - 1], n_crossed, unit)
    return True


@jit
def range_edges(
    face: tuple[Array, Array, Array],
    new: tuple[int, int],
    ids: Array,
    data: Array,
    stage: tuple[int, int, int],
    tolerance: Array,
    keys: Array,
    work: tuple[Array, Array, Array, Array],
    group: tuple[int, int, int],
) -> None:
    """Cut edges; ``new``: the numbers of the first new edge and vertex. ``stage``: column, first column and unit."""
    words, _, minus, cut = work
    first_in_word, units, u = group
    edge = (face[0][1], face[1][1], face[2][1])
    cut_edges(
        edge, new[0], ids, data, new[1], stage[0], stage[1], tolerance, keys, stage[2], minus[1], cut[1], words,
        (first_in_word, units, both_bits(u)),
    )  # fmt: skip


@jit
def range_faces(
    face: tuple[Array, Array, Array],
    k: int,
    ids: Array,
    ends: tuple[int, int],
    new: tuple[int, int],
    work: tuple[Array, Array, Array, Array],
    u: int,
) -> tuple[int, int]:
    """Split faces of dimension k >= 2; ``ends`` and ``new``: where lists, and new faces, of k and k - 1 begin."""
    starts, sizes, lists = face
    words, _, minus, cut = work
    level, low = (starts[k], sizes[k], lists[k]), (starts[k - 1], sizes[k - 1], lists[k - 1])
    return split_faces(
        level, ends[0], new[0], ids, minus[k], cut[k], low, ends[1], new[1], (minus[k - 1], cut[k - 1]),
        (words[k], words[k - 1], words[k - 2]), u, both_bits(u), False,
    )  # fmt: skip


@jit
def range_sides(
    sides: Array, ids: Array, new: int, words: Array, lo: int, hi: int, u: int, unit: int, side: int
) -> None:
    """Set the sides of the regions lo..hi, of which ``ids`` are cut, and of their negative parts, from ``new`` on."""
    for c in range(len(ids)):
        for j in range(sides.shape[1]):
            sides[new + c, j] = sides[ids[c], j]
    for r in range(lo, hi):
        if mask(words[r], u) & np.uint64(1):
            sides[r, unit] = side
