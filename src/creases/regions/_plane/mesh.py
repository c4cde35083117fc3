"""A finished planar complex, and joining its regions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from creases._typing import Floats

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


def components(mesh: Mesh, joined: NDArray[np.bool_]) -> Ints:
    """Return the group of each region, (R,), when the ``joined`` edges (E,) no longer separate regions."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    left, right = mesh.regions[joined].T
    count = len(mesh.starts) - 1
    graph = coo_array((np.ones(len(left), bool), (left, right)), shape=(count, count))
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
        if e == f or mesh.label[e] < 0 or mesh.label[e] != mesh.label[f]:
            continue  # sides of the box keep their vertices: corners are among them
        if set(sides[e]) != set(sides[f]):
            continue
        far = ends[f, 1] if ends[f, 0] == v else ends[f, 0]
        ends[e, 0 if ends[e, 0] == v else 1] = far
        alive[f] = False
        if far in at:
            at[far] = [e if g == f else g for g in at[far]]
    return _drop_unused(replace(mesh, ends=ends[alive], label=mesh.label[alive], regions=sides[alive]))


def _drop_unused(mesh: Mesh) -> Mesh:
    """Keep only the vertices that edges use."""
    used = np.zeros(len(mesh.vertices), bool)
    used[mesh.ends] = True
    number = np.cumsum(used, dtype=np.int32) - 1
    return replace(mesh, vertices=mesh.vertices[used], ends=number[mesh.ends])


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
