"""NPN classes: functions that differ by negation and permutation of inputs and by negation of the output."""

from __future__ import annotations

from functools import lru_cache
from math import factorial
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from creases._typing import Words
from creases.boolean._functions import all_inputs, check_bits, check_functions
from creases.boolean._walk import walk


class NpnClasses(NamedTuple):
    """All NPN classes of functions of n bits."""

    representatives: NDArray[np.uint32]  #: the least function of each, ascending
    sizes: NDArray[np.int64]  #: how many functions are in each; their sum is 2^(2^n)


@overload
def canonical_form(f: int, n: int) -> int: ...
@overload
def canonical_form(f: ArrayLike, n: int) -> Words: ...
def canonical_form(f: int | ArrayLike, n: int) -> int | Words:
    """The least function of the NPN class of f: one number for all functions of a class.

    Parameters
    ----------
    f
        A function of n bits, or an array of them.
    n
        From 1 to 6. A function takes less than a microsecond up to n = 5, and some hundred at n = 6.

    Examples
    --------
    >>> canonical_form(0b1110, 2), canonical_form(0b0111, 2)  # OR, NAND: the class of NOR
    (1, 1)
    >>> canonical_form([0xFFFE, 0x9669, 0xAAAA], 4).tolist()
    [1, 27030, 255]
    """
    check_bits(n, 6, "classes are known")
    functions = check_functions(f, n)
    flat = functions.ravel()
    least = _by_halves(flat.astype(np.uint32))[0].astype(np.uint64) if n == 5 else _on_walk(flat, n)
    return least.reshape(functions.shape) if functions.ndim else int(least[0])


@lru_cache
def npn_classes(n: int) -> NpnClasses:
    """The NPN classes of all functions of n bits, n <= 5: 2, 4, 14, 222, 616126 of them.

    >>> representatives, sizes = npn_classes(2)
    >>> representatives.tolist(), sizes.tolist()
    ([0, 1, 3, 6], [2, 8, 4, 2])
    """
    check_bits(n, 5, "all classes can be listed")
    if n == 5:
        found = _classes_of_5()
    else:
        least, sizes = np.unique(_on_walk(np.arange(1 << (1 << n), dtype=np.uint64), n), return_counts=True)
        found = NpnClasses(least.astype(np.uint32), sizes.astype(np.int64))
    for values in found:
        values.flags.writeable = False
    return found


def _classes_of_5() -> NpnClasses:
    """Classes of 5 bits. A least function has the least function of a class of 4 bits as its high half:

    otherwise negations and permutations of the other inputs, or the negation of the output, would make it less.
    """
    lows = np.arange(1 << 16, dtype=np.uint32)
    representatives, stabilisers = [], []
    for high in npn_classes(4).representatives:
        functions = high << np.uint32(16) | lows
        least, ways = _by_halves(functions, early=True)
        representatives.append(functions[least == functions])
        stabilisers.append(ways[least == functions])
    return NpnClasses(np.concatenate(representatives), 2 * 2**5 * factorial(5) // np.concatenate(stabilisers))


def _on_walk(functions: Words, n: int) -> Words:
    """The least images of functions of n <= 6 bits, by a look at all of them."""
    from creases.boolean._npn_kernel import least_images

    way = walk(n, reversals=True)
    return least_images(functions, np.uint64((1 << (1 << n)) - 1), way.masks, way.shifts, way.steps)


def _by_halves(functions: NDArray[np.uint32], early: bool = False) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """The least images of functions of 5 bits, and in how many ways they are reached."""
    from creases.boolean._npn_kernel import least_by_halves

    return least_by_halves(functions, *_ways_of_4(), early)


@lru_cache
def _ways_of_4() -> tuple[NDArray[np.uint16], NDArray[np.int64], NDArray[np.int64], NDArray[np.uint16]]:
    """All ways from a function of 4 bits to the least of its class: ``least_by_halves`` says how they are written."""
    way = walk(4, reversals=True)
    bits = (all_inputs(4)[None, :, :] ^ (way.signs[:, None, :] < 0)) << way.inputs[:, None, :]
    sources = bits.sum(axis=2)  # (384, 16): bit x of image k is bit sources[k, x] of the function
    bytes_ = np.arange(256)
    parts: NDArray[Any] = np.zeros((2 * len(sources), 2, 256), np.uint16)
    for high in (0, 1):
        taken = np.where(sources // 8 == high, sources % 8, 8)[:, :, None]  # bit 8 of a byte is 0
        parts[: len(sources), high] = ((bytes_ >> taken & 1) << np.arange(16)[:, None]).sum(axis=1)
    parts[len(sources) :] = parts[: len(sources)]
    parts[len(sources) :, 0] ^= 0xFFFF  # with the output negated
    functions = np.arange(1 << 16)
    images = parts[:, 0, functions & 255] ^ parts[:, 1, functions >> 8]  # (768, 65536)
    canonical = images.min(axis=0)
    ways, reached = np.nonzero(images == canonical)
    order = np.argsort(reached, kind="stable")
    return canonical, np.searchsorted(reached[order], np.arange((1 << 16) + 1)), ways[order], parts
