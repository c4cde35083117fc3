"""Whether a class is never or always decided, or outputs stay within limits, for all inputs of a polytope."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from creases._typing import Floats, Progress
from creases._validation import check_index, check_number, check_numbers, check_vector
from creases.certify._maximize.domain import check_domain
from creases.certify.proofs._format import HoldsStatement, OutputRows
from creases.certify.properties._claims import Claim, decide_claims
from creases.certify.properties._verdict import Verdict
from creases.errors import InputError
from creases.network import NetworkLike, as_network


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
        ``"holds"`` by proof; ``"violated"`` with an input, whose outputs were computed in fractions; or ``"unknown"``.
        Both are statements about real arithmetic with the network's float64 weights, without a tolerance. A limit that
        is reached and not exceeded, such as a tie, may stay unknown.

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
    place = domain.stated()
    if outputs is not None:
        C, d = _check_rows(outputs, work.n_out)
        claims = [Claim(("row", k), C[k : k + 1], -d[k : k + 1], strict=False) for k in range(len(d))]
        rows = OutputRows(tuple(map(tuple, C.tolist())), tuple(d.tolist()))
        return decide_claims(
            work,
            domain,
            claims,
            seconds,
            progress,
            lambda **answer: HoldsStatement(domain=place, outputs=rows, **answer),
        )
    classes = max(work.n_out, 2)
    if never is not None:
        bad = check_index(never, classes, "never")
        claims = [_never(work.n_out, bad)]
        return decide_claims(
            work, domain, claims, seconds, progress, lambda **answer: HoldsStatement(domain=place, never=bad, **answer)
        )
    good = check_index(always, classes, "always")
    claims = [_before(work.n_out, k, good) for k in range(classes) if k != good]
    return decide_claims(
        work, domain, claims, seconds, progress, lambda **answer: HoldsStatement(domain=place, always=good, **answer)
    )


def _check_rows(outputs: tuple[Any, Any], m: int) -> tuple[Floats, Floats]:
    if not isinstance(outputs, tuple) or len(outputs) != 2:
        raise InputError("outputs", "be a pair (C, d): C y <= d", repr(type(outputs).__name__))
    C = check_numbers(outputs[0], "outputs")
    if C.ndim != 2 or C.shape[1] != m:
        raise InputError("outputs", f"have rows C of shape (k, {m})", f"{C.shape}")
    return C, check_vector(outputs[1], "outputs", len(C))


def _never(m: int, winner: int) -> Claim:
    """Return the claim that a class is never decided for: another one is before it everywhere."""
    if m == 1:
        return Claim(("never",), *_sign(winner), strict=winner == 0)
    others = [k for k in range(m) if k != winner]
    rows = np.eye(m)[[winner] * len(others)] - np.eye(m)[others]
    # In a tie the first class is decided for, so a tie with an earlier one does not count.
    return Claim(("never",), rows, np.zeros(len(others)), strict=winner < m - 1)


def _before(m: int, j: int, good: int) -> Claim:
    """Return the claim that a class is nowhere before the one that must be decided for."""
    if m == 1:
        return Claim(("always", j), *_sign(j), strict=j == 0)
    return Claim(("always", j), (np.eye(m)[j] - np.eye(m)[good])[None], np.zeros(1), strict=j < good)


def _sign(wrong: int) -> tuple[Floats, Floats]:
    """Return a row and an offset that are positive where a single output decides for a class."""
    return np.array([[1.0 if wrong == 1 else -1.0]]), np.zeros(1)
