"""Best-first search over the sides of units: the nearest inputs first, each bounded by linear relaxations.

A node is a set of inputs: those where some units are on known sides. Linear bounds of the network inside the ball of
the best answer so far say where a goal could be reached at all, as half-spaces of the input; the distance to these,
with its multipliers as proof, bounds the node. The node with the least bound is split on the unit that its bound
depends on most. Nodes with all sides known are regions, where the bound is the distance itself: so the search comes to
regions in the order of their distance, as GeoCert [1]_ does from region to neighboring region, without visiting those
that no relaxation lets reach the goal.

References
----------
.. [1] Jordan, Lewis, Dimakis, "Provable Certificates for Adversarial Examples: Fitting a Ball in the Union of
   Polytopes", NeurIPS 2019.
"""

from __future__ import annotations

import heapq
import time
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from creases._typing import Bools, Floats
from creases.certify._nearest.best import Best
from creases.certify._nearest.layers import ROUNDOFF
from creases.certify._nearest.projection import project
from creases.certify._nearest.question import Goal, Question
from creases.certify._nearest.relaxation import (
    Ball,
    Bounds,
    Lines,
    OutOfTimeError,
    Sides,
    bound_units,
    lines,
    upper_bounds,
)
from creases.certify._nearest.rounding import Rounding

#: Lower lines that goals are bounded with: the steeper side by interval, then all flat, then all steep.
SLOPES = (None, 0.0, 1.0)

#: How far inside of a region, as a share of the radius, a point is tried where the nearest one is on a corner.
INSIDE = (1e-12, 1e-10, 1e-8)

#: With at most this many inputs few regions meet a ball: units are split layer by layer, which makes bounds exact soon.
FEW_INPUTS = 3

#: How often the bounds of a root are tightened by the plane that they show to be in the way.
ROOT_ROUNDS = 5


@dataclass(frozen=True, eq=False)
class Node:
    """Inputs where some units have known sides, and a bound of their distance."""

    goal: Goal
    sides: Sides  #: (units,)
    bounds: Bounds  #: of pre-activations
    N: Floats  #: (rows, n) ``N u <= s`` holds wherever the known sides do
    s: Floats  #: (rows,)
    rows: tuple[int, ...]  #: the unit of each of these rows
    low: Floats  #: (n,) limits of u
    high: Floats  #: (n,)
    bound: float  #: no input of the node that reaches the goal is nearer
    cap: tuple[Floats, float] | None  #: q (n,) and t: ``q u >= t`` for all inputs of the node that reach the goal
    split: tuple[str, int, float]  #: ("unit", which, 0) or ("column", which, value) to split on; ("", 0, 0): nothing


class Outcome(NamedTuple):
    """What a search within a radius showed."""

    lower_bound: float  #: nothing nearer has a different decision
    nodes: int
    finished: bool  #: whether nothing is left to look at within the radius


