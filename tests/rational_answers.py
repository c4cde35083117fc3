"""Exact answers about networks from their regions (:mod:`rational_regions`): largest values and nearest inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.optimize import nnls

from rational_programs import (
    OPTIMAL,
    Row,
    as_floats,
    binary_size,
    combine,
    evaluate,
    maximize,
    propose,
    upper_bound,
)
from rational_regions import Cell, Integers, Regions, as_integers, cube_rows


@dataclass(frozen=True)
class Extreme:
    """The largest value of a function over all regions, and an input where it is."""

    value: Fraction
    x: list[Fraction]


def largest(regions: Regions, rows: Any) -> Extreme:
    """Return the largest value of the least of some functions: rows (k, outputs + inputs + 1) of outputs, inputs and 1.

    Rows (k, outputs) are functions of the outputs alone.
    """
    weights, e = as_integers(complete(regions, rows))
    programs = [_LeastRow(cell, weights, e) for cell in regions.cells]
    best: tuple[Fraction, list[Fraction]] | None = None
    for program in sorted(programs, key=lambda program: -program.proposal):
        if best is not None and program.bound() <= best[0]:
            continue
        value, u = program.solve()
        if best is None or value > best[0]:
            best = value, u
    assert best is not None
    return Extreme(best[0], regions.to_input(best[1]))


def complete(regions: Regions, rows: Any) -> Any:
    """Return functions of outputs as functions of outputs, inputs and 1."""
    rows = np.asarray(rows)
    missing = regions.n_out + regions.n_in + 1 - rows.shape[1]
    return np.hstack([rows, np.zeros((len(rows), missing))]) if missing else rows


class _LeastRow:
    """Maximize the least of some functions in a cell: a level t, in units of 2^unit, below all of them."""

    def __init__(self, cell: Cell, weights: Integers, exponent: int) -> None:
        self.cell, self.n = cell, len(cell.point)
        functions: list[Row] = weights.dot(cell.values.rows).tolist()
        self.scale = Fraction(2) ** (exponent + cell.values.exponent)
        size = max(max(map(binary_size, functions)), 1)
        self.unit = 1 << size
        self.functions = functions
        self.lifted = [[*f[:-1], -self.unit, f[-1]] for f in functions]
        here = [evaluate(f, list(cell.point), cell.shift) for f in functions]
        self.level = min(here) // (self.unit << cell.shift) - 1
        slack = [float(Fraction(h, 1 << cell.shift) - self.level * self.unit) for h in here]
        sizes = [1 << binary_size(row) for row in self.lifted]
        slack = [s / size for s, size in zip(slack, sizes, strict=True)]
        floats = np.array([as_floats(row)[:-1] for row in self.lifted])
        table = np.vstack([floats, np.column_stack([cell.floats, np.zeros(len(cell.floats))])])
        cost = np.eye(1, self.n + 1, self.n)[0]
        status, gain, self.v, self.y = propose(table, np.append(slack, cell.slack), cost)
        self.proposal = np.inf if status != OPTIMAL else float((self.level + Fraction(gain)) * self.unit * self.scale)

    @property
    def rows(self) -> list[Row]:
        return [*self.lifted, *([*row[:-1], 0, row[-1]] for row in self.cell.rows)]

    def bound(self) -> Fraction:
        """Return an exact upper bound of the least function."""
        if len(self.functions) == 1:
            y = self.y[1 : 1 + len(self.cell.rows)]
            size = binary_size(self.functions[0]), binary_size(self.lifted[0])
            factor = self.y[0] * 2.0 ** (size[0] - size[1])  # in units of the function alone
            if not factor > 0:
                y, factor = 0 * y, 1.0
            return upper_bound(self.functions[0], list(self.cell.rows), y / factor) * self.scale
        total, _ = combine([0] * (self.n + 2), self.rows, self.y[: len(self.rows)])
        *gradient, level, constant = total
        if level >= 0:
            return min(f[-1] + sum(map(abs, f[:-1])) for f in self.functions) * self.scale
        return Fraction(constant + sum(map(abs, gradient)), -level) * self.unit * self.scale

    def solve(self) -> tuple[Fraction, list[Fraction]]:
        """Return the largest value and where it is, exactly."""
        n = self.n
        rows = [*self.rows, *([*row[:-1], 0, row[-1]] for row in cube_rows(n))]
        objective = [0] * n + [1, 0]
        best = maximize(objective, rows, [*self.cell.fractions, Fraction(self.level)], np.flatnonzero(self.y))
        return best.value * self.unit * self.scale, best.point[:n]


# -- the nearest input ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Distance:
    """The least distance of an input that reaches a goal: between two bounds, squared for the norm l2."""

    lower: Fraction
    upper: Fraction

    @property
    def is_exact(self) -> bool:
        return self.lower == self.upper


def nearest_distance(
    regions: Regions, x: Sequence[float], weights: Sequence[float], norm: str, goals: Sequence[Any]
) -> Distance | None:
    """Return the least norm of ``weights * (point - x)`` where all rows of one of the goals are at least 0.

    Each goal is rows (k, outputs + inputs + 1) of outputs, inputs and 1. None if no input reaches any.
    """
    metric = _Metric.of(regions, x, weights, norm)
    searches = []
    for goal in goals:
        integers, _ = as_integers(complete(regions, goal))
        for cell in regions.cells:
            search = _Nearest(cell, integers, metric)
            if not search.is_empty:
                searches.append(search)
    best: Distance | None = None
    for search in sorted(searches, key=lambda search: search.proposal):
        if best is not None and search.bound() >= best.upper:
            continue
        answer = search.solve()
        if best is None or answer is None:
            best = best or answer
        else:
            best = Distance(min(best.lower, answer.lower), min(best.upper, answer.upper))
    return best


@dataclass(frozen=True)
class _Metric:
    """The change of an input as ``v = scale u - origin``, and what columns that are constant add to its norm."""

    norm: str
    scale: list[Fraction]
    origin: list[Fraction]
    rest: Fraction

    @classmethod
    def of(cls, regions: Regions, x: Sequence[float], weights: Sequence[float], norm: str) -> _Metric:
        w, a = [Fraction(float(value)) for value in weights], [Fraction(float(value)) for value in x]
        scale = [w[j] * regions.radius[j] for j in regions.columns]
        origin = [w[j] * (a[j] - regions.middle[j]) for j in regions.columns]
        constant = [j for j in range(regions.n_in) if j not in regions.columns]
        rest = [abs(w[j] * (a[j] - regions.middle[j])) for j in constant]
        return cls(norm, scale, origin, _norm(rest, norm))

    @property
    def pairs(self) -> list[tuple[Fraction, Fraction]]:
        return list(zip(self.origin, self.scale, strict=True))

    def distance(self, u: Sequence[Fraction]) -> Fraction:
        changes = [s * c - o for s, c, o in zip(self.scale, u, self.origin, strict=True)]
        return self.add(_norm(changes, self.norm))

    def add(self, part: Fraction) -> Fraction:
        return max(part, self.rest) if self.norm == "linf" else part + self.rest

    def lower(self, row: Sequence[Any]) -> Fraction:
        """Return a lower bound of the distance where ``a u + c >= 0``."""
        slopes = [a / s for a, s in zip(row, self.scale, strict=False)]
        constant = row[-1] + sum(a * o for a, o in zip(slopes, self.origin, strict=True))
        if constant >= 0:
            return self.rest
        size = _norm(slopes, {"l1": "linf", "linf": "l1", "l2": "l2"}[self.norm])
        if not size:
            return self.rest  # empty; a proof of that is not needed here
        return self.add(constant**2 / size if self.norm == "l2" else -constant / size)


def _norm(values: Sequence[Fraction], norm: str) -> Fraction:
    """Return the norm of a vector, of l2 its square."""
    if norm == "l2":
        return sum((value**2 for value in values), Fraction(0))
    sizes = [abs(value) for value in values]
    return sum(sizes, Fraction(0)) if norm == "l1" else max(sizes, default=Fraction(0))


class _Nearest:
    """The nearest input of one cell that reaches one goal."""

    def __init__(self, cell: Cell, goal: Integers, metric: _Metric) -> None:
        self.cell, self.metric, self.n = cell, metric, len(cell.point)
        self.program = _LeastRow(cell, goal, 0)
        self.rows: list[Row] = [*self.program.functions, *cell.rows, *cube_rows(self.n)]
        self.is_empty = self.program.bound() < 0
        self.proposal = np.inf if self.is_empty else self._propose()

    def _propose(self) -> float:
        """Return about how far the nearest input is; keep the multipliers that say so."""
        metric, cell, goals = self.metric, self.cell, self.program.functions
        scale, origin = np.array([float(s) for s in metric.scale]), [o / s for o, s in metric.pairs]
        floats = [as_floats(row) if any(row) else np.zeros(self.n + 1) for row in goals]
        slack = [_value(row, cell.fractions) / (1 << binary_size(row)) for row in goals]
        N = np.vstack([np.array(floats)[:, :-1], cell.floats])
        away = np.array([float(o - p) for o, p in zip(origin, cell.fractions, strict=True)])
        h = np.append(np.array([float(value) for value in slack]), cell.slack) + N @ away
        N = N / scale
        size = np.linalg.norm(N, axis=1)
        size[size == 0] = 1.0
        self.y = _multipliers(N / size[:, None], h / size, metric.norm) / size
        total, constant = self.y @ N, float(self.y @ h)
        if constant >= 0:
            return 0.0
        dual = {"l1": np.inf, "l2": 2, "linf": 1}[metric.norm]
        return -constant / max(float(np.linalg.norm(total, dual)), 1e-300)

    def bound(self) -> Fraction:
        """Return a lower bound of the distance, exactly."""
        total, _ = combine([0] * (self.n + 1), self.rows, self.y)
        return self.metric.lower([Fraction(entry) for entry in total])

    def solve(self) -> Distance | None:
        """Return the least distance, None if no input of the cell reaches the goal."""
        self.start = self._start()
        if self.start is None:
            return None
        if self.metric.norm == "l2":
            return self._project()
        value = self._program()
        return Distance(value, value)

    def _start(self) -> list[Fraction] | None:
        """Return a point that reaches the goal, None if there is provably none."""
        steps = zip(self.cell.fractions, self.program.v.tolist(), strict=False)
        u = [p + Fraction(step) * Fraction(1023, 1024) for p, step in steps]
        if self._contains(u):
            return u
        value, u = self.program.solve()
        return u if value >= 0 else None

    def _program(self) -> Fraction:
        """Return the least distance in the norm l1 or linf by a program in integers."""
        metric, n = self.metric, self.n
        unit = max(metric.scale)
        levels = n if metric.norm == "l1" else 1
        rows = [[*map(Fraction, row[:-1]), *[Fraction(0)] * levels, Fraction(row[-1])] for row in self.rows]
        for j, (s, o) in enumerate(zip(metric.scale, metric.origin, strict=True)):
            for sign in (1, -1):  # level - sign * (s u - o) >= 0
                row = [Fraction(0)] * (n + levels + 1)
                row[j], row[n + (j if levels > 1 else 0)], row[-1] = -sign * s, unit, sign * o
                rows.append(row)
        start_changes = [abs(s * u - o) / unit for s, u, o in zip(metric.scale, self.start, metric.origin, strict=True)]
        start = start_changes if levels > 1 else [max(start_changes)]
        objective = [0] * n + [-1] * levels + [0]
        best = maximize(objective, [_integers(row) for row in rows], [*self.start, *start])
        return metric.add(-best.value * unit)

    def _project(self) -> Distance:
        """Return the least distance in the norm l2: exactly if the active rows are right, else its bounds."""
        metric = self.metric
        active = [row for row, y in zip(self.rows, self.y.tolist(), strict=True) if y > 0]
        u = [o / s for o, s in metric.pairs]
        if active:
            N = [[Fraction(a) / s for a, s in zip(row, metric.scale, strict=False)] for row in active]
            h = [-_value(row, u) for row in active]  # N v = h
            gram = [[sum(a * b for a, b in zip(p, q, strict=True)) for q in N] for p in N]
            solution = _solve(gram, h)
            if solution is not None:
                v = [sum((y * row[j] for y, row in zip(solution, N, strict=True)), Fraction(0)) for j in range(self.n)]
                u = [(o + c) / s for o, c, s in zip(metric.origin, v, metric.scale, strict=True)]
                if all(y >= 0 for y in solution) and self._contains(u):
                    return Distance(metric.distance(u), metric.distance(u))
        elif self._contains(u):
            return Distance(metric.rest, metric.rest)
        return Distance(self.bound(), self._feasible_distance(u))

    def _contains(self, u: Sequence[Fraction]) -> bool:
        return all(_value(row, u) >= 0 for row in self.rows)

    def _feasible_distance(self, u: Sequence[Fraction]) -> Fraction:
        """Return the distance of a point on the way from u to one that reaches the goal, as near to u as is found."""
        step, best = Fraction(1), self.metric.distance(self.start)
        for _ in range(60):
            step /= 2
            point = [a + step * (b - a) for a, b in zip(u, self.start, strict=True)]
            if not self._contains(point):
                break
            best = min(best, self.metric.distance(point))
        return best


def _multipliers(N: Any, h: Any, norm: str) -> Any:
    """Return multipliers y >= 0 of ``N v + h >= 0`` that prove, nearly, how far v is from 0."""
    m, n = N.shape
    if norm == "l2":  # Lawson and Hanson's least distance programming
        E, f = np.vstack([N.T, -h]), np.eye(1, n + 1, n)[0]
        y, _ = nnls(E, f)
        residual = f - E @ y
        return y / residual[-1] if residual[-1] > 0 else y
    # the dual: maximize -h y where N^T y has dual norm at most 1; its variables are y and, for linf, parts of it
    levels = 1 if norm == "linf" else n
    size = max(float(np.abs(h).max()), 1.0)
    table = [np.column_stack([N, np.zeros((m, levels))])]
    for sign in (1.0, -1.0):
        part = np.zeros((n, n + levels))
        part[:, :n] = -sign * np.eye(n)
        part[np.arange(n), n + (np.arange(n) if levels > 1 else 0)] = 1.0
        table.append(part)
    return _phase_free(np.vstack(table), np.append(h, np.zeros(2 * n)) / size, n, levels)[:m]


def _phase_free(rows: Any, constants: Any, n: int, levels: int) -> Any:
    """Return the multipliers of ``least sum of levels`` by a program with one artificial variable of great cost."""
    artificial = np.where(constants < 0, 1.0, 0.0)
    room = float(max(-constants.min(), 0.0))
    table = np.vstack([np.column_stack([rows, artificial]), np.eye(1, n + levels + 1, n + levels)])
    slack = np.append(constants + artificial * room, room)
    cost = np.append(np.append(np.zeros(n), -np.ones(levels)), -1e4)
    _, _, _, y = propose(table, slack, cost)
    return y[:-1]


def _value(row: Sequence[Any], u: Sequence[Fraction]) -> Fraction:
    return sum((a * p for a, p in zip(row, u, strict=False)), Fraction(row[-1]))


def _integers(row: Sequence[Fraction]) -> Row:
    """Return a row times its denominators."""
    unit = np.lcm.reduce([entry.denominator for entry in row], dtype=object)
    return [int(entry * unit) for entry in row]


def _solve(matrix: list[list[Fraction]], right: list[Fraction]) -> list[Fraction] | None:
    """Return the solution of a square system, None if there is not exactly one."""
    size = len(matrix)
    table = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for k in range(size):
        pivot = next((i for i in range(k, size) if table[i][k] != 0), None)
        if pivot is None:
            return None
        table[k], table[pivot] = table[pivot], table[k]
        table[k] = [entry / table[k][k] for entry in table[k]]
        for i in range(size):
            if i != k and table[i][k]:
                factor = table[i][k]
                table[i] = [a - factor * b for a, b in zip(table[i], table[k], strict=True)]
    return [row[-1] for row in table]
