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

from creases._program import split_sides
from creases._typing import Bools, Floats, Ints
from creases.errors import InputError
from creases.network import as_network
from creases.regions import line
from creases.regions.geometry import SIGN_TOLERANCE
from creases.splines._paths import Changes, Slopes, regional_slopes, trace_changes
from creases.splines._spline import Pieces, anchors


class ZeroIntervals(NamedTuple):
    """Intervals on which a unit's pre-activation is zero throughout; these are not breakpoints."""

    layer: Ints  #: (Z,)
    unit: Ints  #: (Z,)
    start: Floats  #: (Z,) -inf if unbounded on the left
    end: Floats  #: (Z,)


@dataclass(frozen=True, eq=False)
class DeepBreakpoints:
    """The n breakpoints of the units of a network, from left to right.

    A unit has a breakpoint where it changes from ``z > 0`` to ``z <= 0`` or back, and none where z only touches zero.
    """

    x: Floats  #: (n,) non-decreasing
    layer: Ints  #: (n,) index of the unit's bend
    unit: Ints  #: (n,) index of the unit in its bend
    direction: Ints  #: (n,) +1: the unit turns on from left to right; -1: off
    active: Bools  #: (n,) whether a path of active units leads from it to the output
    jump: Floats  #: (n,) slope change from left to right; those of coinciding breakpoints add up
    shared: Bools  #: (n,) whether other units have a breakpoint at the same x
    zeros: ZeroIntervals  #: where units are zero on an interval
    pieces: Pieces  #: the function, with a knot at every x, also where slope changes cancel
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
