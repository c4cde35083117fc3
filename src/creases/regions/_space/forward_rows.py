"""Values of a network at a growing set of vertices, as one row of numbers for each vertex and bend.

At a bend a vertex has the bend's pre-activations and whatever else later steps still read (a residual's other branch).
All of it is affine on every region of the subdivision so far, so the row of a point between two vertices is the same
mean of their rows: new vertices need not be run through the network from its input. That is why this is not a
:class:`creases._program.ForwardPass`, which runs the points themselves: here the rows belong to the face
lattice, which interpolates them in compiled loops, splits them among processes and drops those no longer used.
"""

from __future__ import annotations

from itertools import pairwise
from math import prod

import numpy as np
import torch
from torch import Tensor

from creases._program import propagate
from creases._typing import Floats
from creases.network import Network
from creases.regions._plane.perceptron import perceptron_layers

#: Units of layers that compiled loops take.
NARROW = 64


class ForwardRows:
    """Takes rows from one bend to the next; bends are numbered from 0, -1 is the input, ``len(net.bends)`` the end."""

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
        self._layers = _layers(net)

    def pre_activations(self, bend: int) -> slice:
        """Return the columns of the rows at a bend that enter it."""
        value = self.net.steps[self._stops[bend + 1]].inputs[0]
        live = self._live[bend + 1]
        start = sum(prod(self.net.shapes[v]) for v in live[: live.index(value)])
        return slice(start, start + prod(self.net.shapes[value]))

    def advance(self, bend: int, rows: Floats) -> tuple[Floats, Floats]:
        """Take rows (V, columns) from a bend to the next, and return them with the size of their terms.

        The size (columns,) bounds, over all points, the sum of the magnitudes of each value's terms, counted from the
        bend passed.
        """
        if self._layers is None:
            out, size = self._advance(bend, torch.from_numpy(rows))
            return out.numpy(), size.numpy()
        from creases.regions._plane.perceptron_kernel import advance_layer

        return advance_layer(rows, *self._layers[bend + 1])

    def _advance(self, bend: int, rows: Tensor) -> tuple[Tensor, Tensor]:
        """As :meth:`advance`, by the steps of the network."""
        net, values, offset = self.net, {}, 0
        for value in self._live[bend + 1]:
            shape = net.shapes[value]
            values[value] = rows[:, offset : offset + prod(shape)].reshape(-1, *shape)
            offset += prod(shape)
        start, stop = self._stops[bend + 1], self._stops[bend + 2]
        if bend >= 0:  # through the bend itself
            values = propagate(net, values, lambda i, inputs: net.steps[i].apply(inputs), start, start + 1)
            start += 1
        sizes = {value: tensor.abs().amax(0, keepdim=True) for value, tensor in values.items()}
        values = propagate(net, values, lambda i, inputs: net.steps[i].apply(inputs), start, stop)
        sizes = propagate(net, sizes, lambda i, inputs: net.steps[i].magnitude(inputs), start, stop)
        live = self._live[bend + 2]
        size = torch.cat([sizes[value].flatten() for value in live])
        return torch.cat([values[value].reshape(len(rows), -1) for value in live], dim=1), size


def _layers(net: Network) -> list[tuple[Floats, Floats, Floats]] | None:
    """Return the layers of a narrow perceptron: weights (inputs, units), offsets, leaks of the bend before (or none).

    None for other networks; wide layers are left to torch, whose matrix products are faster.
    """
    found = perceptron_layers(net)
    if found is None or len(found.widths) != found.bends + 2 or found.widths.max() > NARROW:
        return None
    shapes = list(pairwise(found.widths.tolist()))
    weights = np.split(found.weights, np.cumsum([a * b for a, b in shapes])[:-1])
    offsets = np.split(found.offsets, np.cumsum(found.widths[1:-1]))
    leaks = [np.zeros(0), *np.split(found.leaks, np.cumsum(found.widths[1:-2]))]
    return [
        (weight.reshape(b, a).T.copy(), offset, leak)
        for weight, offset, leak, (a, b) in zip(weights, offsets, leaks, shapes, strict=True)
    ]
