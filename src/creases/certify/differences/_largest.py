"""The largest difference of two networks in a box: what samples and climbs from them reach, and what is proved."""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import torch
from torch import Tensor

from creases._program import forward
from creases._typing import Floats
from creases._validation import check_box, check_number
from creases.certify._maximize.domain import Domain
from creases.certify._maximize.objectives import LeastRow
from creases.certify._maximize.search import Limits, maximize_objective
from creases.certify.differences._bounds import DifferenceBounds, has_same_architecture, rounding_error
from creases.certify.differences._joint import NO_TREE, as_pair, subtract_networks
from creases.certify.proofs import Proof
from creases.certify.proofs._digest import make_proof
from creases.certify.proofs._format import ClaimProof, DifferenceEntry, DifferencesStatement
from creases.certify.propagation import Interval
from creases.certify.propagation._linear import LinearBounds
from creases.errors import InputError
from creases.network import Network, NetworkLike

#: Random points at which differences are computed, the most numbers that may take, and how many of the best are climbed
#: from for each output.
SAMPLES, SAMPLE_SIZE, TOP = 4096, 2**24, 24

#: Numbers that gradient ascent may take, over all points, steps and outputs: large networks start from few points.
ASCENT_SIZE = 5 * 10**8

#: Points climb from region to region by linear programs where regions have no more numbers in their rows.
CLIMB_SIZE = 2**17

#: Share of a budget for the local search.
SEARCH_TIME = 0.3

#: A proof is for upper bounds that are larger by this share.
PROOF_ROOM = 1e-9


@dataclass(frozen=True, eq=False)
class LargestDifference:
    """The largest ``|a - b|`` of each of m outputs over a box: at least ``lower``, at most ``upper``."""

    lower: Floats  #: (m,) reached at ``where``
    where: Floats  #: (m, n_in)
    upper: Floats  #: (m,) proved: no input of the box has more
    proof: Proof | None = None  #: of what branch and bound showed, for ``creases check``; None without it
    proof_note: str = "bounds of the whole box record no tree; give a budget"  #: why there is no proof; "" with one


def difference_bounds(a: NetworkLike, b: NetworkLike, box: Any) -> tuple[Floats, Floats]:
    """Bound the difference ``a - b`` of each output over a box.

    Networks of one architecture, such as a copy in float16 or after a little more training, are bounded layer by layer
    together [1]_, any others as one network.

    Parameters
    ----------
    a, b
        Networks, torch modules or file names; computed in float64.
    box
        ``(lo, hi)`` for all inputs, or a pair for each.

    Returns
    -------
    low, high : ndarray (m,)
        No difference is outside, with every rounding error counted.

    References
    ----------
    .. [1] Paulsen, Wang, Wang, Wang, "NeuroDiff: Scalable Differential Verification of Neural Networks using
       Fine-Grained Approximation", ASE 2020.

    Examples
    --------
    >>> import creases
    >>> a = creases.read([([[1.0], [-1.0]], [0.0, 0.0]), ([[1.0, 1.0]], [0.0])])  # |x|
    >>> b = creases.read([([[1.0], [-1.0]], [0.0, 0.0]), ([[1.0, 1.5]], [0.0])])
    >>> [bound.round(9).tolist() for bound in difference_bounds(a, b, (-1, 1))]
    [[-0.5], [0.0]]
    """
    a, b = _work_pair(a, b)
    boxes = torch.from_numpy(check_box(box, a.n_in))[None]
    low, high = box_difference_bounds(a, b, boxes)
    return low[0], high[0]


def box_difference_bounds(a: Network, b: Network, boxes: Tensor) -> tuple[Floats, Floats]:
    """Bound ``a - b`` over each of k boxes (k, n_in, 2): (k, m) each."""
    net = subtract_networks(a, b)
    if net.steps and len(set(net.steps[-1].inputs)) == 1:  # every step occurs once: both are the same network
        zero = np.zeros((len(boxes), a.n_out))
        return zero, zero.copy()
    bounds = LinearBounds(net, boxes)
    both = bounds.tighten(len(net.steps), bounds.output)
    if has_same_architecture(a, b):
        error, of_a, of_b = rounding_error(a, b, boxes), LinearBounds(a, boxes), LinearBounds(b, boxes)
        for pair, sign in (((of_a, of_b), -1), ((of_b, of_a), 1)):  # from either side: neither is always tighter
            low, high = (end.flatten(1) for end in DifferenceBounds(*pair).output)
            low, high = Interval(low - error, high + error).without_overflow()
            both = both.intersect(Interval(low, high) if sign == 1 else Interval(-high, -low))
    return np.asarray(both.low.numpy()), np.asarray(both.high.numpy())


