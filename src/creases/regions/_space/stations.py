"""A network as stations: what is known of a point at each bend, as one row of numbers.

At a bend a point has the bend's pre-activations and whatever else later steps still read (a residual's other branch).
All of it is affine on every region found so far, so a row for a point between two others is the same mean of their
rows: partition algorithms need not run new vertices through the network from its beginning.
"""

from __future__ import annotations

from math import prod

import torch
from torch import Tensor

from creases.network import Network
from creases.network.program import propagate


class Stations:
    """The bends of a network, numbered from 0, and its end, number ``len(net.bends)``; -1 is its input."""

    def __init__(self, net: Network) -> None:
        self.net = net
        self._stops = [0, *net.bends, len(net.steps)]
        live = {0}
        self._live = [[0]]
        for start, stop in zip(self._stops[:-1], self._stops[1:], strict=True):
            for i in range(start, stop):
                live = (live | {i + 1}) - set(net.last_uses[i])
            self._live.append(sorted(live))
        self._live[-1] = [len(net.steps)]

    def pre_activations(self, station: int) -> slice:
        """Which columns of the rows at a station enter its bend."""
        value = self.net.steps[self._stops[station + 1]].inputs[0]
        live = self._live[station + 1]
        start = sum(prod(self.net.shapes[v]) for v in live[: live.index(value)])
        return slice(start, start + prod(self.net.shapes[value]))

    def advance(self, station: int, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Rows (V, columns) at one station to rows at the next, and the size of their terms.

        The size (columns,) is a bound over all points of the sum of the magnitudes of each value's terms, counted from
        the bend left behind.
        """
        net, values, offset = self.net, {}, 0
        for value in self._live[station + 1]:
            shape = net.shapes[value]
            values[value] = rows[:, offset : offset + prod(shape)].reshape(-1, *shape)
            offset += prod(shape)
        start, stop = self._stops[station + 1], self._stops[station + 2]
        if station >= 0:  # through the bend where the rows stand
            values = propagate(net, values, lambda i, inputs: net.steps[i].apply(inputs), start, start + 1)
            start += 1
        sizes = {value: tensor.abs().amax(0, keepdim=True) for value, tensor in values.items()}
        values = propagate(net, values, lambda i, inputs: net.steps[i].apply(inputs), start, stop)
        sizes = propagate(net, sizes, lambda i, inputs: net.steps[i].magnitude(inputs), start, stop)
        live = self._live[station + 2]
        size = torch.cat([sizes[value].flatten() for value in live])
        return torch.cat([values[value].reshape(len(rows), -1) for value in live], dim=1), size
