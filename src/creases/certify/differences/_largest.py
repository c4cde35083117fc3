"""The largest difference of two networks in a box: what a search reaches, and what is proved."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from creases._typing import Bools, Floats
from creases._validation import check_box, check_number
from creases.certify._maximize.domain import Domain
from creases.certify._maximize.objectives import LeastRow
from creases.certify._maximize.search import Limits, maximize_objective
from creases.certify.differences._bounds import DifferenceBounds, has_same_architecture
from creases.certify.differences._joint import as_pair, subtract_networks
from creases.certify.propagation._linear import LinearBounds
from creases.certify.search import search_largest_outputs, start_points
from creases.network import Network, NetworkLike

#: Bounds that agree to this, relative to the larger, are equal.
EQUAL = 1e-9


@dataclass(frozen=True, eq=False)
class LargestDifference:
    """The largest ``|a - b|`` of each of m outputs over a box: at least ``lower``, at most ``upper``."""

    lower: Floats  #: (m,) reached at ``where``
    where: Floats  #: (m, n_in)
    upper: Floats  #: (m,) proved: no input of the box has more, up to rounding

    @property
    def exact(self) -> Bools:
        """Whether both bounds are equal, for each output."""
        return np.asarray(self.upper - self.lower <= EQUAL * self.upper)


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
        No difference is outside, up to rounding.

    References
    ----------
    .. [1] Paulsen, Wang, Wang, Wang, "NeuroDiff: Scalable Differential Verification of Neural Networks using
       Fine-Grained Approximation", ASE 2020.

    Examples
    --------
    >>> import creases
    >>> a = creases.read([([[1.0], [-1.0]], [0.0, 0.0]), ([[1.0, 1.0]], [0.0])])  # |x|
    >>> b = creases.read([([[1.0], [-1.0]], [0.0, 0.0]), ([[1.0, 1.5]], [0.0])])
    >>> [bound.tolist() for bound in difference_bounds(a, b, (-1, 1))]
    [[-0.5], [0.0]]
    """
    a, b = _work_pair(a, b)
    boxes = torch.from_numpy(check_box(box, a.n_in))[None]
    low, high = box_difference_bounds(a, b, boxes)
    return low[0], high[0]


def box_difference_bounds(a: Network, b: Network, boxes: Tensor) -> tuple[Floats, Floats]:
    """Bound ``a - b`` over each of k boxes (k, n_in, 2): (k, m) each."""
    net = subtract_networks(a, b)
    bounds = LinearBounds(net, boxes)
    both = bounds.tighten(len(net.steps), bounds.output)
    if has_same_architecture(a, b):
        for first, second, sign in ((a, b, -1), (b, a, 1)):  # from either side: neither is always tighter
            low, high = (end.flatten(1) for end in DifferenceBounds(first, second, boxes).output)
            both = both.intersect(type(both)(low, high) if sign == 1 else type(both)(-high, -low))
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
        Seconds to tighten both bounds by branch and bound; by default they are those of a local search and of
        :func:`difference_bounds`.

    Examples
    --------
    >>> import creases
    >>> a = creases.read([([[1.0], [-1.0]], [0.0, 0.0]), ([[1.0, 1.0]], [0.0])])  # |x|
    >>> b = creases.read([([[1.0], [-1.0]], [0.0, 0.0]), ([[1.0, 1.5]], [0.0])])
    >>> found = largest_difference(a, b, (-1, 1))
    >>> found.lower.tolist(), found.where.tolist(), found.upper.tolist()
    ([0.5], [[-1.0]], [0.5])
    """
    a, b = _work_pair(a, b)
    ends = check_box(box, a.n_in)
    net = subtract_networks(a, b)
    low, high = (part[0] for part in box_difference_bounds(a, b, torch.from_numpy(ends)[None]))
    upper = np.maximum(np.abs(low), np.abs(high))
    lower, where = search_largest_outputs(net, ends, start_points(net, ends, start, seed=seed))
    lower, upper = np.where(upper == 0, 0.0, lower), np.maximum(upper, lower)
    found = LargestDifference(lower, where, upper)
    return found if budget is None else _tighten(a, b, net, ends, found, check_number(budget, "budget", above=0))


def _work_pair(a: NetworkLike, b: NetworkLike) -> tuple[Network, Network]:
    first, second = (net.to("cpu").to(torch.float64) for net in as_pair(a, b))
    return first, second


@dataclass(frozen=True, eq=False)
class _Difference(LeastRow):
    """One signed output of ``a - b``, bounded by both networks together."""

    pair: tuple[Network, Network]

    def bound(self, bounds: LinearBounds, domain: Domain) -> tuple[Floats, Floats, Floats]:
        """Return bounds, points to try and the weight of each side."""
        upper, points, weights = super().bound(bounds, domain)
        center, radius = bounds.center, bounds.radius
        boxes = torch.stack([center - radius, center + radius], dim=2)
        low, high = box_difference_bounds(*self.pair, boxes)
        row = self.rows[0]
        together = np.maximum(row, 0) @ high.T + np.minimum(row, 0) @ low.T
        return np.minimum(upper, together), points, weights


def _tighten(
    a: Network, b: Network, net: Network, box: Floats, found: LargestDifference, budget: float
) -> LargestDifference:
    """Narrow the bounds of each output by branch and bound, the output with the largest difference first."""
    deadline = time.monotonic() + budget
    lower, where, upper = found.lower.copy(), found.where.copy(), found.upper.copy()
    domain = Domain(box, np.zeros((0, len(box))), np.zeros(0))
    order = np.argsort(-upper, kind="stable")
    for k, j in enumerate(order):
        most = -np.inf
        for n_left, sign in ((2, 1.0), (1, -1.0)):
            now = time.monotonic()
            until = now + max(deadline - now, 0.0) / (n_left + 2 * (len(order) - k - 1))
            objective = _Difference(net, sign * np.eye(net.n_out)[j : j + 1], np.zeros(1), (a, b))
            extreme = maximize_objective(objective, domain, Limits(until), start=where[j : j + 1])
            most = max(most, extreme.upper)
            if extreme.lower > lower[j]:
                lower[j], where[j] = extreme.lower, extreme.where
        upper[j] = max(lower[j], min(upper[j], most))
    return LargestDifference(lower, where, upper)
