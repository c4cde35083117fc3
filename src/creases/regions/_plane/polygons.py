"""Convex polygons as runs of corners: polygon r is ``corners[starts[r]:starts[r + 1]]``, counter-clockwise."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from creases._typing import Floats


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
