"""Values of a network at a growing set of points, with the size of their terms: signs by the tolerance policy.

Like :class:`creases.network.walk.Walk`, but every point has its own yardstick (points may lie very far apart on a
line) and a relu's pre-activation that is zero by the policy goes on as exactly zero, so that rounding does not become a
crease further down.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace

import torch
from torch import Tensor

from creases.network.bends import select
from creases.network.network import Network
from creases.network.pieces import last_uses
from creases.regions.tolerance import SIGN

Pair = tuple[Tensor, Tensor]  # values (n, *shape) and the sums of the magnitudes of their terms


class SignedWalk:
    """Runs points (n, n_in) up to one bend after another; ``extend`` adds points at the bend where the walk stands."""

    def __init__(self, net: Network, points: Tensor) -> None:
        self.net = net
        self._done = last_uses(net)
        self._bend = -1
        self._next = 0
        self._values = {0: self._start(points)}

    def advance(self) -> Pair | None:
        """Go to the next bend: its pre-activations and their terms' size, or None when the network has ended."""
        self._bend += 1
        last = self._bend == len(self.net.bends)
        stop = len(self.net.steps) if last else self.net.bends[self._bend]
        self._values = self._run(self._values, self._next, stop)
        self._next = stop
        return None if last else self._values[self.net.steps[stop].inputs[0]]

    def part(self, start: int, stop: int) -> SignedWalk:
        """A walk that stands where this one does, with points ``start`` to ``stop`` only."""
        other = copy(self)
        other._values = {key: (z[start:stop], size[start:stop]) for key, (z, size) in self._values.items()}
        return other

    @property
    def output(self) -> Tensor:
        """The network's output (n, n_out), when the walk has ended."""
        return self._values[len(self.net.steps)][0].flatten(1)

    def extend(self, points: Tensor, order: Tensor) -> None:
        """Add points (k, n_in), run up to where the walk stands, then put all (n + k) into a new order."""
        new = self._run({0: self._start(points)}, 0, self._next)
        self._values = {
            key: (torch.cat([z, new[key][0]])[order], torch.cat([size, new[key][1]])[order])
            for key, (z, size) in self._values.items()
        }

    def _start(self, points: Tensor) -> Pair:
        x = points.reshape(-1, *self.net.input_shape)
        return x, x.abs()

    def _run(self, values: dict[int, Pair], start: int, stop: int) -> dict[int, Pair]:
        values = dict(values)
        for i in range(start, stop):
            step = self.net.steps[i]
            zs, sizes = zip(*(values[value] for value in step.inputs), strict=True)
            if step.is_bend:
                z = torch.where(is_zero(zs[0], sizes[0]), 0, zs[0]) if step.op == "relu" else zs[0]
                out = step.apply([z])
                values[i + 1] = out, out.abs()
            else:
                values[i + 1] = step.apply(zs), step.magnitude(sizes)
            for value in self._done[i]:
                del values[value]
        return values


class Ray:
    """Carries a direction (n_in,) through the linear parts of a network, bend by bend, on sides taken one by one."""

    def __init__(self, net: Network, direction: Tensor) -> None:
        start = direction.reshape(1, *net.input_shape)
        self.net = net
        self._done = last_uses(net)
        self._next = 0
        self._values = {0: (start, start.abs())}

    def advance(self) -> Pair | None:
        """Go to the next bend: derivatives (*shape) of its pre-activations, their terms' size; None at the end."""
        while self._next < len(self.net.steps):
            step = self.net.steps[self._next]
            dz, sizes = zip(*(self._values[value] for value in step.inputs), strict=True)
            if step.is_bend:
                return dz[0][0], sizes[0][0]
            bare = replace(step, tensors={key: t for key, t in step.tensors.items() if key != "offset"})
            self._set(bare.linear(dz), bare.magnitude(sizes))
        return None

    def take(self, side: Tensor) -> None:
        """Go through the bend where the ray stands, on these sides (*units)."""
        step = self.net.steps[self._next]
        dz, size = self._values[step.inputs[0]]
        if step.op == "relu":
            dz = torch.where(is_zero(dz, size), 0, dz)
        out = select(step.op, dz, side[None], step.leak)
        self._set(out, out.abs())

    def _set(self, value: Tensor, size: Tensor) -> None:
        self._values[self._next + 1] = value, size
        for done in self._done[self._next]:
            del self._values[done]
        self._next += 1


def is_zero(z: Tensor, size: Tensor) -> Tensor:
    """Whether values are zero by the tolerance policy, given the size of their terms."""
    return z.abs() <= SIGN * size


def ties(net: Network, point: Tensor) -> list[Tensor]:
    """What ties at one point (n_in,): for each bend, units at zero (*units), for a choice the largest (*units, K)."""
    walk = SignedWalk(net, point[None])
    out: list[Tensor] = []
    while (pair := walk.advance()) is not None:
        z, size = pair[0][0], pair[1][0]
        if net.steps[net.bends[len(out)]].op == "relu":
            out.append(is_zero(z, size))
        else:
            best, where = z.max(dim=-1, keepdim=True)
            out.append(best - z <= SIGN * (size + size.gather(-1, where)))
    return out
