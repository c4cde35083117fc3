"""Whether an output rises or falls with a column everywhere in a box."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import torch

from creases._typing import Floats, Progress
from creases._validation import check_choice, check_index, check_number
from creases.certify._exact import exact_outputs
from creases.certify._maximize.domain import Domain, check_domain
from creases.certify._maximize.objectives import Gradient, LeastRow, pose
from creases.certify._maximize.search import Limits, maximize_objective
from creases.certify.proofs._checker.statements import Subject, derive_claims
from creases.certify.proofs._digest import make_proof
from creases.certify.proofs._format import ClaimProof, MonotoneStatement
from creases.certify.propagation._linear import LinearBounds, gradient_bounds
from creases.certify.properties._property import Verdict
from creases.network import Network, NetworkLike, as_network
from creases.regions.geometry import region_polytope

#: Shares of the segment in a region that are tried as the ends of a counterexample.
SHARES = (0.9, 0.5, 0.1, 0.01)


def monotone(
    net: NetworkLike,
    column: int,
    box: Any,
    *,
    output: int = 0,
    direction: Literal["rising", "falling"] = "rising",
    A: Any = None,
    b: Any = None,
    tolerance: float = 0.0,
    budget: float = 60.0,
    progress: Progress | None = None,
) -> Verdict:
    """Decide whether an output never falls (or never rises) as one input grows and the others stay.

    It never falls if the input's coefficient is at least 0 in every region. Coefficients are bounded by branch and
    bound over the sides of units, in arithmetic that accounts for every rounding.

    Parameters
    ----------
    net
        A :class:`creases.Network`, a torch module or a file name.
    column
        Number of the input.
    box
        ``(lo, hi)`` for all inputs, or a pair for each.
    output
        Number of the output.
    direction
        ``"rising"``: it must never fall; ``"falling"``: it must never rise.
    A, b
        (r, n_in) and (r,): only inputs of the box with ``A x <= b``.
    tolerance
        A coefficient of the wrong sign counts above this size, relative to a bound of all its values. None by default:
        ``"holds"`` means that the output never falls at all, in real arithmetic with the float64 weights.
    budget
        Seconds.
    progress
        Called with the number of boxes done.

    Returns
    -------
    Verdict
        The counterexample is a pair of inputs (2, n_in) that differ in the column only, the first with the smaller
        value; the outputs were compared in exact arithmetic.

    Examples
    --------
    >>> import creases
    >>> net = creases.read([([[1.0, 0.0], [-1.0, 1.0]], [0.0, 0.0]), ([[1.0, 1.0]], [0.0])])  # relu(x0) + relu(x1 - x0)
    >>> monotone(net, 1, (-1, 1)).status
    'holds'
    >>> refuted = monotone(net, 0, (-1, 1))
    >>> refuted.status, bool(refuted.outputs[1, 0] < refuted.outputs[0, 0])
    ('violated', True)
    """
    work = as_network(net).to("cpu").to(torch.float64)
    column = check_index(column, work.n_in, "column")
    output = check_index(output, work.n_out, "output")
    check_choice(direction, ["rising", "falling"], "direction")
    domain = check_domain(box, A, b, work.n_in, interior=True)
    begin = time.monotonic()
    deadline = begin + check_number(budget, "budget", above=0)
    sign = 1.0 if direction == "rising" else -1.0
    question = _Question(work, domain, column, output, direction, 0.0)
    (claim,) = derive_claims(
        Subject(None, work.n_in, work.n_out), question.state("holds", **question.interior)
    ).values()
    objective = pose(work, claim)  # large where the coefficient has the wrong sign
    assert isinstance(objective, Gradient)
    share = check_number(tolerance, "tolerance", least=0)
    slack = 0.0
    if share:  # of a bound of the coefficient's magnitude over the box
        bounds = LinearBounds(work, torch.from_numpy(domain.box)[None])
        slack = share * float(
            gradient_bounds(bounds, torch.from_numpy(objective.rows))[0].size.flatten(2)[0, 0, column]
        )
    limits = Limits(deadline, stop_above=slack, stop_below=slack)
    extreme = maximize_objective(objective, domain, limits, progress=progress)
    question = replace(question, slack=slack)
    if extreme.lower > slack:
        pair = question.counterexample(extreme.where, sign)
        if pair is not None:
            values = np.asarray(work(pair), np.float64).reshape(2, -1)
            detail = f"a coefficient of {-sign * extreme.lower:.6g}"
            seconds = time.monotonic() - begin
            statement = question.state("violated", pair=(tuple(pair[0].tolist()), tuple(pair[1].tolist())))
            return Verdict("violated", pair, values, seconds, detail, make_proof(statement, net=work))
    seconds = time.monotonic() - begin
    if extreme.upper <= slack:
        if extreme.tree is None:
            return Verdict("holds", seconds=seconds)
        tree = ClaimProof(("coefficient",), extreme.tree)
        proof = make_proof(question.state("holds", **question.interior), (tree,), net=work)
        return Verdict("holds", seconds=seconds, proof=proof)
    least, most = sorted([-sign * extreme.lower, -sign * extreme.upper])
    return Verdict("unknown", seconds=seconds, detail=f"the worst coefficient is between {least:.6g} and {most:.6g}")


@dataclass(frozen=True, eq=False)
class _Question:
    """What is asked, for counterexamples and proofs."""

    net: Network
    domain: Domain
    column: int
    output: int
    direction: Literal["rising", "falling"]
    slack: float

    def counterexample(self, x: Floats, sign: float) -> Floats | None:
        """Return inputs (2, n_in) around ``x`` between which the output goes the wrong way; None if unproved."""
        for start in (_middle_of_region(self.net, self.domain, x), x):
            for share in SHARES:
                pair = _pair(self.net, self.domain, start, self.column, share)
                is_pair = pair[0, self.column] < pair[1, self.column] and self.domain.contains(pair).all()
                if is_pair and self._is_wrong(pair, sign):
                    return pair
        return None

    def _is_wrong(self, pair: Floats, sign: float) -> bool:
        row = np.eye(self.net.n_out)[[self.output]]
        ends = [Fraction(float(x[self.column])) for x in pair]
        allowed = -Fraction(self.slack) * (ends[1] - ends[0])
        first, second = (exact_outputs(self.net, x) for x in pair)
        if first is not None and second is not None:
            return int(sign) * (second[self.output] - first[self.output]) < allowed
        high = -LeastRow(self.net, -sign * row, np.zeros(1)).reached(self.domain, pair[1])
        low = LeastRow(self.net, sign * row, np.zeros(1)).reached(self.domain, pair[0])
        return bool(np.isfinite([low, high]).all()) and Fraction(high) - Fraction(low) < allowed

    @property
    def interior(self) -> dict[str, Any]:
        """The point that shows that rows leave an interior."""
        inner = None if self.domain.is_box else self.domain.inner_point
        return {} if inner is None else {"interior": tuple(inner.tolist())}

    def state(self, verdict: Literal["holds", "violated"], **points: Any) -> MonotoneStatement:
        """Return the statement of a proof."""
        place = self.domain.stated()
        return MonotoneStatement(verdict, place, self.column, self.output, self.direction, self.slack, **points)


def _middle_of_region(net: Network, domain: Domain, x: Floats) -> Floats:
    """Return a point well inside the region of ``x``, which may be all but on a crease; ``x`` if none is known."""
    region = region_polytope(net, net.sides(x))
    rows = region.Q.any(axis=1) & np.isfinite(np.column_stack([region.Q, region.p])).all(axis=1)
    part = Domain(domain.box, np.vstack([region.Q[rows], domain.A]), np.append(region.p[rows], domain.b))
    inner = part.inner_point
    return x if inner is None else inner


def _pair(net: Network, domain: Domain, x: Floats, column: int, share: float) -> Floats:
    """Return the ends (2, n_in) of a share of the segment along a column through ``x`` in its region."""
    region = region_polytope(net, net.sides(x))
    n = len(x)
    Q = np.vstack([region.Q, domain.A, np.eye(n), -np.eye(n)])
    p = np.concatenate([region.p, domain.b, domain.box[:, 1], -domain.box[:, 0]])
    room, slope = np.maximum(p - Q @ x, 0.0), Q[:, column]
    forward = np.min(room[slope > 0] / slope[slope > 0], initial=np.inf)
    backward = np.min(room[slope < 0] / -slope[slope < 0], initial=np.inf)
    pair = np.stack([x, x])
    pair[:, column] += -share * backward, share * forward
    return np.asarray(np.clip(pair, *domain.box.T))
