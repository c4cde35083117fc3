"""The breakpoints of a model at one moment, each with the unit it belongs to, and which of them went where since."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from creases._typing import Bools, Floats, Ints
from creases.network import Network, read
from creases.splines._convert import from_module, to_spline
from creases.splines._deep import deep_breakpoints
from creases.splines._spline import Pieces, Shallow


@dataclass(frozen=True, eq=False)
class Breakpoints:
    """k breakpoints, and the function they are of. A unit of a deep network may have none or many."""

    x: Floats  #: (k,)
    jump: Floats  #: (k,) what each adds to the slope from left to right
    layer: Ints  #: (k,) number of the unit's bend
    unit: Ints  #: (k,) number of the unit in its bend
    direction: Ints  #: (k,) +1 where it turns on from left to right, -1 where off
    active: Bools  #: (k,) whether the output sees it
    pieces: Pieces

    @property
    def owners(self) -> Ints:
        """(k, 3) layer, unit and direction: breakpoints of different owners are never the same one, moved."""
        return np.stack([self.layer, self.unit, self.direction], -1)


def breakpoints(model: Any) -> Breakpoints:
    """The breakpoints of a model of one input and one output: what :func:`creases.read` reads, or ``Shallow``.

    A unit without weight has none, as has a deep one that never changes side.
    """
    if isinstance(model, Shallow):
        return _shallow(model)
    net = model if isinstance(model, Network) else read(model)
    if len(net.bends) == 1 and net.steps[net.bends[0]].op == "relu" and net.n_in == 1:
        return _shallow(from_module(net))
    found = deep_breakpoints(net)
    return Breakpoints(found.x, found.jump, found.layer, found.unit, found.direction, found.active, found.pieces)


def match_breakpoints(before: Breakpoints, after: Breakpoints, gate: float) -> tuple[Ints, Ints]:
    """Which breakpoints (m,) before are which (m,) after: as many as can be, by the least way gone in all.

    Two can be one only if they have the same owner and ``|arctan x - arctan x'| <= gate``.
    """
    owners = np.concatenate([before.owners, after.owners])
    _, owner = np.unique(owners, axis=0, return_inverse=True)
    first, second = np.split(owner.reshape(-1), [len(before.x)])
    had, has = (np.bincount(part, minlength=len(owners)) for part in (first, second))
    old, new = np.arctan(before.x), np.arctan(after.x)
    alone = (had == 1) & (has == 1)
    pairs = [(_members(first, alone), _members(second, alone))]
    for one in np.flatnonzero((had > 0) & (has > 0) & ~alone).tolist():
        i, j = np.flatnonzero(first == one), np.flatnonzero(second == one)
        way = np.abs(old[i][:, None] - new[j])
        row, column = linear_sum_assignment(np.where(way <= gate, way, 4.0 * max(way.shape)))  # pi is the longest way
        pairs.append((i[row], j[column]))
    i, j = (np.concatenate(part) for part in zip(*pairs, strict=True))
    near = np.abs(old[i] - new[j]) <= gate
    return i[near], j[near]


def _members(owner: Ints, wanted: Bools) -> Ints:
    """Those whose owner is wanted, in the order of owners (each has one)."""
    index = np.flatnonzero(wanted[owner])
    return index[np.argsort(owner[index])]


def _shallow(net: Shallow) -> Breakpoints:
    form = to_spline(net)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        unit = np.flatnonzero(np.isfinite(net.b / net.w))
    layer = np.zeros(len(unit), np.int64)
    return Breakpoints(form.beta, form.jumps, layer, unit, form.s.astype(np.int64), form.mu != 0, form.pieces())
