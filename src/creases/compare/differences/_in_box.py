"""The largest difference of two networks in a box: exactly in few dimensions, else between two bounds.

The lower bound is the best of a local search: at sampled points, then up the gradient, then from region to region by
linear programs; it may miss the largest difference. The upper bound is proved by
:func:`creases.certify.output_bounds` of the network a - b; it may be too large.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from creases._typing import Floats
from creases._validation import check_box
from creases.certify import output_bounds
from creases.compare.differences._joint import as_pair, subtract_networks
from creases.compare.differences._on_partition import PartitionDifference, difference_in_space
from creases.errors import InputError
from creases.network import Network
from creases.network.program import forward
from creases.regions import Cell, cell
from creases.regions.geometry import UndecidedError, maximize

#: Up to this many inputs all regions of a box are listed, if they are no more than so many.
EXACT_DIMENSIONS, EXACT_REGIONS = 3, 200_000

#: Numbers that gradient ascent may take, over all points, steps and outputs: large networks start from few points.
CLIMB = 5 * 10**8

#: Linear programs are used where a region has no more numbers in its rows.
LP_SIZE = 2**21

#: Bounds that agree to this, relative to the larger, are equal.
EQUAL = 1e-9


@dataclass(frozen=True, eq=False)
class BoxDifference:
    """The largest ``|a - b|`` of each output over a box: at least ``lower``, at most ``upper``."""

    box: Floats  #: (n_in, 2)
    lower: Floats  #: (m,) reached at ``where``
    where: Floats  #: (m, n_in)
    upper: Floats  #: (m,) proved: no point of the box has more, up to rounding
    regions: PartitionDifference | None  #: all regions of the box, where they were listed: the answer is then exact

    @property
    def exact(self) -> NDArray[np.bool_]:
        """Whether the largest difference of each output (m,) is known: both bounds are equal."""
        return np.asarray(self.upper - self.lower <= EQUAL * self.upper)

    @property
    def empty(self) -> bool:
        """Whether it is proved that the networks are the same function in the box."""
        return not self.upper.any()

    def __str__(self) -> str:
        if self.regions is not None:
            return str(self.regions)
        if self.empty:
            return "In the box the networks are the same function."
        gap = [
            f"output {j}: {self.lower[j]:.4g}" + ("" if self.exact[j] else f" to {self.upper[j]:.4g}")
            for j in np.argsort(-self.lower, kind="stable")[:3]
        ]
        how = "exact" if self.exact.all() else "between the largest found and a proved upper bound"
        return f"Largest |a - b| in the box ({how}): {', '.join(gap)}{', ...' if len(self.lower) > 3 else ''}."


def difference_in_box(
    a: Network,
    b: Network,
    box: Any,
    *,
    start: Any = None,
    seed: int = 0,
    max_regions: int = EXACT_REGIONS,
) -> BoxDifference:
    """Bound the largest difference of two networks in a box of their inputs.

    Parameters
    ----------
    a, b
        Networks, torch modules or file names.
    box
        ``(lo, hi)`` for all inputs, or a pair for each.
    start
        PointsLike (k, n_in) to start the search from as well, such as samples; those outside the box are moved to its
        sides.
    seed
        Seed of the random points that the search starts from.
    max_regions
        With at most three inputs and no more regions than this, all regions are listed: the answer is exact.
    """
    a, b = as_pair(a, b)
    net = subtract_networks(a, b).to("cpu").to(torch.float64)
    ends = check_box(box, net.n_in)
    points = _start_points(net, ends, start, seed)
    if net.n_in <= EXACT_DIMENSIONS:
        regions = difference_in_space(a.to("cpu"), b.to("cpu"), ends, max_regions=max_regions)
        if regions is not None:
            return BoxDifference(ends, regions.largest, regions.where, regions.largest, regions)
    low, high = output_bounds(net, ends)
    upper = np.maximum(np.abs(low), np.abs(high))
    lower, where = _search(net, ends, points)
    lower, upper = np.where(upper == 0, 0.0, lower), np.maximum(upper, lower)
    return BoxDifference(ends, lower, where, upper, None)


def _start_points(net: Network, box: Floats, start: Any, seed: int) -> Tensor:
    """Return random points of the box, its corners if they are few, and the points of ``start``: (k, n_in)."""
    rng = np.random.default_rng(seed)
    lo, hi = box.T
    points = [rng.uniform(lo, hi, size=(32, len(box))), box.mean(axis=1)[None]]
    if len(box) <= 8:
        points.append(np.array(list(product(*box.tolist()))))
    if start is not None:
        more, _ = net.as_batch(start, "start")
        if not more.isfinite().all():
            raise InputError("start", "be finite", "NaN or infinite entries")
        points.append(np.clip(more.flatten(1).numpy(), lo, hi))
    return torch.from_numpy(np.concatenate(points))


def _search(net: Network, box: Floats, points: Tensor) -> tuple[Floats, Floats]:
    """Return the largest ``|output|`` (m,) that a search finds in the box, and where (m, n_in)."""
    largest, where = np.zeros(net.n_out), np.zeros((net.n_out, net.n_in))
    for j in range(net.n_out):
        best = _climb(net, box, points, j)
        size = net.n_in * (sum(np.diff(net.unit_starts) * (np.array(net.candidates) - 1)) + 2 * net.n_in)
        if size <= LP_SIZE:
            best = _climb_regions(net, box, best, j)
        largest[j], where[j] = abs(float(net(best)[j])), best
    return largest, where


def _climb(net: Network, box: Floats, points: Tensor, j: int, *, steps: int = 40) -> Floats:
    """Return the best point (n_in,) of ascents of ``|output j|`` by gradient signs, with steps that shrink to 1 %."""
    lo, hi = torch.from_numpy(box).T
    count = max(2, CLIMB // (steps * net.n_out * sum(net.sizes)))
    if count < len(points):
        points = points[net(points).reshape(len(points), -1)[:, j].abs().topk(count).indices]
    x, best, most = points, points[0], -1.0
    for share in np.geomspace(0.5, 0.01, steps):
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


def _climb_regions(net: Network, box: Floats, x: Floats, j: int, *, max_regions: int = 50) -> Floats:
    """Move from a point to the best of its region, across to the next region, and so on while ``|output j|`` grows."""

    def value(point: Floats) -> float:
        return float(net(point)[j])

    sign = 1.0 if value(x) >= 0 else -1.0
    size = np.ptp(box, axis=1)
    inside = x
    for _ in range(max_regions):
        try:
            region = cell(net, np.clip(inside, *box.T), box=[(lo, hi) for lo, hi in box.tolist()])
            top = _best_point(region, sign * region.J[j], size)
        except (InputError, UndecidedError):  # too close to several creases to tell regions apart: stay
            break
        if top is None or sign * value(top) <= sign * value(x) + 1e-12 * abs(value(x)):
            break
        x = top
        inside = x + 1e-6 * size * np.sign(region.J[j]) * sign
    return x


def _best_point(region: Cell, c: Floats, size: Floats) -> Floats | None:
    """Return the point of a region and its box where ``c x`` is largest, in units of the box's sides."""
    Q = region.Q * size
    length = np.linalg.norm(Q, axis=1)
    rows = length > 0
    room = np.maximum(region.p[rows] - region.Q[rows] @ region.x, 0.0) / length[rows]
    _, w = maximize(c * size, Q[rows] / length[rows, None], room)
    return None if w is None else np.asarray(region.x + size * w)
