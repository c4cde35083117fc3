"""NPN classes: functions equivalent under negation and permutation of inputs and negation of the output."""

from __future__ import annotations

from functools import lru_cache
from math import factorial
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from creases._schema import INTEGER
from creases._typing import Words
from creases._validation import check_arguments
from creases.boolean._functions import all_inputs, check_bits, check_functions
from creases.boolean._walk import walk


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
    flat = functions.ravel()
    least = _by_halves(flat.astype(np.uint32))[0].astype(np.uint64) if n == 5 else _search_images(flat, n)
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
        classes = _classes_of_5()
    else:
        least, sizes = np.unique(_search_images(np.arange(1 << (1 << n), dtype=np.uint64), n), return_counts=True)
        classes = NpnClasses(least.astype(np.uint32), sizes.astype(np.int64))
    for values in classes:
        values.flags.writeable = False
    return classes


def _classes_of_5() -> NpnClasses:
    """Return the classes of 5 bits.

    The high half of a least function is the least function of a class of 4 bits: otherwise negating or permuting the
    other inputs, or negating the output, would make it smaller.
    """
    lows = np.arange(1 << 16, dtype=np.uint32)
    representatives, stabilisers = [], []
    for high in npn_classes(4).representatives:
        functions = high << np.uint32(16) | lows
        least, ways = _by_halves(functions, early=True)
        representatives.append(functions[least == functions])
        stabilisers.append(ways[least == functions])
    return NpnClasses(np.concatenate(representatives), 2 * 2**5 * factorial(5) // np.concatenate(stabilisers))


def _search_images(functions: Words, n: int) -> Words:
    """Return the least images of functions of n <= 6 bits, by searching all of them."""
    from creases.boolean._npn_kernel import least_images

    images_walk = walk(n, reversals=True)
    return least_images(
        functions, np.uint64((1 << (1 << n)) - 1), images_walk.masks, images_walk.shifts, images_walk.steps
    )


def _by_halves(functions: NDArray[np.uint32], early: bool = False) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """Return the least images of functions of 5 bits, and the number of transformations that lead to them."""
    from creases.boolean._npn_kernel import least_by_halves

    return least_by_halves(functions, *_transformations_of_4(), early)


@lru_cache
def _transformations_of_4() -> tuple[NDArray[np.uint16], NDArray[np.int64], NDArray[np.int64], NDArray[np.uint16]]:
    """Return all transformations of functions of 4 bits to the least of their class, as in ``least_by_halves``."""
    images_walk = walk(4, reversals=True)
    bits = (all_inputs(4)[None, :, :] ^ (images_walk.signs[:, None, :] < 0)) << images_walk.inputs[:, None, :]
    sources = bits.sum(axis=2)  # (384, 16): bit x of image k is bit sources[k, x] of the function
    bytes_ = np.arange(256)
    parts: NDArray[Any] = np.zeros((2 * len(sources), 2, 256), np.uint16)
    for high in (0, 1):
        bit = np.where(sources // 8 == high, sources % 8, 8)[:, :, None]  # bit 8 of a byte is 0
        parts[: len(sources), high] = ((bytes_ >> bit & 1) << np.arange(16)[:, None]).sum(axis=1)
    parts[len(sources) :] = parts[: len(sources)]
    parts[len(sources) :, 0] ^= 0xFFFF  # with the output negated
    functions = np.arange(1 << 16)
    images = parts[:, 0, functions & 255] ^ parts[:, 1, functions >> 8]  # (768, 65536)
    canonical = images.min(axis=0)
    ways, reached = np.nonzero(images == canonical)
    order = np.argsort(reached, kind="stable")
    return canonical, np.searchsorted(reached[order], np.arange((1 << 16) + 1)), ways[order], parts
