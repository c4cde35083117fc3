"""Maps of safety: the exact distance to the decision boundary at every pixel of a plane, by a compiled kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from operator import call
from typing import Any

import numpy as np
from numpy.typing import NDArray

from creases._compiled import jit, jit_internal
from creases._engines import Engine, choose_engine, map_in_order, open_engine
from creases._text import OneLine
from creases._typing import Floats, Ints
from creases._validation import check_box, check_count, check_points, check_vector
from creases.errors import InputError
from creases.network import Network, NetworkLike, as_network
from creases.regions import Boundary, PlanePartition, plane

#: Pixels on a side of the tiles whose candidate segments are searched together.
TILE = 16

#: Tiles of a task: about 8,000 pixels.
TASK_TILES = 32


@dataclass(frozen=True, eq=False, repr=False)
class SafetyMap(OneLine):
    """The distance to the decision boundary on a plane, as :func:`safety_map` returns it.

    Exact within the slice: the nearest change of decision among the inputs of the plane. Off the plane a nearer one may
    exist unless the network has two inputs.
    """

    partition: PlanePartition  #: of ``box``, enlarged to contain the nearest boundary of every point of it
    boundary: Boundary
    box: Floats  #: (2, 2) of the map, in slice coordinates
    t1: Floats  #: (w,) pixel centers
    t2: Floats  #: (h,)
    distance: Floats  #: (h, w) at least 0
    classes: Ints  #: (h, w) the decision
    metric: Floats  #: (2, 2) lower triangular: ``t @ metric`` has the length that distances are measured in

    @property
    def signed(self) -> Floats:
        """The distance (h, w), negative where class 0 is decided: for two classes."""
        if self.classes.max() > 1:
            raise InputError("classes", "be two for a signed distance", f"{int(self.classes.max()) + 1}")
        return np.where(self.classes == 0, -self.distance, self.distance)

    def at(self, t: Any) -> Floats:
        """Return the exact distance (n,) at points (n, 2) of the box, in slice coordinates."""
        points = check_points(t, 2, "t")
        if not ((points >= self.box[:, 0]) & (points <= self.box[:, 1])).all():
            raise InputError("t", "be in the box of the map", f"box {self.box.tolist()}")
        return self._nearest(points, np.arange(len(points) + 1))[0]

    def flips(self, t: Any) -> Floats:
        """Return the nearest point (n, 2) of the boundary for each point (n, 2) of the box, in slice coordinates."""
        points = check_points(t, 2, "t")
        _, nearest = self._nearest(points, np.arange(len(points) + 1))
        a, b = self.boundary.segments[nearest].transpose(1, 0, 2)
        along, away = (b - a) @ self.metric, (points - a) @ self.metric
        length = (along**2).sum(axis=1)
        share = np.clip((along * away).sum(axis=1) / np.where(length > 0, length, 1.0), 0.0, 1.0)
        return np.asarray(a + share[:, None] * (b - a))

    def _nearest(self, points: Floats, starts: NDArray[np.int64]) -> tuple[Floats, NDArray[np.int64]]:
        return _nearest_segments(self.boundary.segments, self.metric, points, starts)


def safety_map(
    net: NetworkLike,
    box: Any,
    *,
    origin: Any = None,
    basis: Any = None,
    unit: Any = None,
    resolution: int = 400,
    engine: str | None = None,
    n_jobs: int | None = None,
    address: str | None = None,
) -> SafetyMap:
    """Measure the exact distance to the decision boundary at every pixel of a plane.

    All segments of the boundary on the plane are known, so the distance to the nearest is exact, at pixels and between
    them. The plane is cut in a larger box than the one of the map where the nearest boundary may be outside of it.

    Parameters
    ----------
    net
        A network, torch module or file name.
    box, origin, basis
        As for :func:`creases.plane`.
    unit
        What counts as 1 in each input, (n_in,), such as standard deviations of columns; 1 by default. Distances are
        Euclidean in these units.
    resolution
        Pixels along the longer side.
    engine, n_jobs, address
        Where pixels are computed, tiles of them at a time: in this process (``"serial"``), the default without
        ``n_jobs``; by that many ``"local"`` processes; or on a ``"ray"`` cluster, by its address or started here. The
        map is the same, bit for bit. The regions of the plane are computed in this process.

    Examples
    --------
    >>> import creases
    >>> net = creases.read([([[1.0, 0.0]], [0.0])])  # decides by the sign of x0
    >>> picture = safety_map(net, box=(-1, 1), resolution=4)
    >>> picture.signed[0].tolist()
    [-0.75, -0.25, 0.25, 0.75]
    >>> picture.at([[0.5, 0.9]]).tolist()
    [0.5]
    """
    work = as_network(net)
    frame = check_box(box, 2)
    pixels = check_count(resolution, "resolution", least=2)
    scale = np.ones(work.n_in) if unit is None else check_vector(unit, "unit", work.n_in)
    if not (scale > 0).all() or scale.max() > 1e100 * scale.min():
        raise InputError("unit", "be positive, of sizes that can be compared", f"{scale.min():g} to {scale.max():g}")
    name = choose_engine(engine, n_jobs, address)
    partition = plane(work, frame, origin, basis)
    gram = (partition.basis / scale[:, None] ** 2).T @ partition.basis
    metric: Floats = np.linalg.cholesky(gram).astype(np.float64)
    size = frame[:, 1] - frame[:, 0]
    width, height = np.maximum(1, np.rint(pixels * size / size.max())).astype(int)
    t1, t2 = (low + (np.arange(n) + 0.5) / n * s for low, n, s in zip(frame[:, 0], (width, height), size, strict=True))
    boundary = partition.boundary()
    if not len(boundary.edges):
        raise InputError("box", "contain a part of the decision boundary", "one decision throughout")
    tiles = _Tiles.of(t1, t2)
    with open_engine(name, call, tiles.n_tasks, n_jobs, address) as workers:
        distance = tiles.map(workers, partial(_distances, boundary.segments, metric))
        outer = _enlarge(frame, metric, tiles.points, distance, (size / (width, height)))
        if (outer != frame).any():
            partition = plane(work, outer, origin, basis)
            boundary = partition.boundary()
            distance = tiles.map(workers, partial(_distances, boundary.segments, metric))
        classes = tiles.map(workers, partial(_decisions, work, partition.origin, partition.basis))
    return SafetyMap(partition, boundary, frame, t1, t2, tiles.grid(distance), tiles.grid(classes), metric)


@dataclass(frozen=True, eq=False)
class _Tiles:
    """The pixel centers of a map, tile by tile."""

    points: Floats  #: (n, 2)
    starts: NDArray[np.int64]  #: (tiles + 1,) the first point of each tile
    place: NDArray[np.int64]  #: (n,) pixel of each point
    shape: tuple[int, int]  #: (h, w)

    @classmethod
    def of(cls, t1: Floats, t2: Floats) -> _Tiles:
        rows, columns = np.indices((len(t2), len(t1))).reshape(2, -1)
        tile = rows // TILE * (len(t1) // TILE + 1) + columns // TILE
        order = np.argsort(tile, kind="stable")
        starts = np.flatnonzero(np.diff(tile[order], prepend=-1))
        points = np.column_stack([t1[columns[order]], t2[rows[order]]])
        return cls(points, np.append(starts, len(points)), order, (len(t2), len(t1)))

    @property
    def n_tasks(self) -> int:
        return len(range(0, len(self.starts) - 1, TASK_TILES))

    def map(self, engine: Engine, function: Callable[[Floats, NDArray[np.int64]], Any]) -> Any:
        """Return the values (n,) of a function of the points of some tiles and their starts."""
        blocks = (self.starts[first : first + TASK_TILES + 1] for first in range(0, len(self.starts) - 1, TASK_TILES))
        tasks = ((function, self.points[starts[0] : starts[-1]], starts - starts[0]) for starts in blocks)
        return np.concatenate(list(map_in_order(engine, tasks)))

    def grid(self, values: NDArray[Any]) -> Any:
        """Return values (n,) of the points as those of the pixels: (h, w)."""
        pixels = np.empty_like(values)
        pixels[self.place] = values
        return pixels.reshape(self.shape)


def _distances(segments: Floats, metric: Floats, points: Floats, starts: NDArray[np.int64]) -> Floats:
    """Return the distance (n,) of points (n, 2) to the boundary."""
    return _nearest_segments(segments, metric, points, starts)[0]


def _decisions(
    net: Network, origin: Floats, basis: Floats, points: Floats, starts: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the class (n,) at points (n, 2) of a plane."""
    outputs = np.asarray(net(origin + points @ basis.T)).reshape(len(points), -1)
    label = outputs.argmax(axis=1) if outputs.shape[1] > 1 else outputs[:, 0] > 0
    return np.asarray(label.astype(np.int64))


def _nearest_segments(
    segments: Floats, metric: Floats, points: Floats, starts: NDArray[np.int64]
) -> tuple[Floats, NDArray[np.int64]]:
    """Return the distance (n,) of points (n, 2) to the boundary, and the segment (n,) it is to."""
    ends = (segments @ metric).reshape(-1, 4)
    return nearest_segments(np.ascontiguousarray(points @ metric), starts, np.ascontiguousarray(ends))


def _enlarge(frame: Floats, metric: Floats, points: Floats, distance: Floats, pixel: Floats) -> Floats:
    """Return the box (2, 2) that contains, for every point of the frame, the ball up to its nearest known boundary."""
    stretch = np.sqrt(np.diag(np.linalg.inv(metric @ metric.T)))  # extent along each axis of a ball of radius 1
    between = float(np.linalg.norm(pixel @ np.abs(metric)))  # how much the distance varies between pixel centers
    reach = (distance[:, None] + between) * stretch
    low = np.minimum((points - reach - pixel / 2).min(axis=0), frame[:, 0])
    high = np.maximum((points + reach + pixel / 2).max(axis=0), frame[:, 1])
    return np.column_stack([low, high])


# -- distances to segments, compiled ----------------------------------------------------------------------------------


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
