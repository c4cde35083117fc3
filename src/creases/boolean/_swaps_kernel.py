"""Compiled search for the ordering with the fewest changes of class (numba; imported only when first used).

512 functions are searched at once, one per bit of vectors of eight words, by traversing the tree of orderings. Node v
adds the input ``points[v]`` from below and its negation from above to an ordering. With c changes so far the total is
at least c, plus one if the classes of the two inputs differ; at a leaf that is the total. Going inwards this bound
stays or grows by 2, so it is ``ends + 2 h``, where ``ends`` is 1 if the outermost two inputs differ in class. Along the
path the search stores how much h may still grow for the ordering to have fewer changes than the best so far (the
budget), as a number with one bit in each vector. Where no function has any budget left, the tree is pruned.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from creases._compiled import jit, jit_internal
from creases._typing import Bytes, Ints, Words

#: Words of a vector, bits of the budget (at most 31: n = 6 has at most 63 changes), vector of exhausted functions.
WORDS = 8
BITS = 5
OUT = BITS
FUNCTIONS = 64 * WORDS


def _build_spend(context: Any, rows: Any, path: Any, full: Any, outer: Any, point: Any, depth: Any) -> Any:
    """Go from an input to the next at a depth of the path; return whether any function has budget left.

    ``rows`` (2^n, WORDS) has the classes of the inputs, ``path`` (depths, BITS + 1, WORDS) the budgets and the
    exhausted functions. Built of vector instructions, because compilers do not know that these arrays never overlap.
    """
    vector, mask = ir.VectorType(ir.IntType(64), WORDS), ir.IntType(WORDS)

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        def vectors(which: int) -> Any:
            array: Any = cgutils.create_struct_proxy(signature.args[which])  # type: ignore[no-untyped-call]
            return builder.bitcast(array(context, builder, args[which]).data, vector.as_pointer())

        rows, path, (full, outer, point, depth) = vectors(0), vectors(1), args[2:]

        def row(x: Any) -> Any:
            return builder.load(builder.gep(rows, [x]), align=8)

        def slot(depth: Any, bit: int) -> Any:
            return builder.gep(path, [builder.add(builder.mul(depth, depth.type(BITS + 1)), depth.type(bit))])

        low, high = row(outer), row(builder.sub(full, outer))
        new_low, new_high = row(point), row(builder.sub(full, point))
        changed = builder.or_(builder.xor(low, new_low), builder.xor(high, new_high))
        merged = builder.and_(builder.xor(low, high), builder.not_(builder.xor(new_low, new_high)))
        spent = builder.and_(changed, builder.not_(merged))
        before = builder.sub(depth, depth.type(1))
        for bit in range(BITS):
            left = builder.load(slot(before, bit), align=8)
            builder.store(builder.xor(left, spent), slot(depth, bit), align=8)
            spent = builder.and_(spent, builder.not_(left))
        out = builder.or_(builder.load(slot(before, OUT), align=8), spent)
        builder.store(out, slot(depth, OUT), align=8)
        some = builder.icmp_signed("!=", out, ir.Constant(vector, [-1] * WORDS))
        return builder.icmp_signed("!=", builder.bitcast(some, mask), mask(0))

    return types.boolean(rows, path, types.int64, types.int64, types.int64, types.int64), build


_spend: Any = intrinsic(_build_spend)


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
            if not _spend(rows, path, len(rows) - 1, np.int64(outer[v]), np.int64(points[v]), depth):
                v = np.int64(after[v])
                continue
            if depth == last:
                _improve(rows, odd, left, out, path, image, v, results)
                _begin(rows, odd, left, out, path)
                for d in range(1, last + 1):  # the budget shrinks all along the path
                    _spend(rows, path, len(rows) - 1, np.int64(outer[nodes[d]]), np.int64(points[nodes[d]]), d)
            v += 1
    return results
