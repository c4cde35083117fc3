"""Small networks with ugly features, and the distance to a change of decision by trying every pattern of sides."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import torch
from scipy.optimize import linprog
from torch import nn

import creases
from creases.regions.geometry import region_polytope

NORMS = ("l1", "l2", "linf")
TIGHT: Any = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


def least_distance(N: Any, s: Any, x: Any, box: tuple[float, float], norm: str) -> float:
    """The distance of ``N v <= s`` in a box from x by linear programs; Euclidean by cuts of tangent planes."""
    d = len(x)
    lo, hi = np.full(d, box[0]) - x, np.full(d, box[1]) - x
    room = s - N @ x
    if norm == "l1":
        ends = [*zip(0 * hi, np.maximum(hi, 0), strict=True), *zip(0 * lo, np.maximum(-lo, 0), strict=True)]
        done = linprog(np.ones(2 * d), np.hstack([N, -N]), room, bounds=ends, options=TIGHT)
        return float(done.fun) if done.status == 0 else np.inf
    cuts = np.vstack([np.eye(d), -np.eye(d)])
    ends = [*zip(lo, hi, strict=True), (0, None)]
    value = np.inf
    for _ in range(200 if norm == "l2" else 1):
        A = np.vstack([np.column_stack([N, np.zeros(len(N))]), np.column_stack([cuts, -np.ones(len(cuts))])])
        done = linprog(np.eye(1, d + 1, d)[0], A, np.append(room, np.zeros(len(cuts))), bounds=ends, options=TIGHT)
        if done.status != 0:
            return np.inf
        value, size = float(done.fun), float(np.linalg.norm(done.x[:d]))
        if norm == "linf" or size <= value + 1e-10:
            break
        cuts = np.vstack([cuts, done.x[:d] / size])
    return value


def brute_force(net: creases.Network, x: Any, box: tuple[float, float], norm: str) -> float:
    """The least distance over all patterns of sides, whether their regions exist or not."""
    z = net(x)
    predicted = int(z[0] > 0) if len(z) == 1 else int(z.argmax())
    counts = [net.candidates[b] for b in range(len(net.bends)) for _ in range(np.diff(net.unit_starts)[b])]
    best = np.inf
    for sides in product(*map(range, counts)):
        part = region_polytope(net, np.array(sides, np.int16))
        real = part.Q.any(axis=1)
        if (part.p[~real] < 0).any():
            continue
        J, y = (part.J, part.y) if len(z) > 1 else (np.vstack([0 * part.J, part.J]), np.append(0.0, part.y))
        for j in range(len(y)):
            if j != predicted:
                N, s = np.vstack([part.Q[real], J[predicted] - J[j]]), np.append(part.p[real], y[j] - y[predicted])
                best = min(best, least_distance(N, s, x, box, norm))
    return best


ACTIVATIONS = [nn.ReLU, lambda: nn.LeakyReLU(0.2), nn.ReLU6, lambda: nn.LeakyReLU(-0.5), lambda: nn.LeakyReLU(2.0)]


def random_network(seed: int) -> tuple[creases.Network, Any]:
    """A network of few units, with ties, dead units and zero weights now and then, and an input."""
    rng = np.random.default_rng(seed)
    torch.manual_seed(seed)
    d, m, kind = int(rng.integers(1, 4)), int(rng.integers(1, 4)), int(rng.integers(len(ACTIVATIONS)))
    widths = [int(h) for h in rng.integers(1, 3, size=rng.integers(0, 3))]
    layers: list[nn.Module] = []
    for before, after in zip([d, *widths], widths, strict=False):
        layers += [nn.Linear(before, after), ACTIVATIONS[kind]()]
    model = nn.Sequential(*layers, nn.Linear([d, *widths][-1], m)).double()
    x = rng.uniform(-2, 2, size=d)
    with torch.no_grad():
        if seed % 3 == 0:  # few values: ties, zero weights, inputs on creases
            x = np.round(x)
            for weight in model.parameters():
                weight.copy_(torch.round(weight * 3) / 2)
        if seed % 5 == 0 and widths:
            model[0].bias[0] = -50.0  # a dead unit
    return creases.read(model, (d,)), x
