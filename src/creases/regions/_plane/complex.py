"""A planar complex that is subdivided bend by bend: the working form of a plane partition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from creases._typing import Floats, Words
from creases.regions._plane import kernel
from creases.regions._tolerance import SIGN_TOLERANCE

Ints = NDArray[np.int32]


@dataclass(frozen=True)
class Mesh:
    """A finished planar complex: no edge is cut any more."""

    vertices: NDArray[np.float64]  #: (V, 2)
    ends: Ints  #: (E, 2)
    label: Ints  #: (E,) unit, or -1 for a side of the box
    regions: Ints  #: (E, 2) left and right of end 0 -> end 1, -1 outside
    corners: Ints  #: (C,) vertices of all regions, counter-clockwise
    corner_edges: Ints  #: (C,) the edge from each corner to the next
    starts: Ints  #: (R + 1,)


def components(count: int, pairs: NDArray[np.integer]) -> Ints:
    """Return the connected component of each of ``count`` nodes, from pairs (A, 2) of neighbors."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(len(pairs), bool), (pairs[:, 0], pairs[:, 1])), shape=(count, count))
    return connected_components(graph, directed=False)[1].astype(np.int32)


def join_regions(mesh: Mesh, group: Ints) -> Mesh:
    """Join the regions of each group (convex together); drops edges inside groups and vertices used only by them."""
    group_of = np.append(group, -1)  # so that -1, outside, stays -1
    regions = group_of[mesh.regions]
    outer = regions[:, 0] != regions[:, 1]
    joined = replace(mesh, ends=mesh.ends[outer], label=mesh.label[outer], regions=regions[outer])
    return _loops(_straighten(joined), int(group.max()) + 1)


def _straighten(mesh: Mesh) -> Mesh:
    """Drop vertices in the middle of a straight edge: two edges of one label between the same two regions."""
    degree = np.bincount(mesh.ends.ravel(), minlength=len(mesh.vertices))
    at: dict[int, list[int]] = {}
    for e, (a, b) in enumerate(mesh.ends.tolist()):
        for v in (a, b):
            if degree[v] == 2:
                at.setdefault(v, []).append(e)
    ends, sides = mesh.ends.copy(), mesh.regions.copy()
    alive = np.ones(len(ends), bool)
    for v, (e, f) in at.items():
        if e == f or mesh.label[e] != mesh.label[f] or set(sides[e]) != set(sides[f]):
            continue
        if mesh.label[e] < 0 and np.ptp(mesh.vertices[[*ends[e], *ends[f]]], axis=0).all():
            continue  # a corner of the box
        far = ends[f, 1] if ends[f, 0] == v else ends[f, 0]
        ends[e, 0 if ends[e, 0] == v else 1] = far
        alive[f] = False
        if far in at:
            at[far] = [e if g == f else g for g in at[far]]
    ends = ends[alive]
    used = np.zeros(len(mesh.vertices), bool)
    used[ends] = True
    number = np.cumsum(used, dtype=np.int32) - 1
    kept = replace(mesh, vertices=mesh.vertices[used], ends=number[ends])
    return replace(kept, label=mesh.label[alive], regions=sides[alive])


def _loops(mesh: Mesh, count: int) -> Mesh:
    """Return the mesh with the corners of every region, by following its edges around it."""
    following: list[dict[int, tuple[int, int]]] = [{} for _ in range(count)]
    for e, ((a, b), (left, right)) in enumerate(zip(mesh.ends.tolist(), mesh.regions.tolist(), strict=True)):
        if left >= 0:
            following[left][a] = b, e
        if right >= 0:
            following[right][b] = a, e
    corners: list[int] = []
    edges: list[int] = []
    starts = [0]
    for after in following:
        first = vertex = next(iter(after))
        for _ in after:
            corners.append(vertex)
            vertex, edge = after[vertex]
            edges.append(edge)
            if vertex == first:
                break
        starts.append(len(corners))
    return replace(
        mesh,
        corners=np.array(corners, np.int32),
        corner_edges=np.array(edges, np.int32),
        starts=np.array(starts, np.int32),
    )


# Convex polygons as runs of corners: polygon r is ``corners[starts[r]:starts[r + 1]]``, counter-clockwise.


