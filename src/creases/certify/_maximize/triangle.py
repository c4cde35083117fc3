"""The convex relaxation of a node as a linear program [1]_: each open unit between its chord and its two sides.

References
----------
.. [1] Ehlers, "Formal Verification of Piece-Wise Linear Feed-Forward Neural Networks", ATVA 2017.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from creases._typing import Floats, Ints
from creases.certify._maximize.linear_program import Least, Solver, maximize_least
from creases.certify._maximize.multipliers import Rows, Weights
from creases.certify._nodes import FREE, ON, Nodes


@dataclass(frozen=True, eq=False)
class Relaxed:
    """A proposal from a node's relaxation."""

    point: Floats | None  #: (n,) v, None where the relaxation seems empty
    gaps: Floats  #: (units,) by how much a unit's chord is above it at the point; 0 where it is not open
    weights: Weights


class Triangle:
    """The relaxation of the i-th of some nodes in w = (inputs from -1 to 1, open units)."""

    def __init__(self, nodes: Nodes, i: int, domain: Rows) -> None:
        self.nodes, self.i, self.domain = nodes, i, domain
        low, high = nodes.inputs.low[i], nodes.inputs.high[i]
        self.center, self.radius = (low + high) / 2, (high - low) / 2
        self.open: Ints = np.flatnonzero(nodes.open_units()[i])
        self.fixed: Ints = np.flatnonzero(nodes.sides[i] != FREE)
        n, free = len(low), np.zeros((len(low), len(self.open)))
        start = np.hstack([np.diag(self.radius), free, self.center[:, None]])
        self.n, self.width = n, start.shape[1]
        # Of decided units both lines are the same; the constant is last.
        self.z, self.output = nodes.form.functions(start, nodes.lines.below[i], self.open)
        sign = np.where(nodes.sides[i][self.fixed] == ON, 1.0, -1.0)
        self.sides = sign[:, None] * self.z[self.fixed]  #: not negative in the node

    def maximize(self, solver: Solver, rows: Floats, offsets: Floats) -> Relaxed | None:
        """Maximize the smallest of ``rows y + offsets`` (k, n_out), (k,); None if the solver gives up."""
        functions = rows @ self.output
        functions[:, -1] += offsets
        answer = self._solve(solver, functions, -self.sides)
        if answer is None:
            return None
        return self._read(answer, answer.weights, answer.multipliers[len(answer.multipliers) - len(self.fixed) :])

    def separate(self, solver: Solver) -> tuple[Relaxed, float] | None:
        """Maximize the least distance by which known sides hold, in units of each; if not above 0, the node is empty.

        The node without its boundary, that is.
        """
        size = np.abs(self.sides[:, :-1]).sum(axis=1)
        size = np.where(size > 0, size, 1.0)
        functions = self.sides / size[:, None]
        answer = self._solve(solver, functions, self.sides[:0])
        if answer is None:
            return None
        room = -np.inf if answer.point is None else (functions @ np.append(answer.point, 1.0)).min(initial=np.inf)
        return self._read(answer, np.zeros(0), answer.weights / size), float(room)

    def _solve(self, solver: Solver, functions: Floats, sides: Floats) -> Least | None:
        """Maximize the least of functions where rows are at most 0, in units of each open unit's range.

        The rows are the domain's, ``h >= z``, chords, ``h >= leak z``, and sides.
        """
        nodes, i, n = self.nodes, self.i, self.n
        leak, low, high = nodes.form.leak[self.open], nodes.low[i][self.open], nodes.high[i][self.open]
        sign = np.where(leak > 1, -1.0, 1.0)[:, None]  # a unit that is steeper below 0 is the mirror image
        above, over, below, under = (part[i, self.open] for part in nodes.lines)
        z, h = self.z[self.open], np.eye(len(self.open), self.width, n)
        line = np.where(leak > 1, below, above)[:, None] * z
        line[:, -1] += np.where(leak > 1, under, over)
        free = np.zeros((len(self.domain.b), len(self.open)))
        limits = (self.domain.A @ self.center - self.domain.b)[:, None]
        rows = np.hstack([self.domain.A * self.radius, free, limits])
        rows = np.vstack([rows, sign * (z - h), sign * (h - line), sign * (leak[:, None] * z - h), sides])
        ends = np.stack([leak * low, high, np.zeros(len(low))])
        least, most = 2 * ends.min(axis=0) - ends.max(axis=0), 2 * ends.max(axis=0) - ends.min(axis=0)
        reach = np.maximum(np.maximum(np.abs(least), np.abs(most)), 1e-300)
        scale, one = np.concatenate([np.ones(n), reach, np.ones(1)]), np.ones(n)
        least, most = np.append(-one, least / reach), np.append(one, most / reach)
        answer = maximize_least(solver, functions * scale, (rows * scale)[:, :-1], -rows[:, -1], least, most)
        if answer is None or answer.point is None:
            return answer
        return answer._replace(point=answer.point * scale[:-1])

    def _read(self, answer: Least, rows: Floats, known: Floats) -> Relaxed:
        """Return a proposal, with multipliers of the objective's rows and of known sides."""
        r, p, units = len(self.domain.b), len(self.open), self.nodes.form.n_units
        sides, tangents, gaps = np.zeros(units), np.zeros(units), np.zeros(units)
        sides[self.fixed] = known
        tangents[self.open] = answer.multipliers[r : r + p]
        v = None
        if answer.point is not None:
            w = np.append(answer.point, 1.0)
            v = self.center + self.radius * np.clip(w[: self.n], -1.0, 1.0)
            z = self.z[self.open] @ w
            leak = self.nodes.form.leak[self.open]
            gaps[self.open] = np.abs(w[self.n : -1] - np.where(z > 0, z, leak * z))
        return Relaxed(v, gaps, Weights(rows, answer.multipliers[:r], sides, tangents))
