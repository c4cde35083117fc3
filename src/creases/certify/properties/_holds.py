"""Whether a class is never or always decided, or outputs stay within limits, for all inputs of a polytope."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from creases._typing import Floats, Progress
from creases._validation import check_index, check_number, check_numbers, check_vector
from creases.certify._maximize.domain import Domain, check_domain
from creases.certify.properties._verdict import Verdict
from creases.certify.properties._verify import Case, search_cases
from creases.errors import InputError
from creases.network import Network, NetworkLike, as_network


def holds(
    net: NetworkLike,
    box: Any,
    *,
    A: Any = None,
    b: Any = None,
    never: int | None = None,
    always: int | None = None,
    outputs: tuple[Any, Any] | None = None,
    budget: float = 60.0,
    progress: Progress | None = None,
) -> Verdict:
    """Decide whether a statement about the decision or the outputs holds for all inputs of a box or a polytope.

    Parameters
    ----------
    net
        A :class:`creases.Network`, a torch module or a file name. With one output the decision is 1 where it is
        positive, else 0; with more it is the first of the largest.
    box
        ``(lo, hi)`` for all inputs, or a pair for each.
    A, b
        (r, n_in) and (r,): only inputs of the box with ``A x <= b``.
    never
        A class that no such input may be decided for.
    always
        The class that all such inputs must be decided for.
    outputs
        ``(C, d)``, (k, m) and (k,): all such inputs must have outputs with ``C y <= d``.
    budget
        Seconds.
    progress
        Called with the number of cases done.

    Returns
    -------
    Verdict
        ``"holds"`` by proof; ``"violated"`` with an input, at which the network was run; or ``"unknown"``. A limit that
        is reached and not exceeded, such as a tie, is neither proved nor refuted.

    Examples
    --------
    >>> import creases
    >>> net = creases.read([([[1.0], [-1.0]], [0.0, 0.0]), ([[1.0, 1.0]], [-1.0])])  # class 1 where |x| > 1
    >>> holds(net, (-0.5, 0.75), never=1).status
    'holds'
    >>> holds(net, (-0.5, 2), never=1).counterexample.tolist()
    [2.0]
    >>> holds(net, (-3, 3), A=[[1.0]], b=[-1.5], always=1).status  # x <= -1.5
    'holds'
    >>> bool(holds(net, (-2, 2), outputs=([[1.0]], [1.5])))  # |x| - 1 <= 1.5
    True
    """
    work = as_network(net).to("cpu").to(torch.float64)
    if sum(part is not None for part in (never, always, outputs)) != 1:
        raise InputError("never", "be the only one given of never, always and outputs")
    domain = check_domain(box, A, b, work.n_in)
    seconds = check_number(budget, "budget", above=0)
    if outputs is not None:
        C, d = _check_rows(outputs, work.n_out)
        cases = [_case(domain, -row[None], -limit[None]) for row, limit in zip(C, d, strict=True)]
        return search_cases(work, cases, seconds, progress, lambda x: bool((C @ _values(work, x) > d).any()))
    classes = max(work.n_out, 2)
    if never is not None:
        bad = check_index(never, classes, "never")
        cases = [_case(domain, *_leads(work.n_out, bad))]
        return search_cases(work, cases, seconds, progress, lambda x: _decision(work, x) == bad)
    good = check_index(always, classes, "always")
    rows = [_leads(work.n_out, k, good) for k in range(classes) if k != good]
    cases = [_case(domain, *part) for part in rows]
    return search_cases(work, cases, seconds, progress, lambda x: _decision(work, x) != good)


def _check_rows(outputs: tuple[Any, Any], m: int) -> tuple[Floats, Floats]:
    if not isinstance(outputs, tuple) or len(outputs) != 2:
        raise InputError("outputs", "be a pair (C, d): C y <= d", repr(type(outputs).__name__))
    C = check_numbers(outputs[0], "outputs")
    if C.ndim != 2 or C.shape[1] != m:
        raise InputError("outputs", f"have rows C of shape (k, {m})", f"{C.shape}")
    return C, check_vector(outputs[1], "outputs", len(C))


def _leads(m: int, winner: int, loser: int | None = None) -> tuple[Floats, Floats]:
    """Return C and d: ``C y <= d`` where a class is at least as large as another, or as all others."""
    if m == 1:
        return np.array([[-1.0 if winner == 1 else 1.0]]), np.zeros(1)
    others = [k for k in range(m) if k != winner] if loser is None else [loser]
    C = np.zeros((len(others), m))
    C[np.arange(len(others)), others] = 1.0
    C[:, winner] = -1.0
    return C, np.zeros(len(others))


def _case(domain: Domain, C: Floats, d: Floats) -> Case:
    return Case(domain.box, domain.A, domain.b, C, np.zeros((len(d), len(domain.box))), d)


def _values(net: Network, x: Floats) -> Floats:
    return np.asarray(net(x), np.float64).reshape(-1)


def _decision(net: Network, x: Floats) -> int:
    y = _values(net, x)
    return int(y.argmax()) if len(y) > 1 else int(y[0] > 0)
