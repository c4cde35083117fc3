"""Whether a class is never or always decided, or outputs stay within limits, for all inputs of a polytope."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from creases._schema import INTEGER, sequence
from creases._typing import Floats, Progress
from creases._validation import check_arguments, check_index, check_number, check_numbers, check_vector
from creases.certify._maximize.domain import Domain, check_domain
from creases.certify._maximize.objectives import LeastRow, pose
from creases.certify._maximize.queue_search import BELOW
from creases.certify._maximize.search import Limits, maximize_objective, sample_points
from creases.certify._whole_numbers import Columns, ColumnSearch, check_columns, check_values
from creases.certify.proofs._checker.claims import RowClaim
from creases.certify.proofs._checker.statements import Subject, derive_claims
from creases.certify.proofs._digest import make_proof
from creases.certify.proofs._format import ClaimProof, HoldsStatement, OutputRows
from creases.certify.properties._property import Verdict
from creases.errors import InputError
from creases.network import Network, NetworkLike, as_network


@check_arguments(integer=sequence(INTEGER), one_hot=sequence(sequence(INTEGER)))
def holds(
    net: NetworkLike,
    box: Any,
    *,
    A: Any = None,
    b: Any = None,
    integer: Sequence[int] = (),
    one_hot: Sequence[Sequence[int]] = (),
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
    integer
        Columns that are whole numbers: only such inputs count.
    one_hot
        Groups of columns of which exactly one is 1 and the others are 0: only such inputs count.
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
    >>> holds(net, (-0.5, 1.5), integer=[0], never=1).status  # 0 and 1
    'holds'
    >>> holds(net, (-3, 3), A=[[1.0]], b=[-1.5], always=1).status  # x <= -1.5
    'holds'
    >>> bool(holds(net, (-2, 2), outputs=([[1.0]], [1.5])))  # |x| - 1 <= 1.5
    True
    """
    work = as_network(net).to("cpu").to(torch.float64)
    if sum(part is not None for part in (never, always, outputs)) != 1:
        raise InputError("never", "be the only one given of never, always and outputs")
    domain = check_domain(box, A, b, work.n_in)
    columns = check_columns(integer, one_hot, work.n_in)
    check_values(columns, domain.box)
    seconds = check_number(budget, "budget", above=0)
    classes = max(work.n_out, 2)
    asked: dict[str, Any]
    if outputs is not None:
        C, d = _check_rows(outputs, work.n_out)
        asked = {"outputs": OutputRows(tuple(map(tuple, C.tolist())), tuple(d.tolist()))}
    elif never is not None:
        asked = {"never": check_index(never, classes, "never")}
    else:
        asked = {"always": check_index(always, classes, "always")}
    statement = HoldsStatement("holds", domain.stated(), **asked, integer=columns.integer, one_hot=columns.one_hot)
    return _decide_claims(work, domain, columns, statement, seconds, progress)


def _check_rows(outputs: tuple[Any, Any], m: int) -> tuple[Floats, Floats]:
    if not isinstance(outputs, tuple) or len(outputs) != 2:
        raise InputError("outputs", "be a pair (C, d): C y <= d", repr(type(outputs).__name__))
    C = check_numbers(outputs[0], "outputs")
    if C.ndim != 2 or C.shape[1] != m:
        raise InputError("outputs", f"have rows C of shape (k, {m})", f"{C.shape}")
    return C, check_vector(outputs[1], "outputs", len(C))


def _decide_claims(
    net: Network,
    domain: Domain,
    columns: Columns,
    statement: HoldsStatement,
    budget: float,
    progress: Progress | None,
) -> Verdict:
    """Return a verdict on the claims of a statement: all proved, one refuted, or unknown."""
    begin = time.monotonic()
    claims = derive_claims(Subject(None, net.n_in, net.n_out), statement)
    deadline, report = begin + budget, progress or (lambda what, done, total: None)
    start = sample_points(domain)
    proofs: list[ClaimProof] = []
    unknown: list[float] = []
    for k, (key, claim) in enumerate(claims.items()):
        report("deciding claims", k, len(claims))
        now = time.monotonic()
        until = now + max(deadline - now, 0.0) / (len(claims) - k)
        objective = pose(net, claim)
        assert isinstance(claim, RowClaim)
        assert isinstance(objective, LeastRow)
        # In a tie the first class is decided for, so a tie with an earlier one does not count.
        limit, is_tie_enough = BELOW if any(claim.strict) else 0.0, claim.strict == (True,)
        if columns:
            limits = Limits(until, stop_above=BELOW if is_tie_enough else 0.0, stop_below=limit)
            found = ColumnSearch(objective, domain, columns, limits).run(start[:0])
        else:
            limits = Limits(until, stop_above=limit, stop_below=limit)
            found = maximize_objective(objective, domain, limits, start=start)
        if found.lower > 0 or (is_tie_enough and found.lower == 0):
            y = np.asarray(net(found.where), np.float64).reshape(-1)
            refuted = make_proof(replace(statement, verdict="violated", point=tuple(found.where.tolist())), net=net)
            return Verdict("violated", found.where, y, time.monotonic() - begin, proof=refuted)
        if found.upper > limit:
            unknown.append(found.upper)
        elif found.tree is not None:
            proofs.append(ClaimProof(key, found.tree))
    seconds = time.monotonic() - begin
    if unknown:
        detail = (
            f"{len(unknown)} of {len(claims)} claims undecided; the worst is exceeded by {max(unknown):.6g} at most"
        )
        return Verdict("unknown", seconds=seconds, detail=detail)
    proof = make_proof(statement, tuple(proofs), net=net) if len(proofs) == len(claims) else None
    return Verdict("holds", seconds=seconds, proof=proof)
