"""What searches over the sides of units share: the network around the middle of a box, and nodes of known sides."""

from __future__ import annotations

import time
from abc import abstractmethod
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from creases._typing import Floats, Ints, Progress
from creases.certify._form import Form
from creases.certify._maximize.domain import Domain, outward
from creases.certify._maximize.linear_program import Solver
from creases.certify._maximize.multipliers import shift_rows
from creases.certify._maximize.objectives import Objective
from creases.certify._maximize.queue_search import Limits, OpenNode, QueueSearch
from creases.certify._nodes import OFF, ON, Balls, Nodes, root_node
from creases.certify.proofs._format import Leaf

#: About how long each number of a relaxation takes.
RELAXATION_SECONDS = 5e-8


@dataclass(frozen=True, eq=False)
class Node(OpenNode):
    """A node that is not closed."""

    sides: Ints  #: (units,)
    low: Floats  #: (units,)
    high: Floats  #: (units,)
    unit: int  #: to split on; -1 if none is open

    @property
    def can_split(self) -> bool:
        """Whether a unit is open."""
        return self.unit >= 0


class SideSearch(QueueSearch):
    """Branch and bound over the sides of units."""

    batch = 16

    def __init__(self, objective: Objective, form: Form, domain: Domain, limits: Limits, progress: Progress) -> None:
        super().__init__(objective, domain, limits, progress)
        self.form, self.middle = form, domain.middle
        self.root = _root(form, domain.box.tobytes())
        self.local = self.root.form  #: the network around the middle
        self.constraints = shift_rows(domain.A, domain.b, self.middle)
        self.solver = Solver()

    @abstractmethod
    def bound_nodes(self, nodes: Nodes, numbers: list[int]) -> None:
        """Close nodes, or put them into the queue."""

    def bound_root(self) -> None:
        """Close the node without known sides, or put it into the queue."""
        self.solver.until = self.limits.deadline
        self.bound_nodes(self.root, [0])

    def queue_node(self, nodes: Nodes, i: int, number: int, bound: float, unit: int, leaf: Leaf) -> None:
        """Put a node into the queue, to be split on a unit."""
        self.put(Node(number, bound, leaf, nodes.sides[i], nodes.low[i], nodes.high[i], unit))

    def is_late(self, nodes: Nodes, i: int) -> bool:
        """Whether there is no time to write the relaxation of a node."""
        width = int(nodes.open_units()[i].sum())
        numbers = (3 * width + len(nodes.sides[i])) * (len(self.middle) + width)
        return time.monotonic() + RELAXATION_SECONDS * numbers >= self.limits.deadline

    def split(self, nodes: list[Node]) -> None:
        """Split nodes on a unit each."""
        sides: list[Ints] = []
        known: list[tuple[Floats, Floats]] = []
        numbers: list[int] = []
        for node in nodes:
            for number, side in zip(self.record.split(node.number, "unit", node.unit), (OFF, ON), strict=True):
                child = node.sides.copy()
                child[node.unit] = side
                sides.append(child)
                numbers.append(number)
                known.append((node.low, node.high))
        low, high = (np.stack(ends) for ends in zip(*known, strict=True))
        self.bound_sides(np.stack(sides), numbers, (low, high))
        self.progress("bounding nodes", len(self.record), None)

    def bound_sides(self, sides: Ints, numbers: list[int], known: tuple[Floats, Floats] | None) -> None:
        """Bound nodes of known sides (b, units), with bounds of units that hold already."""
        low, high = (np.repeat(end, len(sides), axis=0) for end in (self.root.inputs.low, self.root.inputs.high))
        self.solver.until = self.limits.deadline
        self.bound_nodes(Nodes(self.local, Balls.boxes(low, high), sides, known), numbers)


@lru_cache(maxsize=2)
def _root(form: Form, box: bytes) -> Nodes:
    """Return the node without known sides, from which searches for many objectives begin."""
    ends = np.frombuffer(box).reshape(-1, 2)
    middle = ends[:, 0] / 2 + ends[:, 1] / 2
    return root_node(form.recenter(middle), *(end[None] for end in outward(ends, middle)))
