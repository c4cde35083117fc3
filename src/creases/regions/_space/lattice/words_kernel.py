"""Compiled loops over the signs of units on faces (numba; imported only when first used).

The word of a face says which signs the units of a group have at its vertices: bit j that unit j is positive somewhere,
bit 32 + j that it is negative. A face with both bits is cut by the crease of that unit, one with neither lies on it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from creases._compiled import jit_internal

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
    for k in range(1, len(counts)):
        face_words(face, k, 0, counts[k], out)


@jit_internal
def face_words(face: tuple[Array, Array, Array], k: int, lo: int, hi: int, out: Array) -> None:
    """Compute the words of the faces lo..hi of dimension k >= 1 from those of dimension k - 1."""
    starts, sizes, lists = face
    for f in range(lo, hi):
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
def signs_met(words: Array, lo: int, hi: int, unit: int) -> int:
    """Return which signs a unit has at the vertices lo..hi: the sum of 1, 2, 4 for +, -, 0."""
    met = 0
    for v in range(lo, hi):
        signs: Any = np.int64(mask(words[v], unit))
        met |= signs | np.int64(signs == 0) << 2
    return met


@jit_internal
def crossed_faces(words: Array, sizes: Array, lo: int, hi: int, unit: int, crossed: Array) -> tuple[int, int]:
    """Write which of the faces lo..hi the crease of a unit cuts, from ``crossed[lo]`` on.

    Returns their number and their number of facets.
    """
    n, entries = lo, 0
    for f in range(lo, hi):
        is_cut: Any = np.int64(mask(words[f], unit) == 3)
        crossed[n] = f  # kept where it is cut: a branch would often be mispredicted
        n += is_cut
        entries += is_cut * sizes[f]
    return n - lo, entries
