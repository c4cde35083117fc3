"""Checks of an answer in rational arithmetic, which trust no solver and no rounding.

Float64 numbers are rationals. The point is put through the network exactly. That nothing is nearer is shown by going
through the sides of the units one after another: each side is a half-space of the input, and a set of half-spaces is
left out when non-negative multipliers prove, exactly, that it is at least as far away as the bound. Where the
multipliers come from does not matter; they are those of a floating-point solver.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from creases._typing import Floats
from creases._validation import check_count, check_number
from creases.certify._nearest.layers import Layer
from creases.certify._nearest.projection import project
from creases.certify._nearest.question import Question

Exact = NDArray[np.object_]  #: an array of fractions

#: The bound is lowered by this share before it is checked, so that multipliers in floating point can prove it.
LOWERED = Fraction(1, 10**8)


@dataclass(frozen=True)
class Verification:
    """What a check in rational arithmetic showed; true if both the point and the bound were verified."""

    margin: float | None  #: by how much the decision at the point differs, exactly, then rounded; 0 is a tie
    point_holds: bool  #: whether its decision differs or ties, and it respects every constraint
    bound: float  #: the distance within which nothing was to be found, a little below ``lower_bound``
    bound_holds: bool | None  #: True: proved; False: refuted by an input; None: not decided, the search was too long
    sets: int  #: sets of inputs that were excluded one by one
    seconds: float

    def __bool__(self) -> bool:
        return self.point_holds and self.bound_holds is True


@dataclass(frozen=True, eq=False)
class ChangeCertificate:
    """What :func:`creases.certify.nearest` claims: a point, its distance, and that nothing nearer exists."""

    question: Question
    point: Floats | None  #: (n_in,)
    distance: float
    lower_bound: float

    def check(self, *, max_sets: int = 20_000, budget: float = 60.0) -> Verification:
        """Verify the claim in rational arithmetic.

        The point is always checked. The bound is checked region by region within its ball, which is for small networks:
        ``bound_holds`` is None when that takes more than ``max_sets`` sets of inputs or ``budget`` seconds. Affine
        steps that follow one another without a bend are multiplied out in float64 before.
        """
        check_count(max_sets, "max_sets")
        start = time.perf_counter()
        deadline = start + check_number(budget, "budget", above=0)
        network = _ExactNetwork(self.question)
        margin = None if self.point is None else network.margin(fractions(self.point))
        holds = self.point is None or (margin is not None and margin >= 0 and self.question.allows(self.point))
        if self.point is not None:
            holds = holds and abs(self.question.distance(self.point) - self.distance) <= 1e-12 * self.distance
        radius = self._radius()
        exclusion = _Exclusion(network, radius, max_sets, deadline)
        bound_holds = True if radius <= 0 else exclusion.run()
        return Verification(
            margin=None if margin is None else float(margin),
            point_holds=bool(holds),
            bound=float(radius),
            bound_holds=bound_holds,
            sets=exclusion.count,
            seconds=time.perf_counter() - start,
        )

    def _radius(self) -> Fraction:
        """Return the distance to check: the bound, a little lowered; where nothing is allowed, all that the box has."""
        if np.isfinite(self.lower_bound):
            return Fraction(self.lower_bound) * (1 - LOWERED)
        question = self.question
        reach = np.maximum(np.abs(question.low - question.x), np.abs(question.high - question.x)) * question.weights
        return Fraction(2 * float(reach.sum()))


def fractions(values: Any) -> Exact:
    """Return an array of float64 numbers as fractions."""
    array = np.asarray(values, np.float64)
    out = np.empty(array.size, object)
    out[:] = [Fraction(v) for v in array.ravel().tolist()]
    return out.reshape(array.shape)


class _ExactNetwork:
    """The layers of a network as fractions, with the question's constraints as rows ``a x <= b``."""

    def __init__(self, question: Question) -> None:
        net, self.question = question.layers, question
        self.layers = net.layers
        self.units = [(layer, i) for layer in net.layers for i in range(len(layer.c))]
        self.W, self.c = fractions(net.W), fractions(net.c)
        self.goals = [(fractions(goal.G), fractions(goal.g)) for goal in question.goals]
        self.x, self.weights = fractions(question.x), fractions(question.weights)

    def margin(self, x: Exact) -> Fraction:
        """Return by how much the decision at an input differs, exactly."""
        v = list(x)
        for layer in self.layers:
            z = [dot(fractions(row), v) + Fraction(c) for row, c in zip(layer.W, layer.c.tolist(), strict=True)]
            v += [a if a > 0 else Fraction(leak) * a for a, leak in zip(z, layer.leak.tolist(), strict=True)]
        outputs = [dot(row, v) + c for row, c in zip(self.W, self.c, strict=True)]
        rows = [[dot(row, outputs) + g for row, g in zip(G, gs, strict=True)] for G, gs in self.goals]
        return Fraction(max(min(part) for part in rows))

    def limits(self) -> list[Exact]:
        """Return limits of columns and one-hot groups as rows (n_in + 1,): ``row[:-1] x <= row[-1]``."""
        question, n, rows = self.question, len(self.x), []
        for i in range(n):
            for sign, end in ((1, question.high[i]), (-1, question.low[i])):
                if np.isfinite(end):
                    rows.append(_row(n, [i], sign, sign * Fraction(float(end))))
        for group in question.one_hot:
            rows += [_row(n, group, sign, Fraction(sign)) for sign in (1, -1)]
        return rows


