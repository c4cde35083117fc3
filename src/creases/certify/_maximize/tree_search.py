"""Branch and bound over the sides of units: the largest of the smallest of several rows of the output.

Every bound that closes a node comes from a pass backwards that holds in real arithmetic, with plain lines or with the
multipliers of the node's relaxation. Points come from the relaxations, and count with the value that is proved there.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

import numpy as np

from creases._typing import Floats, Ints, Progress
from creases.certify._maximize.dense import DenseForm, round_up
from creases.certify._maximize.domain import Domain, outward
from creases.certify._maximize.exact_leaf import nearby_floats, solve_leaf
from creases.certify._maximize.extreme import Extreme, Limits
from creases.certify._maximize.linear_program import Solver
from creases.certify._maximize.multipliers import bound_sum, shift_rows
from creases.certify._maximize.nodes import FREE, OFF, ON, Nodes
from creases.certify._maximize.triangle import Triangle
from creases.certify._maximize.values import least_value
from creases.certify.proofs._format import Leaf
from creases.certify.proofs._record import TreeRecord
from creases.network import Network

#: Nodes that are split at a time.
BATCH = 16


@dataclass(frozen=True, eq=False)
class Node:
    """A node that is not closed."""

    number: int  #: in the record of the tree
    sides: Ints  #: (units,)
    low: Floats  #: (units,)
    high: Floats  #: (units,)
    unit: int  #: to split on; -1 if none is open
    leaf: Leaf  #: shows its bound


class TreeSearch:
    """The search for the largest of the smallest of ``rows y + offsets``, (k, n_out) and (k,).

    Parameters
    ----------
    improve
        Returns a better point near one (n,), or that point.
    values
        Returns the values (p,) at points (p, n), in floating point.
    """

    def __init__(
        self,
        net: Network,
        form: DenseForm,
        rows: Floats,
        offsets: Floats,
        domain: Domain,
        limits: Limits,
        *,
        values: Callable[[Floats], Floats],
        improve: Callable[[Floats], Floats],
        progress: Progress,
    ) -> None:
        self.net, self.form, self.rows, self.offsets = net, form, rows, offsets
        self.domain, self.limits = domain, limits
        self.values, self.improve, self.progress = values, improve, progress
        self.middle = domain.middle
        self.dense = form.around(self.middle)
        self.box = outward(domain.box, self.middle)
        self.constraints = shift_rows(domain.A, domain.b, self.middle)
        self.inner = domain.inner_point()
        self.solver, self.record = Solver(), TreeRecord()
        self.lower, self.where = -np.inf, self.middle
        self.closed = -np.inf
        self.queue: list[tuple[float, int, Node]] = []
        self.order = count()

    def run(self, start: Floats) -> Extreme:
        """Search from points (p, n)."""
        self._try(start)
        if np.isfinite(self.lower):
            self._try(self.improve(self.where)[None])
        units = self.dense.n_units
        self._push(np.full((1, units), FREE, np.int8), [0], None)
        while self.queue and not self._is_over():
            self._step()
            self.progress("bounding nodes", len(self.record), None)
        upper = max([self.closed, *(-bound for bound, _, _ in self.queue)])
        for _, _, node in self.queue:
            self.record.close(node.number, node.leaf)
        lower = self._proved_value()
        return Extreme(lower, self.where, max(upper, lower), self.record.tree())

    def _proved_value(self) -> float:
        if not np.isfinite(self.lower):
            return -np.inf
        return least_value(self.net, self.form, self.rows, self.offsets, self.where)

    @property
    def enough(self) -> float:
        """A node whose bound is no larger needs no further search."""
        if not np.isfinite(self.lower):
            return self.limits.stop_below
        return max(self.lower + self.limits.tolerance * abs(self.lower), self.limits.stop_below)

    def _is_over(self) -> bool:
        late = time.monotonic() >= self.limits.deadline
        return late or self.lower > self.limits.stop_above or -self.queue[0][0] <= self.enough

    def _try(self, X: Floats) -> bool:
        """Evaluate points (p, n); keep the best that is in the domain."""
        if not len(X):
            return False
        values = self.values(X)
        for i in np.argsort(-values, kind="stable")[:8]:
            if not values[i] > self.lower:
                return False
            x = self.domain.move_inside(X[i], self.inner)
            if not self.domain.contains(x[None])[0]:
                continue
            value = float(values[i]) if x is X[i] else float(self.values(x[None])[0])
            if value > self.limits.stop_above:  # it ends the search: only what is proved counts
                value = min(value, least_value(self.net, self.form, self.rows, self.offsets, x))
            if value > self.lower:
                self.lower, self.where = value, x
                return True
        return False

    def _decide_exactly(self, nodes: Nodes, i: int, number: int, bound: float, near: Floats | None) -> bool:
        """Decide a node without open units in fractions; return whether that closed it."""
        if self.form.fractions is None:
            return False
        middle = self.middle if near is None else self.middle + near
        is_on = (nodes.sides[i] == ON) | ((nodes.sides[i] == FREE) & (nodes.low[i] >= 0))
        leaf = solve_leaf(self.form, self.domain, nodes.sides[i], is_on, self.rows, self.offsets, middle)
        if leaf is None:
            return False
        if leaf.value is None or leaf.point is None:
            self.record.close(number, Leaf("empty", leaf.multipliers))
            return True
        for x in nearby_floats(leaf.point, self.domain.box):
            if self.domain.contains(x[None])[0]:
                value = least_value(self.net, self.form, self.rows, self.offsets, x)
                if value > self.lower:
                    self.lower, self.where = value, x
        value = round_up(leaf.value)
        if value < bound:
            self._close(number, value, Leaf("multipliers", leaf.multipliers))
        return value < bound

    def _step(self) -> None:
        """Split the nodes with the largest bounds."""
        sides: list[Ints] = []
        known: list[tuple[Floats, Floats]] = []
        numbers: list[int] = []
        while self.queue and len(numbers) < 2 * BATCH and -self.queue[0][0] > self.enough:
            bound, _, node = heapq.heappop(self.queue)
            if node.unit < 0:  # nothing left to split
                self.closed = max(self.closed, -bound)
                self.record.close(node.number, node.leaf)
                continue
            for number, side in zip(self.record.split(node.number, "unit", node.unit), (OFF, ON), strict=True):
                child = node.sides.copy()
                child[node.unit] = side
                sides.append(child)
                numbers.append(number)
                known.append((node.low, node.high))
        if numbers:
            low, high = (np.stack(ends) for ends in zip(*known, strict=True))
            self._push(np.stack(sides), numbers, (low, high))

    def _push(self, sides: Ints, numbers: list[int], known: tuple[Floats, Floats] | None) -> None:
        """Bound nodes; what needs further search goes to the queue."""
        low, high = (np.broadcast_to(end, (len(sides), len(end))) for end in self.box)
        nodes = Nodes(self.dense, low, high, sides, known)
        upper, slopes = nodes.upper(self.rows)
        upper = upper + self.offsets + 2.0**-52 * (np.abs(upper) + np.abs(self.offsets))
        best = upper.argmin(axis=1)
        for i, number in enumerate(numbers):
            bound = float(upper[i, best[i]])
            if nodes.is_empty[i]:
                self.record.close(number, nodes.contradiction(i))
            elif bound <= self.enough:
                self._close(number, bound, Leaf("bounds"))
            else:
                self._relax(nodes, i, number, bound, slopes[i, best[i]])

    def _close(self, number: int, bound: float, leaf: Leaf) -> None:
        self.closed = max(self.closed, bound)
        self.record.close(number, leaf)

    def _relax(self, nodes: Nodes, i: int, number: int, bound: float, slope: Floats) -> None:
        """Bound a node by its relaxation, and queue it if that is not enough."""
        late = time.monotonic() >= self.limits.deadline
        relaxed = None if late else Triangle(nodes, i, self.constraints).maximize(self.solver, self.rows, self.offsets)
        leaf, scores = Leaf("bounds"), np.zeros(self.dense.n_units)
        if relaxed is not None:
            total, multipliers, effects = bound_sum(
                nodes, i, self.rows, self.offsets, self.constraints, relaxed.weights
            )
            weight = float(relaxed.weights.rows.sum())
            if weight == 0.0 and total < 0:
                self.record.close(number, Leaf("empty", multipliers))
                return
            scores = relaxed.gaps * np.abs(effects)
            if weight > 0.0:
                safe = (
                    total
                    if weight == 1.0
                    else total / weight + 2.0**-50 * (len(self.offsets) + 1) * abs(total / weight)
                )
                if safe < bound:
                    bound, leaf = safe, Leaf("multipliers", multipliers)
            if relaxed.point is not None:
                x = np.clip(self.middle + relaxed.point, *self.domain.box.T)
                if self._try(x[None]):
                    self._try(self.improve(self.where)[None])
        if bound <= self.enough:
            self._close(number, bound, leaf)
            return
        open_units = nodes.open_units()[i]
        near = None if relaxed is None else relaxed.point
        if not late and not open_units.any() and self._decide_exactly(nodes, i, number, bound, near):
            return
        unit = int(np.where(open_units, scores, -1.0).argmax()) if open_units.any() else -1
        if unit >= 0 and scores[unit] <= 0.0:
            unit = int(np.where(open_units, np.minimum(-nodes.low[i], nodes.high[i]), -1.0).argmax())
        node = Node(number, nodes.sides[i], nodes.low[i], nodes.high[i], unit, leaf)
        heapq.heappush(self.queue, (-bound, next(self.order), node))
