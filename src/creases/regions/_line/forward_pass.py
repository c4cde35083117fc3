"""Values of a network at a growing set of points of a line, and the size of their terms, to decide signs by.

A variant of :class:`creases._program.ForwardPass`. The two are kept apart because they store different things:
here every point has a weight and sizes are relative to it (points may be very far apart on a line, so one size for all
would make small values zero), points are inserted between others, and the set can be split. On a plane no point has a
weight and values known from the subdivision are taken over in place, which this form could not do without a copy.
"""

from __future__ import annotations

from copy import copy

import torch
from torch import Tensor

from creases._program import propagate
from creases.network import Network
from creases.regions._ray import Pair, is_zero


class LineForwardPass:
    """Runs points (n, n_in) up to one bend after another; ``extend`` adds points at the current bend.

    Every point has a weight, about its distance from the origin; the terms of a value are at most ``weight * size``,
    with one size for all points.
    """

    def __init__(self, net: Network, points: Tensor, weights: Tensor, min_size: Tensor | None = None) -> None:
        self.net = net
        self.weights = weights  #: (n,)
        #: Lower bound (*shape) of the size of the next values: the slope beyond the last points of an infinite line.
        self.min_size = None if min_size is None else min_size.reshape(net.input_shape)
        self._bend = -1
        self._next = 0
        self._relu_sizes: dict[int, Tensor] = {}  # of every relu passed, the size of its pre-activations
        x = points.reshape(-1, *net.input_shape)
        self._values: dict[int, Pair] = {0: (x, self._size(x))}

    def advance(self) -> Pair | None:
        """Go to the next bend: its pre-activations (n, *shape) and their size (*shape); None at the network's end."""
        self._bend += 1
        last = self._bend == len(self.net.bends)
        stop = len(self.net.steps) if last else self.net.bends[self._bend]
        self._values = propagate(self.net, self._values, self._step, self._next, stop)
        self._next = stop
        if last:
            return None
        z, size = self._values[self.net.steps[stop].inputs[0]]
        return z, size[0]

    def part(self, start: int, stop: int) -> LineForwardPass:
        """Return a pass at the same bend with points ``start`` to ``stop`` only."""
        other = copy(self)
        other.weights = self.weights[start:stop]
        other._values = {key: (z[start:stop], size) for key, (z, size) in self._values.items()}
        return other

    def extend(self, points: Tensor, weights: Tensor, place: Tensor) -> None:
        """Add points (k, n_in), run up to the current bend; ``place`` (n + k,): where each goes, old ones first."""
        start = points.reshape(-1, *self.net.input_shape)
        new = propagate(self.net, {0: start}, lambda i, inputs: self._value(i, inputs, weights), 0, self._next)
        self._values = {key: (_merge(z, new[key], place), size) for key, (z, size) in self._values.items()}
        self.weights = _merge(self.weights, weights, place)

    def _step(self, i: int, inputs: list[Pair]) -> Pair:
        """Return step i at all points, and the size of its terms."""
        step = self.net.steps[i]
        sizes = [size for _, size in inputs]
        if step.op == "relu":
            self._relu_sizes[i] = sizes[0]
        out = self._value(i, [z for z, _ in inputs], self.weights)
        return out, self._size(out) if step.is_bend else step.magnitude(sizes)

    def _value(self, i: int, inputs: list[Tensor], weights: Tensor) -> Tensor:
        """Return step i at points with given weights; values within the tolerance become zero before a relu."""
        step = self.net.steps[i]
        if step.op == "relu":
            z = inputs[0]
            inputs = [torch.where(is_zero(z, self._relu_sizes[i] * _column(weights, z)), 0, z)]
        return step.apply(inputs)

    def _size(self, values: Tensor) -> Tensor:
        size = (values.abs() / _column(self.weights, values)).amax(dim=0)
        return (size if self.min_size is None else torch.maximum(size, self.min_size))[None]


def _column(weights: Tensor, values: Tensor) -> Tensor:
    return weights.reshape(-1, *(1,) * (values.ndim - 1))


def _merge(old: Tensor, new: Tensor, place: Tensor) -> Tensor:
    out = torch.empty(len(old) + len(new), *old.shape[1:], dtype=old.dtype, device=old.device)
    out[place[: len(old)]] = old
    out[place[len(old) :]] = new
    return out
