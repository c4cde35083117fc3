"""Properties as sets of inputs and outputs that must not occur, and the search for one that does."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from creases._text import plural
from creases._typing import Floats, Progress
from creases._validation import check_number
from creases.certify._maximize.domain import Domain, shrink
from creases.certify._maximize.objectives import LeastRow
from creases.certify._maximize.search import Limits, maximize_objective, sample_points
from creases.certify.properties._verdict import Verdict
from creases.errors import InputError
from creases.network import Network, NetworkLike, as_network
from creases.network.program import Step

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


def verify(net: NetworkLike, prop: Property, *, budget: float = 60.0, progress: Progress | None = None) -> Verdict:
    """Decide whether a property holds: no input and its outputs are in any of its cases.

    Parameters
    ----------
    net
        A :class:`creases.Network`, a torch module or a file name; computed in float64.
    prop
        What must not occur, such as :func:`read_vnnlib` returns.
    budget
        Seconds for all cases together.
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
    return search_cases(work, prop.cases, check_number(budget, "budget", above=0), progress)


def search_cases(
    net: Network,
    cases: Sequence[Case],
    budget: float,
    progress: Progress | None = None,
    confirm: Callable[[Floats], bool] | None = None,
) -> Verdict:
    """Return a verdict on cases that must not occur; ``confirm`` checks an input further, such as its decision."""
    begin = time.monotonic()
    deadline, report = begin + budget, progress or (lambda what, done, total: None)
    unknown = []
    for k, case in enumerate(cases):
        report("deciding cases", k, len(cases))
        now = time.monotonic()
        until = now + max(deadline - now, 0.0) / (len(cases) - k)
        answer = _decide(net, case, until, confirm)
        if isinstance(answer, np.ndarray):
            y = np.asarray(net(answer), np.float64).reshape(-1)
            return Verdict("violated", answer, y, time.monotonic() - begin)
        if answer is not None:
            unknown.append(answer)
    seconds = time.monotonic() - begin
    if unknown:
        return Verdict("unknown", seconds=seconds, detail=f"{len(unknown)} of {len(cases)} cases undecided")
    return Verdict("holds", seconds=seconds)


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
    if found.lower >= 0:
        y = np.asarray(net(found.where), np.float64).reshape(-1)
        if case.contains(found.where, y) and (confirm is None or confirm(found.where)):
            return found.where
    return None if found.upper <= -BELOW * size else float(found.upper)


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