def dot(a: Any, b: Any) -> Fraction:
    """Return the exact sum of products; terms with a factor 0 are left out."""
    return sum((x * y for x, y in zip(a, b, strict=True) if x and y), Fraction(0))


def _row(n: int, columns: Any, sign: int, end: Fraction) -> Exact:
    row = np.full(n + 1, Fraction(0), object)
    for column in columns:
        row[column] = Fraction(sign)
    row[n] = end
    return row


class _Exclusion:
    """Shows that no allowed input nearer than a radius reaches a goal, side after side, depth first."""

    def __init__(self, network: _ExactNetwork, radius: Fraction, max_sets: int, deadline: float) -> None:
        self.network, self.radius = network, radius
        self.max_sets, self.deadline = max_sets, deadline
        self.count = 0
        self.n = len(network.x)

    def run(self) -> bool | None:
        """Return True if nothing is nearer, False if something is, None if it is not decided in time."""
        identity = list(fractions(np.eye(self.n, self.n + 1)))
        try:
            return self._go_on(identity, self.network.limits())
        except TimeoutError:
            return None

    def _go_on(self, variables: list[Exact], rows: list[Exact]) -> bool | None:
        """Decide for inputs within ``rows``, where the first variables are these affine functions of the input."""
        units = self.network.units
        while len(variables) - self.n < len(units):
            layer, i = units[len(variables) - self.n]
            z = self._pre_activation(layer, i, variables)
            leak = Fraction(float(layer.leak[i]))
            open_sides = [side for side in (0, 1) if not self._excludes_alone(_side_row(z, side))]
            if len(open_sides) < 2:
                side = open_sides[0] if open_sides else 0
                variables = [*variables, z if side else leak * z]
                if not open_sides:
                    return True
                continue
            answers = []
            for side in open_sides:
                more = [*rows, _side_row(z, side)]
                if not self._excludes(more):
                    answers.append(self._go_on([*variables, z if side else leak * z], more))
            return False if False in answers else None if None in answers else True
        return self._excludes_goals(variables, rows)

    def _pre_activation(self, layer: Layer, i: int, variables: list[Exact]) -> Exact:
        row = np.full(self.n + 1, Fraction(0), object)
        for weight, value in zip(layer.W[i].tolist(), variables, strict=False):
            if weight:
                row = row + Fraction(weight) * value
        row[self.n] += Fraction(float(layer.c[i]))
        return row

    def _excludes_goals(self, variables: list[Exact], rows: list[Exact]) -> bool | None:
        """Decide for a region, with a side for every unit: each goal is one more set of rows."""
        network = self.network
        outputs = [
            sum((w * v for w, v in zip(row, variables, strict=True) if w), 0 * variables[0]) for row in network.W
        ]
        for out, c in zip(outputs, network.c, strict=True):
            out[self.n] += c
        answers = []
        for G, g in network.goals:
            reach = []
            for row, constant in zip(G, g, strict=True):
                z = sum((w * out for w, out in zip(row, outputs, strict=True) if w), 0 * outputs[0])
                z[self.n] += constant
                reach.append(_side_row(z, 1))
            answers.append(self._excludes_whole([*rows, *reach]))
        return False if False in answers else None if None in answers else True

    def _excludes_whole(self, rows: list[Exact]) -> bool | None:
        """Decide for a polytope, split on integer columns where that is needed."""
        question = self.network.question
        if self._excludes(rows):
            return True
        point = self.nearest
        if point is None:
            return None
        away = np.where(question.integer, np.abs(point - np.round(point)), 0.0)
        if away.max(initial=0.0) <= 1e-9:
            return self._refute(question.to_point(question.to_local(point)))
        i = int(away.argmax())
        below = Fraction(int(np.floor(point[i])))
        parts = [_row(self.n, [i], 1, below), _row(self.n, [i], -1, -below - 1)]
        answers = [self._excludes_whole([*rows, part]) for part in parts]
        return False if False in answers else None if None in answers else True

    def _refute(self, point: Floats) -> bool | None:
        """Return False if an input is nearer and its decision differs, exactly; None if that is not so."""
        network = self.network
        if not network.question.allows(point) or network.margin(fractions(point)) < 0:
            return None
        change = [w * (a - b) for w, a, b in zip(network.weights, fractions(point), network.x, strict=True)]
        return False if self._is_below(change, self.radius) else None

    def _is_below(self, u: list[Fraction], radius: Fraction) -> bool:
        norm = self.network.question.norm
        if norm == "l2":
            return sum((v * v for v in u), Fraction(0)) < radius * radius
        sizes = [abs(v) for v in u] or [Fraction(0)]
        return (sum(sizes, Fraction(0)) if norm == "l1" else max(sizes)) < radius

    def _excludes_alone(self, row: Exact) -> bool:
        """Whether one half-space is beyond the radius."""
        return self._is_beyond([row], [Fraction(1)])

    def _is_beyond(self, rows: list[Exact], y: list[Fraction]) -> bool:
        """Whether multipliers prove that all inputs within rows are at least the radius away."""
        network, norm = self.network, self.network.question.norm
        total = sum((weight * row for weight, row in zip(y, rows, strict=True) if weight), 0 * rows[0])
        value = dot(total[: self.n], network.x) - total[self.n]
        if value <= 0:
            return False
        pull = [a / w for a, w in zip(total[: self.n], network.weights, strict=True)]
        sizes = [abs(v) for v in pull] or [Fraction(0)]
        if norm == "l2":
            return bool(value * value >= self.radius * self.radius * sum((v * v for v in sizes), Fraction(0)))
        return bool(value >= self.radius * (max(sizes) if norm == "l1" else sum(sizes, Fraction(0))))

    def _excludes(self, rows: list[Exact]) -> bool:
        """Whether a polytope is at least the radius away, by the multipliers that a solver suggests."""
        self.count += 1
        if self.count > self.max_sets or time.perf_counter() > self.deadline:
            raise TimeoutError
        question, radius = self.network.question, float(self.radius)
        matrix = np.array(rows, object).reshape(len(rows), self.n + 1)
        N = matrix[:, : self.n].astype(np.float64) / (question.weights / radius)
        s = np.array([float(row[self.n] - dot(row[: self.n], self.network.x)) for row in rows])
        free = np.full(self.n, np.inf)
        near = project(N, s, -free, free, question.norm)
        self.nearest = None if near.u is None else question.x + near.u * radius / question.weights
        y = [Fraction(float(v)) for v in near.y]
        return bool(rows) and self._is_beyond(rows, y)


def _side_row(z: Exact, side: int) -> Exact:
    """Return ``z >= 0`` (side 1) or ``z <= 0`` (side 0) of an affine function as a row."""
    row = -z if side else z.copy()
    row[-1] = -row[-1]
    return row
