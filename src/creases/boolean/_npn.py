"""NPN classes: functions equivalent under negation and permutation of inputs and negation of the output."""

from __future__ import annotations

from functools import lru_cache
from math import factorial
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from creases._compiled import jit
from creases._schema import INTEGER
from creases._typing import Words
from creases._validation import check_arguments
from creases.boolean._functions import check_bits, check_functions
from creases.boolean._walk import sources, walk


class NpnClasses(NamedTuple):
    """All NPN classes of functions of n bits."""

    representatives: NDArray[np.uint32]  #: least function of each class, ascending
    sizes: NDArray[np.int64]  #: number of functions in each class; their sum is 2^(2^n)


@overload
def canonical_form(f: int, n: int) -> int: ...
@overload
def canonical_form(f: ArrayLike, n: int) -> Words: ...
def canonical_form(f: int | ArrayLike, n: int) -> int | Words:
    """Return the least function of the NPN class of f, the same for all functions of a class.

    Parameters
    ----------
    f
        A function of n bits, or an array of them.
    n
        Number of bits, from 1 to 6. A function takes less than a microsecond up to n = 5, and about 100 at n = 6.

    Examples
    --------
    >>> canonical_form(0b1110, 2), canonical_form(0b0111, 2)  # OR, NAND: the class of NOR
    (1, 1)
    >>> canonical_form([0xFFFE, 0x9669, 0xAAAA], 4).tolist()
    [1, 27030, 255]
    """
    check_bits(n, 6, "for canonical forms")
    functions = check_functions(f, n)
    if n == 5:
        least = least_by_halves(functions.ravel().astype(np.uint32), *_transformations_of_4(), False)[0].astype(
            np.uint64
        )
    else:
        least = least_images(functions.ravel(), n, *walk(n, reversals=True)[:3])
    return least.reshape(functions.shape) if functions.ndim else int(least[0])


@check_arguments(n=INTEGER)
@lru_cache
def npn_classes(n: int) -> NpnClasses:
    """Return the NPN classes of all functions of n <= 5 bits: 2, 4, 14, 222 and 616126 of them.

    Examples
    --------
    >>> representatives, sizes = npn_classes(2)
    >>> representatives.tolist(), sizes.tolist()
    ([0, 1, 3, 6], [2, 8, 4, 2])
    """
    check_bits(n, 5, "to list all classes")
    if n == 5:
        # The high half of a least function is the least function of a class of 4 bits: otherwise negating or permuting
        # the other inputs, or negating the output, would make it smaller.
        lows = np.arange(1 << 16, dtype=np.uint32)
        representatives, stabilisers = [], []
        for high in npn_classes(4).representatives:
            functions = high << np.uint32(16) | lows
            least, ways = least_by_halves(functions, *_transformations_of_4(), True)
            representatives.append(functions[least == functions])
            stabilisers.append(ways[least == functions])
        classes = NpnClasses(np.concatenate(representatives), 2 * 2**5 * factorial(5) // np.concatenate(stabilisers))
    else:
        forms, sizes = np.unique(canonical_form(np.arange(1 << (1 << n)), n), return_counts=True)
        classes = NpnClasses(forms.astype(np.uint32), sizes.astype(np.int64))
    for values in classes:
        values.flags.writeable = False
    return classes


@lru_cache
def _transformations_of_4() -> tuple[NDArray[np.uint16], NDArray[np.int64], NDArray[np.int64], NDArray[np.uint16]]:
    """Return all transformations of functions of 4 bits to the least of their class, as in ``least_by_halves``."""
    origins = sources(4, True)  # (384, 16): bit x of image k is bit origins[k, x] of the function
    bytes_ = np.arange(256)
    parts: NDArray[Any] = np.zeros((2 * len(origins), 2, 256), np.uint16)
    for high in (0, 1):
        bit = np.where(origins // 8 == high, origins % 8, 8)[:, :, None]  # bit 8 of a byte is 0
        parts[: len(origins), high] = ((bytes_ >> bit & 1) << np.arange(16)[:, None]).sum(axis=1)
    parts[len(origins) :] = parts[: len(origins)]
    parts[len(origins) :, 0] ^= 0xFFFF  # with the output negated
    functions = np.arange(1 << 16)
    images = parts[:, 0, functions & 255] ^ parts[:, 1, functions >> 8]  # (768, 65536)
    canonical = images.min(axis=0)
    ways, reached = np.nonzero(images == canonical)
    order = np.argsort(reached, kind="stable")
    return canonical, np.searchsorted(reached[order], np.arange((1 << 16) + 1)), ways[order], parts


#: Masks and shifts that exchange one of 4 inputs with the fifth, in order (the first exchanges none).
TO_TOP = ((0, 0), (0xAAAA, 15), (0xCCCC, 14), (0xF0F0, 12), (0xFF00, 8))


@jit
def least_images(functions: Words, n: int, masks: Words, shifts: Words, steps: NDArray[np.int64]) -> Words:
    """Return the least image of each function of n bits on a walk, negated or not."""
    full = ~np.uint64(0) >> np.uint64(64 - (1 << n))  # the function that is always 1
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
