"""What a process does with a subtree of the search for an input in some cases.

A subtree is one of boxes of the inputs, of sides of units or boxes bounded layer by layer, or of columns of whole
numbers.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from creases._program import Step
from creases._typing import Bools, Floats, Ints, Progress
from creases.certify._boxes.chain import pad_stages, read_stages
from creases.certify._boxes.search import ChainSearch, compile_search
from creases.certify._case import Case
from creases.certify._maximize.domain import Domain, shrink
from creases.certify._maximize.objectives import LeastRow
from creases.certify._maximize.one_layer import is_made_for
from creases.certify._maximize.queue_search import BELOW, QueueSearch
from creases.certify._maximize.search import Limits, open_search, sample_points
from creases.certify._maximize.tree_search import TreeSearch
from creases.certify._whole_numbers import Columns, ColumnSearch
from creases.certify.differences._joint import add_network, concatenate
from creases.certify.proofs._record import TreeRecord
from creases.network import Network

if TYPE_CHECKING:
    from creases.certify._boxes.few_inputs import SparseSearch

#: The most inputs of dense networks whose boxes are split; with more, units are. With few, bounds go forwards.
MAX_INPUTS, FEW_INPUTS = 12, 3

#: The most units of networks for which sides of units are split after boxes.
MAX_UNITS = 64

#: Nodes of a task over sides of units: by the size of their relaxations, at least (and of a small task) and at most.
NODE_SIZE, MIN_NODES, MAX_NODES = 2**21, 8, 64

#: Cases whose searches a process keeps ready.
READY = 64

#: Whether a task should return soon, may take a while, or is a search as a whole.
Size = Literal["small", "large", "whole"]


@dataclass(frozen=True)
class Question:
    """What all tasks share; equal if the name is, so that a process prepares it once."""

    name: str
    net: Network = field(compare=False)
    cases: tuple[Case, ...] = field(compare=False)
    keep_trees: bool = field(compare=False)
    columns: Columns = field(compare=False)

    @property
    def has_few_units(self) -> bool:
        """Whether cases that boxes leave are decided by sides of units: boxes never decide limits reached exactly."""
        starts = self.net.unit_starts
        return len(starts) > 0 and int(starts[-1]) <= MAX_UNITS


class Subtree(NamedTuple):
    """Where a task begins."""

    cases: tuple[int, ...]  #: numbers of the cases of a group, for boxes; of one case for sides of units
    by_boxes: bool
    nodes: Any  #: open nodes, as named tuples of arrays, which have the numbers 0, 1, ...; None: the root
    size: Size
    number: int  #: of the task in its search, from 1
    best: tuple[float, Floats] | None  #: the largest value that the search reached so far, and where (n,)


class Result(NamedTuple):
    """What a task found, and leaves."""

    point: Floats | None = None  #: (n,) in a case
    is_open: tuple[int, ...] = ()  #: cases that stay undecided in a part of the subtree
    left: Any = None  #: open nodes, if any
    tree: TreeRecord | None = None
    best: tuple[float, Floats] | None = None


class SideNodes(NamedTuple):
    """Open nodes of the search of one case over sides of units, or over boxes bounded layer by layer."""

    node: Ints  #: (p,) number in the tree
    is_open: Bools  #: (p, 1)
    item: NDArray[Any]  #: (p,) of :class:`OpenNode`


def work_on_subtree(question: Question, subtree: Subtree, seconds: float) -> Result:
    """Work on a subtree for a while."""
    question, until = _first_equal(question), time.monotonic() + seconds
    if question.columns:
        return _search_columns(question, subtree.cases[0], until)
    return (_split_boxes if subtree.by_boxes else _split_sides)(question, subtree, until)


@lru_cache(maxsize=1)
def _first_equal(question: Question) -> Question:
    """Return the first of equal questions that came to this process: its network has been prepared."""
    return question


# -- boxes ------------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def open_boxes(net: Network) -> Callable[[Sequence[Case], bool], ChainSearch | SparseSearch] | None:
    """Return the search over boxes of a dense network of few inputs, by cases and whether to keep the tree; or None."""
    stages = read_stages(net) if net.n_in <= MAX_INPUTS else None
    if stages is None:
        return None
    units = sum(int((stage.leak != 1).sum()) for stage in stages)
    if net.n_in <= FEW_INPUTS and units > MAX_UNITS:
        from creases.certify._boxes.few_inputs import SparseSearch, is_supported

        if is_supported(stages):
            return partial(SparseSearch, net, stages)
    chain = pad_stages(net, stages)
    return None if chain is None else partial(ChainSearch, chain, threads=torch.get_num_threads())


def prepare_boxes(net: Network, report: Progress) -> tuple[bool, float]:
    """Return whether boxes are searched, and the seconds to compile that."""
    boxes, begin = open_boxes(net), time.monotonic()
    if not isinstance(boxes, partial) or boxes.func is not ChainSearch:
        return boxes is not None, 0.0
    is_new = compile_search(lambda: report("compiling the search, once on this machine", 0, None))
    return True, time.monotonic() - begin if is_new else 0.0


def _split_boxes(question: Question, subtree: Subtree, until: float) -> Result:
    boxes = open_boxes(question.net)
    assert boxes is not None
    search = boxes([question.cases[k] for k in subtree.cases], question.keep_trees)
    if subtree.size == "whole":
        found = search.run(until)
    else:
        found = search.take_part(subtree.nodes, until, subtree.number, is_small=subtree.size == "small")
    if found.point is not None:
        return Result(found.point)
    tree, is_open = found.trees if question.keep_trees else None, zip(subtree.cases, found.is_open, strict=True)
    if found.is_stuck:
        return Result(None, tuple(k for k, still in is_open if still), tree=tree)
    return Result(left=found.left, tree=tree)


# -- sides of units, columns of whole numbers -------------------------------------------------------------------------


class OpenCase(NamedTuple):
    """The search for the largest value of the smallest row of a case, which is empty if a bound of that is negative.

    Nothing rests on a solver: bounds count all rounding errors, points are evaluated in fractions, or with bounds.
    """

    search: QueueSearch
    start: Floats  #: (p, n) points to try first
    inputs: Domain  #: of the case
    has_proof: bool  #: whether the tree is about all inputs of the case


@lru_cache(maxsize=READY)
def open_case(question: Question, number: int) -> OpenCase | Result:
    """Return the search for an input in a case; a result where none is needed."""
    net, case, keep_tree = question.net, question.cases[number], question.keep_trees
    whole = domain = Domain(case.box, case.A, case.b)
    if len(case.b):
        needs_tree = keep_tree and len(case.d)  # a search shows that no input has the rows
        if not needs_tree and whole.maximize(np.zeros(net.n_in))[0] == -np.inf:
            return Result()
        domain = whole if keep_tree else shrink(whole)  # a proof is about the whole box
    start = sample_points(domain)
    if not len(case.d):
        return Result(start[0]) if len(start) else Result(is_open=(number,))
    limits = Limits(np.inf, stop_above=BELOW, stop_below=BELOW)
    search = open_search(_least_row(net, case), domain, limits, lambda what, done, total: None)
    return OpenCase(search, start, whole, domain is whole and search.has_proof)


def _least_row(net: Network, case: Case) -> LeastRow:
    """Return the smallest row of a case, negative outside of it: of the outputs, and of the inputs where rows join."""
    if not case.D.any():
        return LeastRow(net, -case.C, case.d)
    steps, shape = list[Step](), net.input_shape
    itself = Network([Step("reshape", (0,), (net.n_in,), {"shape": [net.n_in]}, path="inputs")], shape)
    ends = [add_network(steps, each, name, shape) for each, name in ((net, "net"), (itself, "inputs"))]
    joint = concatenate(steps, ends, net.n_out + net.n_in, shape)
    return LeastRow(joint, -np.hstack([case.C, case.D]), case.d)


def _split_sides(question: Question, subtree: Subtree, until: float) -> Result:
    (k,), is_whole = subtree.cases, subtree.size == "whole"
    case = (open_case.__wrapped__ if is_whole else open_case)(
        question, k
    )  # a whole record may be large: it is not kept
    if isinstance(case, Result):
        return case
    search, keep_trees = case.search, question.keep_trees
    is_alone = is_whole and not keep_trees
    if is_alone and isinstance(search, TreeSearch) and is_made_for(search.form, search.domain):
        search.limits = replace(search.limits, deadline=until)
        part = search.search_layer(case.start)
    else:
        most = min(max(NODE_SIZE // max(question.net.n_units, 1) ** 2, MIN_NODES), MAX_NODES)
        max_nodes = {"small": MIN_NODES, "large": most, "whole": np.inf}[subtree.size]
        best = subtree.best or (-np.inf, case.inputs.middle)
        nodes = None if subtree.nodes is None else subtree.nodes.item.tolist()
        part = search.take_part(nodes, case.start, max_nodes, until, best)
    if part.lower >= 0:
        is_inside = case.inputs.contains(part.where[None])[0]  # else beyond the rows of the inputs, by rounding
        return Result(part.where) if is_inside else Result(is_open=(k,))
    items = np.empty(len(part.left), object)
    items[:] = part.left
    left = SideNodes(np.array([node.number for node in part.left], int), np.ones((len(items), 1), bool), items)
    record = part.record if keep_trees and case.has_proof else None
    return Result(None, () if part.closed < 0 else (k,), left, record, (part.lower, part.where))


def _search_columns(question: Question, number: int, until: float) -> Result:
    """Decide a case of inputs with whole numbers and one-hot groups until a time."""
    net, case = question.net, question.cases[number]
    has_rows = len(case.d) > 0
    objective = _least_row(net, case) if has_rows else LeastRow(net, np.zeros((1, net.n_out)), np.zeros(1))
    limits = Limits(until, stop_above=BELOW, stop_below=BELOW)
    search = ColumnSearch(objective, Domain(case.box, case.A, case.b), question.columns, limits)
    found = search.run(np.zeros((0, net.n_in)))
    if found.lower >= 0:  # any allowed input is in a case without rows
        return Result(found.where)
    return Result(None, () if found.upper < 0 else (number,), tree=search.record if found.tree and has_rows else None)
