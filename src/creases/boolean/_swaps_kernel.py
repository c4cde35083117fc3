"""Compiled search for the ordering with the fewest changes of class (numba; imported only when first used).

512 functions are searched at once, one in each bit of vectors of eight words, by going through the tree of orderings.
Node v adds the input ``points[v]`` from below and its negation from above to an ordering. With c changes so far there
will be at least c, and one more where the classes of the two inputs differ; at a leaf that is their number. Inwards
this bound stays or grows by 2, so that it is ``ends + 2 h``, where ``ends`` says whether the outermost two inputs
differ in class. What is kept along the path is how much h may still grow if the ordering is to have fewer changes than
the best so far, as a number with a bit in each vector. Where no function has anything left, the tree is cut.
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

#: Words of a vector, bits of what is left (31 at most: n = 6 has 63 changes at most), and which vector says who is out.
WORDS = 8
BITS = 5
OUT = BITS
FUNCTIONS = 64 * WORDS


def _spend_built(context: Any, rows: Any, path: Any, full: Any, outer: Any, point: Any, depth: Any) -> Any:
    """Go on from an input to the next at a depth of the path; say whether any function has something left.

    ``rows`` (2^n, WORDS) has the classes of the inputs, ``path`` (depths, BITS + 1, WORDS) what is left and who is out.
    Built of vector instructions: compilers do not see by themselves that these arrays never overlap.
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
        joined = builder.and_(builder.xor(low, high), builder.not_(builder.xor(new_low, new_high)))
        spent = builder.and_(changed, builder.not_(joined))
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


_spend: Any = intrinsic(_spend_built)


@jit_internal
def _begin(rows: Words, odd: Words, left: Words, out: Words, path: Words) -> None:
    """What is left at the outermost two inputs: half of (most - ends), with most = 2 left + odd."""
    for j in range(WORDS):
        spent = (rows[0, j] ^ rows[len(rows) - 1, j]) & ~odd[j]
        for bit in range(BITS):
            path[0, bit, j] = left[bit, j] ^ spent
            spent &= ~left[bit, j]
        path[0, OUT, j] = out[j] | spent


@jit_internal
def _improve(rows: Words, odd: Words, left: Words, out: Words, path: Words, image: int, node: Any, found: Ints) -> None:
    """Note the functions that have something left at a leaf, and allow them only fewer changes from now on."""
    leaf = len(path) - 1
    for j in range(WORDS):
        ends = rows[0, j] ^ rows[len(rows) - 1, j]
        for k in range(64):
            mine = np.uint64(1) << np.uint64(k)
            if path[leaf, OUT, j] & mine:
                continue
            grown = np.int64(0)
            for bit in range(BITS):
                grown += (np.int64(path[0, bit, j] & mine != 0) - np.int64(path[leaf, bit, j] & mine != 0)) << bit
            changes = 2 * grown + np.int64(ends & mine != 0)
            found[0, 64 * j + k], found[1, 64 * j + k], found[2, 64 * j + k] = changes, image, node
            most = changes - 1
            odd[j] = odd[j] | mine if most & 1 else odd[j] & ~mine
            out[j] = out[j] | mine if most < 0 else out[j]
            for bit in range(BITS):
                left[bit, j] = left[bit, j] | mine if most >> bit + 1 & 1 else left[bit, j] & ~mine


@jit
def fewest_changes(
    functions: Words, sources: Bytes, most: int, points: Bytes, outer: Bytes, depths: Bytes, after: NDArray[np.int32]
) -> Ints:
    """The fewest changes of class of 512 functions over all orderings and images, where that is at most ``most``.

    Row x of ``functions`` (2^n, WORDS) has f(x) of all functions; ``sources`` (images, 2^n) says which input stands
    for x in an image. Returns, for every function, the changes and the image and the leaf that have them, (3, 512);
    -1 where there is none.
    """
    last = len(functions) >> 1
    found = np.full((3, FUNCTIONS), -1, np.int64)
    odd, out = np.zeros(WORDS, np.uint64), np.zeros(WORDS, np.uint64)
    left, path = np.zeros((BITS, WORDS), np.uint64), np.zeros((last + 1, BITS + 1, WORDS), np.uint64)
    rows, way = np.zeros_like(functions), np.zeros(last + 1, np.int64)
    for j in range(WORDS):
        odd[j] = np.uint64(0) - np.uint64(most & 1)
        for bit in range(BITS):
            left[bit, j] = np.uint64(0) - np.uint64(most >> bit + 1 & 1)
    for image in range(len(sources)):
        for x in range(len(rows)):
            for j in range(WORDS):
                rows[x, j] = functions[sources[image, x], j]
        _begin(rows, odd, left, out, path)
        v = np.int64(0)
        while v < len(points):
            depth = np.int64(depths[v])
            way[depth] = v
            if not _spend(rows, path, len(rows) - 1, np.int64(outer[v]), np.int64(points[v]), depth):
                v = np.int64(after[v])
                continue
            if depth == last:
                _improve(rows, odd, left, out, path, image, v, found)
                _begin(rows, odd, left, out, path)
                for d in range(1, last + 1):  # less is left all along the path
                    _spend(rows, path, len(rows) - 1, np.int64(outer[way[d]]), np.int64(points[way[d]]), d)
            v += 1
    return found