class Search:
    """A search within a radius; better answers go to ``best``."""

    def __init__(
        self, question: Question, best: Best, deadline: float, max_nodes: float = np.inf, close: float = 1 - 1e-9
    ) -> None:
        self.question = question
        self.net = question.local
        self.best = best
        self.deadline = deadline
        self.max_nodes = max_nodes
        self.close = close  # nodes are not looked at when they are no nearer than this share of the best answer
        self.leak = np.concatenate([layer.leak for layer in self.net.layers] or [np.zeros(0)])
        self.layer_of = np.repeat(np.arange(len(self.net.layers)), [len(layer.c) for layer in self.net.layers])
        self.nodes = 0
        self.floor = np.inf  # least bound of what was not looked at because it is no nearer
        self.radius = np.inf
        self.shared: tuple[float, Bounds | None] | None = None  # how far roots reach, and their bounds
        self.heap: list[tuple[float, int, Node]] = []

    @property
    def cutoff(self) -> float:
        """The distance within which something nearer would count."""
        return min(self.radius, self.best.distance) * self.close

    def run(self, radius: float) -> Outcome:
        """Search within a radius, until nothing is left, time is over or nodes are used up."""
        self.floor, self.heap = np.inf, []
        try:
            for goal in self.question.goals:
                self._add(self.root(goal, radius))
        except OutOfTimeError:
            return Outcome(0.0, self.nodes, finished=False)
        while self.heap and self.heap[0][0] < self.cutoff:
            if time.perf_counter() > self.deadline or self.nodes > self.max_nodes:
                break
            entry = heapq.heappop(self.heap)
            try:
                self._split(entry[2])
            except OutOfTimeError:
                heapq.heappush(self.heap, entry)
                break
        left = self.heap[0][0] if self.heap else np.inf
        lower = min(left, self.floor, self.radius, self.best.distance)
        return Outcome(lower, self.nodes, left >= self.cutoff)

    def _add(self, node: Node | None) -> None:
        if node is None:
            return
        if node.bound >= self.cutoff or not node.split[0]:
            self.floor = min(self.floor, node.bound)
        else:
            heapq.heappush(self.heap, (node.bound, self.nodes, node))

    def _ball(self, low: Floats, high: Floats, cap: tuple[Floats, float] | None) -> Ball:
        return Ball.around(min(self.radius, self.best.distance), low, high, self.question.norm, cap)

    def _bound_units(self, ball: Ball, sides: Sides, known: Bounds | None) -> Bounds | None:
        return bound_units(self.net, ball, sides, self.rounding.units, known, self.deadline)

    def _bound_all(self, low: Floats, high: Floats, sides: Sides) -> Bounds | None:
        """Bound all units in the ball; None where it is empty. All goals whose ball is the same share the bounds."""
        reach = min(self.radius, self.best.distance)
        if self.shared is None or self.shared[0] != reach:
            ball = self._ball(low, high, None)
            self.rounding = Rounding(self.net, np.maximum(np.abs(ball.low), np.abs(ball.high)))
            self.shared = reach, None if ball.is_empty else self._bound_units(ball, sides, None)
        return self.shared[1]

    def root(self, goal: Goal, radius: float) -> Node | None:
        """Return the node of all inputs within a radius, for a goal; None where there are none."""
        self.radius = radius
        low, high = self.question.limits
        sides = np.full(self.net.n_units, -1, np.int8)
        bounds = self._bound_all(low, high, sides)
        if bounds is None:
            return None
        N, s = self.question.sums
        node = self._look(goal, sides, bounds, N, s, (-1,) * len(s), low, high, 0.0)
        for _ in range(ROOT_ROUNDS):
            before = node.bound
            if before >= self.cutoff or not node.split[0] or node.cap is None:
                break
            bounds = self._bound_units(self._ball(low, high, node.cap), sides, node.bounds)
            if bounds is None:
                return None
            node = self._look(goal, sides, bounds, N, s, node.rows, low, high, before)
            if node.bound < 1.01 * before:
                break
        return node

    def _look(
        self,
        goal: Goal,
        sides: Sides,
        bounds: Bounds,
        N: Floats,
        s: Floats,
        rows: tuple[int, ...],
        low: Floats,
        high: Floats,
        least: float,
    ) -> Node:
        """Bound a node, offer its nearest point, and choose what to split it on."""
        self.nodes += 1
        around = [lines(*bounds, self.leak, sides, slope) for slope in SLOPES]
        W = goal.G @ self.net.W
        c = goal.G @ self.net.c + goal.g + self.rounding.outputs(goal.G, goal.g)
        above = [upper_bounds(self.net, W, c, part, depends=True) for part in around]
        bent = (sides < 0) & (bounds.low < 0) & (bounds.high > 0) & (self.leak != 1)
        if not (above[0].depends[:, bent] != 0).any():  # the goal's rows are exact: make those of the sides so
            N, s, depends = self._refresh(sides, rows, N, s, around[0])
            above = above[:1]
        else:
            depends = above[0].depends
        scale = min(self.radius, self.best.distance)
        scale = scale if np.isfinite(scale) and scale > 0 else 1.0
        all_rows = np.vstack([N, *(-part.A for part in above)])
        ends = np.concatenate([s, *(part.b for part in above)])
        reach = min(self.radius, self.best.distance) / scale
        near = project(all_rows, ends / scale, low / scale, high / scale, self.question.norm, reach)
        bound = max(least, near.bound * scale)
        u = None if near.u is None else near.u * scale
        split = ("", 0, 0.0)
        if bound < self.cutoff:
            split = ("", 0, 0.0) if u is None else self._fraction(u, low, high, self.question.binary)
            split = split if split[0] else self._choose(bounds, bent, depends, around[0], u)
            if u is not None and (not split[0] or self.question.local_margins(u[None])[0] >= 0):
                known = None if split[0] else self._known_sides(sides, bounds)
                if not self.best.offer(u, known) and not split[0]:
                    self._offer_inside(all_rows, ends, low, high, known)
            if not split[0] and u is not None:
                split = self._fraction(u, low, high, self.question.whole)
                split = split if split[0] else self._contradicted(sides, bounds, u)
        cap = None if near.toward is None else (near.toward, near.beyond * scale * (1 - 1e-15))
        return Node(goal, sides, bounds, N, s, rows, low, high, bound, cap, split)

    def _offer_inside(self, rows: Floats, ends: Floats, low: Floats, high: Floats, sides: Bools | None) -> None:
        """Offer the nearest point a little inside of a region and beyond its goal, where a corner is no answer."""
        scale = min(self.radius, self.best.distance)
        size = np.sqrt((rows * rows).sum(axis=1)) * scale
        for share in INSIDE:
            near = project(rows, (ends - share * size) / scale, low / scale, high / scale, self.question.norm)
            if near.u is not None and self.best.offer(near.u * scale, sides):
                return

    def _known_sides(self, sides: Sides, bounds: Bounds) -> Bools:
        known = np.where(sides >= 0, sides == 1, bounds.low >= 0)
        return np.asarray(known)

    def _refresh(
        self, sides: Sides, rows: tuple[int, ...], N: Floats, s: Floats, around: Lines
    ) -> tuple[Floats, Floats, Floats]:
        """Bound the known sides of units of later layers again, with all sides that are known by now."""
        N, s = N.copy(), s.copy()
        depends = np.zeros((1, self.net.n_units))
        for i, unit in enumerate(rows):
            if unit >= 0 and self.layer_of[unit] > 0:
                N[i], s[i], on = self._side_row(unit, int(sides[unit]), around)
                depends = depends + np.abs(on)
        return N, s, depends

    def _side_row(self, unit: int, side: int, around: Lines) -> tuple[Floats, float, Floats]:
        """Return a row ``N u <= s`` that holds wherever a unit is on a side, and the units that it depends on."""
        k = int(self.layer_of[unit])
        layer, first = self.net.layers[k], self.net.units(k).start
        sign = 1.0 if side == 1 else -1.0
        W, c = sign * layer.W[unit - first][None], sign * layer.c[unit - first][None]
        above = upper_bounds(self.net, W, c, around, depends=True)
        return -above.A[0], float(above.b[0]) + float(self.rounding.units[unit]), above.depends

    def _choose(
        self, bounds: Bounds, bent: Bools, depends: Floats, around: Lines, u: Floats | None
    ) -> tuple[str, int, float]:
        """Return the unit whose lines are farthest from it where it matters; nothing if no unit matters."""
        weight = np.abs(depends).sum(axis=0) * bent
        if not weight.any():
            return "", 0, 0.0
        if self.net.n_in <= FEW_INPUTS:
            bent = bent & (self.layer_of == self.layer_of[bent].min())
            weight = np.where(bent, np.maximum(weight, 1e-9 * weight.max()), 0.0)
        gap = np.where(bent, np.minimum(-bounds.low, bounds.high) * np.abs(1 - self.leak), 0.0)
        score = 0.1 * weight * gap
        if u is not None:
            z = self._pre_activations(u)
            h = np.where(z > 0, z, self.leak * z)
            up, down = np.maximum(depends, 0.0).sum(axis=0), np.maximum(-depends, 0.0).sum(axis=0)
            error = up * (around.above * z + around.above_at - h) + down * (h - around.below * z - around.below_at)
            score = score + np.where(bent, np.maximum(error, 0.0), 0.0)
        if not (score > 0).any():
            score = weight
        return "unit", int(score.argmax()), 0.0

    def _pre_activations(self, u: Floats) -> Floats:
        v, z = u, [np.zeros(0)]
        for layer in self.net.layers:
            z.append(layer.W @ v + layer.c)
            v = np.concatenate([v, np.where(z[-1] > 0, z[-1], layer.leak * z[-1])])
        return np.concatenate(z)

    def _contradicted(self, sides: Sides, bounds: Bounds, u: Floats) -> tuple[str, int, float]:
        """Return the unit that is farthest at u from the side that bounds leave it; nothing if there is none.

        Bounds hold for inputs that reach the goal; u is among them only if the rows say so too.
        """
        z = self._pre_activations(u)
        wrong = np.where(bounds.low >= 0, -z, np.where(bounds.high <= 0, z, 0.0)) * (sides < 0)
        unit = int(wrong.argmax()) if len(wrong) else 0
        return ("unit", unit, 0.0) if wrong.max(initial=0.0) > self.rounding.units.max(initial=0.0) else ("", 0, 0.0)

    def _fraction(self, u: Floats, low: Floats, high: Floats, among: Bools) -> tuple[str, int, float]:
        """Return the column among some (n,) that is farthest from a whole number at u; nothing if all are whole."""
        question = self.question
        point = question.x[question.columns] + u / question.weights[question.columns]
        away = np.where(among & (low < high), np.abs(point - np.round(point)), 0.0)
        column = int(away.argmax()) if len(away) else 0
        return ("column", column, float(point[column])) if away.max(initial=0.0) > 1e-7 else ("", 0, 0.0)

    def _split(self, node: Node) -> None:
        if node.split[0] == "column":
            self._split_column(node)
        else:
            for side in (0, 1):
                self._add(self._child(node, node.split[1], side))

    def _child(self, node: Node, unit: int, side: int) -> Node | None:
        sides = node.sides.copy()
        sides[unit] = side
        ball = self._ball(node.low, node.high, node.cap)
        low, high = node.bounds.low.copy(), node.bounds.high.copy()
        (low if side == 1 else high)[unit] = 0.0
        bounds = self._bound_units(ball, sides, Bounds(low, high))
        if bounds is None:
            return None
        row, end, _ = self._side_row(unit, side, lines(*bounds, self.leak, sides))
        N, s = np.vstack([node.N, row]), np.append(node.s, end)
        return self._look(node.goal, sides, bounds, N, s, (*node.rows, unit), node.low, node.high, node.bound)

    def _split_column(self, node: Node) -> None:
        question, (_, column, value) = self.question, node.split
        weight, x = question.weights[question.columns][column], question.x[question.columns][column]
        for up in (False, True):
            low, high = node.low.copy(), node.high.copy()
            end = weight * ((np.ceil(value) if up else np.floor(value)) - x)
            room = 8 * ROUNDOFF * abs(end)
            if up:
                low[column] = end - room
            else:
                high[column] = end + room
            question.fix_groups(low, high)
            ball = self._ball(low, high, node.cap)
            bounds = None if ball.is_empty else self._bound_units(ball, node.sides, node.bounds)
            if bounds is not None:
                self._add(self._look(node.goal, node.sides, bounds, node.N, node.s, node.rows, low, high, node.bound))
