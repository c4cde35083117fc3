"""The breakpoints of deep networks of one input: their units, their slope changes, and which reach the output.

:func:`creases.line` finds where units change side on the line. Each change is then traced to the output: it reaches the
output if some path of active units leads there (Definition 1 of the lecture), and along the way its slope change is
multiplied by the weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from creases._program import Step, apply_sides, memory_limit, propagate, split_sides
from creases._text import OneLine
from creases._typing import Bools, Floats, Ints
from creases.errors import InputError
from creases.network import Network, as_network
from creases.regions import LinePartition, line
from creases.regions.geometry import SIGN_TOLERANCE
from creases.splines._spline import Pieces, anchors

# Trace where units change side through a network of one input: slope changes at the output, and open paths.


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


class ZeroIntervals(NamedTuple):
    """Intervals on which a unit's pre-activation is zero throughout; these are not breakpoints."""

    layer: Ints  #: (Z,)
    unit: Ints  #: (Z,)
    start: Floats  #: (Z,) -inf if unbounded on the left
    end: Floats  #: (Z,)


@dataclass(frozen=True, eq=False, repr=False)
class Breakpoints(OneLine):
    """The k breakpoints of a function; a unit of a deep network may have none or many."""

    x: Floats  #: (k,)
    jump: Floats  #: (k,) slope change from left to right
    layer: Ints  #: (k,) index of the unit's bend
    unit: Ints  #: (k,) index of the unit in its bend
    direction: Ints  #: (k,) +1: the unit turns on from left to right; -1: off
    active: Bools  #: (k,) whether it reaches the output
    pieces: Pieces  #: the function

    @property
    def owners(self) -> Ints:
        """Layer, unit and direction (k, 3); only breakpoints with the same owner can match."""
        return np.stack([self.layer, self.unit, self.direction], -1)


@dataclass(frozen=True, eq=False, repr=False)
class DeepBreakpoints(Breakpoints):
    """The breakpoints of the units of a network of any depth, from left to right.

    A unit has a breakpoint where it changes from ``z > 0`` to ``z <= 0`` or back, and none where z only touches zero.
    The function has a knot at every x, also where slope changes cancel; the jumps of coinciding breakpoints add up.
    """

    shared: Bools  #: (k,) whether other units have a breakpoint at the same x
    zeros: ZeroIntervals  #: where units are zero on an interval
    bent: Bools  #: (K,) whether the slope changes at each knot of ``pieces``, up to rounding

    @property
    def count(self) -> int:
        """Number of maximal intervals on which the function is affine."""
        return 1 + int(self.bent.sum())


def deep_breakpoints(model: Any) -> DeepBreakpoints:
    """Return every breakpoint of a network of any depth with one input and one output.

    Parameters
    ----------
    model
        A network, a torch module or a file name; its bends must be (leaky) ReLU, PReLU, abs or clamps.

    Returns
    -------
    DeepBreakpoints
        The breakpoints on the whole line, with the unit and the slope change of each.

    Examples
    --------
    >>> from creases.splines import deep_breakpoints
    >>> tent = [([[1.0], [1.0]], [0.0, -0.5]), ([[2.0, -4.0]], [0.0])]  # 2 x, from 1/2 on 2 - 2 x
    >>> twice = [tent[0], ([[2.0, -4.0], [2.0, -4.0]], [0.0, -0.5]), ([[2.0, -4.0]], [0.0])]
    >>> breakpoints = deep_breakpoints(twice)
    >>> breakpoints.pieces.knots.tolist(), breakpoints.pieces.slopes.tolist()
    ([0.0, 0.25, 0.5, 0.75, 1.0], [0.0, 4.0, -4.0, 4.0, -4.0, 0.0])
    """
    net = as_network(model).to(torch.float64).to("cpu")
    if net.n_in != 1 or net.n_out != 1:
        raise InputError("model", "have one input and one output", f"{net.n_in} and {net.n_out}")
    for i in net.bends:
        if net.steps[i].op != "relu":
            raise InputError(
                "model",
                "have units that bend a single value",
                f"a maximum of several at {net.steps[i].path}",
                "use creases.line instead",
            )
    part = line(net, np.zeros(1), np.ones(1), infinite=True)
    sides = split_sides(net, net.unpack(part.patterns))
    with torch.no_grad():
        slopes = regional_slopes(net, part.ends, sides)
        changes = Changes.from_partition(net, part, sides)
        effects = trace_changes(net, sides, slopes, changes)
    places = len(part.breakpoints)
    jump, terms = (np.bincount(changes.place, weights=a, minlength=places) for a in (effects.jump, effects.size))
    values = net(anchors(part.breakpoints)[:, None]).reshape(-1)
    return DeepBreakpoints(
        x=part.breakpoints[changes.place],
        layer=changes.bend,
        unit=changes.unit,
        direction=changes.direction,
        active=effects.active,
        jump=effects.jump,
        shared=np.diff(part.unit_starts)[changes.place] > 1,
        zeros=_zero_intervals(part.ends, slopes),
        pieces=Pieces(part.breakpoints, part.pieces().J[:, 0, 0], values),
        bent=np.abs(jump) > SIGN_TOLERANCE * terms,
    )


def _zero_intervals(ends: Floats, slopes: list[Slopes]) -> ZeroIntervals:
    """Return the maximal intervals on which a unit is zero."""
    layer, unit, start, end = [], [], [], []
    for k, bend in enumerate(slopes):
        padded = np.pad(bend.zero.numpy().astype(np.int8), ((1, 1), (0, 0)))
        step = np.diff(padded, axis=0).T  # (U, R + 1): 1 where a run starts, -1 where one ends
        (who, first), (_, last) = np.nonzero(step == 1), np.nonzero(step == -1)
        layer.append(np.full(len(who), k))
        unit.append(who)
        start.append(ends[first])
        end.append(ends[last])
    indices = [np.concatenate([np.zeros(0, np.int64), *part]) for part in (layer, unit)]
    return ZeroIntervals(*indices, *(np.concatenate([np.zeros(0), *part]) for part in (start, end)))
