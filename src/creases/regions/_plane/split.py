"""Splitting the regions of a planar complex by the units of one bend, on all threads.

First every edge is cut by the units that change sign along it: edges do not depend on each other. What is left to do
lies inside the regions, which do not depend on each other either: each thread splits ranges of them, on copies of
their vertices and edges. New vertices and edges are numbered by the edge, then by the region that they are in, so that
the result does not depend on the number of threads, bit for bit. Only where rounding has given the corners of a region
signs that no line can have may regions matter to each other; then all are split in sequence.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from creases._compiled import jit
from creases._typing import Floats, Words
from creases.regions._plane import kernel
from creases.regions._plane.kernel import cut_edge, expand, lowest_bit
from creases.regions._resources import map_in_threads, thread_count

Int32 = NDArray[np.int32]

#: Complexes with fewer vertices are split in sequence, whatever the number of threads, without cutting edges first.
SMALL = 4096

#: Ranges of regions for each thread: more of them share the work more evenly.
RANGES = 4

#: Regions between two reports, which are also when Ctrl-C is noticed.
STEP = 4096


class MemoryLimitError(Exception):
    """The values at the vertices of a subdivision would exceed the memory limit."""


class Units(NamedTuple):
    """The columns of one pass; see :func:`creases.regions._plane.kernel.subdivide`."""

    tolerance: Floats
    pairs: NDArray[np.int64]
    labels: Int32
    max_rows: int | None  #: limit on the number of vertices


@dataclass
class RegionLoops:
    """Vertices, a tree of edges, and regions as loops of (vertex, edge)."""

    vertices: Floats  #: (V, 2) slice coordinates
    ends: Int32  #: (E, 2)
    label: Int32  #: (E,) -1 for a side of the box, else the crease's label
    kid: Int32  #: (E,) first of an edge's two halves, -1 if uncut
    corners: Int32  #: (C, 2)
    starts: Int32  #: (R + 1,)

    @property
    def count(self) -> int:
        """Number of regions."""
        return len(self.starts) - 1


@dataclass
class _Work:
    """Vertices with their values and signs, and edges, in arrays with spare capacity."""

    X: Floats
    Z: Floats
    pos: Words
    neg: Words
    ends: Int32
    label: Int32
    kid: Int32
    n_vertices: int
    n_edges: int

    def make_room(self, vertices: int, edges: int, max_rows: int | None) -> bool:
        """Enlarge arrays that hold fewer vertices or edges than given; return whether there were any."""
        full = vertices > len(self.X) or edges > len(self.kid)
        if vertices > len(self.X):
            room = 2 * vertices
            if max_rows is not None:
                room = min(room, max_rows)
                if vertices > room:
                    raise MemoryLimitError
            self.X, self.Z, self.pos, self.neg = (enlarge(a, room) for a in (self.X, self.Z, self.pos, self.neg))
        if edges > len(self.kid):
            self.ends, self.label, self.kid = (enlarge(a, 2 * edges) for a in (self.ends, self.label, self.kid))
        return full


class _Regions(NamedTuple):
    """Regions, as :func:`creases.regions._plane.kernel.subdivide` writes them."""

    corners: Int32
    starts: Int32
    parent: Int32
    positive: Words
    negative: Words


def split_regions(
    part: RegionLoops, Z: Floats, units: Units, report: Callable[[int], None]
) -> tuple[Floats, tuple[Int32, Words, Words]]:
    """Split the regions of a complex, in place, and return the values at all vertices, and parents and signs.

    Parameters
    ----------
    part
        The complex; unchanged when :class:`MemoryLimitError` is raised.
    Z
        Values (room, U) of the units; the first rows are those at the vertices.
    units
        The units.
    report
        Called with the number of regions so far.
    """
    small = len(part.vertices) < SMALL
    threads = 1 if small else thread_count()
    work = _start(part, Z, units, threads)
    regions = None
    if not small and not len(units.pairs):  # which pairs of a choice cut an edge depends on the region
        _cut_edges(work, units, threads)
        if threads > 1:
            regions = _split_in_threads(work, part, units, threads, report)
    if regions is None:
        regions, _ = _split_in_sequence(work, part.corners, part.starts, units, report)
    nv, ne = work.n_vertices, work.n_edges
    part.vertices = work.X[:nv]
    part.ends, part.label, part.kid = work.ends[:ne], work.label[:ne], work.kid[:ne]
    part.corners, part.starts = regions.corners, regions.starts
    return work.Z[:nv], (regions.parent, regions.positive, regions.negative)


def _start(part: RegionLoops, Z: Floats, units: Units, threads: int) -> _Work:
    """Return copies of the arrays with spare capacity, and the signs of all values."""
    nv, ne, room, words = len(part.vertices), len(part.kid), len(Z), -(-Z.shape[1] // 64)
    pos, neg = np.empty((room, words), np.uint64), np.empty((room, words), np.uint64)
    pack = partial(_run_range, kernel.pack_signs, Z, units.tolerance, pos, neg)
    list(map_in_threads(pack, pairwise(_bounds(nv, threads)), threads))
    ends, label, kid = (enlarge(array, 2 * ne + 4 * room) for array in (part.ends, part.label, part.kid))
    return _Work(enlarge(part.vertices, room), Z, pos, neg, ends, label, kid, nv, ne)


def _run_range(kernel: Callable[..., None], *arguments: Any) -> None:
    """Run a kernel whose last arguments are the ends of a range, given as a pair."""
    kernel(*arguments[:-1], *arguments[-1])


def _bounds(count: int, parts: int) -> list[int]:
    """Return the bounds of equal ranges of ``count`` items."""
    return [count * i // parts for i in range(parts + 1)]


def _cut_edges(work: _Work, units: Units, threads: int) -> None:
    """Cut all edges by the units that change sign along them."""
    nv, ne = work.n_vertices, work.n_edges
    counts = np.empty(ne, np.int32)
    ranges = list(pairwise(_bounds(ne, threads)))
    count = partial(_run_range, count_crossings, work.ends, work.kid, work.pos, work.neg, counts)
    list(map_in_threads(count, ranges, threads))
    total = -1
    while total != (total := int(counts.sum())):  # again where fewer vertices are needed than expected
        work.make_room(nv + total, ne + 2 * total, units.max_rows)
        places = np.cumsum(counts, dtype=np.int32) - counts
        arrays = (work.X, work.Z, work.pos, work.neg, units.tolerance, work.ends, work.label, work.kid)
        cut = partial(_run_range, cut_edges, counts, places, nv, ne, *arrays)
        list(map_in_threads(cut, ranges, threads))
    work.n_vertices, work.n_edges = nv + total, ne + 2 * total


def _split_in_sequence(
    work: _Work, corners: Int32, starts: Int32, units: Units, report: Callable[[int], None]
) -> tuple[_Regions, int]:
    """Split regions one after another; return them and the lowest vertex whose sign was taken back."""
    room, words, count = len(work.X), work.pos.shape[1], len(starts) - 1
    size = 2 * count + room
    out: list[NDArray[Any]] = [np.empty((2 * len(corners) + 4 * room, 2), np.int32), np.empty(size + 1, np.int32)]
    out += [np.empty(size, np.int32), *(np.empty((size, words), np.uint64) for _ in range(2))]
    out[1][0] = 0
    scratch = [np.empty((2 * room, 2), np.int32), *np.empty((5, 2 * room), np.int32)]
    cut = np.empty(words, np.uint64)
    at = np.array([0, 0, work.n_vertices, work.n_edges, 0, 0, np.iinfo(np.int32).max])
    for stop in range(min(STEP, count), count + STEP, STEP):
        while not kernel.subdivide(
            work.X, work.Z, work.pos, work.neg, units.tolerance, units.pairs, units.labels, work.ends, work.label,
            work.kid, corners, starts[: stop + 1], tuple(out), (*scratch, cut), at,
        ):  # fmt: skip
            full = work.make_room(int(at[kernel.NV]) + 2, int(at[kernel.NE]) + 5, units.max_rows)
            if 2 * at[kernel.NR] > len(out[1]) or at[kernel.NC] + at[kernel.NV] + 8 > len(out[0]):
                out = [enlarge(array, 2 * len(array)) for array in out]
                full = True
            if not full:  # then it was the scratch arrays that were
                scratch = [enlarge(array, 2 * len(array)) for array in scratch]
        report(int(at[kernel.NR]))
    work.n_vertices, work.n_edges = int(at[kernel.NV]), int(at[kernel.NE])
    nc, nr = at[kernel.NC], at[kernel.NR]
    return _Regions(out[0][:nc], out[1][: nr + 1], *(array[:nr] for array in out[2:])), int(at[kernel.DEMOTED])


class _Range(NamedTuple):
    """Split regions of a range, on copies of their vertices and edges."""

    vertices: Int32  #: those copied
    edges: Int32
    work: _Work
    regions: _Regions
    demoted: bool  #: whether the sign of a copied vertex was taken back


def _split_in_threads(
    work: _Work, part: RegionLoops, units: Units, threads: int, report: Callable[[int], None]
) -> _Regions | None:
    """Split ranges of regions in threads and join them; None where regions matter to each other."""
    bounds = _bounds(part.count, RANGES * threads)
    split = partial(_split_range, work, part.corners, part.starts, units)
    done: list[_Range] = []
    for each in map_in_threads(split, pairwise(bounds), threads):
        if each.demoted:
            return None
        done.append(each)
        report(sum(len(d.regions.parent) for d in done) + part.count - bounds[len(done)])
    new_vertices = np.cumsum([0, *(d.work.n_vertices - len(d.vertices) for d in done)]) + work.n_vertices
    new_edges = np.cumsum([0, *(d.work.n_edges - len(d.edges) for d in done)]) + work.n_edges
    # One thread would have had room for two more vertices than there are, or given up.
    work.make_room(int(new_vertices[-1]) + 2, int(new_edges[-1]), units.max_rows)
    nc = np.cumsum([0, *(len(d.regions.corners) for d in done)])
    nr = np.cumsum([0, *(len(d.regions.parent) for d in done)])
    words = work.pos.shape[1]
    out = _Regions(
        np.empty((nc[-1], 2), np.int32), np.zeros(nr[-1] + 1, np.int32), np.empty(nr[-1], np.int32),
        np.empty((nr[-1], words), np.uint64), np.empty((nr[-1], words), np.uint64),
    )  # fmt: skip
    places = zip(done, bounds[:-1], new_vertices, new_edges, nc, nr, strict=False)
    list(map_in_threads(partial(_copy_back, work, out), places, threads))
    work.n_vertices, work.n_edges = int(new_vertices[-1]), int(new_edges[-1])
    return out


def _split_range(work: _Work, corners: Int32, starts: Int32, units: Units, bounds: tuple[int, int]) -> _Range:
    """Split the regions of a range on copies."""
    ne = work.n_edges
    vertices, edges, ends, label, corners, starts = gather_regions(
        corners, starts, *bounds, work.n_vertices, work.ends[:ne], work.label[:ne], work.kid[:ne]
    )
    room, edge_room = 2 * len(vertices) + 1024, 6 * len(edges) + 4096
    arrays: tuple[NDArray[Any], ...] = (work.X, work.Z, work.pos, work.neg)
    X, Z, pos, neg = copies = [np.empty((room, array.shape[1]), array.dtype) for array in arrays]
    for array, copied in zip(arrays, copies, strict=True):
        copy_rows(array, vertices, copied)
    ends, label, kid = (enlarge(array, edge_room) for array in (ends, label, np.full(len(edges), -1, np.int32)))
    local = _Work(X, Z, pos, neg, ends, label, kid, len(vertices), len(edges))
    regions, lowest = _split_in_sequence(local, corners, starts, units, lambda count: None)
    return _Range(vertices, edges, local, regions, lowest < len(vertices))


def _copy_back(work: _Work, out: _Regions, place: tuple[_Range, int, int, int, int, int]) -> None:
    """Copy what a range has new into the arrays of all, from given vertex, edge, corner and region on."""
    (vertices, edges, local, regions, _), first_region, v, e, c, r = place
    new = slice(len(vertices), local.n_vertices)
    here = slice(v, v + new.stop - new.start)
    work.X[here], work.Z[here] = local.X[new], local.Z[new]
    new = slice(len(edges), local.n_edges)
    here = slice(e, e + new.stop - new.start)
    work.label[here] = local.label[new]
    ends, kid = local.ends[new], local.kid[new]
    renumber(ends.reshape(-1), vertices, v)
    renumber(kid, edges, e)
    work.ends[here], work.kid[here] = ends, kid
    for column, (old, first) in enumerate(((vertices, v), (edges, e))):
        renumber(regions.corners[:, column], old, first)
    out.corners[c : c + len(regions.corners)] = regions.corners
    here = slice(r, r + len(regions.parent))
    out.starts[r + 1 : here.stop + 1] = regions.starts[1:] + c
    out.parent[here] = regions.parent + first_region
    out.positive[here], out.negative[here] = regions.positive, regions.negative


def enlarge(array: NDArray[Any], rows: int) -> NDArray[Any]:
    """Return the array with at least ``rows`` rows; the added ones are not set."""
    if rows <= len(array):
        return array
    new = np.empty((rows, *array.shape[1:]), array.dtype)
    new[: len(array)] = array
    return new


# Compiled cutting of the edges of a planar complex, and copies of parts of it (numba; imported only when first used).

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