def next_corner(starts: NDArray[Any]) -> NDArray[np.int64]:
    """Return for each corner (C,) the next one around its polygon; starts (R + 1,)."""
    after = np.arange(1, int(starts[-1]) + 1)
    after[starts[1:] - 1] = starts[:-1]
    return after


def polygon_areas(vertices: Floats, corners: NDArray[Any], starts: NDArray[Any]) -> Floats:
    """Return the area of every polygon, (R,), measured from one of its corners, which is precise for slivers."""
    points = vertices[corners]
    first = np.repeat(points[starts[:-1]], np.diff(starts), axis=0)
    a, b = points - first, points[next_corner(starts)] - first
    return np.add.reduceat(a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0], starts[:-1]) / 2


def best_polygon(vertices: Floats, corners: NDArray[Any], starts: NDArray[Any], points: Floats) -> NDArray[np.int64]:
    """Return the polygon that contains each point (n, 2), or the one it is least far outside of: (n,)."""
    a = vertices[corners]
    side = a[next_corner(starts)] - a
    length = np.maximum(np.hypot(side[:, 0], side[:, 1]), np.finfo(float).tiny)
    normal = np.stack([-side[:, 1], side[:, 0]], axis=1) / length[:, None]
    offset = (normal * a).sum(axis=1)
    best = np.empty(len(points), np.int64)
    for i, point in enumerate(points):
        depth = np.minimum.reduceat(normal @ point - offset, starts[:-1])
        best[i] = int(depth.argmax())
    return best


@dataclass(frozen=True)
class Signs:
    """Signs of the columns of one subdivision on the regions, which determine every unit's side there."""

    bend: int  #: which one
    parent: NDArray[np.int32]  #: (R,) the region each is part of
    positive: NDArray[np.uint64]  #: (R, W) columns positive somewhere on it, as words
    negative: NDArray[np.uint64]  #: (R, W)
    units: NDArray[np.int64] | None = None  #: the units of the columns; None for all
    sides: NDArray[np.int16] | None = None  #: then also the side (U,) of each unit that no region changes


#: Regions between two reports, which are also when Ctrl-C is noticed.
STEP = 4096


class MemoryLimitError(Exception):
    """The values at the vertices of a subdivision would exceed the memory limit."""


