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

    The value is (3.10) of the dissertation [1]_. All generic orderings are searched, which is enough: if weights map
    inputs of one class to the same sum, a small change of the weights only orders them. A function takes about a
    millisecond, 50 at n = 6; the first one longer.

    References
    ----------
    .. [1] Ben Sattelberg, "Local Linearity of ReLU Neural Networks", dissertation, Colorado State University, 2026.

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
        results = fewest_changes(images, identity, fewest - 1, *_tree(n)[:-1])[:, : len(images_walk.inputs) - start]
        which = np.flatnonzero(results[0] >= 0)
        if len(which):
            best = which[np.argmin(results[0, which])]
            fewest = int(results[0, best])
            row = np.searchsorted(_tree(n).leaves, results[2, best])
            image = start + int(best)
            weights[images_walk.inputs[image]] = images_walk.signs[image] * subset_sum_orderings(n).weights[row]
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
    images, tree = sources(n, False), _tree(n)
    values = np.zeros(len(representatives), np.uint8)

    def fewest(functions: NDArray[np.uint64]) -> Ints:
        changes: Ints = fewest_changes(functions, images, (1 << n) - 1, *tree[:-1])[0]
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


class _Tree(NamedTuple):
    """The first halves of all orderings as a tree, each node before its descendants: see the kernel."""

    points: NDArray[np.uint8]  #: input that a node adds
    outer: NDArray[np.uint8]  #: input before it; for the first node the same
    depths: NDArray[np.uint8]  #: from 1 to 2^(n - 1), where the leaves are
    after: NDArray[np.int32]  #: next node that is not a descendant
    leaves: Ints  #: leaf of each ordering


@lru_cache
def _tree(n: int) -> _Tree:
    halves = subset_sum_orderings(n).orders[:, : 1 << n - 1]
    orders, depth = halves.shape
    fresh = np.zeros(orders, np.int64)  # where an ordering first differs from the previous one
    fresh[1:] = (halves[1:] != halves[:-1]).argmax(axis=1)
    ends = np.cumsum(depth - fresh)
    rows = np.repeat(np.arange(orders), depth - fresh)
    columns = depth - ends[rows] + np.arange(ends[-1])
    after = np.zeros(len(rows), np.int32)
    for column in range(depth):
        branching = np.flatnonzero(fresh <= column)
        nodes = np.flatnonzero(columns == column)
        following = np.searchsorted(branching, rows[nodes], side="right")
        after[nodes] = np.append(ends[branching] - depth + fresh[branching], len(rows))[following]
    return _Tree(
        points=halves[rows, columns],
        outer=halves[rows, np.maximum(columns - 1, 0)],
        depths=(columns + 1).astype(np.uint8),
        after=after,
        leaves=ends - 1,
    )


def _blocks(tables: Bits) -> Iterator[tuple[int, NDArray[np.uint64]]]:
    """Yield blocks of 512 truth tables (k, 2^n): the start, and a bit f(x) per function in row x, (2^n, 8)."""
    for start in range(0, len(tables), 512):
        block = np.zeros((tables.shape[1], 512), np.uint8)
        part = tables[start : start + 512]
        block[:, : len(part)] = part.T
        yield start, np.packbits(block, axis=1, bitorder="little").view("<u8").astype(np.uint64)


# Compiled search for the fewest changes (numba, at the first call).


#: Words of a vector, bits of the budget (at most 31: n = 6 has at most 63 changes), vector of exhausted functions.
WORDS = 8
BITS = 5
OUT = BITS
FUNCTIONS = 64 * WORDS


