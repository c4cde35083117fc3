"""Mixed-integer linear programs (HiGHS) for the L1 and Linf norms [1]_.

Each unit that may be on either side within the ball of the best answer has a binary variable; bounds of what enters it,
taken inside that ball, are the constants of the formulation. Units whose side is known there need neither. The programs
look for points; nothing is proved by them, as a solver's bound holds to its tolerance only.

References
----------
.. [1] Tjeng, Xiao, Tedrake, "Evaluating Robustness of Neural Networks with Mixed Integer Programming", ICLR 2019.
"""

from __future__ import annotations

import time

import numpy as np
from scipy.optimize import Bounds as VariableBounds
from scipy.optimize import LinearConstraint, milp

from creases._typing import Floats, Ints
from creases.certify._nearest.best import Best
from creases.certify._nearest.question import Goal, Question
from creases.certify._nearest.relaxation import Ball, Bounds
from creases.certify._nearest.search import Search


def solve_programs(question: Question, best: Best, deadline: float) -> int:
    """Solve a program for each goal, within the ball of the best answer so far, which must exist; return the nodes."""
    nodes = 0
    for goal in question.goals:
        root = Search(question, best, deadline).root(goal, best.distance)
        if root is None or root.bound >= best.distance or time.perf_counter() >= deadline:
            continue
        ball = Ball.around(best.distance * (1 + 1e-9), *question.limits, question.norm)
        nodes += _Program(question, goal, ball, root.bounds).solve(best, deadline)
    return nodes


