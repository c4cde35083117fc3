"""Cases decided by several processes: open subtrees wait in queues, and whoever is idle takes one.

A task works on a subtree for a while and returns what it leaves, which waits again, in more parts while few wait. Tasks
are taken, and results seen, in an order that does not depend on which process is first or how many there are, so the
verdict, its proof and its counterexample do not either, unless time runs out.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np

from creases._engines import Engine, run_in_order, start_engine
from creases._typing import Floats, Progress
from creases.certify._boxes.search import TreeLog, case_trees
from creases.certify._case import Case
from creases.certify.proofs._format import ClaimProof
from creases.certify.proofs._record import TreeRecord
from creases.certify.properties._case_search import (
    BOX_TIME,
    Answers,
    BoxSearch,
    Decision,
    OpenCase,
    Tree,
    conclude,
    group_cases,
    has_few_units,
    open_boxes,
    open_case,
)
from creases.certify.properties._property import Verdict
from creases.network import Network

#: The first tasks, which this process does, and the first of a search, which are small: soon there is work for all.
FIRST_TASKS, SMALL_TASKS = 16, 16

#: Tasks whose results were not seen, at least: the same for up to half as many processes.
AHEAD = 32

#: Into how many parts nodes are divided while few wait, and the most nodes of a part.
PIECES, PIECE_SIZE = 8, 32


def decide_in_parallel(
    net: Network,
    cases: Sequence[Case],
    budget: float,
    progress: Progress | None,
    start: Callable[[Callable[..., Result]], AbstractContextManager[Engine]],
    *,
    keep_trees: bool,
) -> tuple[Verdict, tuple[ClaimProof, ...] | None]:
    """Return what :func:`decide_cases` does, with the work done by the engine that ``start`` starts for a function.

    The first tasks, which are small, are done in this process: what they decide needs no other.
    """
    report = progress or (lambda what, done, total: None)
    begin = time.monotonic()
    boxes, compiling = open_boxes(net, report)
    begin += compiling  # which no time limit counts
    searches: list[_Subtrees] = [
        _SideSubtrees(group) if boxes is None else _BoxSubtrees(group, [cases[k] for k in group])
        for group in map(tuple, group_cases(cases, boxes))
    ]
    box_deadline = begin + BOX_TIME * budget if has_few_units(net) else np.inf
    queue = _Queue(searches, begin + budget, box_deadline, keep_trees)
    work = partial(work_on_subtree, Question.of(net, tuple(cases), keep_trees))
    point = queue.run(start_engine("serial", work, 1, None, None), report, FIRST_TASKS)
    if point is None and not queue.is_over:
        with start(work) as engine:
            point = queue.run(engine, report)
    return conclude(net, cases, Answers(point, len(cases) - len(queue.trees), queue.trees), begin)


class _Subtrees(ABC):
    """The open nodes of a search, and its tree so far."""

    by_boxes: bool

    def __init__(self, cases: tuple[int, ...]) -> None:
        self.cases = cases
        self.waiting: list[Any] = [None]  # parts of the open nodes; None: the root
        self.running = self.tasks = 0
        self.is_open: set[int] = set()  # cases that stay undecided
        self.best: tuple[float, Floats] | None = None

    @abstractmethod
    def number(self, nodes: Any) -> tuple[Any, Any]:
        """Return nodes with the numbers 0, 1, ..., and their numbers in the tree."""

    @abstractmethod
    def graft(self, tree: Any, roots: Any, nodes: Any) -> Any:
        """Put the trees of a task at the nodes that it began with; return those that it left, by their numbers here."""

    @abstractmethod
    def proof(self, case: int) -> Tree | None:
        """Return the tree that proves that a case is empty."""

    def take(self) -> tuple[Subtree, Any]:
        """Return the next task, and the numbers in the tree of the nodes that it begins with."""
        nodes = self.waiting.pop()
        nodes, roots = (None, [0]) if nodes is None else self.number(nodes)
        self.running, self.tasks = self.running + 1, self.tasks + 1
        return Subtree(self.cases, self.by_boxes, nodes, self.tasks, self.best), roots

    def add(self, result: Result, roots: Any, *, is_scarce: bool) -> None:
        """Take what a task found; nodes that it left wait, in several parts if other tasks are scarce."""
        self.running -= 1
        self.is_open.update(result.is_open)
        left = result.left if result.tree is None else self.graft(result.tree, roots, result.left)
        if result.best is not None and (self.best is None or result.best[0] > self.best[0]):
            self.best = result.best
        size = len(left.node) if hasattr(left, "node") else len(left)  # a named tuple of arrays, or a list
        pieces = max(-(-size // PIECE_SIZE), min(size, PIECES) if is_scarce else min(size, 1))
        self.waiting += [take_every(left, i, pieces) for i in reversed(range(pieces))]


def take_every(nodes: Any, start: int, step: int) -> Any:
    """Return every so many-th node of a list, or of a named tuple of arrays."""
    if hasattr(nodes, "node"):
        return type(nodes)(*(part[start::step] for part in nodes))
    return nodes[start::step]


class _BoxSubtrees(_Subtrees):
    """Boxes of the inputs of a group of cases."""

    by_boxes = True

    def __init__(self, numbers: tuple[int, ...], cases: Sequence[Case]) -> None:
        super().__init__(numbers)
        self.sets, self.log = cases, TreeLog(len(cases))

    def number(self, nodes: Any) -> tuple[Any, Any]:
        return nodes._replace(node=np.arange(len(nodes.node))), nodes.node

    def graft(self, tree: TreeLog, roots: Any, nodes: Any) -> Any:
        return nodes._replace(node=self.log.graft(tree, roots, nodes.node))

    def proof(self, case: int) -> Tree | None:
        at = self.cases.index(case)
        return case_trees(self.log, self.sets, [k != at for k in range(len(self.cases))])[at]

    def give_up(self) -> None:
        """Leave the cases of all nodes that wait undecided."""
        for nodes in self.waiting:
            is_open = np.ones(len(self.cases), bool) if nodes is None else nodes.is_open.any(axis=0)
            self.is_open.update(k for k, still in zip(self.cases, is_open, strict=True) if still)
        self.waiting = []


class _SideSubtrees(_Subtrees):
    """Sides of units, or boxes that are bounded layer by layer, of one case."""

    by_boxes = False

    def __init__(self, numbers: tuple[int, ...]) -> None:
        super().__init__(numbers)
        self.record: TreeRecord | None = None

    def number(self, nodes: Any) -> tuple[Any, Any]:
        return nodes, [node.number for node in nodes]

    def graft(self, tree: TreeRecord, roots: Any, nodes: Any) -> Any:
        self.record = self.record or TreeRecord()
        numbers = self.record.graft(tree, roots)
        return [replace(node, number=numbers[node.number]) for node in nodes]

    def proof(self, case: int) -> Tree | None:
        return None if self.record is None else self.record.tree()


class _Queue:
    """The searches of all cases, which take turns."""

    def __init__(self, searches: list[_Subtrees], deadline: float, box_deadline: float, keep_trees: bool) -> None:
        self.searches, self.n_cases = deque(searches), sum(len(search.cases) for search in searches)
        self.deadline, self.box_deadline, self.keep_trees = deadline, box_deadline, keep_trees
        self.running: deque[tuple[_Subtrees, Any]] = deque()
        self.trees: dict[int, Tree | None] = {}  # of cases that are empty
        self.undecided: list[int] = []

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to do, or no time."""
        return not self.searches or time.monotonic() >= self.deadline

    def run(self, engine: Engine, report: Progress, max_tasks: float = np.inf) -> Floats | None:
        """Work until all is decided, time is over or so many tasks are done; return an input in a case."""
        ahead = max(AHEAD, 2 * engine.workers) if max_tasks == np.inf else 1
        for done, result in enumerate(run_in_order(engine, self.take, ahead), 1):
            if result.point is not None:
                return np.asarray(result.point)
            self.add(result, ahead)
            if done == max_tasks or time.monotonic() >= self.deadline:
                break
            report("deciding cases", len(self.trees) + len(self.undecided), self.n_cases)
        return None

    def take(self) -> tuple[Subtree, float] | None:
        """Return the next task and its time in seconds; None if there is none now."""
        now = time.monotonic()
        if now >= self.deadline:
            return None
        if now >= self.box_deadline:
            self._leave_boxes()
        for _ in range(len(self.searches)):
            search = self.searches[0]
            self.searches.rotate(-1)
            if search.waiting:
                subtree, roots = search.take()
                self.running.append((search, roots))
                end = min(self.deadline, self.box_deadline) if search.by_boxes else self.deadline
                return subtree, end - now
        return None

    def add(self, result: Result, ahead: int) -> None:
        """Take the result of the first task that was taken and not seen."""
        search, roots = self.running.popleft()
        waiting = sum(len(other.waiting) for other in self.searches)
        search.add(result, roots, is_scarce=waiting < ahead)
        self._finish(search)

    def _leave_boxes(self) -> None:
        """Go on with sides of units where boxes took their share of the time."""
        for search in list(self.searches):
            if isinstance(search, _BoxSubtrees):
                search.give_up()
                self._finish(search)

    def _finish(self, search: _Subtrees) -> None:
        """Take the answers of a search that has ended."""
        if search.waiting or search.running or search not in self.searches:
            return
        self.searches.remove(search)
        for k in search.cases:
            if k not in search.is_open:
                self.trees[k] = search.proof(k) if self.keep_trees else None
            elif search.by_boxes and np.isfinite(self.box_deadline):
                self.searches.append(_SideSubtrees((k,)))
            else:
                self.undecided.append(k)