@jit_internal
def _spend(rows: Words, path: Words, outer: Any, point: Any, depth: Any) -> bool:
    """Go from an input to the next at a depth of the path; return whether any function has budget left.

    ``rows`` (2^n, WORDS) has the classes of the inputs, ``path`` (depths, BITS + 1, WORDS) the budgets and the
    exhausted functions.
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
        out = path[depth - 1, OUT, j] | spent
        path[depth, OUT, j] = out
        some |= ~out
    return bool(some != np.uint64(0))


@jit_internal
def _begin(rows: Words, odd: Words, left: Words, out: Words, path: Words) -> None:
    """Set the budget at the outermost two inputs: half of (limit - ends), with limit = 2 left + odd."""
    for j in range(WORDS):
        spent = (rows[0, j] ^ rows[len(rows) - 1, j]) & ~odd[j]
        for bit in range(BITS):
            path[0, bit, j] = left[bit, j] ^ spent
            spent &= ~left[bit, j]
        path[0, OUT, j] = out[j] | spent


@jit_internal
def _improve(
    rows: Words, odd: Words, left: Words, out: Words, path: Words, image: int, node: Any, results: Ints
) -> None:
    """Record the functions that have budget left at a leaf, and allow them only fewer changes from now on."""
    leaf = len(path) - 1
    for j in range(WORDS):
        ends = rows[0, j] ^ rows[len(rows) - 1, j]
        for k in range(64):
            bit_mask = np.uint64(1) << np.uint64(k)
            if path[leaf, OUT, j] & bit_mask:
                continue
            grown = np.int64(0)
            for bit in range(BITS):
                grown += (
                    np.int64(path[0, bit, j] & bit_mask != 0) - np.int64(path[leaf, bit, j] & bit_mask != 0)
                ) << bit
            changes = 2 * grown + np.int64(ends & bit_mask != 0)
            results[0, 64 * j + k], results[1, 64 * j + k], results[2, 64 * j + k] = changes, image, node
            limit = changes - 1
            odd[j] = odd[j] | bit_mask if limit & 1 else odd[j] & ~bit_mask
            out[j] = out[j] | bit_mask if limit < 0 else out[j]
            for bit in range(BITS):
                left[bit, j] = left[bit, j] | bit_mask if limit >> bit + 1 & 1 else left[bit, j] & ~bit_mask


@jit
def fewest_changes(
    functions: Words,
    sources: Bytes,
    max_changes: int,
    points: Bytes,
    outer: Bytes,
    depths: Bytes,
    after: NDArray[np.int32],
) -> Ints:
    """Return the fewest changes of class of 512 functions over all orderings and images, if at most ``max_changes``.

    Row x of ``functions`` (2^n, WORDS) has f(x) of all functions; ``sources`` (images, 2^n) is the input that becomes x
    in an image. The result (3, 512) has, for every function, the changes, and the image and leaf that attain them; -1
    if there are none.
    """
    last = len(functions) >> 1
    results = np.full((3, FUNCTIONS), -1, np.int64)
    odd, out = np.zeros(WORDS, np.uint64), np.zeros(WORDS, np.uint64)
    left, path = np.zeros((BITS, WORDS), np.uint64), np.zeros((last + 1, BITS + 1, WORDS), np.uint64)
    rows, nodes = np.zeros_like(functions), np.zeros(last + 1, np.int64)
    for j in range(WORDS):
        odd[j] = np.uint64(0) - np.uint64(max_changes & 1)
        for bit in range(BITS):
            left[bit, j] = np.uint64(0) - np.uint64(max_changes >> bit + 1 & 1)
    for image in range(len(sources)):
        for x in range(len(rows)):
            for j in range(WORDS):
                rows[x, j] = functions[sources[image, x], j]
        _begin(rows, odd, left, out, path)
        v = np.int64(0)
        while v < len(points):
            depth = np.int64(depths[v])
            nodes[depth] = v
            if not _spend(rows, path, np.int64(outer[v]), np.int64(points[v]), depth):
                v = np.int64(after[v])
                continue
            if depth == last:
                _improve(rows, odd, left, out, path, image, v, results)
                _begin(rows, odd, left, out, path)
                for d in range(1, last + 1):  # the budget shrinks all along the path
                    _spend(rows, path, np.int64(outer[nodes[d]]), np.int64(points[nodes[d]]), d)
            v += 1
    return results
