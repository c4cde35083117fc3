"""The breakpoints of a model at one moment, and their matching with those at another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from creases._typing import Bools, Floats, Ints
from creases.network import as_network
from creases.splines._convert import from_module, to_spline
from creases.splines._deep import deep_breakpoints
from creases.splines._spline import Pieces, Shallow


@dataclass(frozen=True, eq=False)
class Breakpoints:
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


def breakpoints(model: Any) -> Breakpoints:
    """Return the breakpoints of a model with one input and one output.

    A unit with zero weights has none, nor has a unit of a deep network that never changes side.

    Parameters
    ----------
    model
        A network, a torch module or a file name, or a :class:`~creases.splines.Shallow`.
    """
    if isinstance(model, Shallow):
        return _shallow_breakpoints(model)
    net = as_network(model)
    if len(net.bends) == 1 and net.steps[net.bends[0]].op == "relu" and net.n_in == 1:
        return _shallow_breakpoints(from_module(net))
    deep = deep_breakpoints(net)
    return Breakpoints(deep.x, deep.jump, deep.layer, deep.unit, deep.direction, deep.active, deep.pieces)


def match_breakpoints(before: Breakpoints, after: Breakpoints, gate: float) -> tuple[Ints, Ints]:
    """Return which breakpoints (m,) before match which (m,) after: as many as possible, with the least total distance.

    Two can match only if they have the same owner and ``|arctan x - arctan x'| <= gate``.
    """
    owners = np.concatenate([before.owners, after.owners])
    _, owner = np.unique(owners, axis=0, return_inverse=True)
    first, second = np.split(owner.reshape(-1), [len(before.x)])
    had, has = (np.bincount(part, minlength=len(owners)) for part in (first, second))
    old, new = np.arctan(before.x), np.arctan(after.x)
    alone = (had == 1) & (has == 1)
    pairs = [(_members(first, alone), _members(second, alone))]
    for group in np.flatnonzero((had > 0) & (has > 0) & ~alone).tolist():
        i, j = np.flatnonzero(first == group), np.flatnonzero(second == group)
        distance = np.abs(old[i][:, None] - new[j])  # pi at most
        row, column = linear_sum_assignment(np.where(distance <= gate, distance, 4.0 * max(distance.shape)))
        pairs.append((i[row], j[column]))
    i, j = (np.concatenate(part) for part in zip(*pairs, strict=True))
    near = np.abs(old[i] - new[j]) <= gate
    return i[near], j[near]


def _members(owner: Ints, selected: Bools) -> Ints:
    """Return the breakpoints of wanted owners, which have one each, in the order of owners."""
    index = np.flatnonzero(selected[owner])
    return index[np.argsort(owner[index])]


def _shallow_breakpoints(net: Shallow) -> Breakpoints:
    form = to_spline(net)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        unit = np.flatnonzero(np.isfinite(net.b / net.w))
    layer = np.zeros(len(unit), np.int64)
    return Breakpoints(form.beta, form.jumps, layer, unit, form.s.astype(np.int64), form.mu != 0, form.pieces())