# -- what a process does with a subtree -------------------------------------------------------------------------------


#: Nodes of a task over sides of units: by the size of their relaxations, at least (and of a small task) and at most.
NODE_SIZE, MIN_NODES, MAX_NODES = 2**21, 8, 64

#: Cases whose searches a process keeps ready.
READY = 64


@dataclass(frozen=True)
class Question:
    """What all tasks share; equal if the name is, so that a process prepares it once."""

    name: str
    net: Network = field(compare=False)
    cases: tuple[Case, ...] = field(compare=False)
    keep_trees: bool = field(compare=False)

    @classmethod
    def of(cls, net: Network, cases: tuple[Case, ...], keep_trees: bool) -> Question:
        """Return a question with a name of its own."""
        return cls(uuid4().hex, net, cases, keep_trees)


class Subtree(NamedTuple):
    """Where a task begins."""

    cases: tuple[int, ...]  #: numbers of the cases of a group, for boxes; of one case for sides of units
    by_boxes: bool
    nodes: Any = None  #: open nodes, which have the numbers 0, 1, ...; None: the root
    number: int = 1  #: of the task in its search, from 1
    best: tuple[float, Floats] | None = None  #: the largest value that the search reached so far, and where (n,)

    @property
    def is_small(self) -> bool:
        """Whether the task should return soon."""
        return self.number <= SMALL_TASKS


