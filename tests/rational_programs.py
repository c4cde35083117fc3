"""Linear programs of a few variables: proposed in floating point, decided in integers.

A row is a list of n + 1 integers, the affine function ``r(u) = a u + c`` of n variables, constant last. A program
maximizes one row where others are at least 0. ``propose`` is a dense simplex method in floating point that nobody has
to trust: its multipliers become a bound by exact sums (``upper_bound``), and where that is not sharp enough
``maximize`` pivots a dictionary of integers, with Bland's rule, to the optimum.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

Row = list[int]
Array = NDArray[np.float64]

#: Entries below this, where the largest is about 1, are zero for the proposals.
SMALL = 1e-11

OPTIMAL, LIMIT, UNBOUNDED = 0, 1, 2


def propose(rows: Array, slack: Array, cost: Array) -> tuple[int, float, Array, Array]:
    """Maximize ``cost v`` where ``rows v + slack >= 0`` and slack >= 0: status, value, v (n,), multipliers (m,)."""
    status, value, v, y = _simplex(*(np.ascontiguousarray(part, np.float64) for part in (rows, slack, cost)))
    return status, value, v, y


@numba.njit("Tuple((i8, f8, f8[::1], f8[::1]))(f8[:, ::1], f8[::1], f8[::1])", cache=True)
def _simplex(rows, slack, cost):  # type: ignore[no-untyped-def]
    m, n = rows.shape
    T = np.zeros((m + 1, n + 1))  # basic = T[:, 0] + T[:, 1:] nonbasic; the objective last
    T[:m, 0], T[:m, 1:], T[m, 1:] = slack, rows, cost
    nonbasic, basic = -1 - np.arange(n), np.arange(m)  # variables are negative, rows are not
    status = LIMIT
    for _ in range(60 * (n + m)):
        entering, best = -1, SMALL
        for j in range(n):
            score = 1e6 * abs(T[m, 1 + j]) if nonbasic[j] < 0 else T[m, 1 + j]
            if score > best and (nonbasic[j] >= 0 or abs(T[m, 1 + j]) > SMALL):
                entering, best = j, score
        if entering < 0:
            status = OPTIMAL
            break
        s = 1 + entering
        sign = 1.0 if T[m, s] > 0 else -1.0
        leaving, least = -1, np.inf
        for i in range(m):
            speed = -sign * T[i, s]
            if basic[i] >= 0 and speed > SMALL:
                ratio = max(T[i, 0], 0.0) / speed
                if leaving < 0 or ratio < least or (ratio == least and speed > -sign * T[leaving, s]):
                    leaving, least = i, ratio
        if leaving < 0:
            status = UNBOUNDED
            break
        pivot = T[leaving, s]
        row = T[leaving] / -pivot
        row[s] = 1.0 / pivot
        for i in range(m + 1):
            if i != leaving:
                factor = T[i, s]
                if factor != 0.0:
                    T[i, s] = 0.0
                    T[i] += factor * row
        T[leaving] = row
        nonbasic[entering], basic[leaving] = basic[leaving], nonbasic[entering]
    v, y = np.zeros(n), np.zeros(m)
    for i in range(m):
        if basic[i] < 0:
            v[-1 - basic[i]] = T[i, 0]
    for j in range(n):
        if nonbasic[j] >= 0:
            y[nonbasic[j]] = max(-T[m, 1 + j], 0.0)
    return status, T[m, 0], v, y


def binary_size(row: Row) -> int:
    """Return k such that all entries divided by 2^k are at most 1."""
    return max(abs(entry) for entry in row).bit_length()


def as_floats(row: Row) -> Array:
    """Return a row divided by 2^k, k its binary size: entries of at most about 1."""
    unit = 1 << binary_size(row)
    return np.array([entry / unit for entry in row])


def evaluate(row: Row, point: list[int], shift: int) -> int:
    """Return a row at ``point / 2^shift``, times 2^shift."""
    return sum(a * u for a, u in zip(row, point, strict=False)) + (row[-1] << shift)


def combine(objective: Row, rows: list[Row], multipliers: Array) -> tuple[Row, int]:
    """Return ``objective + sum y_i r_i`` exactly, times 2^shift, y in units of the rows as floats; and the shift."""
    terms, size, shift = [], binary_size(objective), 0
    for row, y in zip(rows, multipliers.tolist(), strict=True):
        if y > 0:
            numerator, denominator = y.as_integer_ratio()
            power = binary_size(row) - size + denominator.bit_length() - 1
            terms.append((row, numerator, power))
            shift = max(shift, power)
    total = [entry << shift for entry in objective]
    for row, numerator, power in terms:
        factor = numerator << (shift - power)
        total = [t + factor * entry for t, entry in zip(total, row, strict=True)]
    return total, shift


def upper_bound(objective: Row, rows: list[Row], multipliers: Array) -> Fraction:
    """Return a bound of a row where others are at least 0 in the cube [-1, 1]^n, from multipliers of any origin."""
    total, shift = combine(objective, rows, multipliers)
    return Fraction(total[-1] + sum(abs(entry) for entry in total[:-1]), 1 << shift)


@dataclass(frozen=True)
class Optimum:
    """The largest value of a row, where it is, and the multipliers of the others that prove it."""

    value: Fraction
    point: list[Fraction]
    multipliers: dict[int, Fraction]


def maximize(objective: Row, rows: list[Row], start: list[Fraction], hint: Any = ()) -> Optimum:
    """Maximize a row where others are at least 0, from a point where they are; exactly.

    ``hint`` has the numbers of rows that are probably 0 at the optimum. Raises ValueError if there is no largest value.
    """
    if len(hint):
        dictionary = _Dictionary(objective, rows, start)
        dictionary.enter(hint)
        if dictionary.is_feasible:
            return dictionary.optimum()
    return _Dictionary(objective, rows, start).optimum()


class _Dictionary:
    """Basic variables as functions of nonbasic ones with one common denominator; all entries are integers."""

    def __init__(self, objective: Row, rows: list[Row], start: list[Fraction]) -> None:
        self.start, self.n = start, len(start)
        unit = math.lcm(1, *(x.denominator for x in start))
        point = [int(x * unit) for x in start]
        table = []
        for row in [*rows, objective]:  # moved to the start, times the unit
            constant = sum(a * p for a, p in zip(row, point, strict=False)) + row[-1] * unit
            table.append([constant, *(unit * a for a in row[:-1])])
        self.unit = unit
        self.T = np.array(table, dtype=object)
        self.denominator = 1
        self.nonbasic = [-1 - j for j in range(self.n)]  # variables are negative, rows are not
        self.basic = list(range(len(rows)))

    @property
    def is_feasible(self) -> bool:
        return all(label < 0 or self.T[i, 0] >= 0 for i, label in enumerate(self.basic))

    def pivot(self, r: int, j: int) -> None:
        s, T = 1 + j, self.T
        pivot, row, column = T[r, s], T[r].copy(), T[:, s].copy()
        new = (T * pivot - np.outer(column, row)) // self.denominator  # without a remainder
        new[:, s] = column
        new[r] = -row
        new[r, s] = self.denominator
        if pivot < 0:
            new, pivot = -new, -pivot
        self.T, self.denominator = new, pivot
        self.nonbasic[j], self.basic[r] = self.basic[r], self.nonbasic[j]

    def enter(self, hint: Any) -> None:
        """Make rows nonbasic in place of variables."""
        for row in map(int, hint):
            r = self.basic.index(row)
            columns = [j for j in range(self.n) if self.nonbasic[j] < 0 and self.T[r, 1 + j] != 0]
            if columns:
                self.pivot(r, columns[0])

    def optimum(self) -> Optimum:
        while (entering := self._entering()) is not None:
            sign = 1 if self.T[-1, 1 + entering] > 0 else -1
            self.pivot(self._leaving(entering, sign), entering)
        unit = self.denominator * self.unit
        point = list(self.start)
        for i, label in enumerate(self.basic):
            if label < 0:
                point[-1 - label] += Fraction(self.T[i, 0], self.denominator)
        costs = {label: Fraction(-self.T[-1, 1 + j], self.denominator) for j, label in enumerate(self.nonbasic)}
        multipliers = {label: y for label, y in costs.items() if label >= 0 and y}
        return Optimum(Fraction(self.T[-1, 0], unit), point, multipliers)

    def _entering(self) -> int | None:
        costs = self.T[-1, 1:]
        free = [j for j, label in enumerate(self.nonbasic) if label < 0 and costs[j] != 0]
        if free:
            return free[0]
        rising = [(label, j) for j, label in enumerate(self.nonbasic) if label >= 0 and costs[j] > 0]
        return min(rising)[1] if rising else None

    def _leaving(self, entering: int, sign: int) -> int:
        best: tuple[Fraction, int, int] | None = None
        for i, label in enumerate(self.basic):
            speed = -sign * self.T[i, 1 + entering]
            if label >= 0 and speed > 0:
                candidate = (Fraction(self.T[i, 0], speed), label, i)
                if best is None or candidate < best:
                    best = candidate
        if best is None:
            raise ValueError("the program has no largest value")
        return best[2]
