"""Brute force: the regions of a small multilayer perceptron, by methods as different from the library's as possible.

``lp_regions``      any dimension: every sign vector, layer by layer, kept where a linear program finds an inner ball.
``exact_regions``   two dimensions (or a slice): convex polygons clipped in integers; counts and areas are exact.
``exact_intervals`` one dimension (or a line): the same in fractions.

All three take ``layers = [(W, b), ...]``, W (out, in), with a (leaky) ReLU between layers, and follow the library's
definition: a region is a pattern whose set has non-empty interior; a unit that is identically 0 on it has side 0.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

Array = NDArray[np.float64]
Layers = Sequence[tuple[Array, Array]]
Box = Sequence[tuple[float, float]]

DATA = Path(__file__).parent / "data" / "regions"


def load_case(name: str) -> list[tuple[Array, Array]]:
    """Return the weights of a reference case in tests/data/regions."""
    with np.load(DATA / f"{name}.npz") as data:
        return [(data[f"W{i}"], data[f"b{i}"]) for i in range(len(data["widths"]) - 1)]


def load_counts() -> dict[str, Any]:
    """Return the confirmed counts of the reference cases, by name."""
    counts: dict[str, Any] = json.loads((DATA / "counts.json").read_text())
    return counts


# -- by linear programs, in any dimension -----------------------------------------------------------------------------


@dataclass
class _Cell:
    """A region so far: ``A x + c >= 0`` with unit rows, the values ``J x + y`` of the layer, and their terms' size."""

    A: Array
    c: Array
    J: Array
    y: Array
    size: Array
    sides: tuple[int, ...]
    center: Array


def lp_regions(layers: Layers, box: Box, *, leak: float = 0.0, tolerance: float = 1e-8) -> NDArray[np.int8]:
    """Return patterns (R, n_units) of all regions with an inner ball of radius above ``tolerance``, box [-1, 1]^n."""
    lo, hi = np.array(box, dtype=np.float64).T
    n = len(lo)
    half, middle = (hi - lo) / 2, (hi + lo) / 2  # x = middle + half * s, s in [-1, 1]^n
    A, c = np.vstack([np.eye(n), -np.eye(n)]), np.ones(2 * n)
    cells = [_Cell(A, c, np.diag(half), middle, half + np.abs(middle), (), np.zeros(n))]
    for i, (W, b) in enumerate(layers[:-1]):
        cells = [_affine(cell, W, b) for cell in cells]
        for unit in range(len(b)):
            cells = [part for cell in cells for part in _lp_split(cell, unit, tolerance)]
        start = sum(len(b) for _, b in layers[:i])
        for cell in cells:
            slope = np.where(np.array(cell.sides[start:]) == 1, 1.0, leak)
            cell.J, cell.y, cell.size = slope[:, None] * cell.J, slope * cell.y, np.abs(slope) * cell.size
    return np.array([cell.sides for cell in cells], dtype=np.int8).reshape(len(cells), -1)


def _affine(cell: _Cell, W: Array, b: Array) -> _Cell:
    size = np.abs(W) @ cell.size + np.abs(b)
    return _Cell(cell.A, cell.c, W @ cell.J, W @ cell.y + b, size, cell.sides, cell.center)


def _lp_split(cell: _Cell, unit: int, tolerance: float) -> list[_Cell]:
    """Return the one or two parts of a cell where a unit has one side."""
    g, o = cell.J[unit], cell.y[unit]
    length = float(np.linalg.norm(g))
    noise = 1e-12 * cell.size[unit]
    if length <= noise:  # constant on the cell
        return [_with(cell, int(o > noise), None, None)]
    row, offset = g / length, o / length
    parts = []
    for side, sign in ((1, 1.0), (0, -1.0)):
        A, c = np.vstack([cell.A, sign * row]), np.append(cell.c, sign * offset)
        slack = A @ cell.center + c
        if slack.min() > tolerance:  # the center itself shows that this part has an inside
            parts.append((side, A, c, cell.center))
            continue
        radius, center = _inner_ball(A, c)
        if radius > tolerance:
            parts.append((side, A, c, center))
    if len(parts) == 1:
        return [_with(cell, parts[0][0], None, None)]
    return [_with(_Cell(A, c, cell.J, cell.y, cell.size, cell.sides, x), side, A, c) for side, A, c, x in parts]