class Result(NamedTuple):
    """What a task found, and leaves."""

    point: Floats | None = None  #: (n,) in a case
    is_open: tuple[int, ...] = ()  #: cases that stay undecided in a part of the subtree
    left: Any = ()  #: open nodes
    tree: TreeLog | TreeRecord | None = None
    best: tuple[float, Floats] | None = None


def work_on_subtree(question: Question, subtree: Subtree, seconds: float) -> Result:
    """Work on a subtree for a while."""
    question = _first_equal(question)
    work = _split_boxes if subtree.by_boxes else _split_sides
    return work(question, subtree, seconds)


@lru_cache(maxsize=1)
def _first_equal(question: Question) -> Question:
    """Return the first of equal questions that came to this process: its network has been prepared."""
    return question


@lru_cache(maxsize=1)
def _open_boxes(question: Question) -> BoxSearch | None:
    return open_boxes(question.net, lambda what, done, total: None)[0]


@lru_cache(maxsize=READY)
def _open_case(question: Question, number: int) -> OpenCase | Decision:
    return open_case(question.net, question.cases[number], keep_tree=question.keep_trees)


def _split_boxes(question: Question, subtree: Subtree, seconds: float) -> Result:
    boxes, until = _open_boxes(question), time.monotonic() + seconds
    assert boxes is not None
    cases = [question.cases[k] for k in subtree.cases]
    options = {"is_small": subtree.is_small, "keep_tree": question.keep_trees}
    found = boxes.search_part(cases, subtree.nodes, until, subtree.number, **options)
    if found.point is not None:
        return Result(found.point)
    if found.is_stuck:
        return Result(is_open=tuple(k for k, is_open in zip(subtree.cases, found.is_open, strict=True) if is_open))
    return Result(left=found.left, tree=found.trees if question.keep_trees else None)


def _split_sides(question: Question, subtree: Subtree, seconds: float) -> Result:
    (k,) = subtree.cases
    case, until = _open_case(question, k), time.monotonic() + seconds
    if isinstance(case, Decision):
        return Result(case.point, (k,) if case.is_open else ())
    units = question.net.n_units
    most = min(max(NODE_SIZE // max(units, 1) ** 2, MIN_NODES), MAX_NODES)
    part = case.search.take_part(
        subtree.nodes,
        case.start,
        MIN_NODES if subtree.is_small else most,
        until,
        subtree.best or (-np.inf, case.inputs.middle),
    )
    if case.is_inside(part.lower, part.where):
        return Result(part.where)
    if part.lower >= 0:  # a point beyond the rows of the inputs, by rounding
        return Result(is_open=(k,))
    record = part.record if question.keep_trees and case.has_proof else None
    return Result(None, () if part.closed < 0 else (k,), part.left, record, (part.lower, part.where))
