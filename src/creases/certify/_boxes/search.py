"""Decide whether outputs of a dense network can be in any of some cases, by branch and bound over boxes of inputs."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from creases._typing import Floats
from creases.certify._boxes.attack import climb
from creases.certify._boxes.chain import Chain, read_chain
from creases.certify._case import Case
from creases.certify._exact import exact_outputs
from creases.certify.proofs._format import Leaf, Multipliers, Split
from creases.certify.proofs._record import TreeRecord
from creases.certify.proofs._rounding import LEAST, gamma
from creases.network import read

if TYPE_CHECKING:
    from creases.certify._boxes.kernel import Log, Rows, Stack, Stages, Work

#: Parts in which boxes are searched at a time, whatever the number of threads, so that this changes no result.
PARTS = 8

#: Boxes of the first round, which is not divided, and multiply-adds of a later part between two looks at the clock.
FIRST, PART_COST = 100, 2 * 10**9

#: Multiply-adds and most boxes of a part that another process searches; a small part has a quarter of it.
SHARE_COST, SHARE = 10**8, 1000

#: The most products of an exact evaluation: networks of boxes have no more weights.
MAX_PRODUCTS = 2**26

#: Ascents by gradients after each round.
ASCENTS = 3

#: Room on a stack for boxes that are split: the most of them, and numbers that they take.
ROOM, ROOM_SIZE = 200, 2**20


@dataclass
class Answer:
    """What a search found: a point in a case, or which cases are left open."""

    point: Floats | None
    is_open: list[bool]  #: for each case
    trees: TreeRecord  #: of each case
    boxes: int = 0  #: that were bounded
    left: Any = None  #: boxes that wait, a named tuple of arrays with a field ``node``; None with a point
    is_stuck: bool = False  #: whether no box that is left can be split


class ChainSearch:
    """The search of cases with one box for an input that is in one of them.

    Parameters
    ----------
    keep_tree
        Whether to keep the tree of boxes; cases are then closed with a little room, so that another order of
        operations closes them too.
    """

    def __init__(self, chain: Chain, cases: Sequence[Case], keep_tree: bool, threads: int = 1) -> None:
        self.chain, self.cases, self.threads, self.keep_tree = chain, cases, threads, keep_tree
        self.box = np.ascontiguousarray(cases[0].box, np.float64)
        self.net = _stages(chain, self.box)
        self.rows = _rows(chain, cases, self.net, keep_tree)
        self.trees, self.leaves = TreeRecord(1, len(cases)), row_leaves(cases)
        self.next_node, self.done, self.ascents = 1, 0, 0
        self.room = max(8, min(ROOM, ROOM_SIZE // (2 * chain.b.size)))
        self.cost = max(1, chain.W.shape[1] * chain.b.size * chain.b.size // 4)

    def run(self, until: float) -> Answer:
        """Search the whole box until a time of ``time.monotonic()``."""
        cases, nodes = len(self.cases), self._root()
        parts, limit = 1, max(1, min(FIRST, PART_COST // self.cost))
        while len(nodes.node):
            stacks = [_deal(nodes, part, parts, self.room) for part in range(parts)]
            answers = self._round(stacks, limit, until)
            for _, _, best, point in answers:
                if best >= -self.rows.near and self._is_violation(point, best):
                    return Answer(point.copy(), [True] * cases, self.trees, self.done)
            left = [_top(stack, count) for stack, (count, _, _, _) in zip(stacks, answers, strict=True)]
            nodes = join_nodes(left)
            is_stuck = all(done == 0 for _, done, _, _ in answers)
            if not len(nodes.node) or time.monotonic() >= until or is_stuck:
                break
            attack = self._attack(nodes)
            if attack is not None:
                return Answer(attack, [True] * cases, self.trees, self.done)
            parts, limit = PARTS, max(1, min(FIRST, PART_COST // self.cost))
        return self._answer(nodes)

    def take_part(self, nodes: Stack | None, until: float, number: int, *, is_small: bool) -> Answer:
        """Bound some of the boxes that another part left, or the whole box, for a while, and climb once.

        Parameters
        ----------
        nodes
            Boxes whose nodes have the numbers 0, 1, ...
        number
            Of the part: ascents of parts begin at different points.
        is_small
            Whether to return soon.
        """
        nodes = self._root() if nodes is None else nodes
        self.trees = TreeRecord(len(nodes.node), len(self.cases))
        self.next_node, self.ascents = len(nodes.node), number
        limit = max(1, min(SHARE, SHARE_COST // self.cost) // (4 if is_small else 1))
        stack = _deal(nodes, 0, 1, self.room)
        count, done, best, point = self._round([stack], limit, until)[0]
        if best >= -self.rows.near and self._is_violation(point, best):
            return Answer(point, [True] * len(self.cases), self.trees, self.done)
        left = _top(stack, count)
        attack = self._attack(left, 1) if count else None
        if attack is not None:
            return Answer(attack, [True] * len(self.cases), self.trees, self.done)
        return self._answer(left, is_stuck=count > 0 and done == 0)

    def _root(self) -> Stack:
        from creases.certify._boxes.kernel import Stack

        low, high = np.full((1, *self.chain.b.shape), -np.inf), np.full((1, *self.chain.b.shape), np.inf)
        return Stack(self.box[None], low, high, np.ones((1, len(self.cases)), np.int64), np.zeros(1, np.int64))

    def _answer(self, nodes: Stack, *, is_stuck: bool = False) -> Answer:
        is_open = [bool(nodes.is_open[:, case].any()) for case in range(len(self.cases))]
        return Answer(None, is_open, self.trees, self.done, nodes, is_stuck)

    def _round(self, stacks: list[Stack], limit: int, until: float) -> list[tuple[int, int, float, Floats]]:
        """Run the kernel on each stack; the boxes of a part count whether or not there is time for the others."""
        from creases.certify._boxes.kernel import Log, search_boxes

        starts = [self.next_node + 2 * limit * part for part in range(len(stacks))]
        self.next_node = starts[-1] + 2 * limit
        logs, room = [], limit if self.keep_tree else 0
        for _ in stacks:
            node, axis, child = (np.full(room, -1) for _ in range(3))
            logs.append(Log(node, axis, np.zeros(room), child, np.full((room, len(self.cases)), -1)))

        def run(part: int) -> tuple[int, int, float, Floats]:
            point = self.box.mean(axis=1)
            count = len(stacks[part].node) - self.room
            if not count or (part and time.monotonic() >= until):
                return count, 0, -np.inf, point
            work = _work(self.chain, len(self.cases))
            answer = search_boxes(
                self.net, self.rows, stacks[part], logs[part], work, count, limit, starts[part], point
            )
            return (*answer, point)

        if self.threads > 1 and len(stacks) > 1:
            with ThreadPoolExecutor(self.threads) as pool:
                answers = list(pool.map(run, range(len(stacks))))
        else:
            answers = [run(part) for part in range(len(stacks))]
        for log, (_, done, _, _) in zip(logs, answers, strict=True):
            self.done += done
            if self.keep_tree:
                self._record(log, done)
        return answers

    def _record(self, log: Log, done: int) -> None:
        """Record the boxes of one call of the kernel."""
        parts = (log.node[:done], log.axis[:done], log.at[:done], log.child[:done])
        for i, (node, axis, at, child) in enumerate(zip(*(part.tolist() for part in parts), strict=True)):
            if axis >= 0:
                self.trees.put(node, Split("input", axis, at), child)
            for case, row in enumerate(log.row[i].tolist()):
                if row >= 0:
                    self.trees.close(node, self.leaves[row], case)

    def _attack(self, nodes: Stack, ascents: int = ASCENTS) -> Floats | None:
        """Return a violation that ascents find, from the whole box and from some that are open."""
        for _ in range(ascents):
            self.ascents += 1
            box = self.box if self.ascents % 2 else nodes.boxes[self.ascents % len(nodes.node)]
            best, point = climb(self.chain, self.rows, box, self.ascents)
            if best >= -self.rows.near and self._is_violation(point, best):
                return point
        return None

    def _is_violation(self, x: Floats, best: float) -> bool:
        if np.isfinite(x).all():  # as it is unless the width of the box is beyond floats
            y = exact_outputs(self.chain.net, x, MAX_PRODUCTS)
            if y is not None and any(case.contains(x, y) for case in self.cases):
                return True
        self.rows = self.rows._replace(near=-max(2 * best, 0.0) if best >= 0 else 0.0)  # a better one next time
        return False


def _stages(chain: Chain, box: Floats) -> Stages:
    """Return the network with the rounding errors of its stages over a box."""
    from creases.certify._boxes.kernel import Stages

    errors, size = np.zeros_like(chain.b), np.abs(box).max(axis=1)
    reach, lost = size.copy(), np.zeros(len(chain.stages))
    for k, stage in enumerate(chain.stages):
        m, n = stage.W.shape
        lost[k] = lost[k - 1] + LEAST * (8 + int(chain.widths.max())) * size.sum()
        terms = np.abs(stage.W) @ size + np.abs(stage.b)
        errors[k, :m] = 2 * gamma(max(m, n) + 8) * terms
        size = terms * np.maximum(1.0, np.abs(stage.leak)) * (1 + 1e-9)
    return Stages(chain.widths, chain.W, chain.b, chain.leak, errors, reach, lost, gamma(4 * int(chain.widths.sum())))


def _rows(chain: Chain, cases: Sequence[Case], net: Stages, keep_tree: bool) -> Rows:
    from creases.certify._boxes.kernel import Rows

    m = int(chain.widths[-1])
    C = np.vstack([part for case in cases for part in (np.zeros((len(case.b), m)), -case.C)]) + 0.0
    D = np.vstack([part for case in cases for part in (-case.A, -case.D)]) + 0.0
    e = np.concatenate([part for case in cases for part in (case.b, case.d)])
    starts = np.cumsum([0, *(len(case.b) + len(case.d) for case in cases)])
    near = float((np.abs(C) @ net.errors[-1, :m]).max(initial=0.0))
    size = float((np.abs(e)).max(initial=0.0))
    inputs = np.array([len(case.b) for case in cases])
    return Rows(C, D, e, starts, inputs, 1e-9 * (1 + size) if keep_tree else 0.0, near)


def _work(chain: Chain, cases: int) -> Work:
    """Return space for the kernel: arrays that it would make take longer to compile."""
    from creases.certify._boxes.kernel import Work

    n, (stages, width) = int(chain.widths[0]), chain.b.shape
    low, high = (np.zeros((stages, width)) for _ in range(2))
    g, spare, nothing, x, corner = (np.zeros(size) for size in (width, width, n, n, n))
    lines, still = np.zeros((stages + 1, 4, width)), np.zeros(cases, np.int64)
    return Work(np.zeros((n, 2)), low, high, lines, g, spare, nothing, x, corner, still)


def take_every(nodes: Any, start: int, step: int) -> Any:
    """Return every so many-th node of a named tuple of arrays."""
    return type(nodes)(*(part[start::step] for part in nodes))


def join_nodes(parts: Sequence[Any]) -> Any:
    """Return the nodes of several named tuples of arrays."""
    return type(parts[0])(*(np.concatenate(own) for own in zip(*parts, strict=True)))


def _deal(nodes: Stack, part: int, parts: int, room: int) -> Stack:
    """Return every so many-th node, with room on top."""
    dealt = take_every(nodes, part, parts)
    return type(nodes)(*(np.concatenate([own, np.zeros((room, *own.shape[1:]), own.dtype)]) for own in dealt))


def _top(stack: Stack, count: int) -> Stack:
    parts: Any = (own[:count] for own in stack)
    return type(stack)(*parts)


# -- proofs, compilation ---------------------------------------------------------------------------------------------


def row_leaves(cases: Sequence[Case]) -> list[Leaf]:
    """Return for each row of all cases the leaf of a box that it closes; the first rows of a case limit its inputs."""
    leaves: list[Leaf] = []
    for case in cases:
        leaves += [Leaf("empty", Multipliers(domain={row: 1.0})) for row in range(len(case.b))]
        leaves += [Leaf("bounds")] * len(case.d)
    return leaves


def compile_search(announce: Callable[[], None]) -> bool:
    """Load the compiled search, or compile it, which takes seconds once on a machine; return whether it did.

    Parameters
    ----------
    announce
        Called before kernels are compiled; not where numba's cache holds them.
    """
    from creases._compiled import has_compiled, is_cached
    from creases.certify._boxes import kernel

    if not is_cached(kernel):
        announce()
    _search_once()
    return has_compiled(kernel)


@cache
def _search_once() -> None:
    """Search a small network: numba compiles on first use."""
    chain = read_chain(read([([[1.0]], [0.0]), ([[1.0]], [0.0])]))
    assert chain is not None
    one, none = np.ones((1, 1)), np.zeros((1, 1))
    case = Case(box=np.array([[0.0, 1.0]]), A=one[:0], b=np.zeros(0), C=-one, D=none, d=np.array([-2.0]))
    ChainSearch(chain, [case], keep_tree=False).run(0.0)
