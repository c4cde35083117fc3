"""Properties as sets of inputs and outputs that must not occur, and the search for one that does."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch

from creases._program import Step
from creases._text import plural
from creases._typing import Floats, Progress
from creases._validation import check_number
from creases.certify._boxes import few_inputs
from creases.certify._boxes.chain import pad_stages, read_stages
from creases.certify._boxes.proof import case_trees
from creases.certify._boxes.search import Answer
from creases.certify._boxes.search import search_cases as search_boxes
from creases.certify._boxes.warm_up import compile_search
from creases.certify._maximize.domain import Domain, shrink
from creases.certify._maximize.objectives import LeastRow
from creases.certify._maximize.search import Limits, maximize_objective, sample_points
from creases.certify.proofs import Proof
from creases.certify.proofs._digest import make_proof
from creases.certify.proofs._format import CaseSet, ClaimProof, Leaf, Split, VerifyStatement
from creases.certify.properties._verdict import Verdict
from creases.errors import InputError
from creases.network import Network, NetworkLike, as_network

#: The most inputs of dense networks whose boxes are split; with more, units are.
MAX_INPUTS = 12

#: The most units of networks for which sides of units are split after boxes, and the share of the time for boxes.
MAX_UNITS, BOX_TIME = 64, 0.3

Tree = tuple[Split | Leaf, ...]


@dataclass(frozen=True, eq=False)
class Case:
    """A set that must not occur: inputs of a box with ``A x <= b`` whose outputs have ``C y + D x <= d``."""

    box: Floats  #: (n, 2); both ends may be equal
    A: Floats  #: (r, n)
    b: Floats  #: (r,)
    C: Floats  #: (k, m)
    D: Floats  #: (k, n) zeros unless rows join inputs and outputs
    d: Floats  #: (k,)

    def contains(self, x: Floats, y: Floats) -> bool:
        """Whether an input (n,) and its outputs (m,) are in the set, inputs up to rounding."""
        domain = Domain(self.box, self.A, self.b)
        return bool(domain.contains(x[None])[0] and (self.C @ y + self.D @ x <= self.d).all())


@dataclass(frozen=True, eq=False)
class Property:
    """A property that holds if none of its cases occurs: the negation of their disjunction, as VNN-LIB states it."""

    n_in: int
    n_out: int
    cases: tuple[Case, ...]

    def is_statement_of(self, proof: Proof) -> bool:
        """Whether a proof is about this property: the same cases, number by number, in any order."""
        statement = proof.statement
        sizes = proof.model.n_in, proof.model.n_out
        if not isinstance(statement, VerifyStatement) or sizes != (self.n_in, self.n_out):
            return False
        return {_exact_numbers(each) for each in statement.cases} == {_exact_numbers(each) for each in _sets(self)}


def verify(
    net: NetworkLike, prop: Property, *, budget: float = 60.0, proof: bool = False, progress: Progress | None = None
) -> Verdict:
    """Decide whether a property holds: no input and its outputs are in any of its cases.

    Parameters
    ----------
    net
        A :class:`creases.Network`, a torch module or a file name; computed in float64.
    prop
        What must not occur, such as :func:`read_vnnlib` returns.
    budget
        Seconds for all cases together; compilation of the search, in its first call on a machine, does not count.
    proof
        Whether to keep a proof of the answer, ``verdict.proof``: the counterexample, or a tree for each case. There is
        none where a network with choices holds for inputs with further rows ``A x <= b``.
    progress
        Called with the number of cases done.

    Examples
    --------
    >>> import creases
    >>> net = creases.read([([[1.0], [-1.0]], [0.0, 0.0]), ([[1.0, 1.0]], [0.0])])  # |x|
    >>> text = '''
    ... (declare-const X_0 Real)
    ... (declare-const Y_0 Real)
    ... (assert (>= X_0 -1.0)) (assert (<= X_0 2.0))
    ... (assert (>= Y_0 2.5)) ; unsafe
    ... '''
    >>> from creases.certify.properties import parse_vnnlib
    >>> verify(net, parse_vnnlib(text)).status
    'holds'
    >>> print(verify(net, parse_vnnlib(text.replace("2.5", "1.75"))))
    violated
    input (2), outputs (2)
    """
    work = as_network(net).to("cpu").to(torch.float64)
    if (prop.n_in, prop.n_out) != (work.n_in, work.n_out):
        raise InputError(
            "prop",
            f"have the network's {plural(work.n_in, 'input')} and {plural(work.n_out, 'output')}",
            f"{prop.n_in} and {prop.n_out}",
        )
    verdict, trees = _search(work, prop.cases, check_number(budget, "budget", above=0), progress, keep_trees=proof)
    if not proof or verdict.status == "unknown" or trees is None:
        return verdict
    point = None if verdict.counterexample is None else tuple(verdict.counterexample.tolist())
    statement = VerifyStatement("holds" if point is None else "violated", _sets(prop), point)
    return replace(verdict, proof=make_proof(statement, trees, net=work))


def _sets(prop: Property) -> tuple[CaseSet, ...]:
    """Return the cases of a property as a proof states them."""
    return tuple(
        CaseSet(*(part.tolist() for part in (case.box, case.A, case.b, case.C, case.D, case.d))) for case in prop.cases
    )


def _exact_numbers(case: CaseSet) -> tuple[object, ...]:
    """Return the numbers of a case, equal for equal values however they are written."""

    def convert(value: Any) -> object:
        if isinstance(value, list | tuple):
            return tuple(map(convert, value))
        return value if value in (np.inf, -np.inf) else Fraction(value)

    return tuple(convert(getattr(case, part.name)) for part in fields(case))


def search_cases(
    net: Network,
    cases: Sequence[Case],
    budget: float,
    progress: Progress | None = None,
    confirm: Callable[[Floats], bool] | None = None,
) -> Verdict:
    """Return a verdict on cases that must not occur; ``confirm`` checks an input further, such as its decision."""
    return _search(net, cases, budget, progress, confirm)[0]


def _search(
    net: Network,
    cases: Sequence[Case],
    budget: float,
    progress: Progress | None = None,
    confirm: Callable[[Floats], bool] | None = None,
    *,
    keep_trees: bool = False,
) -> tuple[Verdict, tuple[ClaimProof, ...] | None]:
    """As :func:`search_cases`, with the trees of all cases; None where there are none."""
    report = progress or (lambda what, done, total: None)
    boxes = _box_search(net)
    if boxes is not None and boxes.is_compiled:
        compile_search(lambda: report("compiling the search, once on this machine", 0, None))
    begin = time.monotonic()
    deadline = begin + budget
    groups = _same_inputs(cases) if boxes is not None else [[k] for k in range(len(cases))]
    search = _CaseSearch(net, cases, boxes, confirm, keep_trees)
    unknown = 0
    trees: dict[int, Tree | None] = {}
    for done, group in enumerate(groups):
        report("deciding cases", sum(map(len, groups[:done])), len(cases))
        now = time.monotonic()
        until = now + max(deadline - now, 0.0) / (len(groups) - done)
        answers = search.decide(group, until)
        if answers.point is not None:
            y = np.asarray(net(answers.point), np.float64).reshape(-1)
            return Verdict("violated", answers.point, y, time.monotonic() - begin), ()
        unknown += answers.unknown
        trees |= answers.trees
    seconds = time.monotonic() - begin
    if unknown:
        return Verdict("unknown", seconds=seconds, detail=f"{unknown} of {len(cases)} cases undecided"), None
    proofs = tuple(ClaimProof(("case", k), tree) for k, tree in sorted(trees.items()) if tree is not None)
    return Verdict("holds", seconds=seconds), proofs if len(proofs) == len(cases) else None


class _BoxSearch(NamedTuple):
    """How boxes of a network's inputs are searched."""

    search: Callable[..., Answer]
    is_compiled: bool


