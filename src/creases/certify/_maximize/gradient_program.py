"""A coefficient of a network as a mixed-integer program.

The derivative in what enters an undecided unit is the derivative in what leaves it times the unit's slope. With a
binary for the side that is a product of a binary and a bounded number, which four rows describe exactly.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from creases._typing import Floats
from creases.certify._milp import Encoding, encode_network
from creases.certify.propagation import Interval
from creases.certify.propagation._gradients import gradient_bounds
from creases.certify.propagation._linear import LinearBounds
from creases.certify.propagation._transposes import transpose_step
from creases.network import Network


def encode_coefficient(
    net: Network, row: Floats, column: int, bounds: LinearBounds, box: Floats
) -> tuple[Encoding, Floats, float]:
    """Return a program, the cost (v,) and the constant whose sum is a coefficient of ``row`` (n_out,) times the output.

    Parameters
    ----------
    net
        In float64, with ReLUs of any leak only.
    column
        The input whose coefficient it is.
    bounds
        Of a batch of one box, ``box`` (n_in, 2).
    """
    entering = {value: Interval(part.low[0], part.high[0]) for value, part in bounds.entering_values().items()}
    with torch.no_grad():
        return _Backwards(net, encode_network(net, box, entering), bounds, torch.from_numpy(row)).run(column)


class _Backwards:
    """Derivatives of a row in every value, as affine functions (1 + variables, *shape), from the output backwards."""

    def __init__(self, net: Network, program: Encoding, bounds: LinearBounds, row: Tensor) -> None:
        self.net, self.program, self.bounds = net, program, bounds
        self.ranges = gradient_bounds(bounds, row[None])
        start = torch.zeros(1 + len(program.low), net.n_out, dtype=torch.float64)
        start[0] = row
        self.gradients = {len(net.steps): start.reshape(-1, *net.output_shape)}

    def run(self, column: int) -> tuple[Encoding, Floats, float]:
        for i in reversed(range(len(self.net.steps))):
            if i + 1 not in self.gradients:
                continue
            step, G = self.net.steps[i], self._pad(self.gradients.pop(i + 1))
            if step.is_bend:
                parts = [self._bend(i, G)]
            else:
                shapes = [self.net.shapes[value] for value in step.inputs]
                parts = [part[0] for part in transpose_step(step, shapes, G[None])]
            for value, part in zip(step.inputs, parts, strict=True):
                known = self.gradients.get(value)
                self.gradients[value] = part if known is None else self._pad(known) + self._pad(part)
        if 0 not in self.gradients:
            return self.program, np.zeros(len(self.program.low)), 0.0
        function = self._pad(self.gradients[0]).flatten(1)[:, column].numpy()
        return self.program, function[1:], float(function[0])

    def _pad(self, function: Tensor) -> Tensor:
        missing = 1 + len(self.program.low) - len(function)
        return torch.cat([function, function.new_zeros(missing, *function.shape[1:])]) if missing else function

    def _bend(self, i: int, G: Tensor) -> Tensor:
        """Return the derivatives in what enters a bend from those in what leaves it."""
        step, (low, _) = self.net.steps[i], self.bounds.entering[i]
        first = int(self.net.unit_starts[self.net.bends.index(i)])
        size = low[0].numel()
        leak = torch.zeros(size) if step.leak is None else step.leak.expand(low[0].shape).flatten()
        sides = self.program.binaries[first : first + size]
        units = np.flatnonzero(sides >= 0)
        flat = G.flatten(1)
        out = flat * torch.where(torch.from_numpy(sides >= 0) | (low[0].flatten() < 0), leak.double(), 1.0)
        if not len(units):
            return out.reshape(-1, *low.shape[1:])
        least, most = (end[0, 0].flatten().numpy()[units] for end in self.ranges[i + 1])
        self.program, products = self.program.add_columns(np.minimum(least, 0), np.maximum(most, 0))
        flat, out = self._pad(flat), self._pad(out)
        for unit, product, lo, hi in zip(units, products, least, most, strict=True):
            self._add_product(flat[:, unit].numpy(), int(sides[unit]), int(product), float(lo), float(hi))
            out[1 + product, unit] += 1 - leak[unit]
        return out.reshape(-1, *low.shape[1:])

    def _add_product(self, function: Floats, side: int, product: int, low: float, high: float) -> None:
        """Make a variable the product of a binary and a function between two bounds."""
        width = len(self.program.low)
        rows = np.zeros((4, width))
        rows[:, product] = 1
        rows[:2, side] = -high, -low  # low s <= p <= high s
        rows[2:] -= function[1 : width + 1]
        rows[2:, side] -= low, high  # p <= f - low (1 - s), p >= f - high (1 - s)
        constant = function[0]
        least = [-np.inf, 0.0, -np.inf, constant - high]
        most = [0.0, np.inf, constant - low, np.inf]
        self.program = self.program.add_rows(rows, least, most)
