"""A local search for the largest outputs of a network in a box."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import torch
from torch import Tensor

from creases._program import forward
from creases._typing import Floats
from creases.certify._maximize.domain import Domain
from creases.certify._maximize.objectives import LeastRow
from creases.errors import InputError
from creases.network import Network

#: Numbers that gradient ascent may take, over all points, steps and outputs: large networks start from few points.
ASCENT_SIZE = 5 * 10**8

#: Linear programs are used where regions have no more numbers in their rows.
LP_SIZE = 2**17


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
    domain = Domain(box, np.zeros((0, net.n_in)), np.zeros(0))
    for j in range(net.n_out):
        best = _climb(net, box, points, j)
        if net.n_in * net.n_units <= LP_SIZE:
            sign = 1.0 if float(net(best)[j]) >= 0 else -1.0
            best = LeastRow(net, sign * np.eye(net.n_out)[j : j + 1], np.zeros(1)).improve(domain, best)
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
