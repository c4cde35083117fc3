"""The question: which inputs may be looked at, what counts as a different decision, and how far an input is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import torch

from creases._typing import Bools, Floats, Ints
from creases._validation import check_box, check_choice, check_index, check_numbers, check_vector
from creases.certify._nearest.layers import ROUNDOFF, Layers, gamma, read_layers
from creases.errors import InputError
from creases.network import Network, NetworkLike, as_network

Norm = Literal["l1", "l2", "linf"]


@dataclass(frozen=True, eq=False)
class Goal:
    """A convex way to reach a different decision: outputs z with ``G z + g >= 0``."""

    G: Floats  #: (rows, n_out)
    g: Floats  #: (rows,)

    def margins(self, z: Floats) -> Floats:
        """Return the smallest row (b,) at outputs (b, n_out): not negative where the goal is reached."""
        return np.asarray((z @ self.G.T + self.g).min(axis=1))


@dataclass(frozen=True, eq=False)
class Question:
    """Inputs near x that have a different decision, in units where x is the origin and each column has its weight.

    ``u`` has the columns that may change: ``point = x + u / weights``. A distance is the norm of u.
    """

    net: Network  #: float64, on the CPU
    x: Floats  #: (n_in,)
    norm: Norm
    weights: Floats  #: (n_in,) positive
    low: Floats  #: (n_in,) least value of each column; the column of x where it is fixed
    high: Floats  #: (n_in,)
    integer: Bools  #: (n_in,) columns that are whole numbers
    one_hot: tuple[tuple[int, ...], ...]  #: groups of columns of which one is 1 and the others 0
    goals: tuple[Goal, ...]  #: one of them must be reached
    layers: Layers  #: the network as a function of its input
    target: Any  #: as it was asked for

    @cached_property
    def columns(self) -> Bools:
        """Which columns may change: (n_in,)."""
        moves: Bools = (self.low < self.high) | (self.low != self.x)
        return moves

    @cached_property
    def local(self) -> Layers:
        """The network as a function of u."""
        return self.layers.recenter(self.x, self.weights, self.columns)

    @cached_property
    def limits(self) -> tuple[Floats, Floats]:
        """Least and largest u, rounded outwards: (n,) each, infinite where there is no limit."""
        low, high = self.to_local(self.low), self.to_local(self.high)
        return low - 8 * ROUNDOFF * np.abs(low), high + 8 * ROUNDOFF * np.abs(high)

    @cached_property
    def sums(self) -> tuple[Floats, Floats]:
        """What one-hot groups ask for, as rows ``N u <= s``: (2 groups, n) and (2 groups,)."""
        rows = np.zeros((len(self.one_hot), len(self.x)))
        for row, group in zip(rows, self.one_hot, strict=True):
            row[list(group)] = 1.0
        s = 1.0 - rows @ self.x
        N = (rows / self.weights)[:, self.columns]
        room = gamma(len(self.x) + 8) * (2.0 + rows @ np.abs(self.x))  # a group's columns are 0 or 1
        return np.vstack([N, -N]), np.concatenate([s + room, room - s])

    @cached_property
    def whole(self) -> Bools:
        """Which entries of u belong to integer columns: (n,)."""
        part: Bools = self.integer[self.columns]
        return part

    @cached_property
    def binary(self) -> Bools:
        """Which entries of u belong to integer columns of two values at most: (n,)."""
        part: Bools = (self.integer & (np.floor(self.high) - np.ceil(self.low) <= 1))[self.columns]
        return part

    def fix_groups(self, low: Floats, high: Floats) -> None:
        """Narrow limits of u (n,) in place: a one-hot group has one column at 1, and the others at 0.

        A limit that excludes 0 makes a column 1; a column that cannot be 1 is 0. Ends that are known are kept.
        """
        for columns, at_zero, at_one, is_taken in self._groups:
            room = 8 * ROUNDOFF * (np.abs(at_zero) + np.abs(at_one))
            is_one, is_zero = low[columns] > at_zero + room, high[columns] < at_one - room
            if is_one.any() or is_taken:
                is_zero |= ~is_one
            elif (~is_zero).sum() == 1:
                is_one = ~is_zero
            zeros, ones = columns[is_zero], columns[is_one]
            high[zeros] = np.minimum(high[zeros], (at_zero + room)[is_zero])
            low[ones] = np.maximum(low[ones], (at_one - room)[is_one])

    def group_columns(self) -> list[Ints]:
        """Return the columns of u of each one-hot group."""
        return [columns for columns, _, _, _ in self._groups]

    @cached_property
    def _groups(self) -> list[tuple[Ints, Floats, Floats, bool]]:
        """Columns of u of each one-hot group, where they are 0 and 1, and whether a fixed column is the one."""
        place = np.cumsum(self.columns) - 1
        groups = []
        for group in self.one_hot:
            columns = np.array([j for j in group if self.columns[j]], int)
            at_zero, at_one = (self.weights[columns] * (end - self.x[columns]) for end in (0.0, 1.0))
            is_taken = any(self.x[j] != 0 for j in group if not self.columns[j])
            groups.append((place[columns], at_zero, at_one, is_taken))
        return groups

    def to_local(self, point: Floats) -> Floats:
        """Return an input (n_in,) as u (n,)."""
        part: Floats = (self.weights * (point - self.x))[self.columns]
        return part

    def to_point(self, u: Floats) -> Floats:
        """Return the input (n_in,) of u (n,): whole numbers are rounded, limits kept."""
        point = self.x.copy()
        point[self.columns] += u / self.weights[self.columns]
        point[self.integer] = np.round(point[self.integer])
        return np.clip(point, self.low, self.high)

    def allows(self, point: Floats) -> bool:
        """Whether an input (n_in,) respects limits, whole numbers and one-hot groups, exactly."""
        inside = bool(((point >= self.low) & (point <= self.high)).all())
        whole = bool((point[self.integer] == np.round(point[self.integer])).all())
        return inside and whole and all(sum(point[list(group)].tolist()) == 1 for group in self.one_hot)

    def length(self, u: Floats) -> float:
        """Return the norm of u."""
        return length(u, self.norm)

    def distance(self, point: Floats) -> float:
        """Return the distance of an input from x."""
        return length(self.weights * (point - self.x), self.norm)

    def margin(self, point: Floats) -> float:
        """Return by how much the decision at an input (n_in,) differs: 0 for a tie, negative if it does not."""
        z = self.layers.values(point[None])[0]
        return max(float(goal.margins(z)[0]) for goal in self.goals)

    def local_margins(self, u: Floats) -> Floats:
        """Return by how much the decisions at inputs u (b, n) differ: (b,)."""
        z = self.local.values(u)[0]
        return np.asarray(np.max([goal.margins(z) for goal in self.goals], axis=0))


def length(u: Floats, norm: str) -> float:
    """Return the norm of a vector; 0 of an empty one."""
    if not len(u):
        return 0.0
    return float(np.abs(u).sum() if norm == "l1" else np.abs(u).max() if norm == "linf" else np.linalg.norm(u))


def dual_length(u: Floats, norm: str) -> float:
    """Return the dual norm of a vector: how fast a linear function with these coefficients can grow."""
    return length(u, {"l1": "linf", "linf": "l1", "l2": "l2"}[norm])


def pose(
    net: NetworkLike,
    x: Any,
    target: Any,
    norm: str,
    box: Any,
    fixed: Sequence[int],
    integer: Sequence[int],
    one_hot: Sequence[Sequence[int]],
    weights: Any,
    rising: Sequence[int],
    falling: Sequence[int],
) -> Question:
    """Check the arguments of :func:`creases.certify.nearest` and return the question they ask."""
    work = as_network(net).to("cpu").to(torch.float64)
    n = work.n_in
    check_choice(norm, ["l1", "l2", "linf"], "norm")
    point = check_vector(check_numbers(x, "x").reshape(-1), "x", n)
    scale = np.ones(n) if weights is None else check_vector(weights, "weights", n)
    if (scale <= 0).any():
        raise InputError("weights", "be positive", f"{scale.min():g}", "hold a column with fixed")
    low, high = np.full(n, -np.inf), np.full(n, np.inf)
    if box is not None:
        low, high = check_box(box, n).T.copy()
    names = {"fixed": fixed, "integer": integer, "rising": rising, "falling": falling}
    masks = {name: _mask(columns, n, name) for name, columns in names.items()}
    groups = tuple(tuple(check_index(int(i), n, "one_hot") for i in group) for group in one_hot)
    grouped = [i for group in groups for i in group]
    if not all(groups) or len(set(grouped)) < len(grouped):
        raise InputError("one_hot", "be groups of one column or more, none of them in two groups", f"{groups}")
    for group in groups:
        part = list(group)
        masks["integer"][part] = True
        low[part], high[part] = np.maximum(low[part], 0.0), np.minimum(high[part], 1.0)
    low = np.where(masks["rising"], np.maximum(low, point), low)
    high = np.where(masks["falling"], np.minimum(high, point), high)
    low, high = (np.where(masks["fixed"], point, end) for end in (low, high))
    if (low > high).any():
        column = int((low > high).argmax())
        raise InputError("box", "allow a value for each column", f"none for column {column}")
    layers = read_layers(work)
    goals = _goals(layers.values(point[None])[0][0], target)
    return Question(work, point, norm, scale, low, high, masks["integer"], groups, goals, layers, target)  # type: ignore[arg-type]


def predicted_class(z: Floats) -> int:
    """Return the class decided at outputs (n_out,): the largest, or whether a single one is positive."""
    return int(z[0] > 0) if len(z) == 1 else int(z.argmax())


def _mask(columns: Sequence[int], n: int, name: str) -> Bools:
    mask = np.zeros(n, bool)
    for column in columns:
        mask[check_index(column, n, name)] = True
    return mask


def _goals(z: Floats, target: Any) -> tuple[Goal, ...]:
    """Return the goals for a target, given the outputs (n_out,) at x."""
    m = len(z)
    if isinstance(target, tuple | list):
        return (_range_goal(target, m),)
    predicted = predicted_class(z)
    classes = range(max(m, 2))
    if target is not None:
        target = check_index(target, len(classes), "target")
    if m == 1:
        sign = 1.0 if (1 - predicted if target is None else target) == 1 else -1.0
        return (Goal(np.array([[sign]]), np.zeros(1)),)
    eye = np.eye(m)
    if target is not None:
        return (Goal(np.delete(eye[target] - eye, target, axis=0), np.zeros(m - 1)),)
    others = [j for j in classes if j != predicted]
    return tuple(Goal((eye[j] - eye[predicted])[None], np.zeros(1)) for j in others)


def _range_goal(target: Sequence[Any], m: int) -> Goal:
    if len(target) != 2 or m != 1:
        raise InputError("target", "be a class, or a pair (lo, hi) for a network of one output", repr(target))
    lo, hi = (None if end is None or np.isinf(end) else float(end) for end in target)
    rows = [([1.0], -lo)] if lo is not None else []
    rows += [([-1.0], hi)] if hi is not None else []
    if not rows or (lo is not None and hi is not None and lo > hi):
        raise InputError("target", "be a pair (lo, hi) with lo <= hi, one of them finite", repr(target))
    return Goal(np.array([row for row, _ in rows]), np.array([constant for _, constant in rows]))
