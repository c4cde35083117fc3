"""Compiled division of a cone of weights by planes, in integers (numba; imported only when first used).

Cells are cones, given by their extreme rays, which are stored with the planes they lie on (bits of ``tight``). A plane
cuts a cell along the rays that lie on it and one new ray between each two adjacent rays on different sides: the double
description method. Every plane processed so far has the cell on one side, so two rays are adjacent if and only if no
third ray lies on all planes they have in common.
"""

from __future__ import annotations

import numpy as np

from creases._compiled import jit, jit_internal
from creases._typing import Ints, Words


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
    points, count = np.zeros((1024, n), np.int64), 0
    for k in range(len(rays)):
        for i in range(n):
            stack[0, k, i] = rays[k, i]
    sizes[0], top = len(rays), 0
    while top >= 0:
        if met[top] == len(planes):
            if count == len(points):
                points = _enlarge(points)
            for k in range(sizes[top]):
                for i in range(n):
                    points[count, i] += stack[top, k, i]
            count, top = count + 1, top - 1
        else:
            cut = _find_sides(planes, met[top], stack, tight, top, sizes[top], sides)
            met[top] += 1
            if cut:
                both = _cut(met[top] - 1, stack, tight, top, sizes[top], sides)
                sizes[top + 1] = _copy_side(stack, tight, sides, both, top, -1, top + 1)
                sizes[top] = _copy_side(stack, tight, sides, both, top, 1, top)
                met[top + 1] = met[top]
                top += 1
    return points[:count]


@jit_internal
def _enlarge(rows: Ints) -> Ints:
    longer = np.zeros((2 * rows.shape[0], rows.shape[1]), np.int64)
    for k in range(rows.shape[0]):
        for i in range(rows.shape[1]):
            longer[k, i] = rows[k, i]
    return longer


@jit_internal
def _find_sides(planes: Ints, plane: int, rays: Ints, tight: Words, cell: int, size: int, sides: Ints) -> bool:
    """Compute on which side of a plane each ray of a cell lies; return whether there are some on both."""
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
    return above and below


@jit_internal
def _cut(plane: int, rays: Ints, tight: Words, cell: int, size: int, sides: Ints) -> int:
    """Append the new rays of a cell on a plane to its others; return how many there are then."""
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
                tight[cell, both, plane >> 6] |= np.uint64(1) << np.uint64(plane & 63)
                sides[both] = 0
                both += 1
    return both


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
