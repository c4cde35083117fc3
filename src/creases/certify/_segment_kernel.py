"""Compiled distances from points to segments (numba; imported only when first used)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from creases._compiled import jit, jit_internal
from creases._typing import Floats


@jit_internal
def _squared_distance(x: float, y: float, ax: float, ay: float, bx: float, by: float) -> float:
    """Return the squared distance of (x, y) to the segment from (ax, ay) to (bx, by)."""
    dx, dy = bx - ax, by - ay
    length = dx * dx + dy * dy
    s = 0.0 if length == 0.0 else ((x - ax) * dx + (y - ay) * dy) / length
    s = min(max(s, 0.0), 1.0)
    px, py = x - ax - s * dx, y - ay - s * dy
    return px * px + py * py


@jit
def nearest_segments(points: Floats, starts: NDArray[np.int64], segments: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """Return the distance (n,) of each point (n, 2) to the nearest of the segments (S, 4), and which it is (n,).

    Points come in groups, from ``starts[g]`` to ``starts[g + 1]``, that are close together: only segments that can be
    the nearest of some point of the ball around a group are looked at.
    """
    distance, nearest = np.empty(len(points)), np.empty(len(points), np.int64)
    candidates, reach = np.empty(len(segments), np.int64), np.empty(len(segments))
    for group in range(len(starts) - 1):
        first, last = starts[group], starts[group + 1]
        x, y = 0.0, 0.0
        for i in range(first, last):
            x += points[i, 0] / (last - first)
            y += points[i, 1] / (last - first)
        radius = 0.0
        for i in range(first, last):
            radius = max(radius, np.hypot(points[i, 0] - x, points[i, 1] - y))
        least = np.inf
        for j in range(len(segments)):
            reach[j] = np.sqrt(_squared_distance(x, y, segments[j, 0], segments[j, 1], segments[j, 2], segments[j, 3]))
            least = min(least, reach[j])
        count, limit = 0, (least + 2.0 * radius) * (1.0 + 1e-12)  # no rounding may lose the nearest
        for j in range(len(segments)):
            if reach[j] <= limit:
                candidates[count] = j
                count += 1
        for i in range(first, last):
            best, at = np.inf, -1
            for k in range(count):
                j = candidates[k]
                square = _squared_distance(
                    points[i, 0], points[i, 1], segments[j, 0], segments[j, 1], segments[j, 2], segments[j, 3]
                )
                if square < best:
                    best, at = square, j
            distance[i], nearest[i] = np.sqrt(best), at
    return distance, nearest
