"""The swaps value: the least number of changes of class when the inputs are mapped linearly to a line."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from creases._compiled import jit, jit_internal
from creases._typing import Bytes, Ints, Progress, Words
from creases._validation import as_array, check_count
from creases.boolean._functions import Bits, all_inputs, check_bits, check_function, truth_table
from creases.boolean._npn import npn_classes
from creases.boolean._orderings import subset_sum_orderings
from creases.boolean._walk import sources, walk
from creases.errors import InputError


class Swaps(NamedTuple):
    """The swaps value of a function, with a witness."""

    changes: int  #: least number of changes of class
    weights: Ints  #: (n,) integers w with distinct w . x that attain it


class ClassSwaps(NamedTuple):
    """The swaps values of all NPN classes of functions of n bits."""

    representatives: NDArray[np.uint32]  #: least function of each class, ascending
    swaps: NDArray[np.uint8]


def class_changes(f: int, n: int, weights: ArrayLike) -> int:
    """Return how often the class changes along the inputs by increasing w . x: the sum in (3.10) of the dissertation.

    Parameters
    ----------
    f
        A function of n <= 16 bits.
    n
        Number of bits.
    weights
        Integers w (n,). Inputs with the same w . x must have the same class (3.8).

    Examples
    --------
    >>> class_changes(0b0110, 2, [1, 1]), class_changes(0b0110, 2, [1, 2])  # XOR
    (2, 2)
    """
    check_bits(n)
    classes = truth_table(check_function(f, n), n)
    array = as_array(weights, "weights")
    if array.shape != (n,) or array.dtype.kind not in "iu":
        raise InputError("weights", f"be {n} integers, one per input", repr(weights))
    if np.abs(array.astype(float)).sum() >= 2**62:
        raise InputError("weights", "have absolute values whose sum is below 2^62", repr(weights))
    sums = all_inputs(n) @ array.astype(np.int64)
    order = np.lexsort((classes, sums))
    change = np.diff(classes[order]) != 0
    level = np.flatnonzero(change & (np.diff(sums[order]) == 0))
    if len(level):
        a, b = sorted(order[level[0] : level[0] + 2])
        raise InputError(
            "weights",
            "map inputs of different classes to different sums",
            f"the same sum {sums[a]} for inputs {a} and {b}, which differ in class",
        )
    return int(change.sum())


def swaps(f: int, n: int) -> Swaps:
    """Return the swaps value of a function of n <= 6 bits, exactly, with weights that attain it.

    The value is (3.10) of the dissertation. All generic orderings are searched, which is enough: if weights map
    inputs of one class to the same sum, a small change of the weights only orders them. A function takes about a
    millisecond, 50 at n = 6; the first one longer.

    Examples
    --------
    >>> from creases.boolean import parity
    >>> [swaps(parity(n), n).changes for n in (1, 2, 3, 4, 5)]
    [1, 2, 3, 4, 5]
    >>> changes, weights = swaps(1785, 4)
    >>> changes, class_changes(1785, 4, weights)
    (5, 5)
    """
    check_bits(n, 6, "to compute swaps")
    identity = np.arange(1 << n, dtype=np.uint8)[None]
    fewest, weights = 1 << n, np.zeros(n, np.int64)
    images_walk = walk(n, reversals=False)
    for start, images in _blocks(truth_table(check_function(f, n), n)[sources(n, False)]):
        results = fewest_changes(images, identity, fewest - 1, *_halves(n))[:, : len(images_walk.inputs) - start]
        which = np.flatnonzero(results[0] >= 0)
        if len(which):
            best = which[np.argmin(results[0, which])]
            fewest = int(results[0, best])
            image, ordering = start + int(best), results[2, best]
            weights[images_walk.inputs[image]] = images_walk.signs[image] * subset_sum_orderings(n).weights[ordering]
        if fewest == 0:
            break
    return Swaps(fewest, weights)


def class_swaps(n: int, *, n_jobs: int = 2, progress: Progress | None = None) -> ClassSwaps:
    """Return the swaps value of every NPN class of functions of n <= 5 bits.

    At n = 5 these are 616,126 classes, which take about 20 seconds.

    Parameters
    ----------
    n
        Number of bits.
    n_jobs
        Number of threads.
    progress
        Called with the stage, the number of classes done and their number.

    Examples
    --------
    >>> class_swaps(3).swaps.tolist()
    [0, 1, 1, 2, 1, 1, 2, 1, 2, 2, 3, 2, 2, 3]
    """
    check_bits(n, 5, "to list all classes")
    n_jobs = check_count(n_jobs, "n_jobs")
    representatives = npn_classes(n).representatives
    images, orderings = sources(n, False), _halves(n)
    values = np.zeros(len(representatives), np.uint8)

    def fewest(functions: NDArray[np.uint64]) -> Ints:
        changes: Ints = fewest_changes(functions, images, (1 << n) - 1, *orderings)[0]
        return changes

    pool = ThreadPoolExecutor(n_jobs)
    try:
        starts, blocks = zip(*_blocks(truth_table(representatives, n)), strict=True)
        for start, changes in zip(starts, pool.map(fewest, blocks), strict=True):
            part = values[start : start + len(changes)]
            part[:] = changes[: len(part)]
            if progress is not None:
                progress("computing swaps", start + len(part), len(values))
    finally:
        pool.shutdown(cancel_futures=True)  # when interrupted, drop the blocks that have not started
    return ClassSwaps(representatives, values)


@lru_cache
def _halves(n: int) -> tuple[NDArray[np.uint8], Ints]:
    """Return the first halves of all orderings, (orderings, 2^(n - 1)), and where each differs from the one before."""
    halves = np.ascontiguousarray(subset_sum_orderings(n).orders[:, : 1 << n - 1])
    fresh = np.ones(len(halves), np.int64)
    fresh[1:] = (halves[1:] != halves[:-1]).argmax(axis=1)
    return halves, fresh


def _blocks(tables: Bits) -> Iterator[tuple[int, NDArray[np.uint64]]]:
    """Yield blocks of 512 truth tables (k, 2^n): the start, and a bit f(x) per function in row x, (2^n, 8)."""
    for start in range(0, len(tables), 512):
        block = np.zeros((tables.shape[1], 512), np.uint8)
        part = tables[start : start + 512]
        block[:, : len(part)] = part.T
        yield start, np.packbits(block, axis=1, bitorder="little").view("<u8").astype(np.uint64)


#: Words of a vector, bits of the budget (at most 31 pairs: n = 6 has at most 63 changes), functions of a vector.
WORDS, BITS = 8, 5
FUNCTIONS = 64 * WORDS


@jit_internal
def _limit(limits: Words, j: int, functions: Any, most: Any) -> None:
    """Allow some functions of word j at most so many changes: two at a time, beside one if the ends of an image differ.

    ``limits`` (2, BITS + 1, WORDS) has the pairs of changes if the ends agree and if they differ, in two's complement:
    the last bit is that of exhausted functions.
    """
    for ends in range(2):
        for bit in range(BITS + 1):
            left = limits[ends, bit, j]
            limits[ends, bit, j] = left | functions if (most - ends) >> bit + 1 & 1 else left & ~functions


@jit_internal
def _begin(rows: Words, limits: Words, path: Words) -> None:
    """Set the budget at the outermost two inputs."""
    for j in range(WORDS):
        ends = rows[0, j] ^ rows[len(rows) - 1, j]
        for bit in range(BITS + 1):
            path[0, bit, j] = limits[0, bit, j] & ~ends | limits[1, bit, j] & ends


@jit_internal
def _spend(rows: Words, path: Words, outer: Any, point: Any, depth: Any) -> bool:
    """Go from an input to the next at a depth of the path; return whether any function has budget left.

    ``rows`` (2^n, WORDS) has the classes of the inputs, ``path`` (2^(n - 1), BITS + 1, WORDS) the budgets as in
    ``limits``.
    """
    full, some = len(rows) - 1, np.uint64(0)
    for j in range(WORDS):
        low, high, new_low, new_high = rows[outer, j], rows[full - outer, j], rows[point, j], rows[full - point, j]
        changed, merged = (low ^ new_low) | (high ^ new_high), (low ^ high) & ~(new_low ^ new_high)
        spent = changed & ~merged
        for bit in range(BITS):
            left = path[depth - 1, bit, j]
            path[depth, bit, j] = left ^ spent
            spent &= ~left
        out = path[depth - 1, BITS, j] | spent
        path[depth, BITS, j] = out
        some |= ~out
    return bool(some != np.uint64(0))


@jit_internal
def _improve(rows: Words, limits: Words, path: Words, image: int, ordering: Any, results: Ints) -> None:
    """Record the functions with budget left at an ordering's end, and allow them only fewer changes from now on."""
    last = len(path) - 1
    for j in range(WORDS):
        ends = rows[0, j] ^ rows[len(rows) - 1, j]
        for k in range(64):
            function = np.uint64(1) << np.uint64(k)
            if path[last, BITS, j] & function:
                continue
            pairs = np.int64(0)
            for bit in range(BITS):
                pairs += (
                    np.int64(path[0, bit, j] & function != 0) - np.int64(path[last, bit, j] & function != 0)
                ) << bit
            changes = 2 * pairs + np.int64(ends & function != 0)
            results[0, 64 * j + k], results[1, 64 * j + k], results[2, 64 * j + k] = changes, image, ordering
            _limit(limits, j, function, changes - 1)


