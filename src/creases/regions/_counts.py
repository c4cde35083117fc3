"""How many regions a network has: bounds for its widths, as exact integers, and estimates from small samples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from math import comb, prod
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from creases._typing import Floats, Ints
from creases._validation import check_box, check_numbers
from creases.errors import InputError
from creases.network import NetworkLike, PointsLike, as_network
from creases.regions._line.line import line
from creases.regions._plane.plane import plane
from creases.regions._plane.tiles import choose_plane
from creases.regions._polytope import check_point
from creases.regions._space.space import VERTEX_DIMENSIONS, space


@dataclass(frozen=True)
class Bounds:
    """Bounds on the largest number of regions over all weights of a fully connected ReLU network."""

    d: int  #: number of inputs
    widths: tuple[int, ...]  #: of the hidden layers
    zaslavsky: int  #: regions of the first layer alone: exact for one hidden layer
    product: int  #: upper bound, eq. 2.26 of the dissertation with k = d
    lower: int | None  #: lower bound, eq. 2.27; None when a layer is narrower than the input
    montufar_2014: int  #: upper bound: two sides for every unit
    montufar_2017: int  #: upper bound: a layer's input has no more dimensions than the narrowest layer before it
    #: upper bound: ... nor more than the active units; not for a leaky ReLU, which never loses a dimension
    serra_2018: int

    @property
    def upper(self) -> int:
        """The least upper bound, for ReLUs; with a leak ``montufar_2017`` is the least that holds."""
        return min(self.product, self.montufar_2014, self.montufar_2017, self.serra_2018)


def bounds(widths: Sequence[int], d: int | None = None) -> Bounds:
    """Bound the number of regions of a fully connected ReLU network.

    Parameters
    ----------
    widths
        Widths of the hidden layers; without ``d`` those of all layers, input and output included.
    d
        Number of inputs.

    Notes
    -----
    With hidden widths n_1 .. n_L and n_0 = d:

    - Zaslavsky (1975): n hyperplanes in d dimensions make at most ``sum_{j <= d} C(n, j)`` regions.
    - Sattelberg's dissertation (2026), eq. 2.26: ``prod_l sum_{i <= k} C(n_l, i)``. The text requires k to be at most
      every width; it is a bound when k is the input dimension, the dimension of what a layer can cut (with k = 1, d = 3
      and widths 5, 1 it would be 12, and the first layer alone makes 26).
    - Eq. 2.27, Montufar et al. 2014: some weights reach
      ``prod_{l < L} floor(n_l / d)^d  sum_{j <= d} C(n_L, j)``, for widths of at least d.
    - Montufar et al. 2014: at most ``2^(n_1 + ... + n_L)``; Montufar 2017: ``prod_l sum_{j <= d_l} C(n_l, j)`` with
      ``d_l = min(n_0, ..., n_(l-1))``.
    - Serra, Tjandraatmadja & Ramalingam 2018, theorem 1: the sum over all j_1 .. j_L of ``prod_l C(n_l, j_l)`` with
      ``j_l <= min(n_0, n_1 - j_1, ..., n_(l-1) - j_(l-1), n_l)``.

    Examples
    --------
    >>> from creases.regions import bounds
    >>> bounds([16, 16], d=2).serra_2018
    18769
    """
    hidden, n_in = _check_widths(widths, d)
    enough = all(n >= n_in for n in hidden)
    folds = prod((n // n_in) ** n_in for n in hidden[:-1]) if enough else 0
    dims = [min((n_in, *hidden[:i])) for i in range(len(hidden))]

    @cache
    def serra(layer: int, dims: int) -> int:
        if layer == len(hidden):
            return 1
        n = hidden[layer]
        return sum(comb(n, j) * serra(layer + 1, min(dims, n - j)) for j in range(min(dims, n) + 1))

    return Bounds(
        d=n_in,
        widths=hidden,
        zaslavsky=_arrangement(hidden[0], n_in) if hidden else 1,
        product=prod(_arrangement(n, n_in) for n in hidden),
        lower=folds * (_arrangement(hidden[-1], n_in) if hidden else 1) if enough else None,
        montufar_2014=2 ** sum(hidden),
        montufar_2017=prod(_arrangement(n, dim) for n, dim in zip(hidden, dims, strict=True)),
        serra_2018=serra(0, n_in),
    )


def _arrangement(n: int, d: int) -> int:
    """Return the most regions that n hyperplanes make in d dimensions."""
    return sum(comb(n, j) for j in range(min(n, d) + 1))


def _check_widths(widths: Sequence[int], d: int | None) -> tuple[tuple[int, ...], int]:
    if not isinstance(widths, Iterable) or getattr(widths, "ndim", 1) == 0:
        raise InputError("widths", "be a list of positive integers", repr(widths))
    numbers = tuple(widths) if d is None else (d, *widths)
    if not all(isinstance(n, int | np.integer) and n >= 1 for n in numbers):
        raise InputError("widths", "be a list of positive integers", f"{list(widths)} with d = {d}")
    if d is None and len(numbers) < 2:
        raise InputError(
            "widths", "be the input, hidden and output widths, at least two numbers, without d", f"{list(widths)}"
        )
    first, *rest = (int(n) for n in numbers)
    return tuple(rest[:-1] if d is None else rest), first


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
        rounded = round(self.regions, 2 - len(str(self.regions)))  # two digits that count: more would claim too much
        return f"about {rounded:,} regions, {time}"


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

        def count_line(box: Floats) -> tuple[int, Ints]:
            found = line(net, *(start + end * direction for end in box[0]))
            return found.count, np.array([2, len(found.breakpoints)])

        return _estimate(check_box((-1, 1) if box is None else box, 1), count_line)
    if net.n_in == 2 or basis is not None or through is not None:
        bounds, start, plane_basis = choose_plane(net, box, origin, basis, through)

        def count_plane(box: Floats) -> tuple[int, Ints]:
            part = plane(net, box, start, plane_basis, exact=exact)
            border = len(np.unique(part.edges[part.edge_units < 0]))
            return part.count, np.array([4, border - 4, len(part.vertices) - border])

        return _estimate(bounds, count_plane)
    if net.n_in > VERTEX_DIMENSIONS:
        raise InputError(
            "net", f"have at most {VERTEX_DIMENSIONS} inputs", f"{net.n_in}", "choose a plane by basis, or by through"
        )

    def count_space(box: Floats) -> tuple[int, Ints]:
        part = space(net, box, method="vertices")
        on_side = ((part.vertices == box[:, 0]) | (part.vertices == box[:, 1])).sum(axis=1)
        return part.count, np.bincount(len(box) - on_side, minlength=len(box) + 1)

    return _estimate(check_box((-1, 1) if box is None else box, net.n_in), count_space)


def _estimate(box: Floats, find: Callable[[Floats], tuple[int, Ints]]) -> Estimate:
    """Estimate the regions of a box from samples: ``find`` returns their number, and the vertices inside its faces.

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
