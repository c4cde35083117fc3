"""The generic orderings of subset sums: all orders of the 2^n inputs by w . x, without ties."""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from creases._compiled import jit, jit_internal
from creases._schema import INTEGER
from creases._typing import Ints, Words
from creases._validation import check_arguments
from creases.boolean._functions import all_inputs, check_bits


class Orderings(NamedTuple):
    """All orderings for 0 < w_1 < ... < w_n; every other one is one of these with inputs permuted and negated.

    An input and its negation are at mirrored positions: ``orders[:, k] + orders[:, -1 - k] == 2^n - 1``.
    """

    weights: NDArray[np.int64]  #: (m, n) a witness of each: increasing integers
    orders: NDArray[np.uint8]  #: (m, 2^n) inputs by increasing w . x; rows in ascending order


@check_arguments(n=INTEGER)
@lru_cache
def subset_sum_orderings(n: int) -> Orderings:
    """Return every generic ordering of the sums w . x over all inputs x, for 0 < w_1 < ... < w_n and n <= 6.

    They are the cells of the cone 0 < w_1 < ... < w_n between the planes on which two sums are equal, computed in
    integers by the double description method: 1, 1, 2, 14, 516, 124187 for n = 1, ..., 6 (OEIS A009997).

    Examples
    --------
    >>> weights, orders = subset_sum_orderings(3)
    >>> orders.tolist()  # whether w_1 + w_2 or w_3 is larger
    [[0, 1, 2, 3, 4, 5, 6, 7], [0, 1, 2, 4, 3, 5, 6, 7]]
    >>> weights.tolist()
    [[1, 2, 4], [2, 3, 4]]
    """
    check_bits(n, 6, "to list orderings")
    rays = np.triu(np.ones((n, n), np.int64))  # of the cone: (0, ..., 0, 1, ..., 1)
    normals = np.array([e for e in product((-1, 0, 1), repeat=n) if e > (0,) * n])
    sides = normals @ rays.T
    cut = (sides > 0).any(axis=1) & (sides < 0).any(axis=1)
    planes = normals[cut | ((sides == 0).sum(axis=1) == n - 1)]  # that cut or bound the cone
    # Those with few nonzero entries come first, so that the number of cells stays small as long as possible.
    planes = planes[np.argsort((planes != 0).sum(axis=1), kind="stable")]
    weights = cells(planes, rays, 64)  # at n = 6 no cell ever has more than 32 rays
    weights //= np.gcd.reduce(weights, axis=1)[:, None]
    orders = np.argsort(weights @ all_inputs(n).T, axis=1).astype(np.uint8)
    ascending = np.lexsort(orders.T[::-1])
    orderings = Orderings(weights[ascending], orders[ascending])
    for values in orderings:
        values.flags.writeable = False
    return orderings


@jit
def cells(planes: Ints, rays: Ints, max_rays: int) -> Ints:
    """Return an inner point (the sum of the extreme rays) of every cell into which planes (p, n) divide a cone.

    ``rays`` (r, n) are those of the cone, whose facets must be among the planes; no cell may have more than
    ``max_rays`` rays at any time. One side of a cut is processed at once, the other waits on a stack.
    """
    n, waiting = rays.shape[1], len(planes) + 1  # at most one cell for each plane
    stack = np.zeros((waiting, max_rays, n), np.int64)
    tight = np.zeros((waiting, max_rays, (len(planes) + 63) >> 6), np.uint64)
    sizes, met, sides = np.zeros(waiting, np.int64), np.zeros(waiting, np.int64), np.zeros(max_rays, np.int64)
    points, count = np.zeros((1 << 17, n), np.int64), 0  # enough for n = 6
    for k in range(len(rays)):
        for i in range(n):
            stack[0, k, i] = rays[k, i]
    sizes[0], top = len(rays), 0
    while top >= 0:
        if met[top] == len(planes):
            for k in range(sizes[top]):
                for i in range(n):
                    points[count, i] += stack[top, k, i]
            count, top = count + 1, top - 1
        else:
            both = _cut(planes, met[top], stack, tight, top, sizes[top], sides)
            met[top] += 1
            if both:
                sizes[top + 1] = _copy_side(stack, tight, sides, both, top, -1, top + 1)
                sizes[top] = _copy_side(stack, tight, sides, both, top, 1, top)
                met[top + 1] = met[top]
                top += 1
    return points[:count]


@jit_internal
def _cut(planes: Ints, plane: int, rays: Ints, tight: Words, cell: int, size: int, sides: Ints) -> int:
    """Append the new rays of a cell on a plane to its others; return how many there are, 0 if it does not cut the cell.

    ``sides`` becomes on which side of the plane each ray lies.
    """
    above = below = False
    bit = np.uint64(1) << np.uint64(plane & 63)
    for k in range(size):
        side = 0
        for i in range(planes.shape[1]):
            side += planes[plane, i] * rays[cell, k, i]
        sides[k] = side
        above, below = above or side > 0, below or side < 0
        if side == 0:
            tight[cell, k, plane >> 6] |= bit
    both = size
    for p in range(size):
        for q in range(size):
            if sides[p] > 0 and sides[q] < 0 and _adjacent(tight, cell, size, p, q):
                divisor = 0
                for i in range(rays.shape[2]):
                    rays[cell, both, i] = sides[p] * rays[cell, q, i] - sides[q] * rays[cell, p, i]
                    rest = rays[cell, both, i]  # at least 0: so are all weights
                    while rest > 0:
                        divisor, rest = rest, divisor % rest
                for i in range(rays.shape[2]):
                    rays[cell, both, i] //= divisor
                for word in range(tight.shape[2]):
                    tight[cell, both, word] = tight[cell, p, word] & tight[cell, q, word]
                tight[cell, both, plane >> 6] |= bit
                sides[both] = 0
                both += 1
    return both if above and below else 0


@jit_internal
def _adjacent(tight: Words, cell: int, size: int, p: int, q: int) -> bool:
    """Return whether two rays of a cell bound one of its two-dimensional faces."""
    for r in range(size):
        between = r != p and r != q
        for word in range(tight.shape[2]):
            common = tight[cell, p, word] & tight[cell, q, word]
            between = between and common & ~tight[cell, r, word] == 0
        if between:
            return False
    return True


@jit_internal
def _copy_side(rays: Ints, tight: Words, sides: Ints, size: int, cell: int, side: int, to: int) -> int:
    """Copy the rays of a cell on one side of a plane, and those on it, to a slot of the stack; return their number."""
    count = 0
    for k in range(size):
        if sides[k] * side >= 0:
            for i in range(rays.shape[2]):
                rays[to, count, i] = rays[cell, k, i]
            for word in range(tight.shape[2]):
                tight[to, count, word] = tight[cell, k, word]
            count += 1
    return count
