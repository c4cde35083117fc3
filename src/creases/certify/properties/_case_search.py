"""The search for an input in some cases, one group of them after the other."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

import numpy as np
import torch

from creases._program import Step
from creases._typing import Floats, Progress
from creases.certify._boxes.chain import pad_stages, read_stages
from creases.certify._boxes.search import Answer, case_trees, compile_search, search_part
from creases.certify._boxes.search import search_cases as search_boxes
from creases.certify._case import Case
from creases.certify._maximize.domain import Domain, shrink
from creases.certify._maximize.objectives import LeastRow
from creases.certify._maximize.one_layer import is_made_for
from creases.certify._maximize.queue_search import BELOW, QueueSearch
from creases.certify._maximize.search import Limits, open_search, sample_points
from creases.certify._maximize.tree_search import TreeSearch
from creases.certify._whole_numbers import EVERY_INPUT, Columns, maximize_over_columns
from creases.certify.differences._joint import add_network, concatenate
from creases.certify.proofs._format import ClaimProof, Leaf, Split
from creases.certify.properties._property import Verdict
from creases.network import Network

#: The most inputs of dense networks whose boxes are split; with more, units are. With few, bounds go forwards.
MAX_INPUTS, FEW_INPUTS = 12, 3

#: The most units of networks for which sides of units are split after boxes, and the share of the time for boxes.
MAX_UNITS, BOX_TIME = 64, 0.3

Tree = tuple[Split | Leaf, ...]


@dataclass(frozen=True, eq=False)
class Answers:
    """What is known of cases: an input in one of them, or how many are undecided and the proofs of the others."""

    point: Floats | None = None
    unknown: int = 0
    trees: dict[int, Tree | None] = field(default_factory=dict)  #: by the number of the case; None: no tree was kept


def decide_cases(
    net: Network,
    cases: Sequence[Case],
    budget: float,
    progress: Progress | None,
    *,
    keep_trees: bool,
    columns: Columns = EVERY_INPUT,
) -> tuple[Verdict, tuple[ClaimProof, ...] | None]:
    """Return a verdict on cases that must not occur, and the trees of all of them; None where there are none."""
    report = progress or (lambda what, done, total: None)
    begin = time.monotonic()
    one_layer = len(net.bends) == 1 and net.n_in > FEW_INPUTS and not any(len(case.b) for case in cases)
    splits_sides = columns or (one_layer and not keep_trees)
    boxes, compiling = (None, 0.0) if splits_sides else open_boxes(net, report)
    search = _CaseSearch(net, cases, boxes, keep_trees, columns)
    begin += compiling  # which no time limit counts
    deadline = begin + budget
    groups = group_cases(cases, search.boxes)
    unknown = 0
    trees: dict[int, Tree | None] = {}
    for done, group in enumerate(groups):
        report("deciding cases", sum(map(len, groups[:done])), len(cases))
        now = time.monotonic()
        if now >= deadline and done:
            unknown += sum(map(len, groups[done:]))
            break
        until = now + max(deadline - now, 0.0) / (len(groups) - done)
        answers = search.decide(group, until)
        if answers.point is not None:
            return conclude(net, cases, answers, begin)
        unknown += answers.unknown
        trees |= answers.trees
    return conclude(net, cases, Answers(None, unknown, trees), begin)


def conclude(
    net: Network, cases: Sequence[Case], answers: Answers, begin: float
) -> tuple[Verdict, tuple[ClaimProof, ...] | None]:
    """Return the verdict on all cases, and their trees, of a search that began at a time of ``time.monotonic()``."""
    seconds = time.monotonic() - begin
    if answers.point is not None:
        y = np.asarray(net(answers.point), np.float64).reshape(-1)
        return Verdict("violated", answers.point, y, seconds), ()
    if answers.unknown:
        return Verdict("unknown", seconds=seconds, detail=f"{answers.unknown} of {len(cases)} cases undecided"), None
    proofs = tuple(ClaimProof(("case", k), tree) for k, tree in sorted(answers.trees.items()) if tree is not None)
    return Verdict("holds", seconds=seconds), proofs if len(proofs) == len(cases) else None


class BoxSearch(NamedTuple):
    """How boxes of a network's inputs are searched."""

    search: Callable[..., Answer]  #: of cases until a time
    search_part: Callable[..., Answer]  #: of cases from some boxes on, for a while


