"""Properties as sets of inputs and outputs that must not occur, and the search for one that does."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import torch

from creases._text import plural
from creases._typing import Floats, Progress
from creases._validation import check_number
from creases.certify._boxes.chain import read_chain
from creases.certify._boxes.exact import dot
from creases.certify._boxes.proof import case_trees
from creases.certify._boxes.search import search_cases as search_boxes
from creases.certify._maximize.domain import Domain, shrink
from creases.certify._maximize.objectives import LeastRow
from creases.certify._maximize.search import Limits, maximize_objective, sample_points
from creases.certify.proofs import CaseSet, ClaimProof, Leaf, Split, VerifyStatement, make_proof
from creases.certify.propagation._linear import LinearBounds
from creases.certify.properties._verdict import Verdict
from creases.errors import InputError
from creases.network import Network, NetworkLike, as_network
from creases.network.program import Step

#: The most inputs of dense networks whose boxes are split; with more, units are.
MAX_INPUTS = 12

#: A bound must be below 0 by this, relative to the size of the outputs, to be a proof.
BELOW = 1e-12


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
        Seconds for all cases together.
    proof
        Whether to keep a proof of the answer, ``verdict.proof``: the counterexample, or the tree of boxes for each case
        of a dense network with up to 12 inputs. Of other networks that hold there is none yet.
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
    sets = tuple(
        CaseSet(*(part.tolist() for part in (case.box, case.A, case.b, case.C, case.D, case.d))) for case in prop.cases
    )
    statement = VerifyStatement("holds" if point is None else "violated", sets, point)
    return replace(verdict, proof=make_proof(statement, trees, net=work))


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
    begin = time.monotonic()
    deadline, report = begin + budget, progress or (lambda what, done, total: None)
    chain = read_chain(net) if net.n_in <= MAX_INPUTS else None
    groups = _same_inputs(cases) if chain is not None else [[k] for k in range(len(cases))]
    unknown = 0
    trees: dict[int, tuple[Split | Leaf, ...]] = {}
    for done, group in enumerate(groups):
        report("deciding cases", sum(map(len, groups[:done])), len(cases))
        now = time.monotonic()
        until = now + max(deadline - now, 0.0) / (len(groups) - done)
        parts = [cases[k] for k in group]
        if chain is None:
            answer = _decide(net, parts[0], until, confirm)
            point, is_open = (answer, [True]) if isinstance(answer, np.ndarray) else (None, [answer is not None])
        else:
            threads = torch.get_num_threads()
            found = search_boxes(chain, parts, until, confirm=confirm, threads=threads, keep_tree=keep_trees)
            point, is_open = found.point, found.is_open
            if keep_trees and not any(is_open):
                trees |= dict(zip(group, case_trees(found.trees, parts), strict=True))
        if point is not None:
            y = np.asarray(net(point), np.float64).reshape(-1)
            return Verdict("violated", point, y, time.monotonic() - begin), ()
        unknown += sum(is_open)
    seconds = time.monotonic() - begin
    if unknown:
        return Verdict("unknown", seconds=seconds, detail=f"{unknown} of {len(cases)} cases undecided"), None
    proofs = tuple(ClaimProof(("case", k), trees[k]) for k in sorted(trees))
    return Verdict("holds", seconds=seconds), proofs if len(trees) == len(cases) else None


def _same_inputs(cases: Sequence[Case]) -> list[list[int]]:
    """Return the numbers of cases in groups of the same inputs."""
    groups: dict[tuple[bytes, ...], list[int]] = {}
    for k, case in enumerate(cases):
        groups.setdefault((case.box.tobytes(), case.A.tobytes(), case.b.tobytes()), []).append(k)
    return list(groups.values())


def _decide(net: Network, case: Case, until: float, confirm: Callable[[Floats], bool] | None) -> Floats | float | None:
    """Return an input in a case, None if there is provably none, or how far above 0 the proof's bound is left."""
    domain = Domain(case.box, case.A, case.b)
    if len(case.b):
        if domain.maximize(np.zeros(net.n_in))[0] == -np.inf:
            return None
        domain = shrink(domain)
    start = sample_points(domain)
    if not len(case.d):
        x = start[0] if len(start) else domain.box.mean(axis=1)
        return x if confirm is None or confirm(x) else 0.0
    work, rows = _rows(net, case)
    objective = LeastRow(work, rows, case.d)
    size = 1.0 + float(np.abs(case.d).max())
    limits = Limits(until, stop_above=float(np.nextafter(0.0, -1.0)), stop_below=-BELOW * size)
    found = maximize_objective(objective, domain, limits, start=start)
    if found.lower >= 0 and _is_inside(work, rows, case, found.where) and (confirm is None or confirm(found.where)):
        return found.where
    return None if found.upper <= -BELOW * size else float(found.upper)


def _is_inside(net: Network, rows: Floats, case: Case, x: Floats) -> bool:
    """Whether an input is in a case, in real arithmetic: its rows are at least ``-d`` by bounds at the point."""
    exact = [Fraction(value) for value in x.tolist()]
    if any(dot(row, exact) > Fraction(limit) for row, limit in zip(case.A, case.b.tolist(), strict=True)):
        return False
    bounds = LinearBounds(net, torch.from_numpy(np.stack([x, x], axis=1)[None]))
    least = bounds.worst(*bounds.linear_upper(torch.from_numpy(-rows)))[0].numpy()
    return bool(((case.box[:, 0] <= x) & (x <= case.box[:, 1])).all() and (least <= case.d).all())


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