def largest_difference(
    a: NetworkLike,
    b: NetworkLike,
    box: Any,
    *,
    start: Any = None,
    seed: int = 0,
    budget: float | None = None,
) -> LargestDifference:
    """Bound the largest difference of two networks in a box from both sides.

    Parameters
    ----------
    a, b
        Networks, torch modules or file names, with the same inputs and outputs.
    box
        ``(lo, hi)`` for all inputs, or a pair for each.
    start
        PointsLike (k, n_in) to start the search from as well, such as samples; those outside the box are moved to its
        sides.
    seed
        Seed of the random points that the search starts from.
    budget
        Seconds to tighten both bounds by branch and bound over the sides of units, which also gives a ``proof``; by
        default they are those of a local search and of :func:`difference_bounds`.

    Examples
    --------
    >>> import creases
    >>> a = creases.read([([[1.0], [-1.0]], [0.0, 0.0]), ([[1.0, 1.0]], [0.0])])  # |x|
    >>> b = creases.read([([[1.0], [-1.0]], [0.0, 0.0]), ([[1.0, 1.5]], [0.0])])
    >>> found = largest_difference(a, b, (-1, 1))
    >>> found.lower.round(9).tolist(), found.where.tolist(), found.upper.round(9).tolist()
    ([0.5], [[-1.0]], [0.5])
    """
    begin = time.monotonic()
    seconds = np.inf if budget is None else check_number(budget, "budget", above=0)
    a, b = _work_pair(a, b)
    ends = check_box(box, a.n_in)
    net = subtract_networks(a, b)
    low, high = (part[0] for part in box_difference_bounds(a, b, torch.from_numpy(ends)[None]))
    upper = np.maximum(np.abs(low), np.abs(high))
    lower, where = _search(net, ends, start, seed, begin + SEARCH_TIME * seconds)
    lower = np.where(upper == 0, 0.0, lower)
    found = LargestDifference(lower, where, upper)
    return found if budget is None else _tighten(a, b, net, ends, found, begin + seconds)


def _work_pair(a: NetworkLike, b: NetworkLike) -> tuple[Network, Network]:
    first, second = (net.to("cpu").to(torch.float64) for net in as_pair(a, b))
    return first, second


def _search(net: Network, box: Floats, start: Any, seed: int, until: float) -> tuple[Floats, Floats]:
    """Return the largest ``|output|`` (m,) that samples and climbs from them reach for certain, and where (m, n_in).

    After a time of ``time.monotonic()`` samples alone count.
    """
    points = _start_points(net, box, start, seed)
    values = np.abs(np.asarray(net(points)).reshape(len(points), -1))
    best = torch.from_numpy(points[np.unique(np.argsort(-values, axis=0)[:TOP])])
    largest, where = np.full(net.n_out, -np.inf), np.zeros((net.n_out, net.n_in))
    domain, eye = Domain(box, np.zeros((0, len(box))), np.zeros(0)), np.eye(net.n_out)
    for j in range(net.n_out):
        for x in (points[values[:, j].argmax()], _climb(net, box, best, j, until)):
            if np.isfinite(largest[j]) and time.monotonic() >= until:
                break
            sign = 1.0 if float(net(x).reshape(-1)[j]) >= 0 else -1.0
            objective = LeastRow(net, sign * eye[j : j + 1], np.zeros(1))
            top = objective.improve(domain, x, until) if len(box) * net.n_units <= CLIMB_SIZE else x
            value = max(objective.reached(domain, top), 0.0)
            if value > largest[j]:
                largest[j], where[j] = value, top
    return largest, where