class _Program:
    """Variables, in units of the radius: u, what the norm needs, whole numbers, outputs and sides of bent units."""

    def __init__(self, question: Question, goal: Goal, ball: Ball, units: Bounds) -> None:
        self.question, self.scale = question, ball.radius
        net, n = question.local, question.local.n_in
        leak = np.concatenate([layer.leak for layer in net.layers] or [np.zeros(0)])
        bent = np.flatnonzero((units.low < 0) & (units.high > 0) & (leak != 1))
        whole = np.flatnonzero(question.whole)
        self.n_norm = n if question.norm == "l1" else 1
        self.first_h = n + self.n_norm + len(whole)
        self.count = self.first_h + 2 * len(bent)
        self.rows: list[Floats] = []
        self.low: list[Floats] = []
        self.high: list[Floats] = []
        self.lower, self.upper = np.full(self.count, -np.inf), np.full(self.count, np.inf)
        self.lower[:n], self.upper[:n] = ball.low / self.scale, ball.high / self.scale
        self._norm(n)
        self._add_integers(whole)
        self._network(goal, units, leak, bent)
        self.integrality = np.zeros(self.count, np.int64)
        self.integrality[n + self.n_norm : self.first_h] = 1
        self.integrality[self.first_h + len(bent) :] = 1

    def _add(self, A: Floats, low: Floats | float, high: Floats | float) -> None:
        self.rows.append(A)
        self.low.append(np.broadcast_to(low, len(A)).astype(np.float64))
        self.high.append(np.broadcast_to(high, len(A)).astype(np.float64))

    def _norm(self, n: int) -> None:
        """Let |u| <= t, one t for each entry (L1) or one for all (Linf)."""
        A = np.zeros((2 * n, self.count))
        A[np.arange(n), np.arange(n)] = 1.0
        A[n + np.arange(n), np.arange(n)] = -1.0
        t = n + (np.arange(n) if self.n_norm == n else np.zeros(n, int))
        A[np.arange(n), t] -= 1.0
        A[n + np.arange(n), t] -= 1.0
        self._add(A, -np.inf, 0.0)
        self.lower[n : n + self.n_norm], self.upper[n : n + self.n_norm] = 0.0, 1.0
        self.cost = np.zeros(self.count)
        self.cost[n : n + self.n_norm] = 1.0

    def _add_integers(self, whole: Ints) -> None:
        """Let integer columns be whole numbers, and one-hot groups add up to 1."""
        question, n = self.question, self.question.local.n_in
        weight, x = question.weights[question.columns], question.x[question.columns]
        for i, column in enumerate(whole):
            row = np.zeros((1, self.count))
            row[0, column], row[0, n + self.n_norm + i] = self.scale, -weight[column]
            end = -weight[column] * x[column]
            self._add(row, end, end)
        N, s = question.sums
        A = np.zeros((len(s), self.count))
        A[:, :n] = N
        self._add(A, -np.inf, s / self.scale)

    def _network(self, goal: Goal, units: Bounds, leak: Floats, bent: Ints) -> None:
        """Write each unit as an expression of the variables; bent ones are variables of their own."""
        net, n = self.question.local, self.question.local.n_in
        place = np.full(net.n_units, -1)
        place[bent] = np.arange(len(bent))
        expressions = np.zeros((net.W.shape[1], self.count + 1))  # the constant last
        expressions[:n, :n] = self.scale * np.eye(n)
        for k, layer in enumerate(net.layers):
            part = net.units(k)
            z = layer.W @ expressions[: layer.first]
            z[:, -1] += layer.c
            slope = np.where(units.low[part] >= 0, 1.0, layer.leak)
            h = slope[:, None] * z
            for i in np.flatnonzero(place[part] >= 0):
                h[i] = self._bend(z[i], units.low[part][i], units.high[part][i], layer.leak[i], int(place[part][i]))
            expressions[layer.first : layer.first + len(z)] = h
        out = goal.G @ net.W @ expressions
        out[:, -1] += goal.G @ net.c + goal.g
        size = np.abs(out[:, :-1]).max(axis=1)
        size[size == 0] = 1.0
        self._add(out[:, :-1] / size[:, None], -out[:, -1] / size, np.inf)

    def _bend(self, z: Floats, low: float, high: float, leak: float, place: int) -> Floats:
        """Add ``h = z`` on side 1 and ``h = leak z`` on side 0; return h, which the variable is in units of a size."""
        size = max(high, -low)
        h, side = self.first_h + place, self.first_h + (self.count - self.first_h) // 2 + place
        self.lower[side], self.upper[side] = 0.0, 1.0
        ends = (leak * low, high, 0.0)
        self.lower[h], self.upper[h] = min(ends) / size, max(ends) / size
        A = np.zeros((4, self.count))
        A[:, h] = 1.0
        A[[0, 2]] -= z[:-1] / size
        A[[1, 3]] -= leak * z[:-1] / size
        at = np.array([z[-1], leak * z[-1]]) / size
        sign = 1.0 if leak <= 1 else -1.0  # a convex unit is above both of its lines, a concave one below
        A[2, side] = -(1 - leak) * low / size  # h <= z - (1 - leak) low (1 - side)
        A[3, side] = -(1 - leak) * high / size  # h <= leak z + (1 - leak) high side
        A, one_side = sign * A, sign * np.array([at[0], at[1]])
        self._add(A[:2], one_side, np.inf)
        self._add(A[2:], -np.inf, np.array([one_side[0] - sign * (1 - leak) * low / size, one_side[1]]))
        out = np.zeros(self.count + 1)
        out[h] = size
        return out

    def solve(self, best: Best, deadline: float) -> int:
        """Solve; offer the answer to ``best``; return the number of nodes."""
        rows = LinearConstraint(np.vstack(self.rows), np.concatenate(self.low), np.concatenate(self.high))
        answer = milp(
            self.cost,
            integrality=self.integrality,
            bounds=VariableBounds(self.lower, self.upper),
            constraints=rows,
            options={"time_limit": max(0.1, deadline - time.perf_counter()), "mip_rel_gap": 1e-8},
        )
        if answer.x is not None:
            u = answer.x[: self.question.local.n_in] * self.scale
            best.offer(u)
            best.descend(u, deadline)
        return int(getattr(answer, "mip_node_count", 0) or 0)
