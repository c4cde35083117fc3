"""All regions of a small perceptron in a box, by going through activation patterns in rational arithmetic.

Float64 numbers are integers times powers of two, and so are the values of all units as functions of the input: nothing
here is rounded, and no code is shared with :mod:`creases`. A cell of the first k units is split by the next one where
an inner point on either side is at hand, checked in integers; it is not where multipliers prove, in integers, that one
side is empty. Points and multipliers come from floating point (:mod:`rational_programs`), and where they are not good
enough from a simplex method in integers.

A box is the cube [-1, 1]^n, ``x = middle + radius u``; a column whose ends are equal is a constant.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rational_programs import OPTIMAL, Row, as_floats, binary_size, evaluate, maximize, propose, upper_bound

Array = NDArray[np.float64]
Integers = NDArray[np.object_]

#: Bits of a point that was computed exactly and has to be rounded.
POINT_BITS = 300


class TooManyRegionsError(Exception):
    """A box has more regions than were asked for."""


@dataclass(frozen=True)
class Bend:
    """A function with ``slopes[k] z + offsets[k]`` between its k-th and its next breakpoint."""

    breaks: tuple[float, ...] = ()
    slopes: tuple[float, ...] = (1.0,)
    offsets: tuple[float, ...] = (0.0,)


IDENTITY = Bend()


def leaky(leak: float = 0.0) -> Bend:
    """Return a leaky ReLU."""
    return Bend((0.0,), (leak, 1.0), (0.0, 0.0))


def clamp(low: float, high: float) -> Bend:
    """Return the function that keeps values between two limits."""
    return Bend((low, high), (0.0, 1.0, 0.0), (low, 0.0, high))


@dataclass(frozen=True, eq=False)
class Layer:
    """An affine step and the bend after it."""

    W: Array  #: (out, in)
    b: Array  #: (out,)
    bend: Bend = IDENTITY


def as_integers(values: Any) -> tuple[Integers, int]:
    """Return numbers (float64 or dyadic fractions) as integers times 2^exponent."""
    array = np.asarray(values)
    parts = [Fraction(value) for value in array.ravel().tolist()]
    bits = max((part.denominator.bit_length() - 1 for part in parts), default=0)
    out = np.empty(len(parts), object)
    out[:] = [part.numerator << (bits - part.denominator.bit_length() + 1) for part in parts]
    return out.reshape(array.shape), -bits


def shift_to(values: Any, exponent: int, new: int) -> Any:
    """Return integers times 2^exponent as integers times 2^new, new being smaller."""
    return values * (1 << (exponent - new))


@dataclass(frozen=True, eq=False)
class Affine:
    """Functions of u: rows (k, n + 1) of integers, constants last, times 2^exponent."""

    rows: Integers
    exponent: int

    def apply(self, W: Any, b: Any) -> Affine:
        """Return ``W f + b``."""
        (weights, e), (offsets, d) = as_integers(W), as_integers(b)
        rows, exponent = weights.dot(self.rows), e + self.exponent
        low = min(exponent, d)
        rows = shift_to(rows, exponent, low)
        rows[:, -1] += shift_to(offsets, d, low)
        return Affine(rows, low)

    def stack(self, other: Affine) -> Affine:
        """Return these functions and others."""
        low = min(self.exponent, other.exponent)
        rows = [shift_to(part.rows, part.exponent, low) for part in (self, other)]
        return Affine(np.concatenate(rows), low)


@dataclass(frozen=True, eq=False)
class Cell:
    """A set of u with an interior: the open cube where rows are positive, and the values of a layer there."""

    rows: tuple[Row, ...]
    keys: frozenset[tuple[int, ...]]  #: of each row
    floats: Array  #: (rows + 2 n, n) gradients of the rows and the cube's sides, in units of their sizes
    slack: Array  #: (rows + 2 n,) their values at the point
    point: tuple[int, ...]  #: an inner point, times 2^shift
    shift: int
    values: Affine

    @property
    def fractions(self) -> list[Fraction]:
        """The inner point."""
        return [Fraction(p, 1 << self.shift) for p in self.point]


def cube_rows(n: int) -> list[Row]:
    """Return the sides of the cube: ``1 + u_j`` and ``1 - u_j``."""
    return [[sign * int(i == j) for i in range(n)] + [1] for j in range(n) for sign in (1, -1)]


def _key(row: Row) -> tuple[int, ...]:
    """Return a row divided by its greatest common divisor."""
    divisor = math.gcd(*row)
    return tuple(entry // divisor for entry in row)


def _place(cell: Cell, point: tuple[int, ...], shift: int) -> Cell | None:
    """Return a cell with another inner point, or None if it is not one."""
    unit = 1 << shift
    if any(abs(p) >= unit for p in point):
        return None
    values = [evaluate(row, list(point), shift) for row in cell.rows]
    if any(value <= 0 for value in values):
        return None
    slack = [value / (unit << binary_size(row)) for value, row in zip(values, cell.rows, strict=True)]
    slack += [side / unit for p in point for side in (unit + p, unit - p)]
    return replace(cell, point=point, shift=shift, slack=np.array(slack))


def _dyadic(u: Sequence[Any], bits: int) -> tuple[int, ...]:
    return tuple(round(Fraction(p) * (1 << bits)) for p in u)


def _extend(cell: Cell, row: Row) -> Cell:
    """Return a cell with a further row; its point is that of the cell without."""
    floats = np.vstack([cell.floats[: len(cell.rows)], as_floats(row)[:-1], cell.floats[len(cell.rows) :]])
    return replace(cell, rows=(*cell.rows, row), keys=cell.keys | {_key(row)}, floats=floats)


def _center(cell: Cell) -> Cell:
    """Return the cell with a point as far inside as floating point finds it."""
    lengths = np.linalg.norm(cell.floats, axis=1)
    n = cell.floats.shape[1]
    status, _, v, _ = propose(np.column_stack([cell.floats, -lengths]), cell.slack, np.eye(1, n + 1, n)[0])
    if status != OPTIMAL:
        return cell
    u = [float(p) + step for p, step in zip(cell.fractions, v, strict=False)]
    return _place(cell, _dyadic(u, 60), 60) or cell


def _beyond(cell: Cell, row: Row, side: int) -> Cell | None:
    """Return the part of a cell where ``side * row`` is positive, or None if that has no interior; both exactly."""
    objective = [side * entry for entry in row]
    part = _extend(cell, objective)
    size = binary_size(objective)
    here = Fraction(evaluate(objective, list(cell.point), cell.shift), 1 << cell.shift)
    status, gain, v, y = propose(cell.floats, cell.slack, as_floats(objective)[:-1])
    value = float(here / (1 << size)) + gain
    if status == OPTIMAL and value > 0:
        start = float(here / (1 << size))
        crossing = max(-start / (value - start), 0.0)
        for step in ((1 + crossing) / 2, (3 + crossing) / 4):
            u = [p + Fraction(step * d) for p, d in zip(cell.fractions, v.tolist(), strict=True)]
            placed = _place(part, _dyadic(u, 60), 60)
            if placed is not None:
                return _center(placed)
    if status == OPTIMAL and upper_bound(objective, list(cell.rows), y[: len(cell.rows)]) <= 0:
        return None
    sides = cube_rows(len(cell.point))
    best = maximize(objective, [*cell.rows, *sides], cell.fractions, np.flatnonzero(y))
    if best.value <= 0:
        return None
    crossing_exact = max(-here / (best.value - here), Fraction(0))
    step = (1 + crossing_exact) / 2
    point = [p + step * (q - p) for p, q in zip(cell.fractions, best.point, strict=True)]
    bits = POINT_BITS
    while (placed := _place(part, _dyadic(point, bits), bits)) is None:
        bits *= 2
    return _center(placed)


def split(cell: Cell, row: Row) -> dict[int, Cell]:
    """Return the parts of a cell where a row is positive (1) and negative (-1), those with an interior."""
    gradient, constant = row[:-1], row[-1]
    if abs(constant) >= sum(map(abs, gradient)):  # no change of sign in the open cube
        return {1 if constant > 0 else -1: cell}
    key = _key(row)
    for side in (1, -1):
        if tuple(side * entry for entry in key) in cell.keys:
            return {side: cell}
    value = evaluate(row, list(cell.point), cell.shift)
    parts = {}
    for side in (1, -1):
        if side * value > 0:
            parts[side] = _place(_extend(cell, [side * entry for entry in row]), cell.point, cell.shift)
        else:
            parts[side] = _beyond(cell, row, side)
    if parts[1] is None or parts[-1] is None:
        return {1 if parts[1] is not None else -1: cell}
    return {side: _center(part) for side, part in parts.items() if part is not None}


def _bend(cells: list[Cell], bend: Bend, limit: int) -> list[Cell]:
    """Return the cells split by the bends of all units of a layer, with the values after them."""
    if not bend.breaks:
        return cells
    units = len(cells[0].values.rows)
    states = [(cell, cell.values, []) for cell in cells]  # cell, values that enter, pieces of the units so far
    for unit in range(units):
        nxt = []
        for cell, z, pieces in states:
            for part, piece in _sides(cell, z, unit, bend):
                nxt.append((part, z, [*pieces, piece]))
        states = nxt
        if len(states) > limit:
            raise TooManyRegionsError(str(len(states)))
    slopes, e = as_integers(bend.slopes)
    offsets, d = as_integers(bend.offsets)
    out = []
    for cell, z, pieces in states:
        low = min(z.exponent + e, d)
        rows = shift_to(z.rows * slopes[pieces][:, None], z.exponent + e, low)
        rows[:, -1] += shift_to(offsets[pieces], d, low)
        out.append(replace(cell, values=Affine(rows, low)))
    return out


def _sides(cell: Cell, z: Affine, unit: int, bend: Bend) -> list[tuple[Cell, int]]:
    """Return the parts of a cell by the piece of a unit."""
    done, open_cell = [], cell
    for piece, point in enumerate(bend.breaks):
        numerator, denominator = float(point).as_integer_ratio()
        exponent = min(z.exponent, 1 - denominator.bit_length())
        row = [int(entry) << (z.exponent - exponent) for entry in z.rows[unit]]
        row[-1] -= (numerator << -exponent) // denominator
        parts = split(open_cell, row) if any(row) else {-1: open_cell}
        if -1 in parts:
            done.append((parts[-1], piece))
        if 1 not in parts:
            return done
        open_cell = parts[1]
    return [*done, (open_cell, len(bend.breaks))]


@dataclass(frozen=True, eq=False)
class Regions:
    """The regions of one or more networks in a box, with the functions that hold there."""

    cells: list[Cell]  #: the values of each: outputs of all networks, then inputs, then the constant 1
    n_out: int
    middle: list[Fraction]  #: (n_in,)
    radius: list[Fraction]  #: (n_in,), 0 for a constant
    columns: list[int]  #: the columns that vary, one for each entry of u

    @property
    def n_in(self) -> int:
        return len(self.middle)

    def to_input(self, u: Sequence[Fraction]) -> list[Fraction]:
        """Return the input (n_in,) of u."""
        x = list(self.middle)
        for j, value in zip(self.columns, u, strict=True):
            x[j] += self.radius[j] * value
        return x

    def coefficients(self, rows: Any) -> NDArray[np.object_]:
        """Return rows (k, outputs) times the Jacobian of each region: fractions (regions, k, n_in)."""
        weights, e = as_integers(rows)
        out = np.full((len(self.cells), len(weights), self.n_in), Fraction(0), object)
        for r, cell in enumerate(self.cells):
            values = weights.dot(cell.values.rows[: self.n_out, :-1])
            unit = Fraction(2) ** (e + cell.values.exponent)
            for i, column in enumerate(self.columns):
                out[r, :, column] = [unit * value / self.radius[column] for value in values[:, i]]
        return out


def regions(
    networks: Sequence[Sequence[Layer]], box: Any, *, A: Any = None, b: Any = None, limit: int = 3000
) -> Regions | None:
    """Return all regions of networks with common inputs in a box (n_in, 2), where ``A x <= b``.

    None if that has no interior; raises TooManyRegionsError where there are more than the limit.
    """
    ends = [[Fraction(float(end)) for end in pair] for pair in box]
    middle = [(lo + hi) / 2 for lo, hi in ends]
    radius = [(hi - lo) / 2 for lo, hi in ends]
    columns = [j for j, r in enumerate(radius) if r]
    n = len(columns)
    table = [[radius[j] if column == j else Fraction(0) for column in columns] + [middle[j]] for j in range(len(ends))]
    table.append([Fraction(0)] * n + [Fraction(1)])
    inputs = Affine(*as_integers(np.array(table, object)))
    sides = np.array(cube_rows(n), float).reshape(2 * n, n + 1)[:, :-1]
    cell = Cell((), frozenset(), sides, np.ones(2 * n), (0,) * n, 0, inputs)
    if A is not None:
        rows = Affine(inputs.rows[:-1], inputs.exponent).apply(-np.asarray(A, float), np.asarray(b, float))
        for row in rows.rows.tolist():
            if not any(row[:-1]):
                if row[-1] < 0:
                    return None
                continue
            parts = split(cell, row)
            if 1 not in parts:
                return None
            cell = parts[1]
    cells = [cell]
    for network in networks:
        cells = _run(cells, network, len(ends), limit)
    for i, part in enumerate(cells):  # inputs and 1 last
        count = len(ends) + 1
        rows = np.concatenate([part.values.rows[count:], part.values.rows[:count]])
        cells[i] = replace(part, values=Affine(rows, part.values.exponent))
    return Regions(cells, len(cells[0].values.rows) - len(ends) - 1, middle, radius, columns)


def _run(cells: list[Cell], network: Sequence[Layer], n_in: int, limit: int) -> list[Cell]:
    """Return the parts of cells by a network's regions; its outputs follow the values that they have."""
    for k, cell in enumerate(cells):
        cells[k] = replace(cell, values=Affine(cell.values.rows, cell.values.exponent))
    out = []
    for cell in cells:
        kept = cell.values
        parts = [replace(cell, values=Affine(kept.rows[:n_in], kept.exponent))]
        for layer in network:
            parts = [replace(part, values=part.values.apply(layer.W, layer.b)) for part in parts]
            parts = _bend(parts, layer.bend, limit - len(out))
        out += [replace(part, values=kept.stack(part.values)) for part in parts]
        if len(out) > limit:
            raise TooManyRegionsError(str(len(out)))
    return out


def exact_outputs(network: Sequence[Layer], x: Sequence[Any]) -> list[Fraction]:
    """Return the outputs of a network at an input, without rounding."""
    h = [Fraction(value) for value in x]
    for layer in network:
        z = [
            sum((Fraction(float(w)) * v for w, v in zip(row, h, strict=True)), Fraction(float(c)))
            for row, c in zip(layer.W, layer.b, strict=True)
        ]
        pieces = [sum(value > Fraction(point) for point in layer.bend.breaks) for value in z]
        slopes, offsets = layer.bend.slopes, layer.bend.offsets
        h = [Fraction(slopes[k]) * value + Fraction(offsets[k]) for k, value in zip(pieces, z, strict=True)]
    return h
