"""Claims that rows of the outputs are never all positive, decided one after the other."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from creases._typing import Floats, Progress
from creases.certify._maximize.domain import Domain
from creases.certify._maximize.objectives import LeastRow
from creases.certify._maximize.search import Limits, maximize_objective, sample_points
from creases.certify.proofs._digest import make_proof
from creases.certify.proofs._format import ClaimProof, HoldsStatement
from creases.certify.properties._verdict import Verdict
from creases.network import Network

#: The largest number below 0.
BELOW = float(np.nextafter(0.0, -1.0))


@dataclass(frozen=True, eq=False)
class Claim:
    """For all inputs the smallest of ``rows y + offsets``, (k, n_out) and (k,), is at most 0; if strict, below 0."""

    key: tuple[str | int, ...]  #: by which a proof names it
    rows: Floats
    offsets: Floats
    strict: bool


def decide_claims(
    net: Network,
    domain: Domain,
    claims: Sequence[Claim],
    budget: float,
    progress: Progress | None,
    state: Callable[..., HoldsStatement],
) -> Verdict:
    """Return a verdict on claims: all proved, one refuted, or unknown; ``state`` makes the statement of a proof."""
    begin = time.monotonic()
    deadline, report = begin + budget, progress or (lambda what, done, total: None)
    start = sample_points(domain)
    proofs: list[ClaimProof] = []
    unknown: list[float] = []
    for k, claim in enumerate(claims):
        report("deciding claims", k, len(claims))
        now = time.monotonic()
        until = now + max(deadline - now, 0.0) / (len(claims) - k)
        limit = BELOW if claim.strict else 0.0
        objective = LeastRow(net, claim.rows, claim.offsets)
        found = maximize_objective(objective, domain, Limits(until, stop_above=limit, stop_below=limit), start=start)
        if found.lower > 0 or (claim.strict and len(claim.offsets) == 1 and found.lower == 0):
            y = np.asarray(net(found.where), np.float64).reshape(-1)
            statement = state(verdict="violated", point=tuple(found.where.tolist()))
            return Verdict("violated", found.where, y, time.monotonic() - begin, proof=make_proof(statement, net=net))
        if found.upper > limit:
            unknown.append(found.upper)
        elif found.tree is not None:
            proofs.append(ClaimProof(claim.key, found.tree))
    seconds = time.monotonic() - begin
    if unknown:
        detail = (
            f"{len(unknown)} of {len(claims)} claims undecided; the worst is exceeded by {max(unknown):.6g} at most"
        )
        return Verdict("unknown", seconds=seconds, detail=detail)
    proof: Any = None
    if len(proofs) == len(claims):
        proof = make_proof(state(verdict="holds"), tuple(proofs), net=net)
    return Verdict("holds", seconds=seconds, proof=proof)