def _box_search(net: Network) -> _BoxSearch | None:
    """Return the search over boxes for a dense network of few inputs; None for other networks."""
    stages = read_stages(net) if net.n_in <= MAX_INPUTS else None
    if stages is None:
        return None
    units = sum(int((stage.leak != 1).sum()) for stage in stages)
    if net.n_in <= few_inputs.MAX_INPUTS and units > MAX_UNITS and few_inputs.is_supported(stages):
        return _BoxSearch(partial(few_inputs.search_cases, stages), is_compiled=False)
    chain = pad_stages(stages)
    if chain is None:
        return None
    return _BoxSearch(partial(search_boxes, chain, threads=torch.get_num_threads()), is_compiled=True)


@dataclass
class _Answers:
    """What is known of some cases: an input in one of them, or how many are undecided and the proofs of the others."""

    point: Floats | None = None
    unknown: int = 0
    trees: dict[int, Tree | None] = field(default_factory=dict)  #: by the number of the case; None: no tree was kept


@dataclass(frozen=True, eq=False)
class _CaseSearch:
    """The search for inputs in some of the cases of a network."""

    net: Network
    cases: Sequence[Case]
    boxes: _BoxSearch | None  #: for groups of cases of the same inputs; None: cases one after the other
    confirm: Callable[[Floats], bool] | None  #: checks an input further
    keep_trees: bool

    def decide(self, group: list[int], until: float) -> _Answers:
        """Decide a group of cases."""
        return self._decide_each(group, until) if self.boxes is None else self._decide_boxes(self.boxes, group, until)

    def _decide_boxes(self, boxes: _BoxSearch, group: list[int], until: float) -> _Answers:
        """Decide cases of the same inputs by a search over boxes, and what it leaves of small networks over sides.

        Boxes never decide limits that are reached exactly, sides of units do.
        """
        parts, now = [self.cases[k] for k in group], time.monotonic()
        is_small = len(self.net.unit_starts) > 0 and int(self.net.unit_starts[-1]) <= MAX_UNITS
        end = now + (until - now) * BOX_TIME if is_small else until
        found = boxes.search(parts, end, confirm=self.confirm, keep_tree=self.keep_trees)
        if found.point is not None:
            return _Answers(found.point)
        left = [k for k, is_open in zip(group, found.is_open, strict=True) if is_open]
        answers = self._decide_each(left, until) if is_small else _Answers(unknown=len(left))
        closed = dict(zip(group, case_trees(found.trees, parts, found.is_open), strict=True)) if self.keep_trees else {}
        answers.trees |= {k: closed.get(k) for k in group if k not in left}
        return answers

    def _decide_each(self, group: list[int], until: float) -> _Answers:
        """Decide cases one after the other by a search over sides of units."""
        answers = _Answers()
        for done, k in enumerate(group):
            now = time.monotonic()
            end = now + max(until - now, 0.0) / (len(group) - done)
            decision = _decide(self.net, self.cases[k], end, self.confirm, keep_tree=self.keep_trees)
            if decision.point is not None:
                return _Answers(decision.point)
            if decision.is_open:
                answers.unknown += 1
            else:
                answers.trees[k] = decision.tree
        return answers


