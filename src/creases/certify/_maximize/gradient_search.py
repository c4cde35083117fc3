"""Branch and bound over the sides of units: the largest coefficient, or norm of the Jacobian, in any region."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from creases._typing import Floats
from creases.certify._maximize.gradients import jacobian_bounds
from creases.certify._maximize.multipliers import bound_sum
from creases.certify._maximize.objectives import Gradient
from creases.certify._maximize.side_search import SideSearch
from creases.certify._maximize.triangle import Triangle
from creases.certify._maximize.values import exact_sign_sum
from creases.certify._nodes import ON, Nodes
from creases.certify.proofs._format import Leaf, Multipliers

#: A region whose sides hold by less, in units of each, may be empty up to its boundary: decided in fractions.
THIN = 1e-9


class GradientSearch(SideSearch):
    """The search for the largest coefficient, or norm of all of them, over all regions."""

    objective: Gradient

    def bound_nodes(self, nodes: Nodes, numbers: list[int]) -> None:
        """Close nodes, or put them into the queue."""
        objective = self.objective
        low, high, influence = jacobian_bounds(nodes, objective.rows, objective.columns, objective.norm)
        upper = objective.above(low, high)
        for i, number in enumerate(numbers):
            if nodes.is_empty[i]:
                self.record.close(number, nodes.contradiction(i))
                continue
            bound = float(upper[i])
            if bound > self.enough and not influence[i].any():  # without the rounding of terms that cancel
                exact = objective.exact_above(self.form.split(nodes.lines.below[i]))
                bound = bound if exact is None else min(bound, exact)
            if bound <= self.enough:
                self.close(number, bound, Leaf("gradient"))
                continue
            empty = None if self.is_late(nodes, i) else self._empty(nodes, i)
            if empty is not None:
                self.record.close(number, empty)
                continue
            if bound <= self.enough:  # by a point of the node
                self.close(number, bound, Leaf("gradient"))
                continue
            unit = _unit_to_split(nodes, i, influence[i])
            self.queue_node(nodes, i, number, bound, unit, Leaf("gradient"))

    def _empty(self, nodes: Nodes, i: int) -> Leaf | None:
        """Return a proof that the open node is empty, if its relaxation suggests so; else try a point of it."""
        triangle = Triangle(nodes, i, self.constraints)
        if not len(triangle.fixed) and self.domain.is_box:
            return None
        answer = triangle.separate(self.solver)
        if answer is None:
            return None
        relaxed, room = answer
        none = np.zeros((0, self.objective.rows.shape[1]))
        total, multipliers, _ = bound_sum(nodes, i, none, np.zeros(0), self.constraints, relaxed.weights)
        if total < 0:
            return Leaf("empty", multipliers)
        if room <= THIN:
            exact = self._thin(nodes, i, relaxed.weights.sides)
            if exact is not None:
                return exact
        if relaxed.point is not None:
            self.try_points((self.middle + relaxed.point)[None])
        return None

    def _thin(self, nodes: Nodes, i: int, weights: Floats) -> Leaf | None:
        """Return a proof in fractions that known sides contradict each other off their creases."""
        largest = float(weights.max(initial=0.0))
        if largest <= 0:
            return None
        units = np.flatnonzero(weights > 1e-7 * largest)
        factors = {int(u): Fraction(float(weights[u] / largest)).limit_denominator(4096) for u in units}
        signed = {u: factor if nodes.sides[i, u] == ON else -factor for u, factor in factors.items() if factor}
        first = self.form.layers[0]
        strict = any(factor > 0 or (u < len(first.c) and first.W[u].any()) for u, factor in signed.items())
        if strict and exact_sign_sum(self.form, self.domain.box, signed):
            return Leaf("empty", Multipliers(sides={u: abs(factor) for u, factor in signed.items()}))
        return None


def _unit_to_split(nodes: Nodes, i: int, influence: Floats) -> int:
    """Return the open unit that matters most; if none does, one that says where the node is; -1 if none is open."""
    if influence.any():
        return int(influence.argmax())
    is_open = nodes.open_units()[i]
    if not is_open.any():
        return -1
    return int(np.where(is_open, np.minimum(-nodes.low[i], nodes.high[i]), -1.0).argmax())
