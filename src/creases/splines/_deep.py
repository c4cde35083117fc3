"""Every breakpoint of a deep network of one input: which unit made it, whether it matters, and by how much.

:func:`creases.line` finds where units change side on the whole line. Here each change is followed to the output:
through the units that are on it reaches the output or does not (Definition 1 of the lecture, as "some path's indicator
is discontinuous there"), and along the way its jump in slope is multiplied by the weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch

from creases._typing import Bools, Floats, Ints
from creases.errors import InputError
from creases.network import Network, read
from creases.network.program import split_sides
from creases.regions import line
from creases.regions.geometry import SIGN_TOLERANCE
from creases.splines._paths import Changes, Slopes, regional_slopes, trace_changes
from creases.splines._spline import Pieces, anchors


class ZeroIntervals(NamedTuple):
    """Intervals on which a unit's pre-activation is zero throughout: no breakpoints, though z = 0 at every point."""

    layer: Ints  #: (Z,)
    unit: Ints  #: (Z,)
    start: Floats  #: (Z,) -inf: all along from the left
    end: Floats  #: (Z,)


@dataclass(frozen=True, eq=False)
class DeepBreakpoints:
    """Places where units change side, from left to right; one row for each unit and place, n in all.

    A unit's breakpoints are where it turns from ``z > 0`` to ``z <= 0`` or back; where z only touches zero it has none.
    """

    x: Floats  #: (n,) place, not decreasing
    layer: Ints  #: (n,) number of the unit's bend, 0 the first
    unit: Ints  #: (n,) number of the unit in its bend
    direction: Ints  #: (n,) +1: the unit turns on from left to right; -1: off
    active: Bools  #: (n,) whether a path of units that are on leads from it to the output
    jump: Floats  #: (n,) what it adds to the slope from left to right; where units coincide these add up to the whole
    shared: Bools  #: (n,) whether other units break at the same place
    zeros: ZeroIntervals  #: where units are zero on whole intervals
    pieces: Pieces  #: the function; a knot at each place, also where jumps cancel
    bent: Bools  #: (K,) whether the slope changes at each knot of ``pieces``, beyond rounding

    @property
    def count(self) -> int:
        """Number of pieces of the function: maximal intervals on which it is affine."""
        return 1 + int(self.bent.sum())


def deep_breakpoints(model: Any) -> DeepBreakpoints:
    """Every breakpoint on the whole line of a network with one input and one output, of any depth.

    Parameters
    ----------
    model
        What :func:`creases.read` reads, or the network it gave; its bends (leaky) ReLU, PReLU, abs or clamps.

    Examples
    --------
    >>> from creases.splines import deep_breakpoints
    >>> tent = [([[1.0], [1.0]], [0.0, -0.5]), ([[2.0, -4.0]], [0.0])]  # 2 x, from 1/2 on 2 - 2 x
    >>> twice = [tent[0], ([[2.0, -4.0], [2.0, -4.0]], [0.0, -0.5]), ([[2.0, -4.0]], [0.0])]
    >>> found = deep_breakpoints(twice)
    >>> found.pieces.knots.tolist(), found.pieces.slopes.tolist()
    ([0.0, 0.25, 0.5, 0.75, 1.0], [0.0, 4.0, -4.0, 4.0, -4.0, 0.0])
    """
    net = (model if isinstance(model, Network) else read(model)).to(torch.float64).to("cpu")
    if net.n_in != 1 or net.n_out != 1:
        raise InputError(f"model: expected one input and one output, got {net.n_in} and {net.n_out}")
    for i in net.bends:
        if net.steps[i].op != "relu":
            raise InputError(f"model: {net.steps[i].path} takes a maximum of several values; use creases.line for it")
    part = line(net, np.zeros(1), np.ones(1), infinite=True)
    sides = split_sides(net, net.unpack(part.patterns))
    with torch.no_grad():
        slopes = regional_slopes(net, part.ends, sides)
        changes = Changes.of(net, part, sides)
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
    """Runs of regions on which a unit is zero, joined."""
    layer, unit, start, end = [], [], [], []
    for k, bend in enumerate(slopes):
        padded = np.pad(bend.zero.numpy().astype(np.int8), ((1, 1), (0, 0)))
        step = np.diff(padded, axis=0).T  # (U, R + 1): 1 where a run starts, -1 where one has ended
        (who, first), (_, last) = np.nonzero(step == 1), np.nonzero(step == -1)
        layer.append(np.full(len(who), k))
        unit.append(who)
        start.append(ends[first])
        end.append(ends[last])
    whole = [np.concatenate([np.zeros(0, np.int64), *part]) for part in (layer, unit)]
    return ZeroIntervals(*whole, *(np.concatenate([np.zeros(0), *part]) for part in (start, end)))
