"""Best-first search over the sides of units: the nearest inputs first, each bounded by linear relaxations.

A node is a set of inputs: those where some units are on known sides. Linear bounds of the network inside the ball of
the best answer so far say where a goal could be reached at all, as half-spaces of the input; the distance to these,
with its multipliers as proof, bounds the node. Nodes with the least bounds are split, some at a time, on the unit that
the bound loses most by. Nodes with all sides known are regions, where the bound is the distance itself: so the search
comes to regions in the order of their distance, as GeoCert [1]_ does from region to neighboring region, without
visiting those that no relaxation lets reach the goal.

The tree is recorded as it grows, with the multipliers of every node: they are the proof of the bound.

References
----------
.. [1] Jordan, Lewis, Dimakis, "Provable Certificates for Adversarial Examples: Fitting a Ball in the Union of
   Polytopes", NeurIPS 2019.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from creases._typing import Bools, Floats, Ints
from creases.certify._nearest.best import Best
from creases.certify._nearest.evidence import Evidence, GoalTree
from creases.certify._nearest.projection import Distance, Nearest, bound_distance, project
from creases.certify._nearest.question import Goal, Question
from creases.certify._nodes import FREE, OFF, ON, Balls, Nodes, OutOfTimeError, Sides, node_lines
from creases.certify.proofs._rounding import UNIT
from creases.certify.proofs._spec import Lines

#: Lower lines that goals are bounded with beside those of the nodes: all flat, then all steep.
SLOPES = (False, True)

#: Nodes that are split at a time.
BATCH = 24

#: How far inside of a region, as a share of the radius, a point is tried where the nearest one is on a corner.
INSIDE = (1e-12, 1e-10, 1e-8)

#: With at most this many inputs few regions meet a ball: units are split layer by layer, which makes bounds exact soon.
FEW_INPUTS = 3

#: How often the bounds of a root are tightened by the plane that they show to be in the way.
ROOT_ROUNDS = 5

#: Nodes farther than this share of the radius are tightened by their plane before they are split: most end so.
FAR = 0.4


@dataclass(eq=False, slots=True)
class Node:
    """Inputs where some units have known sides, and a bound of their distance."""

    goal: int
    number: int  #: in the goal's tree
    sides: Sides  #: (units,)
    low: Floats  #: (units,) bounds of pre-activations
    high: Floats
    u_low: Floats  #: (n,) limits of u
    u_high: Floats
    bound: float = 0.0  #: no input of the node that reaches the goal is nearer
    toward: Floats | None = None  #: (n,) ``toward u >= beyond`` for all inputs of the node that reach the goal
    beyond: float = 0.0
    split: tuple[str, int, float] = ("", 0, 0.0)  #: ("unit", which, 0) or ("column", which, value); "": nothing
    evidence: Evidence | None = None  #: multipliers that show the bound
    behind: Evidence | None = None  #: what showed the plane that bounds of units are beyond


Point = tuple[Floats, Floats, float]  #: u (n,), what enters units there (units,), and by how much its decision differs


class Outcome(NamedTuple):
    """What a search within a radius showed."""

    lower_bound: float  #: nothing nearer has a different decision
    nodes: int
    finished: bool  #: whether nothing is left to look at within the radius
    trees: tuple[GoalTree, ...]  #: for each goal the tree that shows the lower bound


#: Half-spaces ``A u + b >= 0`` of nodes, where goals can be reached and units can be on their known sides: A (rows, n),
#: b (rows,) and what they depend on (rows, units); then (rows,) each the node, the goal's row or -1 less the unit, and
#: the lines that it was bounded with.
Rows = tuple[Floats, Floats, Floats, Ints, Ints, Ints]


class Search:
    """A search within a radius; better answers go to ``best``."""

    def __init__(
        self,
        question: Question,
        best: Best,
        deadline: float,
        max_nodes: float = np.inf,
        close: float = 1 - 1e-9,
        norm: str | None = None,
    ) -> None:
        self.question, self.best, self.deadline, self.max_nodes = question, best, deadline, max_nodes
        self.norm = question.norm if norm is None else norm  # a box is a ball of another norm than the question's
        self.net, self.leak = question.local, question.local.leak
        self.close = close  # nodes are not looked at when they are no nearer than this share of the best answer
        self.nodes = 0
        self.floor = np.inf  # least bound of what was not looked at because it is no nearer
        self.heap: list[tuple[float, int, Node]] = []
        self.trees = tuple(GoalTree() for _ in question.goals)

    @property
    def reach(self) -> float:
        """The radius, or the distance of the best answer if that is less."""
        return min(self.radius, self.best.distance) if self.norm == self.question.norm else self.radius

    @property
    def cutoff(self) -> float:
        """The distance within which something nearer would count."""
        return self.reach * self.close

    def run(self, radius: float) -> Outcome:
        """Search within a radius, until nothing is left, time is over or nodes are used up."""
        self.radius = radius
        try:
            self._begin()
            while self.heap and self.heap[0][0] < self.cutoff:
                is_answered = self.norm != self.question.norm and np.isfinite(self.best.distance)
                if time.perf_counter() > self.deadline or self.nodes > self.max_nodes or is_answered:
                    break
                room = max(1, min(BATCH, len(self.heap) // 4))  # few at first, when all have nearly the same bound
                taken = [heapq.heappop(self.heap) for _ in range(room)]
                try:
                    self._split([entry[2] for entry in taken if entry[0] < self.cutoff])
                except OutOfTimeError:
                    self.heap += taken
                    break
                self.floor = min([self.floor, *(entry[0] for entry in taken if entry[0] >= self.cutoff)])
        except OutOfTimeError:
            return Outcome(0.0, self.nodes, finished=False, trees=())
        left = min((entry[0] for entry in self.heap), default=np.inf)
        finished = left >= self.cutoff
        return Outcome(min(left, self.floor, self.reach), self.nodes, finished, self.trees)

    # -- nodes --------------------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        """Bound the root of every goal, again and again by the plane that is in the way."""
        low, high = self._whole_limits()
        endless, sides = np.full(self.net.n_units, np.inf), np.full(self.net.n_units, FREE, np.int8)
        roots = self._bound_units([Node(0, 0, sides, -endless, endless, low, high)])
        if not roots:
            self.trees = self.trees[:1] * len(self.trees)  # none has inputs
            return
        for goal in range(len(self.question.goals)):
            for node in self._tighten(self._look([replace(roots[0], goal=goal)]), rounds=ROOT_ROUNDS):
                self._add(node)

    def _tighten(self, nodes: list[Node], far: float = 0.0, rounds: int = 1) -> list[Node]:
        """Bound nodes that are far, as a share of the radius, again beyond the planes that they show to be in the way.

        Nodes without inputs there are left out, and their trees closed.
        """
        done: list[Node] = []
        for _ in range(rounds):
            again: list[Node] = []
            for node in nodes:
                is_open = node.bound < self.cutoff and bool(node.split[0]) and node.toward is not None
                (again if is_open and node.bound >= far * self.reach else done).append(node)
            if not again:
                return done
            for node in again:
                self._cut(node)
            before = {node.number: node for node in again}
            nodes = []
            for node in self._look(self._bound_units([replace(node) for node in again])):
                old = before[node.number]
                if node.evidence is old.evidence:  # nothing new: its children are bounded beyond the plane anyway
                    done.append(old)
                else:
                    (nodes if node.bound >= 1.01 * old.bound else done).append(node)
        return done + nodes

    def _whole_limits(self) -> tuple[Floats, Floats]:
        """Return limits of u, those of integer columns at the whole numbers within the ball."""
        question = self.question
        x, weights = question.x[question.columns], question.weights[question.columns]
        ends = []
        for end, sign in zip(question.limits, (-1.0, 1.0), strict=True):
            value = sign * (x + sign * np.minimum(sign * end, self.reach) / weights)
            inner = sign * np.floor(value + 1e-9 * (1 + np.abs(value)))
            whole = weights * (inner - x)
            ends.append(np.where(question.whole, whole + sign * 8 * UNIT * np.abs(whole), end))
        return ends[0], ends[1]

    def _cut(self, node: Node) -> None:
        """Record the plane of a node, beyond which all that counts in it is, unless it is known already."""
        if node.toward is not None and node.evidence is not node.behind:
            assert node.evidence is not None
            self.trees[node.goal].cut(node.number, node.evidence)
            node.behind = node.evidence

    def _bound_units(self, nodes: list[Node]) -> list[Node]:
        """Return nodes with tighter bounds of units, without those that have no inputs, whose trees are closed."""
        bounds, left = self._bounds(nodes), []
        for i, node in enumerate(nodes):
            if bounds.is_empty[i]:
                self.trees[node.goal].show(node.number, Evidence.nothing(int(bounds.clash[i])))
            else:
                node.low, node.high = bounds.low[i], bounds.high[i]
                left.append(node)
        return left

    def _bounds(self, nodes: list[Node], *, is_bounded: bool = False) -> Nodes:
        """Bound what enters units of nodes, or take the bounds that they have."""
        names = ("u_low", "u_high", "sides", "low", "high")
        u_low, u_high, sides, low, high = (np.array([getattr(node, name) for node in nodes]) for name in names)
        toward = np.array([np.zeros(self.net.n_in) if node.toward is None else node.toward for node in nodes])
        beyond = np.array([node.beyond for node in nodes])
        low_end, high_end = np.maximum(u_low, -self.reach), np.minimum(u_high, self.reach)
        balls = Balls(self.reach, self.norm, low_end, high_end, toward, beyond)
        return Nodes(self.net, balls, sides, (low, high), is_bounded=is_bounded, deadline=self.deadline)

    def _add(self, node: Node) -> None:
        if node.bound >= self.cutoff or not node.split[0]:
            self.floor = min(self.floor, node.bound)
        else:
            heapq.heappush(self.heap, (node.bound, self.nodes + len(self.heap), node))

    def _split(self, nodes: list[Node]) -> None:
        """Split nodes; bound their children, and close them or put them into the queue."""
        children: list[Node] = []
        for node in nodes:
            tree = self.trees[node.goal]
            self._cut(node)
            if node.split[0] == "column":
                children += self._split_column(node)
                continue
            unit = node.split[1]
            for side, number in zip((OFF, ON), tree.split(node.number, "unit", unit), strict=True):
                sides, low, high = node.sides.copy(), node.low.copy(), node.high.copy()
                sides[unit] = side
                (low if side == ON else high)[unit] = 0.0
                children.append(replace(node, number=number, sides=sides, low=low, high=high))
        for node in self._tighten(self._look(self._bound_units(children)), FAR) if children else []:
            self._add(node)

    def _split_column(self, node: Node) -> list[Node]:
        question, (_, column, value) = self.question, node.split
        weight, x = question.weights[question.columns][column], question.x[question.columns][column]
        tree, name = self.trees[node.goal], int(np.flatnonzero(question.columns)[column])
        children = []
        for is_up, number in enumerate(tree.split(node.number, "input", name, value)):
            low, high = node.u_low.copy(), node.u_high.copy()
            end = weight * ((np.ceil(value) if is_up else np.floor(value)) - x)
            room = 8 * UNIT * abs(end)
            if is_up:
                low[column] = end - room
            else:
                high[column] = end + room
            last = self._fix_groups(tree, number, low, high)
            children.append(replace(node, number=last, u_low=low, u_high=high))
        return children

    def _fix_groups(self, tree: GoalTree, number: int, low: Floats, high: Floats) -> int:
        """Narrow limits by what one-hot groups imply, and record each step; return the number of the last node."""
        before = low.copy(), high.copy()
        self.question.fix_groups(low, high)
        names = np.flatnonzero(self.question.columns)
        for group, columns in enumerate(self.question.group_columns()):
            is_one, is_zero = low[columns] > before[0][columns], high[columns] < before[1][columns]
            for j, is_up in [(j, False) for j in columns[is_zero]] + [(j, True) for j in columns[is_one]]:
                below, above = tree.split(number, "input", int(names[j]), 0.5)
                sums = np.zeros(len(self.question.sums[1]))
                sums[group + (len(self.question.one_hot) if is_up else 0)] = 1.0
                tree.show(below if is_up else above, Evidence.nothing()._replace(sums=sums))
                number = above if is_up else below
        return number

    # -- bounds -------------------------------------------------------------------------------------------------------

    def _look(self, nodes: list[Node]) -> list[Node]:
        """Bound nodes, offer their nearest points, and choose what to split them on."""
        if not nodes:
            return []
        self.nodes += len(nodes)
        bounds = self._bounds(nodes, is_bounded=True)
        bent = bounds.open_units()
        steeps = [node_lines(bounds.low, bounds.high, self.leak, bounds.sides, slope) for slope in SLOPES]
        around = [bounds.lines, *steeps]
        rows = [part for number, lines in enumerate(around) for part in self._goal_rows(nodes, bounds, lines, number)]
        near = self._project(nodes, [*rows, *self._side_rows(bounds)])
        u = np.array([np.zeros(self.net.n_in) if each.u is None else each.u * self.scale for each in near])
        outputs, z = self.net.evaluate(u)
        margins = self.question.largest_margins(outputs)
        self._show(nodes, bounds, near, around)
        for i, node in enumerate(nodes):
            if node.bound < self.cutoff:
                here = None if near[i].u is None else (u[i], z[i], float(margins[i]))
                self._choose_split(node, near[i], i, bounds, bent[i], around, here)
        return nodes

    @property
    def scale(self) -> float:
        """The unit of length of projections."""
        return self.reach if np.isfinite(self.reach) and self.reach > 0 else 1.0

    def _goal_rows(self, nodes: list[Node], bounds: Nodes, around: Lines, number: int) -> Iterator[Rows]:
        """Yield where goals can be reached."""
        for index, goal in enumerate(self.question.goals):
            of = np.array([i for i, node in enumerate(nodes) if node.goal == index], int)
            if not len(of):
                continue
            k = len(goal.g)
            W, c, error = self._goal_output(goal, bounds)
            of, code = np.repeat(of, k), np.tile(np.arange(k), len(of))
            above = bounds.carry_back(W[code], c[code], error[of, code], of, around)
            yield above.A, above.b + above.error, above.depends, of, code, np.full(len(of), number)

    def _goal_output(self, goal: Goal, bounds: Nodes) -> tuple[Floats, Floats, Floats]:
        """Return a goal's rows in the variables, and what their rounding may change in each node (b, k)."""
        output = self.net.output
        error = bounds.out_slack @ np.abs(goal.G).T + bounds.gamma * np.abs(goal.g)
        return goal.G @ output.W, goal.G @ output.c + goal.g, 2 * error

    def _side_rows(self, bounds: Nodes) -> Iterator[Rows]:
        """Yield where units can be on their known sides."""
        for k, layer in enumerate(self.net.layers):
            units = self.net.units(k)
            of, j = np.nonzero(bounds.sides[:, units] != FREE)
            if not len(j):
                continue
            sign = np.where(bounds.sides[of, units.start + j] == ON, 1.0, -1.0)
            slack = bounds.slack[of, units.start + j]
            above = bounds.carry_back(sign[:, None] * layer.W[j], sign * layer.c[j], slack, of)
            yield above.A, above.b + above.error, above.depends, of, -1 - units.start - j, 0 * of

    def _project(self, nodes: list[Node], rows: list[Rows]) -> list[Nearest]:
        """Return the distance of each node's half-spaces from the origin, in the unit of length."""
        joined = [np.concatenate(part) for part in zip(*rows, strict=True)]
        order = np.argsort(joined[3], kind="stable")
        starts = np.searchsorted(joined[3][order], np.arange(len(nodes) + 1))
        A, b, *_ = self._joined = (*(part[order] for part in joined), starts)
        N, s = self.question.sums
        scale, near = self.scale, []
        for i, node in enumerate(nodes):
            part = slice(starts[i], starts[i + 1])
            ends = np.concatenate([s, b[part]]) / scale
            limits = node.u_low / scale, node.u_high / scale
            near.append(project(np.vstack([N, -A[part]]), ends, *limits, self.norm))
        return near

    def _show(self, nodes: list[Node], bounds: Nodes, near: list[Nearest], around: list[Lines]) -> None:
        """Set the bounds of nodes and what shows them; a bound of the node above that is no less holds still.

        A bound is that of the combination of rows that the multipliers are for, with one line for each unit, as the
        checker of proofs sees it.
        """
        _, _, depends, _, code, number, starts = self._joined
        convex, sums, bent = self.leak <= 1, len(self.question.sums[1]), bounds.open_units()
        evidence = []
        for i, (_, y, limits) in enumerate(near):
            part = slice(starts[i], starts[i + 1])
            slopes = np.array([np.where(convex, of.below[i], of.above[i]) for of in around])
            evidence.append(
                Evidence.of(y, sums, limits, code[part], depends[part], slopes, number[part], bent[i], convex)
            )
        scale = self.scale
        for node, each, shown in zip(nodes, evidence, self._combine(nodes, evidence, bounds), strict=True):
            if shown.bound * scale > node.bound or node.evidence is None:
                node.evidence, node.bound = each, shown.bound * scale
                self.trees[node.goal].show(node.number, each, node.bound)
                node.toward, node.beyond = shown.toward, shown.beyond * scale * (1 - 1e-15)

    def _combine(self, nodes: list[Node], evidence: list[Evidence], bounds: Nodes) -> list[Distance]:
        """Return the distances that evidence shows, in the unit of length."""
        around, convex, b = bounds.lines, self.leak <= 1, len(nodes)
        free = np.where(convex, around.below, around.above)
        entering, W, (c, error) = np.zeros(free.shape), np.zeros((b, self.net.output.first)), np.zeros((2, b))
        for index, goal in enumerate(self.question.goals):
            rows, constants, errors = self._goal_output(goal, bounds)
            for i, (node, each) in enumerate(zip(nodes, evidence, strict=True)):
                if node.goal == index:
                    k = len(each.goal)
                    W[i], c[i], error[i] = (each.goal @ part[:k] for part in (rows, constants, 2 * errors[i]))
                    free[i, each.bent] = each.slopes
                    entering[i, each.units] = np.where(node.sides[each.units] == ON, each.sides, -each.sides)
        below, slopes = np.where(convex, free, around.below), np.where(convex, around.above, free)

        def choose(units: slice, _: Floats) -> tuple[Floats, Floats, Floats]:
            return slopes[:, units], below[:, units], entering[:, units]

        above = bounds.carry_back(W, c, error, np.arange(b), choose=choose)
        N, s = self.question.sums
        scale, reach = self.scale, self.reach / self.scale
        A, ends, shown = -above.A, (above.b + 2 * above.error) / scale, []
        for i, (node, each) in enumerate(zip(nodes, evidence, strict=True)):
            polytope = np.vstack([N, A[i]]), np.append(s / scale, ends[i]), node.u_low / scale, node.u_high / scale
            shown.append(bound_distance(np.append(each.sums, 1.0), each.limits, polytope, self.norm, reach))
        return shown

    def _choose_split(
        self, node: Node, near: Nearest, i: int, bounds: Nodes, bent: Bools, around: list[Lines], here: Point | None
    ) -> None:
        """Choose what to split a node on, and offer its nearest point where that may have a different decision."""
        A, b, depends, _, code, number, starts = self._joined
        part, question = slice(starts[i], starts[i + 1]), self.question
        node.split = ("", 0, 0.0) if here is None else self._fraction(node, here[0], question.binary)
        if not node.split[0]:
            own = [Lines(*(line[i] for line in each)) for each in around]
            y = near.y[len(question.sums[1]) :]
            if not (y > 0).any():  # nothing is in the way yet: what is nearest to being so
                y = np.zeros(len(y))
                y[np.where(code[part] >= 0, b[part], np.inf).argmin()] = 1.0
            node.split = self._choose(node, bent, y, depends[part], number[part], own, here)
        if here is None:
            return
        u, z, margin = here
        if not node.split[0] or margin >= 0:
            known = None if node.split[0] else np.where(node.sides >= 0, node.sides == 1, node.low >= 0)
            if not self.best.offer(u, known) and not node.split[0]:
                self._offer_inside(node, A[part], b[part], known)
        if not node.split[0]:
            node.split = self._fraction(node, u, question.whole)
            node.split = node.split if node.split[0] else self._contradicted(node, z, bounds.slack[i])

    def _offer_inside(self, node: Node, A: Floats, b: Floats, sides: Bools | None) -> None:
        """Offer the nearest point a little inside of a region and beyond its goal, where a corner is no answer."""
        N, s = self.question.sums
        rows, ends = np.vstack([N, -A]), np.concatenate([s, b])
        size = np.sqrt((rows * rows).sum(axis=1)) * self.scale
        for share in INSIDE:
            limits = node.u_low / self.scale, node.u_high / self.scale
            near = project(rows, (ends - share * size) / self.scale, *limits, self.norm)
            if near.u is not None and self.best.offer(near.u * self.scale, sides):
                return

    # -- what to split ------------------------------------------------------------------------------------------------

    def _choose(
        self, node: Node, bent: Bools, y: Floats, depends: Floats, number: Ints, around: list[Lines], here: Point | None
    ) -> tuple[str, int, float]:
        """Return the unit whose lines are farthest from it where it matters; nothing if no unit matters."""
        matters = bent & (depends != 0).any(axis=0)
        if not matters.any():
            return "", 0, 0.0
        if self.net.n_in <= FEW_INPUTS:
            matters = bent & (self.net.layer_of == self.net.layer_of[bent].min())
        used = np.flatnonzero(y > 0)
        up, down = np.maximum(depends[used], 0.0) * y[used, None], np.maximum(-depends[used], 0.0) * y[used, None]
        gap = np.minimum(-node.low, node.high) * np.abs(1 - self.leak)
        score = 0.1 * (up + down).sum(axis=0) * gap
        if here is not None:
            z = here[1]
            h = np.where(z > 0, z, self.leak * z)
            above, above_at, below, below_at = (np.array([part[k] for part in around])[number[used]] for k in range(4))
            error = up * (above * z + above_at - h) + down * (h - below * z - below_at)
            score = score + np.maximum(error, 0.0).sum(axis=0)
        score = score + self._later_gaps(node, bent, (up + down).sum(axis=0))
        score = np.where(matters, score, 0.0)
        if not (score > 0).any():
            score = np.where(matters, np.abs(depends).sum(axis=0) * gap + 1e-300, 0.0)
        return "unit", int(score.argmax()), 0.0

    def _later_gaps(self, node: Node, bent: Bools, weights: Floats) -> Floats:
        """Return by how much units (units,) widen the gaps of later ones, which count as a bound weighs them."""
        low, high = np.minimum(node.low, 0.0), np.maximum(node.high, 0.0)
        bend, width = np.abs(1 - self.leak), np.where(bent, high - low, 1.0)
        gap = np.where(bent, -low * high / width, 0.0) * bend  # of the chord at 0
        later, weights = np.zeros(len(weights)), weights.copy()
        for k in reversed(range(1, len(self.net.layers))):
            units, (plus, minus) = self.net.units(k), self.net.layers[k].signed
            change = np.where(bent[units], (weights * bend / width**2)[units], 0.0)  # of the gap with its two ends
            more = (change * low[units] ** 2) @ plus[:, self.net.n_in :]
            more -= (change * high[units] ** 2) @ minus[:, self.net.n_in :]
            later[: len(more)] += more
            weights[: len(more)] += more
        return np.asarray(later * gap)

    def _contradicted(self, node: Node, z: Floats, slack: Floats) -> tuple[str, int, float]:
        """Return the unit that is farthest from the side that bounds leave it; nothing if there is none.

        Bounds hold for inputs that reach the goal; a point is among them only if the rows say so too.
        """
        wrong = np.where(node.low >= 0, -z, np.where(node.high <= 0, z, 0.0)) * (node.sides < 0)
        unit = int(wrong.argmax()) if len(wrong) else 0
        return ("unit", unit, 0.0) if wrong.max(initial=0.0) > slack.max(initial=0.0) else ("", 0, 0.0)

    def _fraction(self, node: Node, u: Floats, among: Bools) -> tuple[str, int, float]:
        """Return the column among some (n,) that is farthest from a whole number at u; nothing if all are whole."""
        question, low, high = self.question, node.u_low, node.u_high
        if not among.any():
            return "", 0, 0.0
        point = question.x[question.columns] + u / question.weights[question.columns]
        away = np.where(among & (low < high), np.abs(point - np.round(point)), 0.0)
        column = int(away.argmax()) if len(away) else 0
        return ("column", column, float(point[column])) if away.max(initial=0.0) > 1e-7 else ("", 0, 0.0)
