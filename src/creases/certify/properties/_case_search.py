"""How an input in some cases is searched for: over boxes of the inputs, sides of units or columns of whole numbers."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch

from creases._program import Step
from creases._typing import Floats, Progress
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
from creases.certify.proofs._format import Tree
from creases.network import Network

if TYPE_CHECKING:
    from creases.certify._boxes.few_inputs import SparseSearch

#: The most inputs of dense networks whose boxes are split; with more, units are. With few, bounds go forwards.
MAX_INPUTS, FEW_INPUTS = 12, 3

#: The most units of networks for which sides of units are split after boxes, and the share of the time for boxes.
MAX_UNITS, BOX_TIME = 64, 0.3


class BoxSearch(NamedTuple):
    """How boxes of a network's inputs are searched."""

    open: Callable[[Sequence[Case], bool], ChainSearch | SparseSearch]  #: of cases, and whether to keep the tree
    is_compiled: bool  #: whether it has to be compiled, once on a machine


@lru_cache(maxsize=1)
def open_boxes(net: Network) -> BoxSearch | None:
    """Return the search over boxes of a dense network of few inputs; None for others."""
    stages = read_stages(net) if net.n_in <= MAX_INPUTS else None
    if stages is None:
        return None
    units = sum(int((stage.leak != 1).sum()) for stage in stages)
    if net.n_in <= FEW_INPUTS and units > MAX_UNITS:
        from creases.certify._boxes.few_inputs import SparseSearch, is_supported

        if is_supported(stages):
            return BoxSearch(partial(SparseSearch, net, stages), is_compiled=False)
    chain = pad_stages(net, stages)
    if chain is None:
        return None
    return BoxSearch(partial(ChainSearch, chain, threads=torch.get_num_threads()), is_compiled=True)


def prepare_boxes(net: Network, report: Progress) -> tuple[BoxSearch | None, float]:
    """Return the search over boxes, and the seconds to compile it."""
    boxes = open_boxes(net)
    if boxes is None or not boxes.is_compiled:
        return boxes, 0.0
    begin = time.monotonic()
    is_new = compile_search(lambda: report("compiling the search, once on this machine", 0, None))
    return boxes, time.monotonic() - begin if is_new else 0.0


def group_cases(cases: Sequence[Case], boxes: BoxSearch | None) -> list[list[int]]:
    """Return the numbers of cases in groups that are searched together: of the same inputs, where boxes are."""
    if boxes is None:
        return [[k] for k in range(len(cases))]
    groups: dict[tuple[bytes, ...], list[int]] = {}
    for k, case in enumerate(cases):
        groups.setdefault((case.box.tobytes(), case.A.tobytes(), case.b.tobytes()), []).append(k)
    return list(groups.values())


class Decision(NamedTuple):
    """An input in a case, or whether there may be one; the tree of a proof that there is none, if it has one."""

    point: Floats | None = None
    is_open: bool = False
    tree: Tree | None = None


class OpenCase(NamedTuple):
    """The search for the largest value of the smallest row of a case, which is empty if a bound of that is negative.

    Nothing rests on a solver: bounds count all rounding errors, points are evaluated in fractions, or with bounds.
    """

    search: QueueSearch
    start: Floats  #: (p, n) points to try first
    inputs: Domain  #: of the case
    has_proof: bool  #: whether the tree is about all inputs of the case

    def search_layer(self, until: float) -> Decision | None:
        """Decide a case of a network of one bend and a box until a time, without a tree; None for others."""
        search = self.search
        if not isinstance(search, TreeSearch) or not is_made_for(search.form, search.domain):
            return None
        search.limits = replace(search.limits, deadline=until)
        found = search.search_layer(self.start)
        if self.is_inside(found.lower, found.where):
            return Decision(found.where)
        return Decision(is_open=not found.upper < 0)

    def is_inside(self, lower: float, where: Floats) -> bool:
        """Whether a point (n,) with a value that it is proved to reach is in the case."""
        return lower >= 0 and bool(self.inputs.contains(where[None])[0])


def open_case(net: Network, case: Case, *, keep_tree: bool) -> OpenCase | Decision:
    """Return the search for an input in a case; a decision where none is needed."""
    whole = Domain(case.box, case.A, case.b)
    domain = whole
    if len(case.b):
        needs_tree = keep_tree and len(case.d)  # a search shows that no input has the rows
        if not needs_tree and whole.maximize(np.zeros(net.n_in))[0] == -np.inf:
            return Decision()
        domain = whole if keep_tree else shrink(whole)  # a proof is about the whole box
    start = sample_points(domain)
    if not len(case.d):
        return Decision(start[0]) if len(start) else Decision(is_open=True)
    work, rows = _rows(net, case)
    limits = Limits(np.inf, stop_above=BELOW, stop_below=BELOW)
    search = open_search(LeastRow(work, rows, case.d), domain, limits, lambda what, done, total: None)
    return OpenCase(search, start, whole, domain is whole and search.has_proof)


def decide_columns(net: Network, case: Case, columns: Columns, until: float) -> Decision:
    """Decide a case of inputs with whole numbers and one-hot groups until a time."""
    has_rows = len(case.d) > 0
    work, rows = _rows(net, case) if has_rows else (net, np.zeros((1, net.n_out)))  # any allowed input is in it
    objective, domain = LeastRow(work, rows, case.d if has_rows else np.zeros(1)), Domain(case.box, case.A, case.b)
    limits = Limits(until, stop_above=BELOW, stop_below=BELOW)
    found = ColumnSearch(objective, domain, columns, limits, lambda value: value >= 0).run()
    if found.lower >= 0:
        return Decision(found.where)
    return Decision(is_open=not found.upper < 0, tree=found.tree if has_rows else None)


def _rows(net: Network, case: Case) -> tuple[Network, Floats]:
    """Return a network and rows of its outputs that are all at least ``-d`` in the case: its inputs may be outputs."""
    if not case.D.any():
        return net, -case.C
    steps, shape = list[Step](), net.input_shape
    itself = Network([Step("reshape", (0,), (net.n_in,), {"shape": [net.n_in]}, path="inputs")], shape)
    ends = [add_network(steps, each, name, shape) for each, name in ((net, "net"), (itself, "inputs"))]
    return concatenate(steps, ends, net.n_out + net.n_in, shape), -np.hstack([case.C, case.D])
