"""A walk through a network: its values at a growing set of points, bend by bend.

The partition algorithms find new vertices at every bend. A vertex's values are the network's own forward pass at that
point, so over a whole walk every point is run through the network once.
"""

from __future__ import annotations

import torch
from torch import Tensor

from creases.network._network import Network
from creases.network.program._carry import propagate


class ForwardPass:
    """Runs points (n, n_in) up to one bend after another; ``extend`` adds points at the bend where the walk stands."""

    def __init__(self, net: Network, points: Tensor, *, zero: float = 0.0) -> None:
        self.net = net
        self.zero = zero  #: a relu's pre-activation below this times the size of its terms goes on as exactly 0
        self._limits: list[Tensor] = []  # that bound, for each bend so far
        self._given = False  # whether the pre-activations where the walk stands were handed in, small ones zero
        self.bend = -1  #: number of the bend where the walk stands
        self._next = 0  # the step to run next
        start = points.reshape(-1, *net.input_shape)
        self._values: dict[int, Tensor] = {0: start}
        # Largest magnitude of each entry over the points: batch of one, carried along with the values.
        self._sizes: dict[int, Tensor] = {0: start.abs().amax(0, keepdim=True)}

    def advance(self) -> Tensor | None:
        """Go to the next bend: its pre-activations (n, *shape), or None when the network has ended."""
        self.bend += 1
        stop = self.net.bends[self.bend] if self.bend < len(self.net.bends) else len(self.net.steps)
        self._values = propagate(self.net, self._values, self._through, self._next, stop)
        self._sizes = propagate(self.net, self._sizes, self._size, self._next, stop)
        self._next = stop
        if self.bend == len(self.net.bends):
            return None
        z = self.pre_activations
        self._range = z.amin(0, keepdim=True), z.amax(0, keepdim=True)
        self._limits.append(self.zero * self.terms)
        return z

    @property
    def pre_activations(self) -> Tensor:
        """What enters the bend where the walk stands: (n, *shape), for a choice (n, *units, K)."""
        return self._values[self.net.steps[self._next].inputs[0]]

    @property
    def terms(self) -> Tensor:
        """Sum of the magnitudes of the terms of each pre-activation, its largest over the points: (1, *shape)."""
        return self._sizes[self.net.steps[self._next].inputs[0]]

    @property
    def output(self) -> Tensor:
        """The network's output (n, n_out), when the walk has ended."""
        return self._values[len(self.net.steps)].flatten(1)

    @property
    def output_terms(self) -> Tensor:
        """As ``terms``, of the output: (n_out,)."""
        return self._sizes[len(self.net.steps)].flatten()

    def extend(self, points: Tensor, z: Tensor | None = None) -> None:
        """Add points (k, n_in): they are run up to where the walk stands.

        ``z``: the pre-activations of all points, old and new (n + k, *shape), small ones already set to zero, where
        they are known; taken (and overwritten) when nothing else of the network is still to be read, else computed.
        """
        if z is not None and len(self._values) == 1:
            self._values = {self.net.steps[self._next].inputs[0]: z}
            self._given = True
            return
        start = points.reshape(-1, *self.net.input_shape)
        new = propagate(self.net, {0: start}, self._through, 0, self._next)
        self._values = {key: torch.cat([value, new[key]]) for key, value in self._values.items()}

    def run(self, points: Tensor) -> Tensor:
        """Pre-activations (k, *shape) of other points where the walk stands, outputs when it has ended; not kept."""
        values = propagate(self.net, {0: points.reshape(-1, *self.net.input_shape)}, self._through, 0, self._next)
        ended = self._next == len(self.net.steps)
        return values[self._next if ended else self.net.steps[self._next].inputs[0]]

    def see(self, z: Tensor) -> None:
        """Let pre-activations of other points (k, *shape) count for the sizes of what follows."""
        low, high = self._range
        self._range = torch.minimum(low, z.amin(0, keepdim=True)), torch.maximum(high, z.amax(0, keepdim=True))

    def _through(self, i: int, inputs: list[Tensor]) -> Tensor:
        """Step i at all points; before a relu, what is too small to have a sign is set to zero."""
        step = self.net.steps[i]
        if not step.is_bend:
            return step.apply(inputs)
        z = inputs[0]
        if self._given:
            self._given = False
            free = step.inputs[0] in self.net.last_uses[i]  # no residual connection still reads what enters the bend
            return z.clamp_(min=0) if step.op == "relu" and step.leak is None and free else step.apply([z])
        if step.op == "relu" and self.zero:
            limit = self._limits[self.net.bends.index(i)]
            z = torch.where(z.abs() <= limit, 0, z)
        return step.apply([z])

    def _size(self, i: int, sizes: list[Tensor]) -> Tensor:
        """Magnitudes of what step i gives. Of a bend the values themselves, not their terms: its extremes so far."""
        step = self.net.steps[i]
        if step.is_bend:
            return torch.maximum(*(step.apply([end]).abs() for end in self._range))
        return step.magnitude(sizes)
