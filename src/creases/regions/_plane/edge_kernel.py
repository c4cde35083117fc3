"""Compiled cutting of the edges of a planar complex, and copies of parts of it (numba; imported only when first used).

Every unit is affine along an edge, so an edge can be cut by itself: by the lowest unit that changes sign on it, then
each half by the lowest that changes sign there, as :func:`creases.regions._plane.kernel.subdivide` would cut it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from creases._compiled import jit
from creases.regions._plane.kernel import cut_edge, expand, lowest_bit

Array = NDArray[Any]

_ONE = np.uint64(1)
_ZERO = np.uint64(0)


@jit
def count_crossings(ends: Array, kid: Array, pos: Array, neg: Array, counts: Array, lo: int, hi: int) -> None:
    """Count the units that change sign along each of the edges lo..hi; none for an edge that is cut already."""
    for e in range(lo, hi):
        n = 0
        if kid[e] < 0:
            a, b = ends[e, 0], ends[e, 1]
            for w in range(pos.shape[1]):
                word = (pos[a, w] & neg[b, w]) | (neg[a, w] & pos[b, w])
                while word != _ZERO:
                    word &= word - _ONE
                    n += 1
        counts[e] = n


@jit
def cut_edges(
    counts: Array, places: Array, n_vertices: int, n_edges: int, X: Array, Z: Array, pos: Array, neg: Array,
    tolerance: Array, ends: Array, label: Array, kid: Array, lo: int, hi: int,
) -> None:  # fmt: skip
    """Cut each edge e of lo..hi by all units that change sign along it.

    Its new vertices are numbered from ``n_vertices + places[e]``, its new edges from ``n_edges + 2 * places[e]``.
    ``counts`` has the number of cuts expected, and then that of cuts made: fewer where units vanish at one point.
    """
    todo = np.empty(Z.shape[1] + 2, np.int64)
    for e in range(lo, hi):
        if counts[e] == 0:
            continue
        m, k = n_vertices + places[e], n_edges + 2 * places[e]
        todo[0] = e
        top = 0
        while top >= 0:
            f = todo[top]
            top -= 1
            kid[f] = -1
            a, b = ends[f, 0], ends[f, 1]
            for w in range(pos.shape[1]):
                word = (pos[a, w] & neg[b, w]) | (neg[a, w] & pos[b, w])
                if word != _ZERO:
                    cut_edge(f, 64 * w + lowest_bit(word), m, ends, X, Z, pos, neg, tolerance)
                    kid[f] = k
                    ends[k, 0], ends[k, 1] = a, m
                    ends[k + 1, 0], ends[k + 1, 1] = m, b
                    label[k] = label[k + 1] = label[e]
                    todo[top + 1], todo[top + 2] = k + 1, k
                    top += 2
                    m += 1
                    k += 2
                    break
        counts[e] = m - n_vertices - places[e]


@jit
def gather_regions(
    corners: Array, starts: Array, lo: int, hi: int, n_vertices: int, ends: Array, label: Array, kid: Array
) -> tuple[Array, Array, Array, Array, Array, Array]:
    """Copy regions lo..hi of a complex of so many vertices into one of their own, with uncut edges only.

    Returns the vertices and edges used, in order of their first use; ends and label of these edges; corners and starts.
    The numbers in ends and corners are places in the first two.
    """
    size = 0
    for r in range(lo, hi):
        size += starts[r + 1] - starts[r]
    size += 2 * len(kid)  # an uncut edge has at most two regions
    corner_vertices, corner_edges = np.empty(size, np.int32), np.empty(size, np.int32)
    new_starts = np.zeros(hi - lo + 1, np.int32)
    todo = np.empty(len(kid) + 2, np.int32)
    n = 0
    for r in range(lo, hi):
        n = expand(corners, starts[r], starts[r + 1], ends, kid, corner_vertices, corner_edges, n, todo)
        new_starts[r - lo + 1] = n
    vertex_place, edge_place = np.full(n_vertices, -1, np.int32), np.full(len(kid), -1, np.int32)
    vertices, edges = np.empty(n, np.int32), np.empty(n, np.int32)
    new_corners = np.empty((n, 2), np.int32)
    used = n_edges = 0
    for c in range(n):
        v, e = corner_vertices[c], corner_edges[c]
        if vertex_place[v] < 0:
            vertex_place[v] = used
            vertices[used] = v
            used += 1
        if edge_place[e] < 0:
            edge_place[e] = n_edges
            edges[n_edges] = e
            n_edges += 1
        new_corners[c, 0], new_corners[c, 1] = vertex_place[v], edge_place[e]
    new_ends, new_label = np.empty((n_edges, 2), np.int32), np.empty(n_edges, np.int32)
    for i in range(n_edges):
        e = edges[i]
        new_ends[i, 0], new_ends[i, 1] = vertex_place[ends[e, 0]], vertex_place[ends[e, 1]]
        new_label[i] = label[e]
    return vertices[:used], edges[:n_edges], new_ends, new_label, new_corners, new_starts


@jit
def copy_rows(source: Array, rows: Array, target: Array) -> None:
    """Copy rows of an array (., k) into the first of another."""
    for i in range(len(rows)):
        for j in range(source.shape[1]):
            target[i, j] = source[rows[i], j]


@jit
def renumber(numbers: Array, old: Array, first_new: int) -> None:
    """Replace numbers (n,): i by ``old[i]``, the i-th beyond these by ``first_new + i``; -1 stays."""
    shift = first_new - len(old)
    for i in range(len(numbers)):
        number = numbers[i]
        if number >= len(old):
            numbers[i] = number + shift
        elif number >= 0:
            numbers[i] = old[number]
