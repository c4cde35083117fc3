"""Better bounds of units than intervals give: exact ones from a partition, or proved ones by linear programs."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import torch
from scipy.optimize import linprog
from torch import Tensor

from creases._typing import Floats
from creases.certify._intervals import Range, ranges
from creases.network import Network
from creases.regions import space

#: Inputs up to which a partition is tried, and the regions it may have.
DIMENSIONS, REGIONS = 4, 20_000

#: Units of a network up to which linear programs are solved for those that intervals leave open.
UNITS = 200


def tighter(net: Network, box: Tensor) -> tuple[list[Range], bool]:
    """Bounds of every value of a network over a box, and whether those of what enters bends are exact.

    With few inputs the network's partition of the box is made: every value is affine in each region, so its least and
    largest are at the regions' corners, exactly. Otherwise, for layers one after another, linear programs over the
    convex hull of each unit's bend (Ehlers, 2017) bound the units that the intervals leave open; the bound taken is
    that of the dual solution, which holds whatever the solver's tolerance.
    """
    first = ranges(net, box)
    if not _open(net, first):
        return first, False
    if net.n_in <= DIMENSIONS:
        partition = space(net, box.numpy(), method="vertices", max_regions=REGIONS)
        if partition.complete:
            return ranges(net, box, _at_corners(net, torch.from_numpy(partition.vertices))), True
    return (_by_programs(net, box) if _is_chain(net) and net.n_units <= UNITS else first), False


def _open(net: Network, found: list[Range]) -> bool:
    """Whether intervals leave a unit's side open, not counting those of the first bend, where they are exact."""
    parts = [found[net.steps[i].inputs[0]] for i in net.bends[1:] if net.steps[i].op == "relu"]
    return any(bool(((part.low < 0) & (part.high > 0)).any()) for part in parts)


def _at_corners(net: Network, corners: Tensor) -> dict[int, Range]:
    """Least and largest of every value that enters a bend, over points (n, n_in)."""
    low: dict[int, Tensor] = {}
    high: dict[int, Tensor] = {}
    for part in torch.split(corners, 4096):
        values = _values(net, part.reshape(-1, *net.input_shape))
        for number in {net.steps[i].inputs[0] for i in net.bends}:
            least, most = values[number].amin(0), values[number].amax(0)
            low[number] = torch.minimum(low[number], least) if number in low else least
            high[number] = torch.maximum(high[number], most) if number in high else most
    return {number: Range(low[number], high[number]) for number in low}


def _values(net: Network, x: Tensor) -> list[Tensor]:
    values = [x]
    for step in net.steps:
        values.append(step.apply([values[number] for number in step.inputs]))
    return values


def _is_chain(net: Network) -> bool:
    """Whether it is linear layers with bends between, one after another."""
    ops = [step.op for step in net.steps]
    alternate = all({a, b} == {"linear", "relu"} for a, b in pairwise(ops)) and ops[:1] == ["linear"]
    rising = all(step.leak is None or bool(((step.leak >= 0) & (step.leak <= 1)).all()) for step in net.steps)
    return (
        alternate
        and rising
        and all(step.inputs == (i,) for i, step in enumerate(net.steps))
        and len(net.input_shape) == 1
    )


def _by_programs(net: Network, box: Tensor) -> list[Range]:
    """Bounds by linear programs, layer by layer: each uses those of the layers before."""
    known: dict[int, Range] = {}
    program = _Program(box.numpy())
    found = ranges(net, box)
    for i, step in enumerate(net.steps):
        if step.is_bend:
            program.bend(found[i], step.leak)
            continue
        weight, offset = step.tensors["weight"].numpy(), np.zeros(step.shape[0])
        if step.offset is not None:
            offset = step.offset.expand(step.shape).numpy()
        part = found[i + 1]
        if i and i + 1 < len(net.steps):
            low, high = part.low.clone(), part.high.clone()
            for unit in ((low < 0) & (high > 0)).nonzero().flatten().tolist():
                high[unit] = min(high[unit], program.most(weight[unit]) + offset[unit])
                low[unit] = max(low[unit], -program.most(-weight[unit]) + offset[unit])
            known[i + 1] = Range(low, high)
            found = ranges(net, box, known)
        program.layer(weight, offset)
    return found


class _Program:
    """``A v <= b`` with ``low <= v <= high`` over the inputs and all units so far, those of the last layer last."""

    def __init__(self, box: Floats) -> None:
        self.low, self.high = box[:, 0].copy(), box[:, 1].copy()
        self.A, self.b = np.zeros((0, len(box))), np.zeros(0)
        self.last = np.arange(len(box))  #: variables that the next layer reads
        self._layer: tuple[Floats, Floats] | None = None

    def layer(self, weight: Floats, offset: Floats) -> None:
        """Remember a layer; its bend makes the variables."""
        self._layer = weight, offset

    def bend(self, z: Range, leak: Any) -> None:
        """New variables h = bend(z): above z, above leak z, below the chord from the least z to the largest."""
        assert self._layer is not None
        weight, offset = self._layer
        low, high = z.low.numpy(), z.high.numpy()
        slope = np.zeros(len(low)) if leak is None else leak.expand(z.low.shape).numpy()
        on, off = low >= 0, high <= 0
        up = np.where(on, 1.0, slope)  # h >= up z + ...; both are tight where the side is known
        down = np.where(on, 1.0, np.where(off, slope, (high - slope * low) / np.where(high > low, high - low, 1.0)))
        rest = np.where(on | off, 0.0, high - down * high)
        rows = [(-1.0, up, 0 * rest), (-1.0, np.where(off, slope, 1.0), 0 * rest), (1.0, down, rest)]
        n = len(self.low)
        count = len(low)
        self.low = np.concatenate([self.low, np.where(low > 0, low, slope * low)])
        self.high = np.concatenate([self.high, np.where(high > 0, high, slope * high)])
        new = np.arange(n, n + count)
        parts, limits = [np.pad(self.A, ((0, 0), (0, count)))], [self.b]
        for sign, factor, constant in rows:  # sign (h - factor z) <= constant, z = weight h' + offset
            part = np.zeros((count, n + count))
            part[:, self.last] = -sign * factor[:, None] * weight
            part[:, new] = sign * np.eye(count)
            parts.append(part)
            limits.append(constant + sign * factor * offset)
        self.A, self.b, self.last = np.vstack(parts), np.concatenate(limits), new

    def most(self, c: Floats) -> float:
        """An upper bound of ``c h`` over the last layer's values: that of the dual solution."""
        cost = np.zeros(len(self.low))
        cost[self.last] = c
        free = float(np.maximum(cost * self.low, cost * self.high).sum())
        found = linprog(-cost, self.A, self.b, bounds=list(zip(self.low, self.high, strict=True)), method="highs")
        if found.status != 0:
            return free
        y = np.maximum(-found.ineqlin.marginals, 0.0)
        left = cost - self.A.T @ y
        return min(free, float(self.b @ y + np.maximum(left * self.low, left * self.high).sum()))
