"""The exact range of outputs, differences of outputs and coefficients over a box, a polytope or regions."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product
from typing import Any, Literal

import numpy as np
import torch

from creases._typing import Bools, Floats, Progress
from creases._validation import check_choice, check_number
from creases.certify._maximize.domain import Domain, check_domain, maximize_in
from creases.certify._maximize.objectives import Objective, pose
from creases.certify._maximize.search import Extreme, Limits, maximize_objective, sample_points
from creases.certify.proofs import Proof
from creases.certify.proofs._checker.statements import Subject, derive_claims
from creases.certify.proofs._digest import make_proof
from creases.certify.proofs._format import ClaimProof, RangeEntry, RangeStatement
from creases.certify.propagation._linear import LinearBounds, gradient_bounds
from creases.errors import InputError
from creases.network import Network, NetworkLike, as_network
from creases.regions import SpacePartition

Quantity = Literal["outputs", "differences", "coefficients"]

#: What is proved and what is reached are called equal if they differ by no more than this, relative to the larger
#: magnitude of the two proved ends; beside 0 by no more than ``LEAST``.
EXACT, LEAST = 1e-9, 1e-280


@dataclass(frozen=True, eq=False)
class OutputRange:
    """The smallest and the largest value of quantities of a network over a set of inputs.

    Each array has the shape of the quantity: outputs (m,); differences (m, m), entry (i, j) is output i less output j;
    coefficients (m, n_in).
    """

    quantity: str  #: ``"outputs"``, ``"differences"`` or ``"coefficients"``
    low: Floats  #: proved: no input has less
    minimum: Floats  #: the smallest value reached, rounded upwards; inf if none is known
    argmin: Floats  #: (..., n_in) where
    maximum: Floats  #: the largest value reached, rounded downwards; -inf if none is known
    argmax: Floats  #: (..., n_in) where
    high: Floats  #: proved: no input has more
    method: str  #: how it was computed: ``"search"`` or ``"regions"``
    seconds: float
    proof: Proof | None = field(
        default=None, repr=False
    )  #: of ``low`` and ``high``, for :func:`creases.certify.proofs.check_proof`

    @property
    def proof_note(self) -> str:
        """Why there is no proof; "" if there is one."""
        if self.proof is not None:
            return ""
        if self.method == "regions":
            return "the regions are taken as they are given: a proof is for a box"
        if not (np.isfinite(self.low).all() and np.isfinite(self.high).all()):
            return "a bound is infinite: there was no time to find a finite one"
        if np.isinf(self.minimum).any():
            return "there was no time to search for every quantity, and bounds of all at once record no tree"
        return "the network has choices (max-pooling, say), and no tree of boxes is recorded within rows A x <= b"

    @property
    def exact(self) -> Bools:
        """Whether what is reached is what is proved, for each quantity.

        They differ by no more than 1e-9 of the larger magnitude of ``low`` and ``high``: the true minimum and maximum
        are known to nine digits of the range, by proof. Of ``method="regions"``: to the rounding of the regions given.
        """
        size = EXACT * np.maximum(np.abs(self.low), np.abs(self.high)) + LEAST
        with np.errstate(invalid="ignore"):
            near = (self.minimum - self.low <= size) & (self.high - self.maximum <= size)
        return np.asarray(near & np.isfinite(size))

    def __str__(self) -> str:
        lines = []
        for index in np.ndindex(self.low.shape):
            if self.quantity == "differences" and index[0] >= index[1]:
                continue
            name = _name(self.quantity, index)
            if self.exact[index]:
                lines.append(f"{name}: {self.minimum[index]:.6g} to {self.maximum[index]:.6g}, exactly")
            else:
                lines.append(
                    f"{name}: minimum between {self.low[index]:.6g} and {self.minimum[index]:.6g}, "
                    f"maximum between {self.maximum[index]:.6g} and {self.high[index]:.6g}"
                )
        return "\n".join(lines)


def output_range(
    net: NetworkLike,
    box: Any,
    *,
    A: Any = None,
    b: Any = None,
    quantity: Quantity = "outputs",
    budget: float = 10.0,
    tolerance: float = 5e-10,
    progress: Progress | None = None,
) -> OutputRange:
    """Return the smallest and largest value of each output, each difference of outputs or each coefficient.

    A branch and bound over the sides of units: nodes are bounded by linear bounds carried backwards and by the convex
    relaxation of their units [1]_, those with the largest bounds are split first. ``low`` and ``high`` hold in real
    arithmetic for the float64 weights: they are computed from multipliers of the relaxation with every rounding
    accounted for, whatever the solver returned. ``minimum`` and ``maximum`` are values at the points given, computed in
    fractions and rounded towards each other. When the budget is over, what is reached and what is proved are apart.

    Parameters
    ----------
    net
        A :class:`creases.Network`, a torch module or a file name; computed in float64.
    box
        ``(lo, hi)`` for all inputs, or a pair for each. Or regions: a :class:`creases.SpacePartition` of the network,
        or a list of regions with ``Q x <= p`` and the piece ``J x + y``, such as :func:`creases.cell` returns.
    A, b
        (r, n_in) and (r,): only inputs of the box with ``A x <= b``.
    quantity
        ``"outputs"``; ``"differences"``, of every two outputs; or ``"coefficients"``, the entries of the Jacobian in
        all regions.
    budget
        Seconds, for all quantities together. One box may exceed it by a little.
    tolerance
        Relative gap at which the search for a quantity ends; the result is exact if it is at most 1e-9.
    progress
        Called with the number of quantities done, now and then.

    References
    ----------
    .. [1] Ehlers, "Formal Verification of Piece-Wise Linear Feed-Forward Neural Networks", ATVA 2017.

    Examples
    --------
    >>> import creases
    >>> net = creases.read([([[1.0], [-1.0]], [0.0, 0.0]), ([[1.0, 1.0]], [0.0])])  # |x|
    >>> found = output_range(net, (-1, 2))
    >>> found.minimum.tolist(), found.argmin.tolist(), found.maximum.tolist(), found.argmax.tolist()
    ([0.0], [[0.0]], [2.0], [[2.0]])
    >>> print(output_range(net, (-1, 2), quantity="coefficients"))
    coefficient of x[0] in output 0: -1 to 1, exactly
    >>> output_range(net, (-1, 2), A=[[1.0]], b=[-0.5]).maximum.tolist()  # x <= -0.5
    [1.0]
    """
    check_choice(quantity, ["outputs", "differences", "coefficients"], "quantity")
    seconds = check_number(budget, "budget", above=0)
    tolerance = check_number(tolerance, "tolerance", least=0)
    begin = time.monotonic()
    work = as_network(net).to("cpu").to(torch.float64)
    report = progress or (lambda what, done, total: None)
    is_list = isinstance(box, Sequence) and len(box) > 0 and all(hasattr(region, "Q") for region in box)
    if is_list or isinstance(box, SpacePartition):
        if A is not None or b is not None:
            raise InputError("A", "be left out with regions", hint="give a box, or add the rows to the regions")
        parts = _of_regions(_affine_parts(box, work), quantity)
        return OutputRange(quantity, *parts, method="regions", seconds=time.monotonic() - begin)
    domain = check_domain(box, A, b, work.n_in, interior=quantity == "coefficients")
    parts, proof = _of_search(work, domain, quantity, begin + seconds, tolerance, report)
    return OutputRange(quantity, *parts, method="search", seconds=time.monotonic() - begin, proof=proof)


Parts = tuple[Floats, Floats, Floats, Floats, Floats, Floats]


def _name(quantity: str, index: tuple[int, ...]) -> str:
    if quantity == "outputs":
        return f"output {index[0]}"
    if quantity == "differences":
        return f"output {index[0]} - output {index[1]}"
    return f"coefficient of x[{index[1]}] in output {index[0]}"


# -- regions ----------------------------------------------------------------------------------------------------------


def _affine_parts(regions: Any, net: Network) -> list[Any]:
    """Return regions, each with Q, p, J and y; those of a partition as the corners of each."""
    if isinstance(regions, SpacePartition):
        if not len(regions.vertices):
            raise InputError("box", "be a partition with regions and vertices", repr(regions), "use method='vertices'")
        piece = regions.pieces()
        ends = zip(regions.starts[:-1], regions.starts[1:], strict=True)
        return [
            (regions.vertices[regions.corners[start:stop]], J, y)
            for (start, stop), J, y in zip(ends, piece.J, piece.y, strict=True)
        ]
    for region in regions:
        if np.shape(region.J) != (net.n_out, net.n_in):
            raise InputError("box", "hold regions of the network", f"a piece of shape {np.shape(region.J)}")
    return list(regions)


def _of_regions(regions: list[Any], quantity: str) -> Parts:
    """Return extremes over regions: at the vertices where they are known, else by linear programs."""
    values, points = [], []
    for region in regions:
        J, y = (region[1], region[2]) if isinstance(region, tuple) else (region.J, region.y)
        C, d = _functions(np.asarray(J), np.asarray(y), quantity)
        ends = C if quantity != "coefficients" else np.eye(C.shape[1])
        corners = region[0] if isinstance(region, tuple) else _extreme_points(region, ends)
        if quantity == "coefficients":  # the same all over a region: in its middle, off its creases
            corners = corners.mean(axis=0, keepdims=True)
        values.append(corners @ C.T + d)
        points.append(corners)
    shape = _shape(quantity, len(y), np.shape(J)[1])
    stacked = np.concatenate(values)
    stacked, where = stacked.reshape(len(stacked), *shape), np.concatenate(points)  # exact at these points
    low, high = stacked.min(axis=0), stacked.max(axis=0)
    return low, low, where[stacked.argmin(axis=0)], high, where[stacked.argmax(axis=0)], high


def _functions(J: Floats, y: Floats, quantity: str) -> tuple[Floats, Floats]:
    """Return the quantities on a region as affine functions C (k, n), d (k,)."""
    m, n = J.shape
    if quantity == "outputs":
        return J, y
    if quantity == "differences":
        return (J[:, None] - J[None]).reshape(m * m, n), (y[:, None] - y[None]).reshape(m * m)
    return np.zeros((m * n, n)), J.reshape(m * n)


def _extreme_points(region: Any, C: Floats) -> Floats:
    """Return points of a bounded region ``Q x <= p`` where each of the functions C (k, n) is smallest and largest."""
    Q, p = np.asarray(region.Q), np.asarray(region.p)
    n = Q.shape[1]
    box = getattr(region, "bounding_box", None)
    ends = np.asarray(box) if box is not None else None
    if ends is None or not np.isfinite(ends).all():
        raise InputError("box", "hold bounded regions", "one without a finite bounding box", "give cell a box")
    ends = np.stack([ends[:, 0] - 1e-9, ends[:, 1] + 1e-9], axis=1)
    points = [maximize_in(ends, Q, p, sign * row[None], np.zeros(1))[1] for row in C for sign in (-1.0, 1.0)]
    return np.array([x for x in points if x is not None]).reshape(-1, n)


# -- search -----------------------------------------------------------------------------------------------------------


def _shape(quantity: str, m: int, n: int) -> tuple[int, ...]:
    return {"outputs": (m,), "differences": (m, m), "coefficients": (m, n)}[quantity]


def _state(net: Network, domain: Domain, quantity: Any, entries: Iterable[RangeEntry] | None = None) -> RangeStatement:
    """Return the statement of a range; without entries, with those that are asked for."""
    if entries is None:
        m = net.n_out
        pairs = combinations(range(m), 2) if quantity == "differences" else product(range(m), range(net.n_in))
        asked = [(i,) for i in range(m)] if quantity == "outputs" else list(pairs)
        entries = (RangeEntry(index, low=0.0, high=0.0) for index in asked)
    inner = None if domain.is_box or quantity != "coefficients" else domain.inner_point
    return RangeStatement(quantity, domain.stated(), tuple(entries), None if inner is None else tuple(inner.tolist()))


def _of_search(
    net: Network, domain: Domain, quantity: str, deadline: float, tolerance: float, report: Progress
) -> tuple[Parts, Proof | None]:
    shape = _shape(quantity, net.n_out, net.n_in)
    low, minimum, maximum, high = (np.zeros(shape) for _ in range(4))
    start, objectives = sample_points(domain), dict[tuple[int, ...], list[Objective]]()
    for (_, *place), claim in derive_claims(Subject(None, net.n_in, net.n_out), _state(net, domain, quantity)).items():
        objectives.setdefault(tuple(map(int, place)), []).append(pose(net, claim))  # for the minimum, negated; maximum
    somewhere = start[0] if len(start) else domain.middle
    argmin, argmax = (np.broadcast_to(somewhere, (*shape, net.n_in)).copy() for _ in range(2))
    left = 2 * len(objectives)
    found: dict[tuple[int, ...], tuple[Extreme, Extreme]] = {}
    for done, (index, pair) in enumerate(objectives.items()):
        report("bounding outputs", done, len(objectives))
        if done and time.monotonic() >= deadline:
            found |= _bound_at_once(net, domain, quantity, list(objectives)[done:], somewhere)
            break
        extremes = []
        for objective in pair:
            now = time.monotonic()
            until = now + max(deadline - now, 0.0) / left  # every quantity gets the same share of what is left
            extremes.append(maximize_objective(objective, domain, Limits(until, tolerance), start=start))
            left -= 1
        found[index] = extremes[0], extremes[1]
    for index, (least, most) in found.items():
        low[index], minimum[index], argmin[index] = 0.0 - least.upper, 0.0 - least.lower, least.where  # never -0
        high[index], maximum[index], argmax[index] = most.upper, most.lower, most.where
        if quantity == "differences":
            back = index[::-1]
            low[back], minimum[back], argmin[back] = 0.0 - most.upper, 0.0 - most.lower, most.where
            high[back], maximum[back], argmax[back] = least.upper, least.lower, least.where
    report("bounding outputs", len(objectives), len(objectives))
    return (low, minimum, argmin, maximum, argmax, high), _range_proof(net, domain, quantity, found)


def _bound_at_once(
    net: Network, domain: Domain, quantity: str, left: list[tuple[int, ...]], somewhere: Floats
) -> dict[tuple[int, ...], tuple[Extreme, Extreme]]:
    """Bound quantities that there was no time to search for, by one pass backwards and without trees."""
    bounds = LinearBounds(net, torch.from_numpy(domain.box)[None])
    eye = torch.eye(net.n_out, dtype=torch.float64)
    if quantity == "coefficients":
        low, high = (end[0].flatten(1).numpy() for end in gradient_bounds(bounds, eye)[0])
        ends = {index: (low[index], high[index]) for index in left}
    else:
        rows = torch.stack([eye[i] - (eye[j[0]] if j else 0) for i, *j in left])
        upper = bounds.worst(*bounds.linear_upper(torch.cat([-rows, rows])))[0].numpy()
        ends = {index: (-upper[k], upper[len(left) + k]) for k, index in enumerate(left)}
    none = -np.inf
    return {k: (Extreme(none, somewhere, -float(a)), Extreme(none, somewhere, float(b))) for k, (a, b) in ends.items()}


def _range_proof(
    net: Network, domain: Domain, quantity: Any, found: dict[tuple[int, ...], tuple[Extreme, Extreme]]
) -> Proof | None:
    entries, proofs = [], []
    for index, (least, most) in found.items():
        if least.tree is None or most.tree is None or not np.isfinite([least.upper, most.upper]).all():
            return None
        is_reached = bool(np.isfinite([least.lower, most.lower]).all())
        reached = (-least.lower, most.lower) if is_reached else (None, None)
        points = (tuple(least.where.tolist()), tuple(most.where.tolist())) if is_reached else (None, None)
        entries.append(RangeEntry(index, -least.upper, most.upper, *reached, *points))
        proofs += [ClaimProof(("low", *index), least.tree), ClaimProof(("high", *index), most.tree)]
    return make_proof(_state(net, domain, quantity, entries), tuple(proofs), net=net)
