"""A walk through a network: its values at a growing set of points, bend by bend.

The partition algorithms find new vertices at every bend. A vertex's values are the network's own forward pass at that
point, so over a whole walk every point is run through the network once.
"""

from __future__ import annotations

import torch
from torch import Tensor

from creases.network.network import Network
from creases.network.pieces import last_uses


class Walk:
    """Runs points (n, n_in) up to one bend after another; ``extend`` adds points at the bend where the walk stands."""

    def __init__(self, net: Network, points: Tensor) -> None:
        self.net = net
        self.bend = -1  #: number of the bend where the walk stands
        self._done = last_uses(net)
        self._next = 0  # the step to run next
        self._values: dict[int, Tensor] = {0: points.reshape(-1, *net.input_shape)}

    def advance(self) -> Tensor | None:
        """Go to the next bend: its pre-activations (n, *shape), or None when the network has ended."""
        self.bend += 1
        stop = self.net.bends[self.bend] if self.bend < len(self.net.bends) else len(self.net.steps)
        self._values = self._run(self._values, self._next, stop)
        self._next = stop
        return self.pre_activations if self.bend < len(self.net.bends) else None

    @property
    def pre_activations(self) -> Tensor:
        """What enters the bend where the walk stands: (n, *shape), for a choice (n, *units, K)."""
        return self._values[self.net.steps[self._next].inputs[0]]

    @property
    def output(self) -> Tensor:
        """The network's output (n, n_out), when the walk has ended."""
        return self._values[len(self.net.steps)].flatten(1)

    def extend(self, points: Tensor) -> None:
        """Add points (k, n_in): they are run up to where the walk stands."""
        new = self._run({0: points.reshape(-1, *self.net.input_shape)}, 0, self._next)
        self._values = {key: torch.cat([value, new[key]]) for key, value in self._values.items()}

    def keep(self, index: Tensor) -> None:
        """Go on with these points only, in this order."""
        self._values = {key: value[index] for key, value in self._values.items()}

    def _run(self, values: dict[int, Tensor], start: int, stop: int) -> dict[int, Tensor]:
        values = dict(values)
        for i in range(start, stop):
            step = self.net.steps[i]
            values[i + 1] = step.apply([values[value] for value in step.inputs])
            for value in self._done[i]:
                del values[value]
        return values
