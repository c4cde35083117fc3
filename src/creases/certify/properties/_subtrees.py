"""Cases decided by several processes: in rounds, open nodes are dealt into parts, and whoever is idle takes the next.

A task works on a part for a while and returns what it leaves, which the next round deals again. Parts, and the order in
which results are seen, do not depend on which process is first or how many there are, so the verdict, its proof and its
counterexample do not either, unless time runs out.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from itertools import count
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np

from creases._engines import Engine, map_in_order, start_engine
from creases._typing import Floats, Progress
from creases.certify._boxes.search import TreeLog, case_trees, join_nodes, take_every
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

#: The first rounds have few and small tasks: soon there is work for all. Other processes start after them, or so long.
FIRST_ROUNDS, FIRST_SECONDS = 5, 1.0

#: Tasks of such a round and of a later one, over all searches: far more than processes, so that no one waits for long.
FIRST_PARTS, PARTS = 16, 256


def decide_in_parallel(
    net: Network,
    cases: Sequence[Case],
    budget: float,
    progress: Progress | None,
    start: Callable[[Callable[..., Result]], AbstractContextManager[Engine]],
    *,
    keep_trees: bool,
) -> tuple[Verdict, tuple[ClaimProof, ...] | None]:
    """Return what :func:`decide_cases` does, with the work done by the engine that ``start`` starts for a function."""
    report = progress or (lambda what, done, total: None)
    begin = time.monotonic()
    boxes, compiling = open_boxes(net, report)
    begin += compiling  # which no time limit counts
    is_small, deadline = has_few_units(net), begin + budget
    box_deadline = begin + BOX_TIME * budget if is_small else deadline
    searches = [_Subtrees(tuple(group), cases, by_boxes=boxes is not None) for group in group_cases(cases, boxes)]
    work = partial(work_on_subtree, Question.of(net, tuple(cases), keep_trees))
    trees: dict[int, Tree | None] = {}  # of cases that are empty
    with ExitStack() as stack:
        here, engine = start_engine("serial", work, 1, None, None), None
        for number in count():
            is_first = number < FIRST_ROUNDS
            if engine is None and (not is_first or time.monotonic() - begin >= FIRST_SECONDS):
                engine = stack.enter_context(start(work))
            point = _run_round(engine or here, searches, box_deadline, deadline, is_first=is_first)
            if point is not None:
                return conclude(net, cases, Answers(point), begin)
            now = time.monotonic()
            for search in list(searches):
                if search.left and not (search.by_boxes and now >= box_deadline):
                    continue
                searches.remove(search)
                left = search.open_cases()
                trees |= {k: search.proof(k) if keep_trees else None for k in search.cases if k not in left}
                if search.by_boxes and is_small:
                    searches += [_Subtrees((k,), cases, by_boxes=False) for k in left]
            if not searches or now >= deadline:
                return conclude(net, cases, Answers(None, len(cases) - len(trees), trees), begin)
            report("deciding cases", len(trees), len(cases))
    raise AssertionError  # rounds end above


def _run_round(
    engine: Engine, searches: list[_Subtrees], box_deadline: float, deadline: float, *, is_first: bool
) -> Floats | None:
    """Work on all open nodes for a while, or until time is over; return an input in a case."""
    most = max(1, (FIRST_PARTS if is_first else PARTS) // len(searches))
    parts = [(search, nodes) for search in searches for nodes in search.deal(most)]
    subtrees = [search.subtree(nodes, is_first) for search, nodes in parts]  # they depend on no result of this round

    def tasks() -> Iterator[tuple[Subtree, float]]:
        for subtree in subtrees:
            seconds = (box_deadline if subtree.by_boxes else deadline) - time.monotonic()
            if seconds <= 0:
                return
            yield subtree, seconds

    done = 0
    for result in map_in_order(engine, tasks()):
        if result.point is not None:
            return np.array(result.point)  # a copy: what a cluster returns cannot be written to
        search, nodes = parts[done]
        search.add(nodes, result)
        done += 1
    for search, nodes in parts[done:]:
        search.left.append(nodes)
    return None


class _Subtrees:
    """The open nodes of the search for inputs in some cases, and its tree so far.

    Nodes are boxes of the inputs, of a group of cases, or sides of units or boxes bounded layer by layer, of one case.
    """

    def __init__(self, numbers: tuple[int, ...], cases: Sequence[Case], *, by_boxes: bool) -> None:
        self.cases, self.sets, self.by_boxes = numbers, [cases[k] for k in numbers], by_boxes
        self.left: list[Any] = [None]  #: parts of the open nodes; None: the root
        self.tree: Any = TreeLog(len(numbers)) if by_boxes else None
        self.is_open: set[int] = set()  # cases that stay undecided
        self.best: tuple[float, Floats] | None = None
        self.tasks = 0

    def deal(self, most: int) -> list[Any]:
        """Take all open nodes, in so many parts at most."""
        parts, self.left = self.left, []
        if parts[0] is None:
            return parts
        nodes: Any = join_nodes(parts) if self.by_boxes else [node for part in parts for node in part]
        pieces = min(most, len(nodes[0]) if self.by_boxes else len(nodes))
        return [take_every(nodes, i, pieces) if self.by_boxes else nodes[i::pieces] for i in range(pieces)]

    def subtree(self, nodes: Any, is_small: bool) -> Subtree:
        """Return the task of open nodes."""
        self.tasks += 1
        if self.by_boxes and nodes is not None:
            nodes = nodes._replace(node=np.arange(len(nodes.node)))
        return Subtree(self.cases, self.by_boxes, nodes, is_small, self.tasks, self.best)

    def add(self, nodes: Any, result: Result) -> None:
        """Take what the task of some nodes found: its trees are put at these nodes."""
        self.is_open.update(result.is_open)
        left, tree = result.left, result.tree
        if tree is not None and self.by_boxes:
            left = left._replace(node=self.tree.graft(tree, [0] if nodes is None else nodes.node, left.node))
        elif tree is not None:
            self.tree = self.tree or TreeRecord()
            numbers = self.tree.graft(tree, [0] if nodes is None else [node.number for node in nodes])
            left = [replace(node, number=numbers[node.number]) for node in result.left]
        if len(left[0] if self.by_boxes else left):
            self.left.append(left)
        if result.best is not None and (self.best is None or result.best[0] > self.best[0]):
            self.best = result.best

    def open_cases(self) -> set[int]:
        """Return the cases that the open nodes, and all that was given up, leave undecided."""
        for nodes in self.left:
            is_open = nodes.is_open.any(axis=0) if self.by_boxes and nodes is not None else [True] * len(self.cases)
            self.is_open.update(k for k, still in zip(self.cases, is_open, strict=True) if still)
        return self.is_open

    def proof(self, case: int) -> Tree | None:
        """Return the tree that proves that a case is empty; None if none was kept."""
        if not self.by_boxes:
            return None if self.tree is None else self.tree.tree()
        at = self.cases.index(case)
        return case_trees(self.tree, self.sets, [k != at for k in range(len(self.cases))])[at]


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
    nodes: Any  #: open nodes, which have the numbers 0, 1, ...; None: the root
    is_small: bool  #: whether the task should return soon
    number: int  #: of the task in its search, from 1
    best: tuple[float, Floats] | None  #: the largest value that the search reached so far, and where (n,)


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
    tree = found.trees if question.keep_trees else None
    if found.is_stuck:
        is_open = tuple(k for k, is_open in zip(subtree.cases, found.is_open, strict=True) if is_open)
        return Result(None, is_open, take_every(found.left, len(found.left.node), 1), tree)
    return Result(left=found.left, tree=tree)


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
