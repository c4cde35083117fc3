"""The swaps value: how often the class changes, at least, when the inputs are mapped linearly to a line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from creases._typing import Ints
from creases.boolean._functions import Bits, all_inputs, check_bits, check_function, truth_table
from creases.boolean._npn import npn_classes
from creases.boolean._orderings import subset_sum_orderings
from creases.boolean._walk import walk
from creases.errors import InputError


class Swaps(NamedTuple):
    """The swaps value of a function, with a witness."""

    changes: int  #: the least number of changes of class
    weights: Ints  #: (n,) integers w: by increasing w . x, no two of them equal, the class changes so often


class ClassSwaps(NamedTuple):
    """The swaps values of all NPN classes of functions of n bits."""

    representatives: NDArray[np.uint32]  #: the least function of each class, ascending
    swaps: NDArray[np.uint8]


def class_changes(f: int, n: int, weights: ArrayLike) -> int:
    """How often the class of a function changes along the inputs by increasing w . x: the sum in (3.10).

    Parameters
    ----------
    f
        A function of n <= 16 bits.
    n
        Number of bits.
    weights
        (n,) whole numbers w. Inputs with the same w . x must have the same class (3.8).

    Examples
    --------
    >>> class_changes(0b0110, 2, [1, 1]), class_changes(0b0110, 2, [1, 2])  # XOR
    (2, 2)
    """
    check_bits(n)
    classes = truth_table(check_function(f, n), n)
    sums = all_inputs(n) @ _check_weights(weights, n)
    order = np.lexsort((classes, sums))
    change = np.diff(classes[order]) != 0
    level = np.flatnonzero(change & (np.diff(sums[order]) == 0))
    if len(level):
        one, other = sorted(order[level[0] : level[0] + 2])
        raise InputError(
            f"weights: inputs {one} and {other} differ in class and have the same sum {sums[one]}; "
            "a mapping to a line must keep the classes apart"
        )
    return int(change.sum())


def swaps(f: int, n: int) -> Swaps:
    """The swaps value (3.10) of a function of n <= 6 bits: exact, with weights that attain it.

    All generic orderings are searched. That is enough: where weights put inputs of one class level, a small change of
    the weights only puts those in some order. Takes about a millisecond, at n = 6 some 50; the first one longer.

    Examples
    --------
    >>> from creases.boolean import parity
    >>> [swaps(parity(n), n).changes for n in (1, 2, 3, 4, 5)]
    [1, 2, 3, 4, 5]
    >>> found = swaps(1785, 4)
    >>> found.changes, class_changes(1785, 4, found.weights)
    (5, 5)
    """
    check_bits(n, 6, "swaps can be found")
    from creases.boolean._swaps_kernel import fewest_changes

    itself = np.arange(1 << n, dtype=np.uint8)[None]
    fewest, weights = 1 << n, np.zeros(n, np.int64)
    way = walk(n, reversals=False)
    for start, images in _blocks(truth_table(check_function(f, n), n)[_sources(n)]):
        found = fewest_changes(images, itself, fewest - 1, *_tree(n)[:-1])[:, : len(way.inputs) - start]
        which = np.flatnonzero(found[0] >= 0)
        if len(which):
            best = which[np.argmin(found[0, which])]
            fewest = int(found[0, best])
            row = np.searchsorted(_tree(n).leaves, found[2, best])
            image = start + int(best)
            weights[way.inputs[image]] = way.signs[image] * subset_sum_orderings(n).weights[row]
        if fewest == 0:
            break
    return Swaps(fewest, weights)


def class_swaps(n: int, *, threads: int = 2, progress: Callable[[int], None] | None = None) -> ClassSwaps:
    """The swaps value of every NPN class of functions of n <= 5 bits: 616,126 classes at n = 5, in some 10 seconds.

    Parameters
    ----------
    n
        Number of bits.
    threads
        Share the work among so many threads.
    progress
        Called with the number of classes done, now and then.

    Examples
    --------
    >>> class_swaps(3).swaps.tolist()
    [0, 1, 1, 2, 1, 1, 2, 1, 2, 2, 3, 2, 2, 3]
    """
    check_bits(n, 5, "all classes can be listed")
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
        raise InputError(f"threads: must be a whole number, at least 1; got {threads!r}")
    from creases.boolean._swaps_kernel import fewest_changes

    representatives = npn_classes(n).representatives
    sources, tree = _sources(n), _tree(n)
    values = np.zeros(len(representatives), np.uint8)

    def fewest(functions: NDArray[np.uint64]) -> Ints:
        found: Ints = fewest_changes(functions, sources, (1 << n) - 1, *tree[:-1])[0]
        return found

    pool = ThreadPoolExecutor(threads)
    try:
        starts, blocks = zip(*_blocks(truth_table(representatives, n)), strict=True)
        for start, found in zip(starts, pool.map(fewest, blocks), strict=True):
            part = values[start : start + len(found)]
            part[:] = found[: len(part)]
            if progress is not None:
                progress(start + len(part))
    finally:
        pool.shutdown(cancel_futures=True)  # when interrupted, what has not begun never does
    return ClassSwaps(representatives, values)


class _Tree(NamedTuple):
    """The first halves of all orderings as a tree, each node before those below it: see the kernel."""

    points: NDArray[np.uint8]  #: the input that a node adds
    outer: NDArray[np.uint8]  #: the input before it; that of the first node is the same
    depths: NDArray[np.uint8]  #: from 1 to 2^(n - 1), where the leaves are
    after: NDArray[np.int32]  #: the next node that is not below
    leaves: Ints  #: the leaf of each ordering


@lru_cache
def _tree(n: int) -> _Tree:
    halves = subset_sum_orderings(n).orders[:, : 1 << n - 1]
    orders, depth = halves.shape
    fresh = np.zeros(orders, np.int64)  # where an ordering parts from the one before
    fresh[1:] = (halves[1:] != halves[:-1]).argmax(axis=1)
    ends = np.cumsum(depth - fresh)
    rows = np.repeat(np.arange(orders), depth - fresh)
    columns = depth - ends[rows] + np.arange(ends[-1])
    after = np.zeros(len(rows), np.int32)
    for column in range(depth):
        parting = np.flatnonzero(fresh <= column)
        here = np.flatnonzero(columns == column)
        following = np.searchsorted(parting, rows[here], side="right")
        after[here] = np.append(ends[parting] - depth + fresh[parting], len(rows))[following]
    return _Tree(
        points=halves[rows, columns],
        outer=halves[rows, np.maximum(columns - 1, 0)],
        depths=(columns + 1).astype(np.uint8),
        after=after,
        leaves=ends - 1,
    )


@lru_cache
def _sources(n: int) -> NDArray[np.uint8]:
    """Which input of a function stands for input x of each of its images, (images, 2^n); reversals are left out."""
    way = walk(n, reversals=False)
    bits = all_inputs(n)[None, :, :] ^ (way.signs < 0)[:, None, :]
    sources: NDArray[np.int64] = (bits << way.inputs[:, None, :]).sum(axis=2)
    return sources.astype(np.uint8)


def _blocks(tables: Bits) -> Iterator[tuple[int, NDArray[np.uint64]]]:
    """Truth tables (k, 2^n) by 512, bit by bit: where a block starts, and f(x) of its functions in row x, (2^n, 8)."""
    for start in range(0, len(tables), 512):
        block = np.zeros((tables.shape[1], 512), np.uint8)
        part = tables[start : start + 512]
        block[:, : len(part)] = part.T
        yield start, np.packbits(block, axis=1, bitorder="little").view("<u8").astype(np.uint64)


def _check_weights(weights: ArrayLike, n: int) -> Ints:
    given: NDArray[Any] = np.asarray(weights)
    if given.shape != (n,) or given.dtype.kind not in "iu":
        raise InputError(f"weights: must be {n} whole numbers, one for each input; got {weights!r}")
    if np.abs(given.astype(float)).sum() >= 2**62:
        raise InputError(f"weights: sums must stay below 2^62; got {weights!r}")
    return given.astype(np.int64)
