"""The convex relaxation of a node as a linear program [1]_: each open unit between its chord and its two sides.

References
----------
.. [1] Ehlers, "Formal Verification of Piece-Wise Linear Feed-Forward Neural Networks", ATVA 2017.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from creases._typing import Floats, Ints
from creases.certify._maximize.linear_program import Solver
from creases.certify._maximize.multipliers import Rows, Weights
from creases.certify._nodes import FREE, ON, Nodes


@dataclass(frozen=True, eq=False)
class Relaxed:
    """A proposal from a node's relaxation."""

    point: Floats | None  #: (n,) v, None where the relaxation seems empty
    gaps: Floats  #: (units,) by how much a unit's chord is above it at the point; 0 where it is not open
    weights: Weights


class Triangle:
    """The relaxation of the i-th of some nodes: rows ``left w <= right`` in w = (inputs from -1 to 1, open units)."""

    def __init__(self, nodes: Nodes, i: int, domain: Rows) -> None:
        self.nodes, self.i, self.domain = nodes, i, domain
        form, low, high = nodes.form, nodes.inputs.low[i], nodes.inputs.high[i]
        self.center, self.radius = (low + high) / 2, (high - low) / 2
        self.open: Ints = np.flatnonzero(nodes.open_units()[i])
        self.fixed: Ints = np.flatnonzero(nodes.sides[i] != FREE)
        self.n = len(low)
        self.width = 1 + self.n + len(self.open)
        start = np.hstack([np.diag(self.radius), np.zeros((self.n, len(self.open))), self.center[:, None]])
        h = np.zeros((form.n_units, self.width))  # what leaves open units are columns
        h[self.open, self.n + np.arange(len(self.open))] = 1.0
        slopes = np.where(h.any(axis=1), 0.0, nodes.lines.below[i])  # of decided units: both lines
        *entering, self.output = form.entering(start, form.split(slopes), h)  #: (n_out, width), the constant last
        self.z = np.vstack([h[:0], *entering])  #: (units, width)

    def _rows(self) -> tuple[Floats, Floats]:
        """Return rows ``left w <= right``: the domain's, known sides, ``h >= z``, chords, ``h >= leak z``."""
        nodes, i = self.nodes, self.i
        leak = nodes.form.leak[self.open]
        sign = np.where(leak > 1, -1.0, 1.0)[:, None]  # a unit that is steeper below 0 is the mirror image
        above, over, below, under = (part[i, self.open] for part in nodes.lines)
        chord, intercept = np.where(leak > 1, below, above), np.where(leak > 1, under, over)
        z, h = self.z[self.open], np.zeros((len(self.open), self.width))
        h[np.arange(len(self.open)), self.n + np.arange(len(self.open))] = 1.0
        line = chord[:, None] * z
        line[:, -1] += intercept
        rows = np.zeros((len(self.domain.b), self.width))
        rows[:, -1] = self.domain.A @ self.center - self.domain.b
        rows[:, : self.n] = self.domain.A * self.radius
        side = np.where(nodes.sides[i][self.fixed] == ON, -1.0, 1.0)[:, None] * self.z[self.fixed]
        stacked = np.concatenate([rows, side, sign * (z - h), sign * (h - line), sign * (leak[:, None] * z - h)])
        return stacked[:, :-1], -stacked[:, -1]

    def maximize(self, solver: Solver, rows: Floats, offsets: Floats) -> Relaxed | None:
        """Maximize the smallest of ``rows y + offsets`` (k, n_out), (k,); None if the solver gives up."""
        left, right = self._rows()
        functions = rows @ self.output
        functions[:, -1] += offsets
        if len(rows) == 1:
            cost = functions[0, :-1]
        else:  # a further variable t below every function
            size = float(np.abs(functions[:, :-1]).sum(axis=1).max(initial=0.0)) or 1.0
            left = np.pad(left, ((0, 0), (0, 1)))
            lower = np.column_stack([-functions[:, :-1], np.full(len(rows), size)])
            left, right = np.vstack([left, lower]), np.append(right, functions[:, -1] - functions[:, -1].min())
            cost = np.append(np.zeros(self.width - 1), 1.0)
        answer = self._solve(solver, cost, left, right)
        if answer is None:
            return None
        point, y = answer
        return self._read(point, y, len(rows))

    def separate(self, solver: Solver) -> tuple[Relaxed, float] | None:
        """Maximize the least distance t by which known sides hold, in units of each; t <= 0: the open node is empty."""
        left, right = self._rows()
        first = len(self.domain.b)
        room = np.zeros(len(right))
        size = np.abs(left[first : first + len(self.fixed)]).sum(axis=1)
        room[first : first + len(self.fixed)] = np.where(size > 0, size, 1.0)
        left = np.column_stack([left, room])
        answer = self._solve(solver, np.append(np.zeros(self.width - 1), 1.0), left, right, t_high=1.0)
        if answer is None:
            return None
        point, y = answer
        found = self._read(point, y, 0)
        return found, -np.inf if point is None else float(point[-1])

    def _solve(
        self, solver: Solver, cost: Floats, left: Floats, right: Floats, t_high: float = np.inf
    ) -> tuple[Floats | None, Floats] | None:
        """Solve with units of each open unit's range."""
        open_low, open_high = self._ranges()
        reach = np.maximum(np.maximum(np.abs(open_low), np.abs(open_high)), 1e-300)
        extra = len(cost) - (self.width - 1)
        scale = np.concatenate([np.ones(self.n), reach, np.ones(extra)])
        low = np.concatenate([-np.ones(self.n), open_low / reach, np.full(extra, -np.inf)])
        high = np.concatenate([np.ones(self.n), open_high / reach, np.full(extra, t_high)])
        answer = solver.maximize(cost * scale, left * scale, right, low, high)
        if answer is None:
            return None
        return (None if answer.point is None else answer.point * scale), answer.multipliers

    def _ranges(self) -> tuple[Floats, Floats]:
        low, high = self.nodes.low[self.i][self.open], self.nodes.high[self.i][self.open]
        leak = self.nodes.form.leak[self.open]
        ends = np.stack([leak * low, high, np.zeros(len(low))])
        return 2 * ends.min(axis=0) - ends.max(axis=0), 2 * ends.max(axis=0) - ends.min(axis=0)

    def _read(self, point: Floats | None, y: Floats, k: int) -> Relaxed:
        r, f, p, units = len(self.domain.b), len(self.fixed), len(self.open), self.nodes.form.n_units
        sides, tangents, gaps = np.zeros(units), np.zeros(units), np.zeros(units)
        sides[self.fixed] = y[r : r + f]
        tangents[self.open] = y[r + f : r + f + p]
        rows = np.ones(1) if k == 1 else y[r + f + 3 * p : r + f + 3 * p + k]
        v = None
        if point is None:
            rows = np.zeros(max(k, 1))
        else:
            w = np.append(point[: self.width - 1], 1.0)
            v = self.center + self.radius * np.clip(point[: self.n], -1.0, 1.0)
            z = self.z[self.open] @ w
            leak = self.nodes.form.leak[self.open]
            gaps[self.open] = np.abs(w[self.n : -1] - np.where(z > 0, z, leak * z))
        return Relaxed(v, gaps, Weights(rows if k else np.zeros(0), y[:r], sides, tangents))
