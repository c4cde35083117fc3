"""What all searches for a largest value share: a queue of open nodes, the best point and the record of the tree.

A search can be divided: :meth:`QueueSearch.take_part` goes on from some open nodes, for a while, and returns those that
it leaves. Parts can be run in any process, one after another or at once.
"""

from __future__ import annotations

import heapq
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from creases._typing import Floats, Progress
from creases.certify._maximize.domain import Domain
from creases.certify._maximize.objectives import Objective
from creases.certify.proofs._format import Leaf, Split, Tree
from creases.certify.proofs._record import TreeRecord

#: Points whose values are checked to be reached, from the largest value on.
MAX_CHECKS = 8


#: The largest number below 0.
BELOW = float(np.nextafter(0.0, -1.0))


class Extreme(NamedTuple):
    """The largest value of an objective: at least ``lower``, reached at ``where`` (n,), and at most ``upper``."""

    lower: float
    where: Floats
    upper: float
    tree: tuple[Split | Leaf, ...] | None = None  #: shows that nothing is above ``upper``


@dataclass(frozen=True, eq=False)
class Limits:
    """When a search may end."""

    deadline: float  #: as of ``time.monotonic()``
    tolerance: float = 1e-9  #: relative to the value
    stop_above: float = np.inf  #: a value above it is enough
    stop_below: float = -np.inf  #: an upper bound of at most this is enough

    def enough(self, lower: float) -> float:
        """Return the bound below which a node needs no further search, where a value ``lower`` is reached."""
        return max(lower + self.tolerance * abs(lower), self.stop_below) if np.isfinite(lower) else self.stop_below

    def is_over(self, lower: float, upper: float) -> bool:
        """Return whether a search may end that reached a value and whose largest open bound is ``upper``."""
        return time.monotonic() >= self.deadline or lower > self.stop_above or upper <= self.enough(lower)


@dataclass(frozen=True, eq=False)
class OpenNode:
    """A node that is not closed."""

    number: int  #: in the record of the tree
    bound: float  #: of the value in it, from above
    leaf: Leaf  #: shows the bound

    @property
    def can_split(self) -> bool:
        """Whether it can be divided."""
        return True


class Part(NamedTuple):
    """What a part of a search did, and what it leaves."""

    lower: float  #: the largest value that was reached
    where: Floats  #: (n,)
    closed: float  #: the largest bound of a node that was closed
    left: list[Any]  #: open nodes, the largest bound first
    record: TreeRecord  #: its first nodes are those that the part was given


