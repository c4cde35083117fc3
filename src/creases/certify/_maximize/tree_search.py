"""Branch and bound over the sides of units: the largest of the smallest of several rows of the output.

Every bound that closes a node comes from a pass backwards that holds in real arithmetic, with plain lines or with the
multipliers of the node's relaxation. Points come from the relaxations, and count with the value that is proved there.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from creases._typing import Floats, Ints
from creases.certify._maximize.exact_leaf import nearby_floats, solve_leaf
from creases.certify._maximize.multipliers import bound_sum
from creases.certify._maximize.objectives import LeastRow
from creases.certify._maximize.one_layer import LayerSearch
from creases.certify._maximize.queue_search import Part
from creases.certify._maximize.side_search import SideSearch
from creases.certify._maximize.triangle import Triangle
from creases.certify._nodes import FREE, ON, Nodes
from creases.certify.proofs._format import Leaf
from creases.certify.proofs._rounding import round_up


class TreeSearch(SideSearch):
    """The search for the largest of the smallest of ``rows y + offsets``, (k, n_out) and (k,)."""

    objective: LeastRow

    @property
    def rows(self) -> Floats:
        """Rows (k, n_out)."""
        return self.objective.rows

    @property
    def offsets(self) -> Floats:
        """What is added to them (k,)."""
        return self.objective.offsets

    def search_layer(self, start: Floats) -> Part:
        """Search a network of one bend and a box for a value of at least 0, many nodes at a time; without a tree."""
        self.begin(start)
        is_open = bool(self.queue)
        if self.lower < 0 and is_open:

            def reaches(x: Floats) -> bool:
                value = self.objective.reached(self.domain, x, np.inf)
                if value > self.lower:
                    self.lower, self.where = value, x
                return value >= 0

            search = LayerSearch(self.root, self.rows, self.offsets, self.domain, reaches, self._search_nodes)
            is_open = search.run(self.limits.deadline)
        lower = self.proved_value() if np.isfinite(self.lower) else -np.inf
        return Part(lower, self.where, np.inf if is_open else max(self.closed, lower), [], self.record)

    def _search_nodes(self, sides: Ints, until: float) -> bool:
        """Search nodes of known sides (b, units); return whether one of them stays open."""
        self._reset(len(sides), self.lower, self.where)
        self.limits = replace(self.limits, deadline=until)  # compilation did not count
        self.bound_sides(sides, list(range(len(sides))), None)
        self.advance()
        return bool(self.queue) or self.closed >= 0

    def _decide_exactly(self, nodes: Nodes, i: int, number: int, bound: float, near: Floats | None) -> bool:
        """Decide a node without open units in fractions; return whether that closed it."""
        if self.form.exact_functions is None:
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
                value = self.objective.reached(self.domain, x, np.inf)
                if value > self.lower:
                    self.lower, self.where = value, x
        value = round_up(leaf.value)
        if value < bound:
            self.close(number, value, Leaf("multipliers", leaf.multipliers))
        return value < bound

    def bound_nodes(self, nodes: Nodes, numbers: list[int]) -> None:
        """Close nodes, or put them into the queue."""
        upper, slopes = nodes.upper(self.rows)
        upper = upper + self.offsets + 2.0**-52 * (np.abs(upper) + np.abs(self.offsets))
        best = upper.argmin(axis=1)
        for i, number in enumerate(numbers):
            bound = float(upper[i, best[i]])
            if nodes.is_empty[i]:
                self.record.close(number, nodes.contradiction(i))
            elif bound <= self.enough:
                self.close(number, bound, Leaf("bounds"))
            else:
                self._relax(nodes, i, number, bound, slopes[i, best[i]])

    def _relax(self, nodes: Nodes, i: int, number: int, bound: float, slope: Floats) -> None:
        """Bound a node by its relaxation, and queue it if that is not enough."""
        late = self.is_late(nodes, i)
        relaxed = None if late else Triangle(nodes, i, self.constraints).maximize(self.solver, self.rows, self.offsets)
        leaf, scores = Leaf("bounds"), np.zeros(self.form.n_units)
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
                self.climb(x[None])
        if bound <= self.enough:
            self.close(number, bound, leaf)
            return
        open_units = nodes.open_units()[i]
        near = None if relaxed is None else relaxed.point
        if not late and not open_units.any() and self._decide_exactly(nodes, i, number, bound, near):
            return
        unit = int(np.where(open_units, scores, -1.0).argmax()) if open_units.any() else -1
        if unit >= 0 and scores[unit] <= 0.0:
            unit = int(np.where(open_units, np.minimum(-nodes.low[i], nodes.high[i]), -1.0).argmax())
        self.queue_node(nodes, i, number, bound, unit, leaf)