@dataclass
class Complex:
    """Vertices, a tree of edges, regions as loops of (vertex, edge), and the signs that each bend left on them."""

    vertices: Floats  #: (V, 2) slice coordinates
    ends: Ints  #: (E, 2)
    label: Ints  #: (E,) -1 for a side of the box, else the crease's label
    kid: Ints  #: (E,) first of an edge's two halves, -1 if uncut
    corners: Ints  #: (C, 2)
    starts: Ints  #: (R + 1,)
    memory: int | None = None  #: bytes that the values at the vertices may take; no bound unless given
    signs: list[Signs] = field(default_factory=list)  #: one for each pass of a bend's units so far
    report: Callable[[int], None] = lambda count: None  #: called with the number of regions while they are split

    @classmethod
    def from_mesh(cls, mesh: Mesh, memory: int | None = None) -> Complex:
        """Prepare a finished complex for subdivision."""
        uncut = np.full(len(mesh.ends), -1, np.int32)
        corners = np.stack([mesh.corners, mesh.corner_edges], axis=1)
        return cls(mesh.vertices, mesh.ends, mesh.label, uncut, corners, mesh.starts, memory)

    @property
    def count(self) -> int:
        """Number of regions."""
        return len(self.starts) - 1

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        signs = (array for part in self.signs for array in (part.parent, part.positive, part.negative))
        arrays = (self.vertices, self.ends, self.label, self.kid, self.corners, self.starts, *signs)
        return sum(array.nbytes for array in arrays)

    def subdivide(self, z: Tensor, terms: Tensor, bend: int, first_unit: int, *, choice: bool) -> Floats | None:
        """Split the regions, in place, by the creases of one bend.

        Raises :class:`MemoryLimitError`, with nothing changed, where the values would not fit.

        Parameters
        ----------
        z
            Pre-activations at the vertices: (V, U), for a choice (V, U, K).
        terms
            Sum of the magnitudes of the terms of each pre-activation: (U,) or (U, K).
        bend, first_unit
            Number of the bend and of its first unit: the label of its creases.

        Returns
        -------
        numpy.ndarray or None
            Pre-activations (V', U) at all vertices, old and new, of a relu.
        """
        units = sides = None
        if choice:
            changing = ChangingUnits(SIGN_TOLERANCE * terms, choice=choice)
            changing.update(z)
            units, sides = changing.units(), changing.sides()
            z, terms = z[:, units], terms[units]
        labels = first_unit + (np.arange(z.shape[1]) if units is None else units)
        Z = self.cut(z, terms, bend, labels, choice=choice, units=units, sides=sides, memory=self.memory)
        return Z if units is None else None

    def cut(
        self,
        z: Tensor,
        terms: Tensor,
        bend: int,
        labels: NDArray[np.integer],
        *,
        choice: bool,
        units: NDArray[np.int64] | None,
        sides: NDArray[np.int16] | None,
        memory: int | None,
    ) -> Floats:
        """Split by the units of the columns of ``z``, in one pass; see :meth:`subdivide` and :class:`Signs`."""
        tolerance = (SIGN_TOLERANCE * terms).cpu().numpy()
        pairs = np.zeros((0, 4), np.int64)
        if choice:
            z, tolerance, pairs = _differences(z, tolerance)
            labels = np.repeat(labels, len(pairs) // max(1, len(labels)))
        room, max_rows = 4 * len(z) + 1024, None  # for new vertices: pages are touched only when used
        if memory is not None:
            max_rows = memory // (8 * max(1, z.shape[1]))
            room = max(len(z) + 8, min(room, max_rows))
        rows = np.empty((room, z.shape[1]))
        torch.from_numpy(rows)[: len(z)] = z
        Z, signs = self._split(rows, tolerance, pairs, labels.astype(np.int32), max_rows)
        self.signs.append(Signs(bend, *signs, units, sides))
        return Z

    def _split(
        self, Z: Floats, tolerance: Floats, pairs: NDArray[np.int64], labels: Ints, max_rows: int | None
    ) -> tuple[Floats, tuple[Ints, Words, Words]]:
        """Split the regions in arrays that grow where the kernel needs it; see :func:`kernel.subdivide`.

        ``Z`` (room, U) begins with the values at the vertices; ``max_rows`` limits the number of vertices. Returns the
        values at all vertices, the region that each region is part of, and its positive and negative units.
        """
        nv, ne, room, words, count = len(self.vertices), len(self.kid), len(Z), -(-Z.shape[1] // 64), self.count
        X, (pos, neg) = _enlarge(room, self.vertices), (np.empty((room, words), np.uint64) for _ in range(2))
        kernel.pack_signs(Z, tolerance, pos, neg, nv)
        ends, label, kid = (_enlarge(2 * ne + 4 * room, array) for array in (self.ends, self.label, self.kid))
        size = 2 * count + room
        out: list[NDArray[Any]] = [np.empty((2 * len(self.corners) + 4 * room, 2), np.int32)]
        out += [np.zeros(size + 1, np.int32), np.empty(size, np.int32)]
        out += [np.empty((size, words), np.uint64) for _ in range(2)]
        scratch = [np.empty((2 * room, 2), np.int32), *np.empty((5, 2 * room), np.int32)]
        cut = np.empty(words, np.uint64)
        at = np.array([0, 0, nv, ne, 0, 0])
        for stop in range(min(STEP, count), count + STEP, STEP):
            while not kernel.subdivide(
                X, Z, pos, neg, tolerance, pairs, labels, ends, label, kid, self.corners, self.starts[: stop + 1],
                tuple(out), (*scratch, cut), at,
            ):  # fmt: skip
                nv, ne, nc, nr = (int(number) for number in at[2:])
                full = False
                if nv + 2 > len(X):
                    room = 2 * (nv + 2) if max_rows is None else min(2 * (nv + 2), max_rows)
                    if nv + 2 > room:
                        raise MemoryLimitError
                    X, Z, pos, neg = (_enlarge(room, array) for array in (X, Z, pos, neg))
                    full = True
                if ne + 5 > len(kid):
                    ends, label, kid = (_enlarge(2 * (ne + 5), array) for array in (ends, label, kid))
                    full = True
                if 2 * nr > len(out[1]) or nc + nv + 8 > len(out[0]):
                    out, full = [_enlarge(2 * len(array), array) for array in out], True
                if not full:  # then it was the scratch arrays that were
                    scratch = [_enlarge(2 * len(array), array) for array in scratch]
            self.report(int(at[kernel.NR]))
        nv, ne, nc, nr = (int(number) for number in at[2:])
        self.vertices, self.ends, self.label, self.kid = X[:nv], ends[:ne], label[:ne], kid[:ne]
        self.corners, self.starts = out[0][:nc], out[1][: nr + 1]
        return Z[:nv], (out[2][:nr], out[3][:nr], out[4][:nr])

    def mesh(self) -> Mesh:
        """Return the complex without its cut edges."""
        ends, label, regions, corners, edges, starts = kernel.finish(
            self.ends, self.label, self.kid, self.corners, self.starts
        )
        return Mesh(self.vertices, ends, label, regions, corners[: starts[-1]], edges[: starts[-1]], starts)


def _enlarge(rows: int, array: NDArray[Any]) -> NDArray[Any]:
    """Return the array with at least ``rows`` rows; the added ones are not set."""
    if rows <= len(array):
        return array
    new = np.empty((rows, *array.shape[1:]), array.dtype)
    new[: len(array)] = array
    return new


def flatten_units(z: Tensor, *, choice: bool) -> Tensor:
    """Return what enters a bend, (n, *units), as (n, U); for a choice (n, *units, K) as (n, U, K)."""
    return z.reshape(len(z), -1, z.shape[-1]) if choice else z.flatten(1)


def box_mesh(box: Floats) -> Mesh:
    """Return the box (2, 2) as a complex of one region."""
    (x0, x1), (y0, y1) = box
    corner = np.arange(4, dtype=np.int32)
    return Mesh(
        vertices=np.array([[x0, y0], [x1, y0], [x1, y1], [x0, y1]]),
        ends=np.stack([corner, (corner + 1) % 4], axis=1),
        label=np.full(4, -1, np.int32),
        regions=np.array([[0, -1]] * 4, np.int32),
        corners=corner,
        corner_edges=corner,
        starts=np.array([0, 4], np.int32),
    )


class ChangingUnits:
    """The units of a bend that change side between vertices, and the side of those that do not."""

    def __init__(self, tolerance: Tensor, *, choice: bool) -> None:
        self._tolerance = tolerance  # (U,) or (U, K)
        self._choice = choice
        self._ever = torch.zeros_like(tolerance, dtype=torch.bool)  # positive (among the largest) somewhere
        self._not_always = torch.zeros_like(self._ever)  # negative (not among the largest) somewhere

    def update(self, z: Tensor) -> None:
        """Include pre-activations (n, U) or (n, U, K)."""
        if self._choice:
            largest = z >= z.amax(dim=-1, keepdim=True) - 2 * self._tolerance.amax(dim=-1, keepdim=True)
            self._ever |= largest.any(dim=0)
            self._not_always |= ~largest.all(dim=0)
        else:
            self._ever |= z.amax(dim=0) > self._tolerance
            self._not_always |= z.amin(dim=0) < -self._tolerance

    def sides(self) -> NDArray[np.int16]:
        """Return the side of every unit (U,), meaningful for those that do not change."""
        side = (~self._not_always).int().argmax(dim=-1) if self._choice else self._ever
        return side.to(torch.int16).cpu().numpy()

    def units(self) -> NDArray[np.int64]:
        """Return the units that change."""
        changes = self._ever & self._not_always
        if self._choice:
            always = ~self._not_always
            first = always.int().argmax(dim=-1)[:, None]
            candidate = torch.arange(always.shape[-1], device=always.device)
            # An earlier candidate that is among the largest somewhere may be the first of equals there.
            changes = ~always.any(dim=-1) | (self._ever & (candidate < first)).any(dim=-1)
        return np.flatnonzero(changes.cpu().numpy())


@dataclass(frozen=True)
class BendUnits:
    """The units of a bend that change side."""

    bend: int  #: number of the bend
    first_unit: int  #: number of its first unit
    choice: bool  #: whether its units are choices
    units: NDArray[np.int64]  #: (C,) which of its units change side
    terms: Tensor  #: (C,) or (C, K): sums of the magnitudes of their pre-activations' terms
    sides: NDArray[np.int16]  #: (U,) the side of each unit that does not change

    @property
    def columns(self) -> int:
        """Number of columns that the kernel needs for each unit: one for every pair of candidates."""
        return self.terms.shape[1] * (self.terms.shape[1] - 1) // 2 if self.choice else 1


def _differences(z: Tensor, tolerance: Floats) -> tuple[Tensor, Floats, NDArray[np.int64]]:
    """Return the differences of all pairs of candidates of every choice, and the pairs for the kernel."""
    units, K = z.shape[1:]
    i, j = np.triu_indices(K, 1)
    flat = (z[:, :, i] - z[:, :, j]).flatten(1)
    column = np.arange(units * len(i))
    pairs = np.stack(
        [column - column % max(1, len(i)), np.full_like(column, K), np.tile(i, units), np.tile(j, units)], axis=1
    )
    return flat, (tolerance[:, i] + tolerance[:, j]).ravel(), pairs


def region_sides(signs: Signs, units: int, candidates: int) -> NDArray[Any]:
    """Return the sides (R, units) on every region of a bend with one pass; ``candidates`` of a choice, 0 for a relu."""
    if signs.units is None or signs.sides is None:
        return column_sides(signs, units, candidates)
    sides = np.tile(signs.sides, (len(signs.positive), 1))
    sides[:, signs.units] = column_sides(signs, len(signs.units), candidates)
    return sides


def region_bytes(signs: Sequence[Signs], widths: Sequence[int]) -> NDArray[np.uint8]:
    """Return patterns (R, sum of widths) of a network of relus, none wide, whose bends fill ``widths`` whole bytes."""
    patterns = np.empty((region_count(signs), sum(widths)), np.uint8)
    start = 0
    for width, part in zip(widths, signs_on(signs, np.arange(region_count(signs))), strict=True):
        patterns[:, start : start + width] = _bytes(part.positive)[:, :width]
        start += width
    return patterns


def region_count(signs: Sequence[Signs]) -> int:
    """Return the number of regions after all passes."""
    return len(signs[-1].parent) if signs else 1


def signs_on(signs: Sequence[Signs], index: NDArray[np.integer]) -> list[Signs]:
    """Return the signs of each pass on regions of the final complex, through their parents."""
    selected = []
    for part in reversed(signs):
        selected.append(replace(part, positive=part.positive[index], negative=part.negative[index]))
        index = part.parent[index]
    return selected[::-1]


def column_sides(signs: Signs, units: int, candidates: int) -> NDArray[Any]:
    """Return the sides (R, units) of the units of a pass; ``candidates`` of a choice, 0 for a relu."""
    if candidates == 0:  # a relu
        return _bits(signs.positive, units)
    i, j = np.triu_indices(candidates, 1)
    shape = (len(signs.positive), units, len(i))
    below = _bits(signs.negative, units * len(i)).reshape(shape)  # candidate i of the pair loses somewhere
    above = _bits(signs.positive, units * len(i)).reshape(shape)
    losses = np.zeros((*shape[:2], candidates), np.int16)
    for pair, (a, b) in enumerate(zip(i, j, strict=True)):
        losses[:, :, a] += below[:, :, pair]
        losses[:, :, b] += above[:, :, pair]
    fewest: NDArray[np.int16] = losses.argmin(axis=2).astype(np.int16)  # the first of the largest loses nowhere
    return fewest


def _bytes(words: NDArray[np.uint64]) -> NDArray[np.uint8]:
    return np.ascontiguousarray(words).astype("<u8", copy=False).view(np.uint8)


def _bits(words: NDArray[np.uint64], count: int) -> NDArray[np.uint8]:
    return np.unpackbits(_bytes(words), axis=1, count=count, bitorder="little")