def _with(cell: _Cell, side: int, A: Array | None, c: Array | None) -> _Cell:
    sides = (*cell.sides, side)
    return _Cell(cell.A if A is None else A, cell.c if c is None else c, cell.J, cell.y, cell.size, sides, cell.center)


def _inner_ball(A: Array, c: Array) -> tuple[float, Array]:
    """Return the radius and center of the largest ball in ``A x + c >= 0`` (unit rows); the radius may be negative."""
    n = A.shape[1]
    answer = linprog(
        np.append(np.zeros(n), -1.0),
        A_ub=np.hstack([-A, np.ones((len(A), 1))]),
        b_ub=c,
        bounds=[(None, None)] * (n + 1),
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    assert answer.status == 0, answer.message
    return float(answer.x[-1]), answer.x[:-1]


# -- in integers, in the plane ----------------------------------------------------------------------------------------

Integers = NDArray[np.object_]
Triple = tuple[int, int, int]  # a line a x + b y + c = 0, its inner side positive, or a point (x / w, y / w), w > 0


@dataclass(frozen=True)
class Exact:
    """Regions of the plane, without rounding."""

    sides: NDArray[np.int8]  #: (R, n_units)
    areas: list[Fraction]  #: (R,), in the slice's coordinates
    polygons: list[list[tuple[Fraction, Fraction]]]  #: corners, counter-clockwise, none of them inside a straight side
    n_vertices: int  #: different corners of all polygons

    @property
    def count(self) -> int:
        return len(self.areas)


@dataclass(frozen=True)
class _Polygon:
    lines: tuple[Triple, ...]  # its sides, counter-clockwise
    H: Integers  # (n + 1, 3) the layer's values as functions of (x, y, 1), and the constant 1 at the same scale
    sides: tuple[int, ...]


def exact_regions(
    layers: Layers, box: Box, *, leak: float = 0.0, origin: Array | None = None, basis: Array | None = None
) -> Exact:
    """Return all regions on the slice ``x = origin + basis t``, t in a box, by clipping polygons in integers."""
    n_in = layers[0][0].shape[1]
    origin = np.zeros(n_in) if origin is None else origin
    basis = np.eye(n_in) if basis is None else basis
    (x0, x1), (y0, y1) = [[float(end).as_integer_ratio() for end in side] for side in box]
    lines = ((0, y0[1], -y0[0]), (-x1[1], 0, x1[0]), (0, -y1[1], y1[0]), (x0[1], 0, -x0[0]))
    values, scale = _integers(np.column_stack([basis, origin]))
    polygons = [_Polygon(lines, np.vstack([values, np.array([[0, 0, scale]], dtype=object)]), ())]
    for layer in layers[:-1]:
        polygons = [part for polygon in polygons for part in _exact_layer(polygon, *layer, leak)]
    corners = [[(Fraction(x, w), Fraction(y, w)) for x, y, w in _corners(p.lines)] for p in polygons]
    sides = np.array([p.sides for p in polygons], dtype=np.int8).reshape(len(polygons), -1)
    return Exact(sides, [_area(c) for c in corners], corners, len({point for c in corners for point in c}))


def _integers(values: Array) -> tuple[Integers, int]:
    """Return float64 numbers as integers over one common power of two."""
    ratios = [float(v).as_integer_ratio() for v in values.ravel()]
    scale = max([d for _, d in ratios], default=1)
    out = np.empty(values.size, dtype=object)
    out[:] = [n * (scale // d) for n, d in ratios]
    return out.reshape(values.shape), scale


def _exact_layer(polygon: _Polygon, W: Array, b: Array, leak: float) -> list[_Polygon]:
    weights, scale = _integers(np.column_stack([W, b]))
    (slope, one), _ = _integers(np.array([leak, 1.0]))
    Z = weights @ polygon.H  # (out, 3)
    parts: list[tuple[tuple[Triple, ...], tuple[int, ...]]] = [(polygon.lines, ())]
    for row in Z:
        parts = [(new, (*done, side)) for old, done in parts for new, side in _clip(old, tuple(row))]
    out = []
    for lines, sides in parts:
        factors = np.array([one if side else slope for side in sides] + [one * scale], dtype=object)
        out.append(_Polygon(lines, factors[:, None] * np.vstack([Z, polygon.H[-1:]]), polygon.sides + sides))
    return out


def _clip(lines: tuple[Triple, ...], cut: Triple) -> list[tuple[tuple[Triple, ...], int]]:
    """Return the parts of a polygon on the positive (1) and on the other (0) side of a line."""
    values = [sum(a * x for a, x in zip(cut, point, strict=True)) for point in _corners(lines)]
    out = []
    for side, sign in ((1, 1), (0, -1)):
        inside = [sign * v > 0 for v in values]
        if not any(inside):
            continue
        if not any(sign * v < 0 for v in values):
            return [(lines, side)]
        # Side i of the polygon runs from corner i to the next: it stays where either end is strictly inside.
        n = len(lines)
        kept = [inside[i] or inside[(i + 1) % n] for i in range(n)]
        # The sides that stay follow each other; the cut closes them. If all stay, it cuts off one corner.
        first = inside.index(False) if all(kept) else next(i for i in range(n) if kept[i] and not kept[i - 1])
        order = [(first + i) % n for i in range(n)]
        out.append(((*(lines[i] for i in order if kept[i]), (sign * cut[0], sign * cut[1], sign * cut[2])), side))
    return out or [(lines, 0)]  # identically zero: no crease, side 0


def _corners(lines: tuple[Triple, ...]) -> list[Triple]:
    """Return corner i, where side i begins: the intersection of sides i - 1 and i."""
    out = []
    for (a, b, c), (d, e, f) in zip((lines[-1], *lines[:-1]), lines, strict=True):
        x, y, w = b * f - c * e, c * d - a * f, a * e - b * d
        out.append((x, y, w) if w > 0 else (-x, -y, -w))
    return out


def _area(corners: list[tuple[Fraction, Fraction]]) -> Fraction:
    turned = corners[1:] + corners[:1]
    return sum(((a * d - c * b) for (a, b), (c, d) in zip(corners, turned, strict=True)), Fraction(0)) / 2


# -- in fractions, on the line ----------------------------------------------------------------------------------------


def exact_intervals(
    layers: Layers, start: Array, end: Array, *, leak: float = 0.0
) -> tuple[list[Fraction], NDArray[np.int8]]:
    """Return the ends (R + 1,) and patterns (R, n_units) of the regions on ``start + s (end - start)``, in order."""
    values = [(Fraction(float(a)), Fraction(float(b)) - Fraction(float(a))) for a, b in zip(start, end, strict=True)]
    cells = [(Fraction(0), Fraction(1), values, ())]
    for W, b in layers[:-1]:
        cells = [part for cell in cells for part in _interval_layer(cell, W, b, Fraction(float(leak)))]
    return [cell[0] for cell in cells] + [Fraction(1)], np.array([c[3] for c in cells], np.int8).reshape(len(cells), -1)


_Interval = tuple[Fraction, Fraction, list[tuple[Fraction, Fraction]], tuple[int, ...]]


def _interval_layer(cell: _Interval, W: Array, b: Array, leak: Fraction) -> list[_Interval]:
    lo, hi, values, sides = cell
    Z = []
    for row, bias in zip(W, b, strict=True):
        terms = [(Fraction(float(w)) * y, Fraction(float(w)) * j) for w, (y, j) in zip(row, values, strict=True)]
        Z.append((sum((y for y, _ in terms), Fraction(float(bias))), sum((j for _, j in terms), Fraction(0))))
    breaks = {-y / j for y, j in Z if j != 0}
    ends = [lo, *sorted(s for s in breaks if lo < s < hi), hi]
    out = []
    for a, c in pairwise(ends):
        new = tuple(int(y + j * (a + c) / 2 > 0) for y, j in Z)
        slopes = [Fraction(1) if side else leak for side in new]
        out.append((a, c, [(f * y, f * j) for f, (y, j) in zip(slopes, Z, strict=True)], sides + new))
    return out
