"""Bounds by the partition of a box or by linear programs, and the choice of the tightest that a network's size allows.

The programs are over the convex relaxation of every bend [1]_, layer after layer.

References
----------
.. [1] Ehlers, "Formal Verification of Piece-Wise Linear Feed-Forward Neural Networks", ATVA 2017.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from creases._typing import Floats
from creases.certify.propagation._intervals import Interval, value_bounds
from creases.network import Network
from creases.regions import space

#: The most inputs for which a partition is tried, and the most regions it may have.
MAX_INPUTS, MAX_REGIONS = 4, 20_000

#: The most units of a network for which linear programs are solved.
MAX_UNITS = 200


def tight_value_bounds(net: Network, box: Tensor) -> tuple[list[Interval], bool]:
    """Bound every value of a network over a box, and say whether the bounds of what enters bends are exact.

    Intervals, where they decide the side of every unit. Otherwise the partition of the box, with few inputs; else
    linear programs, for plain networks with few units.
    """
    intervals = value_bounds(net, box)
    if not _has_undecided_units(net, intervals):
        return intervals, False
    if net.n_in <= MAX_INPUTS:
        exact = exact_value_bounds(net, box, max_regions=MAX_REGIONS)
        if exact is not None:
            return exact, True
    return (lp_value_bounds(net, box) if has_relaxation(net) and net.n_units <= MAX_UNITS else intervals), False


def exact_value_bounds(net: Network, box: Tensor, *, max_regions: int = MAX_REGIONS) -> list[Interval] | None:
    """Bound what enters each bend, and the output, exactly, by the partition of the box.

    Every value is affine on each region, so its least and largest values are at the regions' corners. None where the
    box has more than ``max_regions`` regions.
    """
    partition = space(net, box.numpy(), method="vertices", max_regions=max_regions)
    if not partition.complete:
        return None
    return value_bounds(net, box, _extremes(net, torch.from_numpy(partition.vertices)))


def _has_undecided_units(net: Network, bounds: list[Interval]) -> bool:
    """Whether the side of a unit is not decided, except in the first bend, where intervals are exact."""
    entering = [bounds[net.steps[i].inputs[0]] for i in net.bends[1:] if net.steps[i].op == "relu"]
    return any(bool(part.straddles_zero.any()) for part in entering)


def _extremes(net: Network, corners: Tensor) -> dict[int, Interval]:
    """Return the least and largest of the output and of every value that enters a bend, over points (n, n_in)."""
    low: dict[int, Tensor] = {}
    high: dict[int, Tensor] = {}
    for part in torch.split(corners, 4096):
        values = _values(net, part.reshape(-1, *net.input_shape))
        for number in {net.steps[i].inputs[0] for i in net.bends} | {len(net.steps)}:
            least, most = values[number].amin(0), values[number].amax(0)
            low[number] = torch.minimum(low[number], least) if number in low else least
            high[number] = torch.maximum(high[number], most) if number in high else most
    return {number: Interval(low[number], high[number]) for number in low}


def _values(net: Network, x: Tensor) -> list[Tensor]:
    values = [x]
    for step in net.steps:
        values.append(step.apply([values[number] for number in step.inputs]))
    return values


# -- linear programs over the relaxation of every bend ----------------------------------------------------------------


def has_relaxation(net: Network) -> bool:
    """Whether linear layers and relus alternate, the relus with leaks from 0 to 1: what the programs are made for."""
    ops = [step.op for step in net.steps]
    alternate = all({a, b} == {"linear", "relu"} for a, b in pairwise(ops)) and ops[:1] == ["linear"]
    convex = all(step.leak is None or bool(((step.leak >= 0) & (step.leak <= 1)).all()) for step in net.steps)
    is_chain = all(step.inputs == (i,) for i, step in enumerate(net.steps))
    return alternate and convex and is_chain and len(net.input_shape) == 1


def lp_value_bounds(net: Network, box: Tensor, *, outputs: bool = False) -> list[Interval]:
    """Bound every value of a plain network by linear programs, each layer using the bounds of those before it.

    Two programs are solved for each unit that intervals leave undecided. The bound taken is that of the dual solution,
    which holds whatever the solver's tolerance.

    Parameters
    ----------
    net
        In float64; linear layers and relus by turns.
    box
        (n_in, 2), finite.
    outputs
        Whether to solve programs for the outputs too.
    """
    known: dict[int, Interval] = {}
    program = _Program(box.numpy())
    bounds = value_bounds(net, box)
    for i, step in enumerate(net.steps):
        if step.is_bend:
            program.add_bend(bounds[i], step.leak)
            continue
        weight, offset = step.tensors["weight"].numpy(), np.zeros(step.shape[0])
        if step.offset is not None:
            offset = step.offset.expand(step.shape).numpy()
        part, is_output = bounds[i + 1], i + 1 == len(net.steps)
        if i and (outputs or not is_output):
            low, high = part.low.clone(), part.high.clone()
            rows = torch.ones_like(low, dtype=torch.bool) if is_output else part.straddles_zero
            for unit in rows.nonzero().flatten().tolist():
                high[unit] = min(high[unit], program.maximum(weight[unit]) + offset[unit])
                low[unit] = max(low[unit], -program.maximum(-weight[unit]) + offset[unit])
            known[i + 1] = Interval(low, high)
            bounds = value_bounds(net, box, known)
        program.set_layer(weight, offset)
    return bounds


class _Program:
    """``A v <= b`` with ``low <= v <= high`` over the inputs and all units so far, those of the last layer last."""

    def __init__(self, box: Floats) -> None:
        self.low, self.high = box[:, 0].copy(), box[:, 1].copy()
        self.A, self.b = np.zeros((0, len(box))), np.zeros(0)
        self.last = np.arange(len(box))  #: variables that the next layer reads
        self._layer: tuple[Floats, Floats] | None = None

    def set_layer(self, weight: Floats, offset: Floats) -> None:
        """Remember a layer; its bend adds the variables."""
        self._layer = weight, offset

    def add_bend(self, z: Interval, leak: Tensor | None) -> None:
        """Add variables h = bend(z): above z, above leak z, below the chord from the least z to the largest."""
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

    def maximum(self, c: Floats) -> float:
        """Return an upper bound of ``c h`` over the last layer's values: that of the dual solution."""
        from scipy.optimize import linprog

        cost = np.zeros(len(self.low))
        cost[self.last] = c
        by_box = float(np.maximum(cost * self.low, cost * self.high).sum())
        solution = linprog(-cost, self.A, self.b, bounds=list(zip(self.low, self.high, strict=True)), method="highs")
        if solution.status != 0:
            return by_box
        y = np.maximum(-solution.ineqlin.marginals, 0.0)
        left = cost - self.A.T @ y
        return min(by_box, float(self.b @ y + np.maximum(left * self.low, left * self.high).sum()))
