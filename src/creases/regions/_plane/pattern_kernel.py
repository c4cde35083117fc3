"""Compiled loops over the patterns of regions (numba; imported only when first used)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from creases._compiled import jit
from creases.regions._plane.kernel import lowest_bit

Array = NDArray[Any]

_ONE = np.uint64(1)
_ZERO = np.uint64(0)


@jit
def set_positive(patterns: Array, positive: Array, places: Array) -> None:
    """Set bit ``places[u]`` of each pattern (R, n_bytes) where bit u of the words (R, W) is set."""
    for r in range(len(patterns)):
        for w in range(positive.shape[1]):
            word = positive[r, w]
            while word != _ZERO:
                place = places[64 * w + lowest_bit(word)]
                word &= word - _ONE
                patterns[r, place >> 3] |= np.uint8(1 << (place & 7))


@jit
def set_sides(patterns: Array, sides: Array, places: Array) -> None:
    """Set the bits from ``places[u]`` on of each pattern (R, n_bytes) to the side (R, U) of unit u; they are 0."""
    for r in range(len(patterns)):
        for u in range(len(places)):
            side, place = int(sides[r, u]), places[u]
            while side:
                patterns[r, place >> 3] |= np.uint8((side & 1) << (place & 7))
                side >>= 1
                place += 1