def open_boxes(net: Network, report: Progress) -> tuple[BoxSearch | None, float]:
    """Return the search over boxes of a dense network of few inputs, None for others, and the seconds to compile it."""
    stages = read_stages(net) if net.n_in <= MAX_INPUTS else None
    if stages is None:
        return None, 0.0
    units = sum(int((stage.leak != 1).sum()) for stage in stages)
    if net.n_in <= FEW_INPUTS and units > MAX_UNITS:
        from creases.certify._boxes import few_inputs

        if few_inputs.is_supported(stages):
            searches = (partial(search, net, stages) for search in (few_inputs.search_cases, few_inputs.search_part))
            return BoxSearch(*searches), 0.0
    chain = pad_stages(net, stages)
    if chain is None:
        return None, 0.0
    begin = time.monotonic()
    is_new = compile_search(lambda: report("compiling the search, once on this machine", 0, None))
    boxes = BoxSearch(partial(search_boxes, chain, threads=torch.get_num_threads()), partial(search_part, chain))
    return boxes, time.monotonic() - begin if is_new else 0.0


def has_few_units(net: Network) -> bool:
    """Whether cases that boxes leave are decided by sides of units: boxes never decide limits reached exactly."""
    return len(net.unit_starts) > 0 and int(net.unit_starts[-1]) <= MAX_UNITS


def group_cases(cases: Sequence[Case], boxes: BoxSearch | None) -> list[list[int]]:
    """Return the numbers of cases in groups that are searched together: of the same inputs, where boxes are."""
    if boxes is None:
        return [[k] for k in range(len(cases))]
    groups: dict[tuple[bytes, ...], list[int]] = {}
    for k, case in enumerate(cases):
        groups.setdefault((case.box.tobytes(), case.A.tobytes(), case.b.tobytes()), []).append(k)
    return list(groups.values())


@dataclass(frozen=True, eq=False)
class _CaseSearch:
    """The search for inputs in some of the cases of a network."""

    net: Network
    cases: Sequence[Case]
    boxes: BoxSearch | None  #: for groups of cases of the same inputs; None: cases one after the other
    keep_trees: bool
    columns: Columns

    def decide(self, group: list[int], until: float) -> Answers:
        """Decide a group of cases."""
        return self._decide_each(group, until) if self.boxes is None else self._decide_boxes(self.boxes, group, until)

    def _decide_boxes(self, boxes: BoxSearch, group: list[int], until: float) -> Answers:
        """Decide cases of the same inputs by a search over boxes, and what it leaves of small networks over sides."""
        parts, now = [self.cases[k] for k in group], time.monotonic()
        is_small = has_few_units(self.net)
        end = now + (until - now) * BOX_TIME if is_small else until
        found = boxes.search(parts, end, keep_tree=self.keep_trees)
        if found.point is not None:
            return Answers(found.point)
        left = [k for k, is_open in zip(group, found.is_open, strict=True) if is_open]
        answers = self._decide_each(left, until) if is_small else Answers(unknown=len(left))
        closed = dict(zip(group, case_trees(found.trees, parts, found.is_open), strict=True)) if self.keep_trees else {}
        return replace(answers, trees=answers.trees | {k: closed.get(k) for k in group if k not in left})

    def _decide_each(self, group: list[int], until: float) -> Answers:
        """Decide cases one after the other by a search over sides of units."""
        unknown = 0
        trees: dict[int, Tree | None] = {}
        for done, k in enumerate(group):
            now = time.monotonic()
            if now >= until and done:
                unknown += len(group) - done
                break
            end = now + max(until - now, 0.0) / (len(group) - done)
            if self.columns:
                decision = _decide_columns(self.net, self.cases[k], self.columns, end)
            else:
                decision = _decide(open_case(self.net, self.cases[k], keep_tree=self.keep_trees), end, self.keep_trees)
            if decision.point is not None:
                return Answers(decision.point)
            if decision.is_open:
                unknown += 1
            else:
                trees[k] = decision.tree
        return Answers(None, unknown, trees)


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


def _decide(case: OpenCase | Decision, until: float, keep_tree: bool) -> Decision:
    """Decide a case until a time."""
    if isinstance(case, Decision):
        return case
    case.search.limits = replace(case.search.limits, deadline=until)
    search = case.search
    if not keep_tree and isinstance(search, TreeSearch) and is_made_for(search.form, search.domain):
        found = search.search_layer(case.start)
    else:
        found = search.run(case.start)
    if case.is_inside(found.lower, found.where):
        return Decision(found.where)
    return Decision(is_open=not found.upper < 0, tree=found.tree if case.has_proof else None)


def _decide_columns(net: Network, case: Case, columns: Columns, until: float) -> Decision:
    """Decide a case of inputs with whole numbers and one-hot groups until a time."""
    has_rows = len(case.d) > 0
    work, rows = _rows(net, case) if has_rows else (net, np.zeros((1, net.n_out)))  # any allowed input is in it
    objective, domain = LeastRow(work, rows, case.d if has_rows else np.zeros(1)), Domain(case.box, case.A, case.b)
    limits = Limits(until, stop_above=BELOW, stop_below=BELOW)
    found = maximize_over_columns(objective, domain, columns, limits, lambda value: value >= 0)
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