class QueueSearch(ABC):
    """Branch and bound for the largest value of an objective over a domain, nodes with the largest bounds first."""

    #: Nodes that are split at a time, and whether the record is that of a proof.
    batch: int
    has_proof = True

    def __init__(self, objective: Objective, domain: Domain, limits: Limits, progress: Progress) -> None:
        self.objective, self.domain, self.limits, self.progress = objective, domain, limits, progress
        self._reset(1, -np.inf, domain.middle)

    def _reset(self, roots: int, lower: float, where: Floats) -> None:
        self.record, self.lower, self.where = TreeRecord(roots), lower, where
        self.closed = -np.inf  # the largest bound of a node that is done
        self.queue: list[tuple[float, int, Any]] = []
        self.order = count()

    @abstractmethod
    def bound_root(self) -> None:
        """Close the root, or put it into the queue."""

    @abstractmethod
    def split(self, nodes: list[Any]) -> None:
        """Split nodes, and close their children or put them into the queue."""

    def begin(self, start: Floats) -> None:
        """Try points (p, n) and bound the root."""
        self.try_points(start)
        if np.isfinite(self.lower):
            self._improve()
        self.bound_root()

    def try_points(self, X: Floats) -> bool:
        """Evaluate points (p, n); keep the best that is in the domain, and return whether it is better than before."""
        if not len(X):
            return False
        values = self.objective.values(X)
        for i in np.argsort(-values, kind="stable")[:MAX_CHECKS]:
            if not values[i] > self.lower:
                return False
            x = self.domain.move_inside(X[i])
            if not self.domain.contains(x[None])[0]:
                continue
            value = float(values[i]) if x is X[i] else float(self.objective.values(x[None])[0])
            if self.objective.jumps:  # no point beside one tells its value
                if time.monotonic() >= self.limits.deadline:
                    return False
                value = self.objective.reached(self.domain, x)
            elif value > self.limits.stop_above:  # it ends the search: only what is proved counts
                value = min(value, self.objective.reached(self.domain, x, np.inf))
            if value > self.lower:
                self.lower, self.where = value, x
                return True
        return False

    def climb(self, X: Floats) -> None:
        """Try points (p, n), and what they improve to where one is better than before."""
        if self.try_points(X):
            self._improve()

    def _improve(self) -> None:
        """Try a better point near the best one."""
        self.try_points(self.objective.improve(self.domain, self.where, self.limits.deadline)[None])

    def proved_value(self) -> float:
        """Return the value that the best point is proved to have."""
        return self.objective.reached(self.domain, self.where, self.limits.deadline)

    def run(self, start: Floats) -> Extreme:
        """Search from points (p, n)."""
        self.begin(start)
        self.advance()
        upper = max([self.closed, *(node.bound for _, _, node in self.queue)])
        for _, _, node in self.queue:
            self.record.close(node.number, node.leaf)
        lower = self.proved_value() if np.isfinite(self.lower) else -np.inf
        return Extreme(lower, self.where, max(upper, lower), self.record.tree() if self.has_proof else None)

    def prove(self, start: Floats, max_nodes: float) -> Tree | None:
        """Return a tree that shows that no value is above ``limits.stop_below``; None if about so many nodes do not.

        The search begins with points (p, n).
        """
        self.begin(start)
        self.advance(max_nodes)
        is_shown = not self.queue and max(self.closed, self.lower) <= self.limits.stop_below
        return self.record.tree() if is_shown and self.has_proof else None

    def take_part(
        self, nodes: Sequence[Any] | None, start: Floats, max_nodes: float, until: float, best: tuple[float, Floats]
    ) -> Part:
        """Go on from open nodes, or from the root; what the search did before does not count.

        Parameters
        ----------
        start
            (p, n) points to try with the root.
        max_nodes
            About how many nodes are bounded at most.
        until
            When it ends, as of ``time.monotonic()``.
        best
            The largest value that other parts reached, and where (n,).
        """
        self.limits = replace(self.limits, deadline=until)
        self._reset(1 if nodes is None else len(nodes), *best)
        if nodes is None:
            self.begin(start)
        for number, node in enumerate(nodes or []):
            self.put(replace(node, number=number))
        self.advance(max_nodes)
        lower = self.proved_value() if self.lower > self.limits.stop_above else self.lower
        return Part(lower, self.where, self.closed, [node for _, _, node in sorted(self.queue)], self.record)

    def advance(self, max_nodes: float = np.inf) -> None:
        """Split nodes until none is left, the search is over or about so many were bounded."""
        end, room = len(self.record) + max_nodes, self.batch
        while self.queue and len(self.record) < end and not self.limits.is_over(self.lower, -self.queue[0][0]):
            nodes: list[OpenNode] = []
            while self.queue and len(nodes) < room and -self.queue[0][0] > self.enough:
                node = heapq.heappop(self.queue)[2]
                if node.can_split:
                    nodes.append(node)
                else:
                    self.close(node.number, node.bound, node.leaf)
                if len(self.record) + 2 * len(nodes) >= end:
                    break
            if nodes:
                began = time.monotonic()
                self.split(nodes)
                now = time.monotonic()
                left, cost = self.limits.deadline - now, max((now - began) / len(nodes), 1e-9)
                room = self.batch if left > 8 * self.batch * cost else max(1, int(left / (8 * cost)))

    @property
    def enough(self) -> float:
        """A node whose bound is no larger needs no further search."""
        return self.limits.enough(self.lower)

    def close(self, number: int, bound: float, leaf: Leaf | Tree) -> None:
        """Close a node by its bound, with a leaf or a tree; nan, of overflow, is no bound."""
        self.closed = max(self.closed, np.inf if np.isnan(bound) else bound)
        self.record.close(number, leaf)

    def put(self, node: Any) -> None:
        """Put an :class:`OpenNode` into the queue; without a bound where that is nan."""
        if np.isnan(node.bound):
            node = replace(node, bound=np.inf)
        heapq.heappush(self.queue, (-node.bound, next(self.order), node))