def _same_inputs(cases: Sequence[Case]) -> list[list[int]]:
    """Return the numbers of cases in groups of the same inputs."""
    groups: dict[tuple[bytes, ...], list[int]] = {}
    for k, case in enumerate(cases):
        groups.setdefault((case.box.tobytes(), case.A.tobytes(), case.b.tobytes()), []).append(k)
    return list(groups.values())


class _Decision(NamedTuple):
    """An input in a case, or whether there may be one; the tree of a proof that there is none, if it has one."""

    point: Floats | None = None
    is_open: bool = False
    tree: Tree | None = None


def _decide(
    net: Network, case: Case, until: float, confirm: Callable[[Floats], bool] | None, *, keep_tree: bool
) -> _Decision:
    """Decide a case by the largest value of the smallest of its rows; it is empty if a bound of that is negative.

    Nothing rests on a solver: bounds count all rounding errors, points are evaluated in fractions, or with bounds.
    """
    whole = Domain(case.box, case.A, case.b)
    domain = whole
    if len(case.b):
        if whole.maximize(np.zeros(net.n_in))[0] == -np.inf:
            return _Decision()
        domain = whole if keep_tree else shrink(whole)  # a proof is about the whole box
    start = sample_points(domain)
    if not len(case.d):
        inside = [x for x in start[:1] if confirm is None or confirm(x)]
        return _Decision(inside[0]) if inside else _Decision(is_open=True)
    work, rows = _rows(net, case)
    below = float(np.nextafter(0.0, -1.0))
    found = maximize_objective(
        LeastRow(work, rows, case.d), domain, Limits(until, stop_above=below, stop_below=below), start=start
    )
    if found.lower >= 0 and whole.contains(found.where[None])[0] and (confirm is None or confirm(found.where)):
        return _Decision(found.where)
    return _Decision(is_open=not found.upper < 0, tree=found.tree if domain is whole else None)


def _rows(net: Network, case: Case) -> tuple[Network, Floats]:
    """Return the network and rows of its outputs that are all at least ``-d`` in the case."""
    if not case.D.any():
        return net, -case.C
    return with_inputs(net), -np.hstack([case.C, case.D])


def with_inputs(net: Network) -> Network:
    """Return the network with its inputs as further outputs, flattened: (m + n,)."""
    end, m, n = len(net.steps), net.n_out, net.n_in
    steps = [
        *net.steps,
        Step("reshape", (end,), (m,), {"shape": [m]}, path="outputs"),
        Step("reshape", (0,), (n,), {"shape": [n]}, path="inputs"),
        Step("concat", (end + 1, end + 2), (m + n,), {"dim": 0}, path="both"),
    ]
    return Network(steps, net.input_shape)
