"""What searches over the sides of units share: a queue of nodes, the best of them split first."""

from __future__ import annotations

import heapq
from abc import ABC, abstractmethod
from dataclasses import dataclass
from itertools import count

import numpy as np

from creases._typing import Floats, Ints, Progress
from creases.certify._maximize.dense import DenseForm
from creases.certify._maximize.domain import Domain, outward
from creases.certify._maximize.extreme import Extreme, Limits
from creases.certify._maximize.linear_program import Solver
from creases.certify._maximize.multipliers import shift_rows
from creases.certify._maximize.nodes import FREE, OFF, ON, Nodes
from creases.certify.proofs._format import Leaf
from creases.certify.proofs._record import TreeRecord

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


class SideSearch(ABC):
    """Branch and bound over the sides of units: its queue, its best point and the record of its tree."""

    def __init__(self, form: DenseForm, domain: Domain, limits: Limits, progress: Progress) -> None:
        self.form, self.domain, self.limits, self.progress = form, domain, limits, progress
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

    @abstractmethod
    def try_points(self, X: Floats) -> bool:
        """Evaluate points (p, n); keep the best, and return whether it is better than before."""

    @abstractmethod
    def bound_nodes(self, nodes: Nodes, numbers: list[int]) -> None:
        """Close nodes, or put them into the queue."""

    @abstractmethod
    def proved_value(self) -> float:
        """Return the value that the best point is proved to have."""

    def run(self, start: Floats) -> Extreme:
        """Search from points (p, n)."""
        self.try_points(start)
        self._push(np.full((1, self.dense.n_units), FREE, np.int8), [0], None)
        while self.queue and not self.limits.is_over(self.lower, -self.queue[0][0]):
            self._step()
            self.progress("bounding nodes", len(self.record), None)
        upper = max([self.closed, *(-bound for bound, _, _ in self.queue)])
        for _, _, node in self.queue:
            self.record.close(node.number, node.leaf)
        lower = self.proved_value() if np.isfinite(self.lower) else -np.inf
        return Extreme(lower, self.where, max(upper, lower), self.record.tree())

    @property
    def enough(self) -> float:
        """A node whose bound is no larger needs no further search."""
        return self.limits.enough(self.lower)

    def close(self, number: int, bound: float, leaf: Leaf) -> None:
        """Close a node by its bound."""
        self.closed = max(self.closed, bound)
        self.record.close(number, leaf)

    def put(self, nodes: Nodes, i: int, number: int, bound: float, unit: int, leaf: Leaf) -> None:
        """Put a node into the queue, to be split on a unit."""
        node = Node(number, nodes.sides[i], nodes.low[i], nodes.high[i], unit, leaf)
        heapq.heappush(self.queue, (-bound, next(self.order), node))

    def _step(self) -> None:
        """Split the nodes with the largest bounds."""
        sides: list[Ints] = []
        known: list[tuple[Floats, Floats]] = []
        numbers: list[int] = []
        while self.queue and len(numbers) < 2 * BATCH and -self.queue[0][0] > self.enough:
            bound, _, node = heapq.heappop(self.queue)
            if node.unit < 0:  # nothing left to split
                self.close(node.number, -bound, node.leaf)
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
        low, high = (np.broadcast_to(end, (len(sides), len(end))) for end in self.box)
        self.bound_nodes(Nodes(self.dense, low, high, sides, known), numbers)
