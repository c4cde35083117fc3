"""Proofs of nearest changes: for each goal a tree of splits that shows that no input of the ball reaches it.

The search that answers a question looks at a node with all that it knows of the ones around it. A proof has to stand
alone, so its tree is built again, depth first, for the radius that is to be proved; each leaf has the multipliers that
keep it beyond that radius.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from creases._typing import Bools, Floats
from creases.certify._nearest.exclusion import exclude_goal
from creases.certify._nearest.layers import ROUNDOFF
from creases.certify._nearest.projection import project
from creases.certify._nearest.question import Goal, Question, predicted_class
from creases.certify._nearest.relaxation import Ball, Bounds, Lines, Sides, Upper, bound_units, lines, upper_bounds
from creases.certify._nearest.rounding import Rounding
from creases.certify._nearest.search import SLOPES
from creases.certify.proofs import Proof, check_proof
from creases.certify.proofs._digest import make_proof
from creases.certify.proofs._format import ClaimProof, Leaf, Multipliers, NearestStatement
from creases.certify.proofs._record import TreeRecord

#: A leaf is beyond the radius by at least this share of it, so that other roundings cannot matter.
ROOM = 1e-9


class _Part(NamedTuple):
    """A node of the tree that is still open."""

    number: int  #: in the record of the tree
    sides: Sides  #: (units,)
    bounds: Bounds | None  #: of its parent
    low: Floats  #: (n,) limits of u
    high: Floats  #: (n,)


def prove_change(
    question: Question, point: Floats | None, distance: float, radius: float, seconds: float
) -> tuple[Proof | None, str]:
    """Return a proof that the point is that near and nothing within the radius, or why there is none.

    There is none where the time does not suffice, or units are choices, which have no two sides.
    """
    if any(step.op == "choice" for step in question.net.steps):
        return None, "the network has choices (max-pooling, say), whose sides no proof of a distance can split"
    deadline = time.perf_counter() + seconds
    statement = _statement(question, point, distance, radius)
    parts = []
    for key, goal in zip(_keys(question), question.goals, strict=True):
        if radius > 0:
            tree = _grow_tree(question, goal, radius, deadline)
            if tree is None:
                is_late = time.perf_counter() > deadline
                return None, f"no tree was found {f'within {seconds:g} s' if is_late else 'that shows the lower bound'}"
            parts.append(ClaimProof(key, tree))
    proof = make_proof(statement, tuple(parts), net=question.net)
    answer = check_proof(proof, question.net)
    return (proof, "") if answer else (None, f"the check refused the tree: {answer.text}")


def _statement(question: Question, point: Floats | None, distance: float, radius: float) -> NearestStatement:
    target: Any = question.target
    is_range = isinstance(target, tuple | list)
    ends = tuple(None if end is None or np.isinf(end) else float(end) for end in target) if is_range else None
    return NearestStatement(
        x=tuple(question.x.tolist()),
        predicted=predicted_class(question.layers.values(question.x[None])[0][0]),
        norm=question.norm,
        weights=tuple(question.weights.tolist()),
        box=tuple(zip(question.low.tolist(), question.high.tolist(), strict=True)),
        lower_bound=radius,
        integer=tuple(int(j) for j in np.flatnonzero(question.integer)),
        one_hot=question.one_hot,
        target=None if is_range or target is None else int(target),
        target_range=ends,  # type: ignore[arg-type]
        distance=None if point is None else distance,
        point=None if point is None else tuple(point.tolist()),
    )


def _keys(question: Question) -> list[tuple[str | int, ...]]:
    """Return the name of each goal's claim."""
    target: Any = question.target
    if isinstance(target, tuple | list):
        return [("goal",)]
    if len(question.layers.c) == 1:
        return [("goal", int(question.goals[0].G[0, 0] > 0))]
    if target is not None:
        return [("goal", int(target))]
    return [("goal", int(goal.G[0].argmax())) for goal in question.goals]


def _grow_tree(question: Question, goal: Goal, radius: float, deadline: float) -> Any:
    """Return a tree for a goal; None where none is found. Within an infinite radius only the box counts."""
    if np.isfinite(radius):
        return _Tree(question, goal, radius, question.norm, deadline).grow()
    reach = max((float(np.abs(end).max(initial=0.0)) for end in question.limits), default=0.0)
    if not np.isfinite(reach):
        return exclude_goal(question, goal, deadline).tree
    return _Tree(question, goal, 1.001 * reach + 1e-300, "linf", deadline).grow()