@jit
def fewest_changes(functions: Words, sources: Bytes, max_changes: int, halves: Bytes, fresh: Ints) -> Ints:
    """Return the fewest changes of class of 512 functions over all orderings and images, if at most ``max_changes``.

    Row x of ``functions`` (2^n, WORDS) has f(x) of all functions; ``sources`` (images, 2^n) is the input that becomes x
    in an image. An input and its negation are at mirrored positions, so ``halves`` of orderings do; those that begin
    alike follow each other, and ``fresh`` says up to where. The result (3, 512) has, for every function, the changes,
    and the image and ordering that attain them; -1 if there are none.
    """
    count, depth = halves.shape
    results = np.full((3, FUNCTIONS), -1, np.int64)
    limits, path = np.zeros((2, BITS + 1, WORDS), np.uint64), np.zeros((depth, BITS + 1, WORDS), np.uint64)
    rows = np.zeros_like(functions)
    for j in range(WORDS):
        _limit(limits, j, ~np.uint64(0), np.int64(max_changes))
    for image in range(len(sources)):
        for x in range(len(rows)):
            for j in range(WORDS):
                rows[x, j] = functions[sources[image, x], j]
        _begin(rows, limits, path)
        k = np.int64(0)
        while k < count:
            d = fresh[k]
            while d < depth and _spend(rows, path, np.int64(halves[k, d - 1]), np.int64(halves[k, d]), d):
                d += 1
            if d == depth:
                _improve(rows, limits, path, image, k, results)
                _begin(rows, limits, path)
                for d in range(1, depth):  # the budget shrinks all along the path
                    _spend(rows, path, np.int64(halves[k, d - 1]), np.int64(halves[k, d]), d)
            k += 1
            while k < count and fresh[k] > d:
                k += 1
    return results
