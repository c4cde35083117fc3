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
from creases.certify._exact import exact_outputs
from creases.certify._form import Form, read_form
from creases.certify._whole_numbers import check_columns
from creases.certify.proofs._checker.statements import Subject, decision, nearest_goals
from creases.certify.proofs._format import ClaimKey, NearestStatement
from creases.certify.proofs._rounding import UNIT, gamma
from creases.errors import InputError
from creases.network import Network, NetworkLike, as_network

Norm = Literal["l1", "l2", "linf"]


@dataclass(frozen=True, eq=False)
class Goal:
    """A convex way to reach a different decision: outputs z with ``G z + g >= 0``."""

    key: ClaimKey  #: of its claim in a proof
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
    form: Form  #: the network as a function of its input
    asked: NearestStatement  #: the class of x in exact arithmetic, and what it should become

    @property
    def predicted(self) -> int:
        """Class of x."""
        return self.asked.predicted

    @cached_property
    def columns(self) -> Bools:
        """Which columns may change: (n_in,)."""
        moves: Bools = (self.low < self.high) | (self.low != self.x)
        return moves

    @cached_property
    def local(self) -> Form:
        """The network as a function of u."""
        return self.form.recenter(self.x, self.weights, self.columns)

    @cached_property
    def limits(self) -> tuple[Floats, Floats]:
        """Least and largest u, rounded outwards: (n,) each, infinite where there is no limit."""
        low, high = self.to_local(self.low), self.to_local(self.high)
        return low - 8 * UNIT * np.abs(low), high + 8 * UNIT * np.abs(high)

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
            room = 8 * UNIT * (np.abs(at_zero) + np.abs(at_one))
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
        return float(self.largest_margins(self.form.values(point[None])[0])[0])

    def local_margins(self, u: Floats) -> Floats:
        """Return by how much the decisions at inputs u (b, n) differ: (b,)."""
        return self.largest_margins(self.local.values(u)[0])

    def largest_margins(self, z: Floats) -> Floats:
        """Return by how much the decisions at outputs z (b, n_out) differ: (b,)."""
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
    limited = check_columns(integer, one_hot, n)
    names = {"fixed": fixed, "integer": limited.whole.tolist(), "rising": rising, "falling": falling}
    masks = {name: _mask(columns, n, name) for name, columns in names.items()}
    part = [j for group in limited.one_hot for j in group]
    low[part], high[part] = np.maximum(low[part], 0.0), np.minimum(high[part], 1.0)
    low = np.where(masks["rising"], np.maximum(low, point), low)
    high = np.where(masks["falling"], np.minimum(high, point), high)
    low, high = (np.where(masks["fixed"], point, end) for end in (low, high))
    if (low > high).any():
        column = int((low > high).argmax())
        raise InputError("box", "allow a value for each column", f"none for column {column}")
    form = read_form(work)
    exact = exact_outputs(work, point)
    predicted = decision(form.values(point[None])[0][0].tolist() if exact is None else exact)
    reached, ends = _check_target(target, work.n_out)
    asked = NearestStatement((), predicted, norm, (), (), np.inf, target=reached, target_range=ends)  # type: ignore[arg-type]
    goals = tuple(
        Goal(key, np.array([row.astype(float) for row in C]), np.array([float(value) for value in e]))
        for key, (C, e) in nearest_goals(Subject(None, n, work.n_out), asked).items()
    )
    return Question(work, point, norm, scale, low, high, masks["integer"], limited.one_hot, goals, form, asked)  # type: ignore[arg-type]


def _mask(columns: Sequence[int], n: int, name: str) -> Bools:
    mask = np.zeros(n, bool)
    for column in columns:
        mask[check_index(column, n, name)] = True
    return mask


def _check_target(target: Any, m: int) -> tuple[int | None, tuple[float | None, float | None] | None]:
    """Return the class to reach, or the range of a single output; an end of it may be open."""
    if not isinstance(target, tuple | list):
        return None if target is None else check_index(target, max(m, 2), "target"), None
    if len(target) != 2 or m != 1:
        raise InputError("target", "be a class, or a pair (lo, hi) for a network of one output", repr(target))
    lo, hi = (None if end is None or np.isinf(end) else float(end) for end in target)
    if (lo is None and hi is None) or (lo is not None and hi is not None and lo > hi):
        raise InputError("target", "be a pair (lo, hi) with lo <= hi, one of them finite", repr(target))
    return None, (lo, hi)
