"""Compiled search for the least images of functions (numba; imported only when first used)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from creases._compiled import jit
from creases._typing import Words

#: Masks and shifts that exchange one of 4 inputs with the fifth, in order (the first exchanges none).
TO_TOP = ((0, 0), (0xAAAA, 15), (0xCCCC, 14), (0xF0F0, 12), (0xFF00, 8))


@jit
def least_images(functions: Words, full: np.uint64, masks: Words, shifts: Words, steps: NDArray[np.int64]) -> Words:
    """Return the least image of each function on a walk, negated or not; ``full`` is the function that is always 1."""
    least: Words = np.minimum(functions, functions ^ full)
    for k in range(len(functions)):
        image, best = functions[k], least[k]
        for step in steps:
            change = (image >> shifts[step] ^ image) & masks[step]
            image ^= change ^ change << shifts[step]
            best = min(best, min(image, image ^ full))
        least[k] = best
    return least


@jit
def least_by_halves(
    functions: NDArray[np.uint32],
    canonical: NDArray[np.uint16],
    starts: NDArray[np.int64],
    ways: NDArray[np.int64],
    parts: NDArray[np.uint16],
    early: bool,
) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """Return the least images of functions of 5 bits, and the number of transformations that lead to them.

    The least image has the least high half, which is ``canonical`` of a half (0 or 1 at one of the inputs). The
    transformations of half c to it are ``ways[starts[c] : starts[c + 1]]``; each is applied to the other half byte by
    byte: w maps it to ``parts[w, 0, low byte] ^ parts[w, 1, high byte]``. With ``early``, any image less than the
    function suffices.
    """
    least, count = np.zeros_like(functions), np.zeros(len(functions), np.int64)
    for k in range(len(functions)):
        high, low, reached = np.int64(1 << 16), np.int64(1 << 16), 0
        word = np.int64(functions[k])
        for i in range(10):
            if i & 1 == 0 and i > 0:
                change = (word >> TO_TOP[i >> 1][1] ^ word) & TO_TOP[i >> 1][0]
                word ^= change ^ change << TO_TOP[i >> 1][1]
            half, other = (word >> 16, word & 0xFFFF) if i & 1 else (word & 0xFFFF, word >> 16)
            first = np.int64(canonical[half])
            if first > high:
                continue
            if first < high:
                high, low = first, np.int64(1 << 16)
            for w in ways[starts[half] : starts[half + 1]]:
                new = np.int64(parts[w, 0, other & 255] ^ parts[w, 1, other >> 8])
                if new <= low:
                    reached = reached + 1 if new == low else 1
                    low = new
            if early and high << 16 | low < functions[k]:
                break
        least[k], count[k] = high << 16 | low, reached
    return least, count