class _Tree:
    """Shows that no input of a ball reaches a goal, depth first."""

    def __init__(self, question: Question, goal: Goal, radius: float, norm: str, deadline: float) -> None:
        self.question, self.goal, self.radius, self.norm, self.deadline = question, goal, radius, norm, deadline
        self.net = question.local
        self.leak = np.concatenate([layer.leak for layer in self.net.layers] or [np.zeros(0)])
        self.layer_of = np.repeat(np.arange(len(self.net.layers)), [len(layer.c) for layer in self.net.layers])
        low, high = question.limits
        ball = Ball.around(radius, low, high, norm)
        self.rounding = Rounding(self.net, np.maximum(np.abs(ball.low), np.abs(ball.high)))
        self.record = TreeRecord()

    def grow(self) -> Any:
        """Return the tree; None where the time does not suffice or nothing is left to split."""
        low, high = self._whole_limits()
        stack = [_Part(0, np.full(self.net.n_units, -1, np.int8), None, low, high)]
        while stack:
            if time.perf_counter() > self.deadline:
                return None
            part = stack.pop()
            ball = Ball.around(self.radius, part.low, part.high, self.norm)
            empty = ball.is_empty
            bounds = None if empty else bound_units(self.net, ball, part.sides, self.rounding.units, part.bounds)
            if bounds is None:
                self.record.close(part.number, Leaf("empty"))
                continue
            children = self._look(part._replace(bounds=bounds), bounds)
            if children is None:
                return None
            stack += children
        return self.record.tree()

    def _whole_limits(self) -> tuple[Floats, Floats]:
        """Return limits of u, those of integer columns at the whole numbers within the ball."""
        question = self.question
        x, weights = question.x[question.columns], question.weights[question.columns]
        ends = []
        for end, sign in zip(question.limits, (-1.0, 1.0), strict=True):
            far = sign * np.minimum(sign * end, self.radius)
            value = sign * (x + far / weights)
            inner = sign * np.floor(value + 1e-9 * (1 + np.abs(value)))
            whole = weights * (inner - x)
            ends.append(np.where(question.whole, whole + sign * 8 * ROUNDOFF * np.abs(whole), end))
        return ends[0], ends[1]

    def _look(self, part: _Part, bounds: Bounds) -> list[_Part] | None:
        """Close a node by multipliers, or return its children; None where neither is possible."""
        goal, net, radius = self.goal, self.net, self.radius
        around = [lines(*bounds, self.leak, part.sides, slope) for slope in SLOPES]
        c = goal.G @ net.c + goal.g + self.rounding.outputs(goal.G, goal.g)
        above = [upper_bounds(net, goal.G @ net.W, c, each, depends=True) for each in around]
        units = np.flatnonzero(part.sides >= 0)
        known = [self._side(int(unit), int(part.sides[unit]), around[0]) for unit in units]
        N, s = self.question.sums
        A = np.vstack([N, *(-row for row, _, _ in known), *(-each.A for each in above)])
        ends = np.concatenate([s, [end for _, end, _ in known], *(each.b for each in above)])
        near = project(A, ends / radius, part.low / radius, part.high / radius, self.norm)
        if near.bound > 1 + ROOM:
            limits = np.zeros(len(part.low)) if near.limits is None else near.limits
            self._close(part, near.y, limits, units, known, above, around)
            return []
        column = None if near.u is None else self._split_column(part, near.u * radius, self.question.binary)
        if column is not None:
            return column
        bent = (part.sides < 0) & (bounds.low < 0) & (bounds.high > 0) & (self.leak != 1)
        weight = np.abs(above[0].depends).sum(axis=0)
        weight = weight + sum((np.abs(on).sum(axis=0) for _, _, on in known), np.zeros(len(weight)))
        gap = np.minimum(-bounds.low, bounds.high) * np.abs(1 - self.leak)
        score = np.where(bent, weight * gap, 0.0)
        if (score > 0).any():
            unit = int(score.argmax())
            numbers = self.record.split(part.number, "unit", unit)
            return [self._with_side(part, number, unit, side) for side, number in enumerate(numbers)]
        return None if near.u is None else self._split_column(part, near.u * radius, self.question.whole)

    def _side(self, unit: int, side: int, around: Lines) -> tuple[Floats, float, Floats]:
        """Return ``A u + b`` above the signed pre-activation of a unit, and the units that it depends on."""
        k = int(self.layer_of[unit])
        layer, first = self.net.layers[k], self.net.units(k).start
        sign = 1.0 if side == 1 else -1.0
        W, c = sign * layer.W[unit - first][None], sign * layer.c[unit - first][None]
        above = upper_bounds(self.net, W, c, around, depends=True)
        return above.A[0], float(above.b[0]) + float(self.rounding.units[unit]), above.depends

    def _with_side(self, part: _Part, number: int, unit: int, side: int) -> _Part:
        sides = part.sides.copy()
        sides[unit] = side
        return part._replace(number=number, sides=sides)

    def _split_column(self, part: _Part, u: Floats, among: Bools) -> list[_Part] | None:
        """Split on the column among some (n,) that is farthest from a whole number; None if all are whole."""
        question = self.question
        x, weights = question.x[question.columns], question.weights[question.columns]
        value = x + u / weights
        away = np.where(among & (part.low < part.high), np.abs(value - np.round(value)), 0.0)
        if away.max(initial=0.0) <= 1e-7:
            return None
        j = int(away.argmax())
        numbers = self.record.split(part.number, "input", int(np.flatnonzero(question.columns)[j]), float(value[j]))
        below, above = (weights[j] * (end - x[j]) for end in (np.floor(value[j]), np.ceil(value[j])))
        high, low = part.high.copy(), part.low.copy()
        high[j], low[j] = below + 8 * ROUNDOFF * abs(below), above - 8 * ROUNDOFF * abs(above)
        return [part._replace(number=numbers[0], high=high), part._replace(number=numbers[1], low=low)]

    def _close(
        self,
        part: _Part,
        y: Floats,
        limits: Floats,
        units: Any,
        known: list[tuple[Floats, float, Floats]],
        above: list[Upper],
        around: list[Lines],
    ) -> None:
        """Close a node by the multipliers of its rows; free lines are mixed as the rows that need them are."""
        size = max(float(y.max(initial=0.0)), float(np.abs(limits).max(initial=0.0)))
        y, limits = y / size, limits / size
        groups = len(self.question.one_hot)
        sums, sides, goals = np.split(y, [2 * groups, 2 * groups + len(units)])
        rows = goals.reshape(len(around), -1).sum(axis=0)
        depends = np.vstack([*(on for _, _, on in known), *(each.depends for each in above)])
        lines_of = np.repeat([0, *range(len(around))], [len(known), *(len(each.depends) for each in above)])
        slopes = self._mix_lines(part, np.concatenate([sides, goals]), depends, lines_of, around)
        columns = np.flatnonzero(self.question.columns)
        box = limits * self.question.weights[self.question.columns] if self.norm != "linf" else 0 * limits
        multipliers = Multipliers(
            rows=tuple(rows.tolist()) if rows.any() else (),
            domain={_domain_row(i, groups): float(v) for i, v in enumerate(sums) if v},
            sides={int(u): float(v) for u, v in zip(units, sides, strict=True) if v},
            slopes=slopes,
            box={int(j): float(v) for j, v in zip(columns, box, strict=True) if v},
        )
        self.record.close(part.number, Leaf("multipliers" if rows.any() else "empty", multipliers))

    def _mix_lines(
        self, part: _Part, y: Floats, depends: Floats, lines_of: Any, around: list[Lines]
    ) -> dict[int, float]:
        """Return the slope of each open unit's free line, weighted by what rows (r, units) take of it."""
        assert part.bounds is not None
        bent = (part.sides < 0) & (part.bounds.low < 0) & (part.bounds.high > 0) & (self.leak != 1)
        convex = self.leak <= 1
        taken = y[:, None] * np.maximum(np.where(convex, -depends, depends), 0.0)
        slopes = np.array([np.where(convex, each.below, each.above) for each in around])[lines_of]
        total = taken.sum(axis=0)
        mixed = (taken * slopes).sum(axis=0) / np.where(total > 0, total, 1.0)
        mixed = np.clip(mixed, np.minimum(self.leak, 1.0), np.maximum(self.leak, 1.0))
        return {int(u): float(mixed[u]) for u in np.flatnonzero(bent & (total > 0))}


def _domain_row(i: int, groups: int) -> int:
    """Return the number that a row of sums of one-hot groups has in a statement: both signs of a group in turn."""
    return 2 * (i % groups) + i // groups
