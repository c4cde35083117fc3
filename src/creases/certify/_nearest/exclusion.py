"""Goals that no input at all reaches, in a space without limits: a tree of sides, each leaf closed by a Farkas vector.

Where the input has no limits, bounds of units are infinite and no rounding is small: a sum of inequalities bounds
something only if every input cancels in it exactly. A linear program says which inequalities contradict each other;
by how much each counts is computed in fractions [1]_. Units whose side is not known are enclosed from one side only,
by the lines of their two sides.

References
----------
.. [1] Applegate, Cook, Dash, Espinoza, "Exact solutions to linear programming problems", Oper. Res. Letters 35, 2007.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction
from math import lcm
from typing import Any, NamedTuple

import numpy as np

from creases._typing import Floats, Ints
from creases.certify._form import Form, search_form, stack_rows
from creases.certify._maximize.exact_program import maximize_exactly
from creases.certify._maximize.linear_program import Solver
from creases.certify._nearest.question import Goal, Question
from creases.certify._nodes import FREE, OFF, ON, Sides
from creases.certify.proofs._checker.parts import Dyadic
from creases.certify.proofs._format import Leaf, Multipliers, Split
from creases.certify.proofs._record import TreeRecord

#: Multipliers below this share of the largest are taken for 0.
SMALL = 1e-9

#: Most units of a network for which all sides are looked through.
MAX_UNITS = 64


class Exclusion(NamedTuple):
    """What is known of a goal: a tree that shows that no input reaches it, or an input that may."""

    tree: tuple[Split | Leaf, ...] | None
    point: Floats | None = None  #: (n_in,)
    nodes: int = 0


def exclude_goal(question: Question, goal: Goal, deadline: float) -> Exclusion:
    """Show that no allowed input reaches a goal, or return one that seems to."""
    form = None if question.integer.any() or question.net.n_units > MAX_UNITS else search_form(question.net)
    if form is None or form.exact_functions is None:
        return Exclusion(None)
    return _Excluder(question, goal, form).run(deadline)


class _Excluder:
    def __init__(self, question: Question, goal: Goal, form: Form) -> None:
        self.question, self.goal, self.form, self.leak = question, goal, form, form.leak
        self.solver, self.record = Solver(), TreeRecord()

    def run(self, deadline: float) -> Exclusion:
        """Look through all sides, depth first."""
        nodes, stack = 0, [(0, np.full(len(self.leak), FREE, np.int8))]
        while stack:
            number, sides = stack.pop()
            nodes += 1
            if time.perf_counter() > deadline:
                return Exclusion(None, nodes=nodes)
            leaf, unit, point = self._look(sides)
            if leaf is not None:
                self.record.close(number, leaf)
            elif unit is None:
                return Exclusion(None, point, nodes)
            else:
                for child, side in zip(self.record.split(number, "unit", unit), (OFF, ON), strict=True):
                    more = sides.copy()
                    more[unit] = side
                    stack.append((child, more))
        return Exclusion(self.record.tree(), nodes=nodes)

    def _look(self, sides: Sides) -> tuple[Leaf | None, int | None, Floats | None]:
        """Return a leaf that closes a node, else a unit to split, else an input that seems to reach the goal."""
        opened, known = np.flatnonzero((sides == FREE) & (self.leak != 1)), np.flatnonzero(sides != FREE)
        slopes = np.where(sides == ON, 1.0, self.leak)
        rows = self._rows(slopes, opened, known, np.asarray)
        n, x, f = len(self.question.x), self.question.x, len(self.goal.g) + len(known)
        scale = np.concatenate([1 / self.question.weights, np.ones(len(opened))])
        A, b = rows[:, :-1] * scale, rows[:, -1] + rows[:, :n] @ x
        lines = slice(f, f + 2 * len(opened))
        cost = -A[lines][1::2].sum(axis=0)  # of h - leak z, which is not negative
        endless = np.full(len(scale), np.inf)
        answer = self.solver.maximize(cost, -A, b, -endless, endless)
        rest = int(opened[0]) if len(opened) else None
        if answer is None:
            return None, rest, None
        if answer.point is None:
            leaf = self._close(slopes, opened, known, answer.multipliers)
            return (leaf, None, None) if leaf is not None else (None, rest, None)
        away = A[lines] @ answer.point + b[lines]
        gap = np.minimum(away[::2], away[1::2]) / (np.abs(away[::2]) + np.abs(answer.point[n:]) + 1.0)
        if len(gap) and gap.max() > SMALL:
            return None, int(opened[gap.argmax()]), None
        return None, None, x + answer.point[:n] * scale[:n]

    def _rows(self, slopes: Floats, opened: Ints, known: Ints, lift: Callable[[Floats], Any]) -> Any:
        """Return functions (rows, n + open + 1) that are not negative: of inputs and open units, the constant last.

        The goal, known sides, two lines for each open unit, limits of the input; floats, or exact as ``lift`` is.
        """
        question, n, width = self.question, len(self.question.x), len(self.question.x) + len(opened) + 1
        h = np.zeros((len(slopes), width))
        h[opened, n + np.arange(len(opened))] = 1.0
        z, output = self.form.functions(lift(np.eye(n, width)), slopes, opened)
        goal = lift(self.goal.G) @ output + lift(np.pad(self.goal.g[:, None], ((0, 0), (width - 1, 0))))
        pairs, leak = np.repeat(opened, 2), np.repeat(self.leak[opened], 2)
        leak[::2] = 1.0  # the line of the upper side, then that of the lower one
        sign = np.where(self.leak[pairs] > 1, -1.0, 1.0)
        lines = lift(sign[:, None] * h[pairs]) + z[pairs] * lift(-sign * leak)[:, None]
        limits = np.zeros((0, width))
        for ends, side in ((question.low, 1.0), (question.high, -1.0)):
            columns = np.flatnonzero(np.isfinite(ends))
            limits = np.vstack([limits, side * np.eye(n, width)[columns]])
            limits[len(limits) - len(columns) :, -1] = -side * ends[columns]
        fixed = z[known] * lift(np.where(slopes[known] == 1.0, 1.0, -1.0))[:, None]
        return stack_rows([goal, fixed, lines, lift(limits)])

    def _close(self, slopes: Floats, opened: Ints, known: Ints, multipliers: Floats) -> Leaf | None:
        """Return the leaf of multipliers in fractions that show a node to be empty; None if there are none."""
        used = multipliers > SMALL * multipliers.max(initial=0.0)
        k, f = len(self.goal.g), len(known)
        steep, flat = used[k + f : k + f + 2 * len(opened)].reshape(-1, 2).T
        single = steep != flat  # one line alone: the unit is replaced by it
        slopes = slopes.copy()
        slopes[opened[single]] = np.where(steep[single], 1.0, self.leak[opened[single]])
        left = opened[~single]
        rows = self._rows(slopes, left, known, Dyadic.of)
        both = (steep & flat)[~single]
        chosen = np.concatenate([used[: k + f], np.repeat(both, 2), used[k + f + 2 * len(opened) :]])
        numbers = np.flatnonzero(chosen)
        table = rows[numbers].fractions().tolist()
        A, b = [[-value for value in row[:-1]] for row in table], [row[-1] for row in table]
        answer = maximize_exactly(A, b, [Fraction(0)] * (rows.whole.shape[1] - 1), range(len(b)))
        if answer is None or answer.point is not None:
            return None
        w = {int(numbers[row]): value for row, value in answer.multipliers.items()}
        if not self._fits(w, slopes, opened[single], left, known):
            return None
        goal = tuple(w.get(r, Fraction(0)) for r in range(k))
        lines = {int(unit): Fraction(float(slopes[unit])) for unit in opened[single]}
        for i, unit in enumerate(left.tolist()):
            up, down = (w.get(k + f + 2 * i + j, Fraction(0)) for j in (0, 1))
            if up + down:
                lines[unit] = (up + down * Fraction(float(self.leak[unit]))) / (up + down)
        sides = {int(unit): w[k + i] for i, unit in enumerate(known) if w.get(k + i)}
        rows_ = goal if any(goal) else ()
        return Leaf("multipliers" if rows_ else "empty", Multipliers(rows_, {}, sides, lines))

    def _fits(self, w: dict[int, Fraction], slopes: Floats, single: Ints, left: Ints, known: Ints) -> bool:
        """Whether units that were replaced by one line have a coefficient of the sign that the line bounds, exactly."""
        k, f = len(self.goal.g), len(known)
        one = lcm(*(value.denominator for value in w.values()))

        def weight(row: int) -> int:
            return int(w.get(row, Fraction(0)) * one)

        of_z = [Fraction(0)] * len(slopes)  # what sides and pairs of lines add to the coefficient of what enters a unit
        for i, unit in enumerate(known.tolist()):
            of_z[unit] += weight(k + i) * (1 if slopes[unit] == 1.0 else -1)
        for i, unit in enumerate(left.tolist()):
            lines = weight(k + f + 2 * i) + weight(k + f + 2 * i + 1) * Fraction(float(self.leak[unit]))
            of_z[unit] += lines if self.leak[unit] > 1 else -lines
        is_left, exact = np.isin(np.arange(len(slopes)), left), self.form.exact_functions
        assert exact is not None
        goal = Dyadic(np.array([[weight(r) for r in range(k)]], dtype=object), 0) @ Dyadic.of(self.goal.G)
        totals = [goal @ W for W in exact[-1][1:]]
        for j in reversed(range(len(exact) - 1)):
            h, span = totals[j + 1].fractions()[0], self.form.units(j)
            units = range(span.start, span.stop)
            for unit in set(units) & set(single.tolist()):
                if h[unit - span.start] * (-1 if self.leak[unit] > 1 else 1) > 0:
                    return False
            z = [of_z[u] + (0 if is_left[u] else h[u - span.start] * Fraction(float(slopes[u]))) for u in units]
            row = _as_dyadic(z)
            totals = [a + row @ W for a, W in zip(totals, exact[j][1:], strict=False)]
        return True


def _as_dyadic(values: list[Fraction]) -> Dyadic:
    """Return fractions over powers of two as a row (1, m)."""
    bits = max((value.denominator.bit_length() - 1 for value in values), default=0)
    row = np.empty((1, len(values)), dtype=object)
    row[0, :] = [int(value * 2**bits) for value in values]
    return Dyadic(row, -bits)
