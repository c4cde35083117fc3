"""A direction carried through a network: derivatives of its values on leaving a point, and the size of their terms."""

from __future__ import annotations

import torch
from torch import Tensor

from creases._program import apply_sides, propagate
from creases.network import Network
from creases.regions._tolerance import SIGN_TOLERANCE

Pair = tuple[Tensor, Tensor]  # values, and the sums of the magnitudes of their terms


class Ray:
    """Carries a direction (n_in,) through the linear parts of a network, bend by bend, on sides set one by one."""

    def __init__(self, net: Network, direction: Tensor) -> None:
        start = direction.reshape(1, *net.input_shape)
        self.net = net
        self._bend = -1
        self._next = 0
        self._values: dict[int, Pair] = {0: (start, start.abs())}

    def advance(self) -> Pair | None:
        """Go to the next bend: derivatives (*shape) of its pre-activations and their term sizes; None at the end."""
        self._bend += 1
        if self._bend == len(self.net.bends):
            return None
        stop = self.net.bends[self._bend]
        self._values = propagate(self.net, self._values, self._linear, self._next, stop)
        self._next = stop
        dz, size = self._values[self.net.steps[stop].inputs[0]]
        return dz[0], size[0]

    def pass_bend(self, side: Tensor) -> Tensor:
        """Pass the current bend on these sides (*units), and return the derivatives (*units) of its outputs."""

        def through(i: int, inputs: list[Pair]) -> Pair:
            step, (dz, size) = self.net.steps[i], inputs[0]
            if step.op == "relu":
                dz = torch.where(is_zero(dz, size), 0, dz)
            out = apply_sides(step.op, dz, side[None], step.leak)
            return out, out.abs()

        self._values = propagate(self.net, self._values, through, self._next, self._next + 1)
        self._next += 1
        return self._values[self._next][0][0]

    def _linear(self, i: int, inputs: list[Pair]) -> Pair:
        dz, sizes = zip(*inputs, strict=True)
        return self.net.steps[i].linear(dz), self.net.steps[i].linear_magnitude(sizes)


def is_zero(z: Tensor, size: Tensor) -> Tensor:
    """Whether values are zero within the tolerance, given the size of their terms."""
    return z.abs() <= SIGN_TOLERANCE * size
