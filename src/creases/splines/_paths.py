"""Trace where units change side through a network of one input: slope changes at the output, and open paths."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from creases._program import Step, apply_sides, memory_limit, propagate
from creases._typing import Floats, Ints
from creases.network import Network
from creases.regions import LinePartition
from creases.regions.geometry import SIGN_TOLERANCE


class Slopes(NamedTuple):
    """The pre-activations of one bend on every region: derivatives, the size of their terms, whether they are zero."""

    dz: Tensor  #: (R, U)
    size: Tensor  #: (R, U)
    zero: Tensor  #: (R, U) bool


class Changes(NamedTuple):
    """The n changes of side of units."""

    place: Ints  #: (n,) index of the breakpoint on the line, between the regions ``place`` and ``place + 1``
    bend: Ints  #: (n,)
    unit: Ints  #: (n,) index in its bend
    direction: Ints  #: (n,) +1 turns on from left to right, -1 off

    @classmethod
    def from_partition(cls, net: Network, part: LinePartition, sides: list[Tensor]) -> Changes:
        """Return all changes of a partition, from left to right; sides (R, *units) of every bend."""
        place = np.repeat(np.arange(len(part.breakpoints)), np.diff(part.unit_starts))
        bend = np.searchsorted(net.unit_starts, part.unit_ids, side="right") - 1
        on = np.concatenate([np.zeros((part.count, 0), bool), *(side.flatten(1).numpy() for side in sides)], axis=1)
        direction = np.where(on[place + 1, part.unit_ids], 1, -1)
        return cls(place, bend, part.unit_ids - net.unit_starts[bend], direction)


class Effects(NamedTuple):
    """The effect of each change on the output."""

    jump: Floats  #: (n,) slope change from left to right
    size: Floats  #: (n,) sum of the magnitudes of the jump's terms
    active: NDArray[np.bool_]  #: (n,) whether a path of open units leads from it to the output


_Value = tuple[Tensor, Tensor, Tensor, Tensor]  # value, size of its terms, derivative, size of its terms


def regional_slopes(net: Network, ends: Floats, sides: list[Tensor]) -> list[Slopes]:
    """Return the derivatives of all pre-activations on the regions between ``ends`` (R + 1,)."""
    regional: list[Slopes] = []

    def through(i: int, inputs: list[_Value]) -> _Value:
        step = net.steps[i]
        z, size, dz, dsize = (list(column) for column in zip(*inputs, strict=True))
        if not step.is_bend:
            return step.apply(z), step.magnitude(size), step.linear(dz), step.linear_magnitude(dsize)
        side = sides[len(regional)]
        zero = (z[0].abs() <= SIGN_TOLERANCE * size[0]) & (dz[0].abs() <= SIGN_TOLERANCE * dsize[0]) & ~side
        regional.append(Slopes(dz[0].flatten(1), dsize[0].flatten(1), zero.flatten(1)))
        value, slope = (apply_sides("relu", torch.where(zero, 0, a[0]), side, step.leak) for a in (z, dz))
        bounds = [apply_sides("relu", a[0], side, _magnitude(step)) for a in (size, dsize)]
        return value, bounds[0], slope, bounds[1]

    points = torch.from_numpy(_inner_points(ends)).reshape(-1, *net.input_shape)
    ones = torch.ones_like(points)
    propagate(net, {0: (points, points.abs(), ones, ones)}, through)
    return regional


def _inner_points(ends: Floats) -> Floats:
    """Return a point inside each region, (R,)."""
    if len(ends) == 2:
        return np.zeros(1)
    return np.concatenate([[ends[1] - 1], ends[1:-2] / 2 + ends[2:-1] / 2, [ends[-2] + 1]])


_Change = tuple[Tensor, Tensor, Tensor]  # jump, size of its terms, 1 where a path leads and 0 elsewhere


def trace_changes(net: Network, sides: list[Tensor], slopes: list[Slopes], changes: Changes) -> Effects:
    """Return the effect of every change on the output of a network with one output.

    Where successive bends change side at the same breakpoint, a unit's slope change is computed with all earlier bends
    as they are on the right and all later ones as on the left: so the changes add up to the difference of the slopes.
    """
    n = len(changes.place)
    effects = Effects(np.zeros(n), np.zeros(n), np.zeros(n, bool))
    block = max(1, memory_limit() // (64 * max(net.sizes)))
    for bend in range(len(net.bends)):
        of_bend = np.flatnonzero(changes.bend == bend)
        for first in range(0, len(of_bend), block):
            rows = of_bend[first : first + block]
            part = Changes(*(column[rows] for column in changes))
            jump, size, path = _to_output(net, bend, sides, slopes[bend], part)
            effects.jump[rows], effects.size[rows], effects.active[rows] = jump, size, path > 0
    return effects


def _to_output(net: Network, bend: int, sides: list[Tensor], slopes: Slopes, rows: Changes) -> tuple[Floats, ...]:
    """Return slope change, size and path (n,) at the output for changes of one bend."""
    at = net.bends[bend]
    left, unit, way = (torch.from_numpy(a) for a in (rows.place, rows.unit, rows.direction))
    on = left + (way > 0)  # the region where the unit is on
    leak = net.steps[at].leak
    gain = torch.ones(len(unit)).double() if leak is None else 1 - leak.expand(net.steps[at].shape).flatten()[unit]
    remaining = iter(range(bend + 1, len(net.bends)))

    def through(i: int, inputs: list[_Change]) -> _Change:
        step = net.steps[i]
        jump, size, path = (list(column) for column in zip(*inputs, strict=True))
        if not step.is_bend:
            open_ = step.linear_magnitude(path) > 0
            return step.linear(jump), step.linear_magnitude(size), open_.double()
        side = sides[next(remaining)]
        passes = side[on] if step.leak is None else side[on] | (step.leak != 0)
        flat = side[left]
        return (
            apply_sides("relu", jump[0], flat, step.leak),
            apply_sides("relu", size[0], flat, _magnitude(step)),
            path[0] * passes,
        )

    def start(entries: Tensor) -> Tensor:
        out = torch.zeros(len(unit), net.sizes[at + 1], dtype=torch.float64)
        out[torch.arange(len(unit)), unit] = entries
        return out.reshape(-1, *net.steps[at].shape)

    later = {value for step in net.steps[at + 1 :] for value in step.inputs if value <= at}
    zeros = {value: torch.zeros(len(unit), *net.shapes[value], dtype=torch.float64) for value in later}
    values: dict[int, _Change] = {value: (zero, zero, zero) for value, zero in zeros.items()}
    jump, size = way * gain * slopes.dz[left + 1, unit], gain.abs() * slopes.size[left + 1, unit]
    values[at + 1] = (start(jump), start(size), start((gain != 0).double()))
    out = propagate(net, values, through, at + 1)[len(net.steps)]
    return tuple(part.reshape(len(unit)).numpy() for part in out)


def _magnitude(step: Step) -> Tensor | None:
    return None if step.leak is None else step.leak.abs()
