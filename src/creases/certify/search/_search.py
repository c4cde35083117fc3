"""A local search for the largest outputs of a network in a box."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import torch
from torch import Tensor

from creases._typing import Floats
from creases.errors import InputError
from creases.network import Network
from creases.network.program import forward
from creases.regions import Cell, cell
from creases.regions.geometry import UndecidedError, maximize

#: Numbers that gradient ascent may take, over all points, steps and outputs: large networks start from few points.
ASCENT_SIZE = 5 * 10**8

#: Linear programs are used where a region has no more numbers in its rows.
LP_SIZE = 2**21


def start_points(net: Network, box: Floats, start: Any = None, *, seed: int = 0) -> Tensor:
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


def search_largest_outputs(net: Network, box: Floats, points: Tensor) -> tuple[Floats, Floats]:
    """Return the largest ``|output|`` (m,) that a local search finds in a box, and where (m, n_in).

    Gradient ascent from every point, then from region to region by linear programs. Each value is reached, so it is a
    lower bound of the true maximum, which the search may miss.

    Parameters
    ----------
    net
        In float64, on the CPU.
    box
        (n_in, 2)
    points
        (k, n_in) in the box, such as those of :func:`start_points`.

    Examples
    --------
    >>> import creases, numpy as np
    >>> net = creases.read([([[1.0], [-1.0]], [0.0, 0.0]), ([[1.0, 1.0]], [0.0])])  # |x|
    >>> box = np.array([[-1.0, 2.0]])
    >>> largest, where = search_largest_outputs(net, box, start_points(net, box))
    >>> largest.tolist(), where.tolist()
    ([2.0], [[2.0]])
    """
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
    count = max(2, ASCENT_SIZE // (steps * net.n_out * sum(net.sizes)))
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
