"""Estimate how many regions a line, plane or box has, and how long they take, from a few small samples of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from creases._typing import Floats, Ints
from creases._validation import check_box, check_numbers
from creases.errors import InputError
from creases.network import Network, NetworkLike, PointsLike, as_network
from creases.regions._line.line import line
from creases.regions._plane.plane import plane
from creases.regions._plane.tiles import choose_plane
from creases.regions._polytope import check_point
from creases.regions._space.space import VERTEX_DIMENSIONS, space

#: Samples, and their sides as fractions of the side of the box: larger ones where the smaller hold too little.
SAMPLES, SIDES = 3, (1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2)

#: Inner vertices that samples must hold together, unless they take too many seconds.
ENOUGH, SLOW = 30, 2.0


class Estimate(NamedTuple):
    """What to expect of a partition."""

    regions: int  #: number of regions
    seconds: float  #: time to find them on this machine, with as many threads as now

    def __str__(self) -> str:
        time = f"{self.seconds:.0f} s" if self.seconds < 120 else f"{self.seconds / 60:.0f} min"
        return f"about {_round(self.regions):,} regions, {time}"


def estimate_regions(
    net: NetworkLike,
    box: Any = None,
    origin: PointsLike | None = None,
    basis: PointsLike | None = None,
    *,
    through: Sequence[PointsLike] | None = None,
    exact: bool = False,
) -> Estimate:
    """Estimate how many regions :func:`line`, :func:`plane` or :func:`space` will find, and how long that takes.

    Three small samples are partitioned, larger ones where they hold too little.

    Parameters
    ----------
    net
        A network, torch module or file name.
    box
        Bounds of the box, as for :func:`plane` and :func:`space`; [-1, 1] by default.
    origin, basis
        The plane, as for :func:`plane`, or a line: one direction (n_in, 1). Without them the box is one of the whole
        input space, of at most six dimensions.
    through
        Three points that choose the plane instead of box, origin and basis, as for :func:`plane_through`.
    exact
        Whether the plane will be found in exact arithmetic.

    Examples
    --------
    >>> import creases
    >>> net = creases.read([([[1, 0], [0, 1]], [0, 0]), ([[1, 1]], [0])])
    >>> creases.regions.estimate_regions(net, (-1, 1)).regions < 10
    True
    """
    net = as_network(net)
    directions = None if basis is None else check_numbers(basis, "basis")
    if directions is not None and directions.shape == (net.n_in, 1):
        direction = directions[:, 0]
        start = np.zeros(net.n_in) if origin is None else check_point(net, origin, "origin")
        return _estimate(check_box((-1, 1) if box is None else box, 1), partial(_line_faces, net, start, direction))
    if net.n_in == 2 or basis is not None or through is not None:
        bounds, start, plane_basis = choose_plane(net, box, origin, basis, through)
        return _estimate(bounds, partial(_plane_faces, net, start, plane_basis, exact))
    if net.n_in > VERTEX_DIMENSIONS:
        raise InputError(
            "net", f"have at most {VERTEX_DIMENSIONS} inputs", f"{net.n_in}", "choose a plane by basis, or by through"
        )
    return _estimate(check_box((-1, 1) if box is None else box, net.n_in), partial(_space_faces, net))


def _estimate(box: Floats, find: Callable[[Floats], tuple[int, Ints]]) -> Estimate:
    """Estimate the regions of a box from samples: ``find`` returns their number of regions, and of vertices.

    A region has one lowest vertex in a given direction, and of the vertices on the sides of a box that are parallel to
    each other one in two is lowest in a region, on average over both directions. So a vertex inside a face of dimension
    k of the box, of n dimensions, counts for 2^(k - n) regions; and there are side^-k times as many in the whole.
    """
    n, rng = len(box), np.random.default_rng(0)
    size = box[:, 1] - box[:, 0]
    find(np.stack([box[:, 0], box[:, 0] + size / 1024], axis=1))  # kernels that must be compiled do not count
    for side in SIDES:
        begin = perf_counter()
        regions, vertices = 0, np.zeros(n + 1)
        for _ in range(SAMPLES):
            low = box[:, 0] + rng.integers(round(1 / side), size=n) * side * size  # a cell of a grid: all are alike
            count, inside = find(np.stack([low, low + side * size], axis=1))
            regions += count
            vertices += inside
        seconds = perf_counter() - begin
        if vertices[n] >= ENOUGH or seconds > SLOW:
            break
    k = np.arange(n + 1)
    total = float((vertices / SAMPLES / side**k * 2.0 ** (k - n)).sum())
    return Estimate(round(total), seconds * total / regions)


def _line_faces(net: Network, origin: Floats, direction: Floats, box: Floats) -> tuple[int, Ints]:
    (low, high) = box[0]
    found = line(net, origin + low * direction, origin + high * direction)
    return found.count, np.array([2, len(found.breakpoints)])


def _plane_faces(net: Network, origin: Floats, basis: Floats, exact: bool, box: Floats) -> tuple[int, Ints]:
    part = plane(net, box, origin, basis, exact=exact)
    border = len(np.unique(part.edges[part.edge_units < 0]))
    return part.count, np.array([4, border - 4, len(part.vertices) - border])


def _space_faces(net: Network, box: Floats) -> tuple[int, Ints]:
    """Return the regions of a small box, and the vertices inside its faces of dimension 0, ..., n."""
    n = len(box)
    part = space(net, box, method="vertices")
    on_side = ((part.vertices == box[:, 0]) | (part.vertices == box[:, 1])).sum(axis=1)
    return part.count, np.bincount(n - on_side, minlength=n + 1)


def _round(number: int) -> int:
    """Return a number with two digits that count: more would claim too much."""
    return round(number, 2 - len(str(number)))
