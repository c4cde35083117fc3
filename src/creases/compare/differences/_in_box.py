"""The largest difference of two networks in a box: exactly in few dimensions, else between what is found and proved.

Found: at sampled points, then up the gradient, then from region to region by linear programs; a local search, so it
may miss the largest. Proved: by :func:`creases.certify.output_bounds` of the network a - b; it may be too large.
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
from creases.compare.differences._joint import subtract_networks
from creases.compare.differences._on_partition import PartitionDifference, difference_in_space
from creases.errors import InputError
from creases.network import Network
from creases.network.program import forward
from creases.regions import Cell, cell
from creases.regions.geometry import UndecidedError, maximize

#: Up to this many inputs all regions of a box are listed, if they are no more than so many.
EXACT_DIMENSIONS, EXACT_REGIONS = 3, 200_000

#: Numbers that the ways up may take, over all points, steps and outputs: large networks are searched from few points.
CLIMB = 5 * 10**8

#: Linear programs are used where a region has no more numbers in its rows.
LP_SIZE = 2**21

#: Bounds that agree to this, relative to the larger, are equal.
EQUAL = 1e-9


@dataclass(frozen=True, eq=False)
class BoxDifference:
    """The largest ``|a - b|`` of each output over a box: at least ``found``, at most ``proved``."""

    box: Floats  #: (n_in, 2)
    found: Floats  #: (m,) reached at ``where``
    where: Floats  #: (m, n_in)
    proved: Floats  #: (m,) no point of the box has more, up to rounding
    regions: PartitionDifference | None  #: all regions of the box, where they were listed: the answer is then exact

    @property
    def exact(self) -> NDArray[np.bool_]:
        """For which outputs (m,) the largest difference is known: what is found is as large as what is proved."""
        return np.asarray(self.proved - self.found <= EQUAL * self.proved)

    @property
    def empty(self) -> bool:
        """Whether it is proved that the networks are the same function in the box."""
        return not self.proved.any()

    def __str__(self) -> str:
        if self.regions is not None:
            return str(self.regions)
        if self.empty:
            return "In the box the networks are the same function."
        gap = [
            f"output {j}: {self.found[j]:.4g}" + ("" if self.exact[j] else f" to {self.proved[j]:.4g}")
            for j in np.argsort(-self.found, kind="stable")[:3]
        ]
        how = "exact" if self.exact.all() else "what was found to what is proved; the truth is between"
        return f"Largest |a - b| in the box ({how}): {', '.join(gap)}{', ...' if len(self.found) > 3 else ''}."


def difference_in_box(
    a: Network,
    b: Network,
    box: Any,
    *,
    start: Any = None,
    seed: int = 0,
    max_regions: int = EXACT_REGIONS,
) -> BoxDifference:
    """The largest difference of two networks in a box of their inputs.

    Parameters
    ----------
    box
        ``[(lo, hi)] * n_in``.
    start
        Points (k, n_in) of the box to search from too, such as samples; those outside are moved to its sides.
    seed
        Of the points that the search starts from.
    max_regions
        With at most three inputs and no more regions than this, all regions are listed: the answer is exact.
    """
    net = subtract_networks(a, b).to("cpu").to(torch.float64)
    ends = check_box(box, net.n_in)
    points = _starts(net, ends, start, seed)
    if net.n_in <= EXACT_DIMENSIONS:
        regions = difference_in_space(a.to("cpu"), b.to("cpu"), ends, max_regions=max_regions)
        if regions is not None:
            return BoxDifference(ends, regions.largest, regions.where, regions.largest, regions)
    low, high = output_bounds(net, ends)
    proved = np.maximum(np.abs(low), np.abs(high))
    found, where = _search(net, ends, points)
    found, proved = np.where(proved == 0, 0.0, found), np.maximum(proved, found)
    return BoxDifference(ends, found, where, proved, None)


def _starts(net: Network, box: Floats, start: Any, seed: int) -> Tensor:
    """Random points of the box, its corners where they are few, and the points given: (k, n_in)."""
    rng = np.random.default_rng(seed)
    lo, hi = box.T
    points = [rng.uniform(lo, hi, size=(32, len(box))), box.mean(axis=1)[None]]
    if len(box) <= 8:
        points.append(np.array(list(product(*box.tolist()))))
    if start is not None:
        given, _ = net.as_batch(start, "start")
        if not given.isfinite().all():
            raise InputError("start: has NaN or infinite entries")
        points.append(np.clip(given.flatten(1).numpy(), lo, hi))
    return torch.from_numpy(np.concatenate(points))


def _search(net: Network, box: Floats, points: Tensor) -> tuple[Floats, Floats]:
    """Largest ``|output|`` (m,) found in the box, and where (m, n_in)."""
    found, where = np.zeros(net.n_out), np.zeros((net.n_out, net.n_in))
    for j in range(net.n_out):
        best = _climb(net, box, points, j)
        size = net.n_in * (sum(np.diff(net.unit_starts) * (np.array(net.candidates) - 1)) + 2 * net.n_in)
        if size <= LP_SIZE:
            best = _by_programs(net, box, best, j)
        found[j], where[j] = abs(float(net(best)[j])), best
    return found, where


def _climb(net: Network, box: Floats, points: Tensor, j: int, *, steps: int = 40) -> Floats:
    """The best point (n_in,) on the ways up ``|output j|`` by signs of gradients, with steps that shrink to 1 %."""
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


def _by_programs(net: Network, box: Floats, x: Floats, j: int, *, most: int = 50) -> Floats:
    """From a point to the best of its region, across to the next region, and so on while ``|output j|`` grows."""

    def value(point: Floats) -> float:
        return float(net(point)[j])

    sign = 1.0 if value(x) >= 0 else -1.0
    size = np.ptp(box, axis=1)
    here = x
    for _ in range(most):
        try:
            region = cell(net, np.clip(here, *box.T), box=[(lo, hi) for lo, hi in box.tolist()])
            top = _best_of(region, sign * region.J[j], size)
        except (InputError, UndecidedError):  # too close to several creases to tell regions apart: stay
            break
        if top is None or sign * value(top) <= sign * value(x) + 1e-12 * abs(value(x)):
            break
        x = top
        here = x + 1e-6 * size * np.sign(region.J[j]) * sign
    return x


def _best_of(region: Cell, c: Floats, size: Floats) -> Floats | None:
    """The point of a region and its box where ``c x`` is largest, in units of the box's sides."""
    Q = region.Q * size
    length = np.linalg.norm(Q, axis=1)
    rows = length > 0
    room = np.maximum(region.p[rows] - region.Q[rows] @ region.x, 0.0) / length[rows]
    _, w = maximize(c * size, Q[rows] / length[rows, None], room)
    return None if w is None else np.asarray(region.x + size * w)
