"""What a process does with a subtree of a search: a part of the boxes of a group of cases, or of the sides of one."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np

from creases._typing import Floats
from creases.certify._boxes.search import TreeLog
from creases.certify.proofs._record import TreeRecord
from creases.certify.properties._case_search import BoxSearch, Decision, OpenCase, open_boxes, open_case
from creases.certify.properties._property import Case
from creases.network import Network

#: The first tasks of a search, which are small: soon there is work for all processes.
FIRST_TASKS = 16

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
        return self.number <= FIRST_TASKS


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
    return open_boxes(question.net, lambda what, done, total: None)


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
