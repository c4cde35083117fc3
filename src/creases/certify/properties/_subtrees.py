"""Cases decided in this process, one search after the other, or by several in rounds.

In a round open nodes are dealt into parts, and whoever is idle takes the next. A task works on a part for a while and
returns what it leaves, which the next round deals again. Parts, and the order in which results are seen, do not depend
on which process is first or how many there are, so the verdict, its proof and its counterexample do not either, unless
time runs out.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from itertools import count
from typing import Any
from uuid import uuid4

import numpy as np

from creases._engines import Engine, map_in_order, start_engine
from creases._typing import Floats, Progress
from creases.certify._boxes.search import join_nodes, take_every
from creases.certify._case import Case
from creases.certify._whole_numbers import EVERY_INPUT, Columns
from creases.certify.proofs._format import ClaimProof, Tree
from creases.certify.proofs._record import TreeRecord
from creases.certify.properties._case_search import (
    FEW_INPUTS,
    Question,
    Result,
    Size,
    Subtree,
    prepare_boxes,
    work_on_subtree,
)
from creases.certify.properties._property import Verdict
from creases.network import Network

#: The first rounds have few and small tasks: soon there is work for all. Other processes start after them, or so long.
FIRST_ROUNDS, FIRST_SECONDS = 5, 1.0

#: Tasks of such a round and of a later one, over all searches: far more than processes, so that no one waits for long.
FIRST_PARTS, PARTS = 16, 256

#: The share of the time for boxes where sides of units are split after them.
BOX_TIME = 0.3

#: Starts the engine that works on subtrees by a function; and the trees of cases that are empty, by their numbers.
Start = Callable[[Callable[..., Result]], AbstractContextManager[Engine]]
Trees = dict[int, Tree | None]


def decide_cases(
    net: Network,
    cases: Sequence[Case],
    budget: float,
    progress: Progress | None,
    start: Start | None = None,
    *,
    keep_trees: bool,
    columns: Columns = EVERY_INPUT,
) -> tuple[Verdict, tuple[ClaimProof, ...] | None]:
    """Return a verdict on cases that must not occur, and the trees of all of them; None where there are none.

    Parameters
    ----------
    start
        Starts the engine that works on subtrees by a function. Without it searches are done one after the other here.
    """
    report = progress or (lambda what, done, total: None)
    begin = time.monotonic()
    one_layer = len(net.bends) == 1 and net.n_in > FEW_INPUTS and not any(len(case.b) for case in cases)
    splits_sides = columns or (one_layer and start is None and not keep_trees)
    by_boxes, compiling = (False, 0.0) if splits_sides else prepare_boxes(net, report)
    begin += compiling  # which no time limit counts
    question = Question(uuid4().hex, net, tuple(cases), keep_trees, columns)
    groups: dict[Any, list[int]] = {}  # of cases that are searched together: of the same inputs, where boxes are
    for k, case in enumerate(cases):
        inputs = (case.box.tobytes(), case.A.tobytes(), case.b.tobytes())
        groups.setdefault(inputs if by_boxes else k, []).append(k)
    searches = [_Subtrees(tuple(group), by_boxes=by_boxes) for group in groups.values()]
    trees: Trees = {}
    decide = _decide_in_turn if start is None else partial(_decide_in_rounds, start)
    point = decide(question, searches, trees, begin, budget, report)
    seconds = time.monotonic() - begin
    if point is not None:
        return Verdict("violated", point, np.asarray(net(point), np.float64).reshape(-1), seconds), ()
    if len(trees) < len(cases):
        detail = f"{len(cases) - len(trees)} of {len(cases)} cases undecided"
        return Verdict("unknown", seconds=seconds, detail=detail), None
    proofs = tuple(ClaimProof(("case", k), tree) for k, tree in sorted(trees.items()) if tree is not None)
    return Verdict("holds", seconds=seconds), proofs if len(proofs) == len(cases) else None


def _decide_in_turn(
    question: Question, searches: list[_Subtrees], trees: Trees, begin: float, budget: float, report: Progress
) -> Floats | None:
    """Do one search after the other, each in its share of the time; return an input in a case."""
    deadline, is_first = begin + budget, True
    while searches:
        report("deciding cases", len(trees), len(question.cases))
        now = time.monotonic()
        if now >= deadline and not is_first:
            return None
        search, is_first = searches.pop(0), False
        seconds = max(deadline - now, 0.0) / (1 + len(searches))
        if search.by_boxes and question.has_few_units:
            seconds *= BOX_TIME
        (root,) = search.deal(1)
        result = work_on_subtree(question, search.subtree(root, "whole"), seconds)
        if result.point is not None:
            return result.point
        search.add(root, result)
        searches[:0] = search.conclude(question, trees)
    return None


def _decide_in_rounds(
    start: Start,
    question: Question,
    searches: list[_Subtrees],
    trees: Trees,
    begin: float,
    budget: float,
    report: Progress,
) -> Floats | None:
    """Work on all searches in rounds; return an input in a case."""
    deadline = begin + budget
    box_deadline = begin + BOX_TIME * budget if question.has_few_units else deadline
    work = partial(work_on_subtree, question)
    with ExitStack() as stack:
        here, engine = start_engine("serial", work, 1, None, None), None
        for number in count():
            is_first = number < FIRST_ROUNDS
            if engine is None and (not is_first or time.monotonic() - begin >= FIRST_SECONDS):
                engine = stack.enter_context(start(work))
            point = _run_round(engine or here, searches, box_deadline, deadline, is_first=is_first)
            if point is not None:
                return point
            now = time.monotonic()
            for search in list(searches):
                if not search.left or (search.by_boxes and now >= box_deadline):
                    searches.remove(search)
                    searches += search.conclude(question, trees)
            if not searches or now >= deadline:
                return None
            report("deciding cases", len(trees), len(question.cases))
    raise AssertionError  # rounds end above


def _run_round(
    engine: Engine, searches: list[_Subtrees], box_deadline: float, deadline: float, *, is_first: bool
) -> Floats | None:
    """Work on all open nodes for a while, or until time is over; return an input in a case."""
    most = max(1, (FIRST_PARTS if is_first else PARTS) // len(searches))
    parts = [(search, nodes) for search in searches for nodes in search.deal(most)]
    size: Size = "small" if is_first else "large"
    subtrees = [search.subtree(nodes, size) for search, nodes in parts]  # they depend on no result of this round

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

    Nodes are named tuples of arrays with a number in the tree and the cases that are open: boxes of the inputs, of a
    group of cases, or sides of units or boxes bounded layer by layer, of one case.
    """

    def __init__(self, numbers: tuple[int, ...], *, by_boxes: bool) -> None:
        self.cases, self.by_boxes = numbers, by_boxes
        self.left: list[Any] = [None]  #: parts of the open nodes; None: the root
        self.tree: TreeRecord | None = None
        self.is_open: set[int] = set()  # cases that stay undecided
        self.best: tuple[float, Floats] | None = None
        self.tasks = 0

    def deal(self, most: int) -> list[Any]:
        """Take all open nodes, in so many parts at most."""
        parts, self.left = self.left, []
        if parts[0] is None:
            return parts
        nodes = join_nodes(parts)
        pieces = min(most, len(nodes.node))
        return [take_every(nodes, i, pieces) for i in range(pieces)]

    def subtree(self, nodes: Any, size: Size) -> Subtree:
        """Return the task of open nodes."""
        self.tasks += 1
        nodes = None if nodes is None else nodes._replace(node=np.arange(len(nodes.node)))
        return Subtree(self.cases, self.by_boxes, nodes, size, self.tasks, self.best)

    def add(self, nodes: Any, result: Result) -> None:
        """Take what the task of some nodes found: its trees are put at these nodes."""
        self.is_open.update(result.is_open)
        left = result.left
        if result.tree is not None:
            self.tree = self.tree or TreeRecord(1, len(self.cases))
            numbers = self.tree.graft(result.tree, [0] if nodes is None else nodes.node)
            left = None if left is None else left._replace(node=numbers[left.node])
        if left is not None and len(left.node):
            self.left.append(left)
        if result.best is not None and (self.best is None or result.best[0] > self.best[0]):
            self.best = result.best

    def conclude(self, question: Question, trees: Trees) -> list[_Subtrees]:
        """Add the trees of cases that are decided; return the searches over sides for those that boxes leave."""
        for nodes in self.left:  # what they, and all that was given up, leave undecided
            is_open = [True] * len(self.cases) if nodes is None else nodes.is_open.any(axis=0)
            self.is_open.update(k for k, still in zip(self.cases, is_open, strict=True) if still)
        record = self.tree if question.keep_trees else None
        trees |= {
            k: None if record is None else record.tree(i) for i, k in enumerate(self.cases) if k not in self.is_open
        }
        if not self.by_boxes or not question.has_few_units:
            return []
        return [_Subtrees((k,), by_boxes=False) for k in self.cases if k in self.is_open]