def _start_points(net: Network, box: Floats, start: Any, seed: int) -> Floats:
    """Return random points of the box, its middle, its corners if they are few, and the points of ``start``: (k, n)."""
    rng, (low, high) = np.random.default_rng(seed), box.T
    count = min(SAMPLES, SAMPLE_SIZE // sum(net.sizes))
    points = [rng.uniform(low, high, size=(32 + count, len(box))), box.mean(axis=1)[None]]
    if len(box) <= 8:
        points.append(np.array(list(product(*box.tolist()))))
    if start is not None:
        more, _ = net.as_batch(start, "start")
        if not more.isfinite().all():
            raise InputError("start", "be finite", "NaN or infinite entries")
        points.append(np.clip(more.flatten(1).numpy(), low, high))
    return np.concatenate(points)


def _climb(net: Network, box: Floats, points: Tensor, j: int, until: float, *, steps: int = 40) -> Floats:
    """Return the best point (n_in,) of ascents of ``|output j|`` by gradient signs, with steps that shrink to 1 %."""
    lo, hi = torch.from_numpy(box).T
    count = max(2, ASCENT_SIZE // (steps * net.n_out * sum(net.sizes)))
    if count < len(points):
        points = points[net(points).reshape(len(points), -1)[:, j].abs().topk(count).indices]
    x, best, most = points, points[0], -1.0
    for share in np.geomspace(0.5, 0.01, steps):
        if time.monotonic() >= until:
            break
        x = x.detach().requires_grad_()
        with torch.enable_grad():
            height = forward(net, x.reshape(-1, *net.input_shape)).reshape(len(x), -1)[:, j].abs()
            gradient = torch.autograd.grad(height.sum(), x)[0] if height.requires_grad else torch.zeros_like(x)
        value = height.detach()
        top = int(value.argmax())
        if float(value[top]) > most:
            best, most = x[top].detach(), float(value[top])
        x = torch.clamp(x.detach() + share * (hi - lo) * gradient.sign(), lo, hi)
    return np.asarray(best.numpy())


def _tighten(
    a: Network, b: Network, net: Network, box: Floats, found: LargestDifference, deadline: float
) -> LargestDifference:
    """Narrow the bounds of each output by branch and bound, the output with the largest difference first."""
    lower, where, upper = found.lower.copy(), found.where.copy(), found.upper.copy()
    domain = Domain(box, np.zeros((0, len(box))), np.zeros(0))
    order = np.argsort(-upper, kind="stable")
    trees: dict[int, tuple[float, list[Any]]] = {}
    for k, j in enumerate(order):
        if time.monotonic() >= deadline:
            return LargestDifference(lower, where, upper, None, "there was no time to search for every output")
        most, parts = 0.0, []
        for n_left, sign in ((2, 1.0), (1, -1.0)):
            now = time.monotonic()
            until = now + max(deadline - now, 0.0) / (n_left + 2 * (len(order) - k - 1))
            objective = LeastRow(net, sign * np.eye(net.n_out)[j : j + 1], np.zeros(1))
            limits = Limits(until, stop_below=float(lower[j]))  # the other sign reaches this
            extreme = maximize_objective(objective, domain, limits, start=where[j : j + 1])
            most = max(most, extreme.upper)
            parts.append(extreme.tree)
            if extreme.lower > lower[j]:
                lower[j], where[j] = extreme.lower, extreme.where
        upper[j] = min(upper[j], most)
        trees[int(j)] = most, parts
    proof = _proof(a, b, box, lower, where, trees)
    return LargestDifference(lower, where, upper, proof, NO_TREE if proof is None else "")


def _proof(
    a: Network,
    b: Network,
    box: Floats,
    lower: Floats,
    where: Floats,
    trees: dict[int, tuple[float, list[Any]]],
) -> Proof | None:
    """Return the proof of what branch and bound showed; None where a tree is missing or a bound infinite."""
    if any(part is None or not np.isfinite(most) for most, parts in trees.values() for part in parts):
        return None
    entries, proofs = [], []
    for j, (most, parts) in sorted(trees.items()):
        upper = most * (1 + PROOF_ROOM) + 1e-300
        entries.append(DifferenceEntry(j, upper, float(lower[j]), tuple(where[j].tolist())))
        proofs += [ClaimProof((key, j), tree) for key, tree in zip(("high", "low"), parts, strict=True)]
    ends = tuple((float(low), float(high)) for low, high in box)
    return make_proof(DifferencesStatement(ends, tuple(entries)), tuple(proofs), net=a, other=b)
