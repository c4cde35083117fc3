"""The largest value of an objective over inputs with whole numbers and one-hot groups.

Branch and bound over these columns: a node is a box, in which they may be any numbers between its ends. A search that
knows no whole numbers closes it, or returns an input that is rounded to one that is allowed, or the node is split.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import numpy as np

from creases._typing import Floats, Ints
from creases._validation import check_index
from creases.certify._maximize.domain import Domain
from creases.certify._maximize.objectives import LeastRow
from creases.certify._maximize.queue_search import Extreme, Limits, OpenNode, QueueSearch
from creases.certify._maximize.search import maximize_objective, sample_points
from creases.certify.proofs._format import Leaf, Multipliers
from creases.errors import InputError

#: Seconds for a node with open columns, and their share of the time that is left, if that is more.
NODE_SECONDS, NODE_SHARE = 0.1, 0.5

#: Whole numbers beyond it have floats between which there is no half.
LARGEST = 2.0**51


@dataclass(frozen=True)
class Columns:
    """Columns of whole numbers, and groups of columns of which one is 1 and the others are 0."""

    integer: tuple[int, ...] = ()
    one_hot: tuple[tuple[int, ...], ...] = ()

    def __bool__(self) -> bool:
        """Return whether anything is asked for."""
        return bool(self.integer or self.one_hot)

    @property
    def whole(self) -> Ints:
        """All columns of whole numbers."""
        return np.array(sorted({*self.integer, *(j for group in self.one_hot for j in group)}), int)

    def allows(self, x: Sequence[Any] | Floats) -> bool:
        """Whether an input (n,) of floats or fractions has whole numbers and one 1 in each group."""
        is_whole = all(x[j] == round(x[j]) for j in self.whole)
        return is_whole and all(sorted(x[j] for j in group) == [0] * (len(group) - 1) + [1] for group in self.one_hot)

    def round(self, X: Floats, box: Floats) -> Floats:
        """Return the nearest inputs of a box (n, 2) with whole numbers and one 1 in each group, of inputs (p, n)."""
        X, whole = X.copy(), self.whole
        X[:, whole] = np.clip(np.round(X[:, whole]), *box[whole].T)
        for group in map(list, self.one_hot):
            chosen = np.where(box[group, 1] >= 1, X[:, group], -1.0).argmax(axis=1)
            X[:, group] = np.eye(len(group))[chosen]
        return X

    def narrow(self, box: Floats) -> Floats:
        """Return the box (n, 2) with whole ends of these columns, and groups from 0 to 1."""
        box, grouped = box.copy(), [j for group in self.one_hot for j in group]
        box[grouped] = np.stack([np.maximum(box[grouped, 0], 0.0), np.minimum(box[grouped, 1], 1.0)], axis=1)
        box[self.whole] = np.stack([np.ceil(box[self.whole, 0]), np.floor(box[self.whole, 1])], axis=1) + 0.0
        return box

    def add_rows(self, domain: Domain) -> Domain:
        """Return a domain in which every group adds up to 1: two more rows for each."""
        rows = np.zeros((2 * len(self.one_hot), len(domain.box)))
        for k, group in enumerate(self.one_hot):
            rows[2 * k, list(group)], rows[2 * k + 1, list(group)] = 1.0, -1.0
        limits = np.tile([1.0, -1.0], len(self.one_hot))
        return Domain(domain.box, np.vstack([domain.A, rows]), np.concatenate([domain.b, limits]))


#: Columns that are not limited.
EVERY_INPUT = Columns()


def check_columns(integer: Sequence[int], one_hot: Sequence[Sequence[int]], n: int) -> Columns:
    """Return columns of whole numbers and one-hot groups of n inputs, checked."""
    groups = tuple(tuple(check_index(j, n, "one_hot") for j in group) for group in one_hot)
    grouped = [j for group in groups for j in group]
    if not all(groups) or len(set(grouped)) < len(grouped):
        raise InputError("one_hot", "be groups of one column or more, none of them in two groups", f"{groups}")
    return Columns(tuple(sorted({check_index(j, n, "integer") for j in integer})), groups)


def check_values(columns: Columns, box: Floats) -> None:
    """Refuse a box (n, 2) without an allowed value for a column or a group."""
    ends = columns.narrow(box)
    crossed = np.flatnonzero(ends[:, 0] > ends[:, 1])
    if len(crossed):
        j = int(crossed[0])
        expected = f"allow a whole number for column {j}" if j in columns.integer else f"allow 0 or 1 for column {j}"
        raise InputError("box", expected, f"{box[j, 0]:g} to {box[j, 1]:g}")
    for group in map(list, columns.one_hot):
        if ends[group, 0].sum() > 1 or ends[group, 1].sum() < 1:
            raise InputError("box", "allow exactly one 1 in each group of one_hot", f"none or several in {group}")


@dataclass(frozen=True, eq=False)
class _Part(OpenNode):
    """A box that is not looked at yet."""

    box: Floats  #: (n, 2)


class ColumnSearch(QueueSearch):
    """The search for the largest value over the allowed inputs of a domain, depth first.

    It ends with an input whose value is above ``limits.stop_above``, or when none is above ``limits.stop_below``.
    """

    batch = 1
    objective: LeastRow

    def __init__(self, objective: LeastRow, domain: Domain, columns: Columns, limits: Limits) -> None:
        self.columns, self.n_rows, self.whole = columns, len(domain.b), columns.whole
        if (np.abs(domain.box[self.whole]) > LARGEST).any():
            raise InputError("integer", "be columns whose box is within 2^51")
        allowed = columns.add_rows(replace(domain, box=columns.narrow(domain.box)))
        super().__init__(objective, allowed, limits, lambda what, done, total: None)
        self.order = count(0, -1)  # no part has a bound before it is searched: the last one first
        # A search over boxes, for networks that have no matrices, has a proof for a box alone.
        self.has_rows = objective.form is not None

    def bound_root(self) -> None:
        """Put the whole box into the queue."""
        self.put(_Part(0, np.inf, Leaf("bounds"), self.domain.box))

    def proved_value(self) -> float:
        """Return the value of the best point, which is proved where it is above ``limits.stop_above``."""
        return self.lower

    def split(self, nodes: list[_Part]) -> None:
        """Search a box without regard to whole numbers; close it, or divide it."""
        place = self._fix_groups(nodes[0].number, nodes[0].box)
        if place is None:
            return
        number, box = place
        extreme = self._search(box)
        if self.lower <= self.limits.stop_above and extreme.upper <= self.limits.stop_below:
            self.has_proof = self.has_proof and extreme.tree is not None
            self.close(number, extreme.upper, extreme.tree or Leaf("bounds"))
            return
        column, at = self._choose(box, extreme.where)
        if column < 0 or self.lower > self.limits.stop_above:
            self.close(number, np.inf, Leaf("bounds"))
            return
        parts = [box.copy(), box.copy()]
        parts[0][column, 1], parts[1][column, 0] = np.floor(at), np.ceil(at)
        children = list(zip(self.record.split(number, "input", column, at), parts, strict=True))
        for child, part in children if extreme.where[column] > at else children[::-1]:  # the nearer one first
            self.put(_Part(child, np.inf, Leaf("bounds"), part))

    def _search(self, box: Floats) -> Extreme:
        """Search a box without regard to whole numbers, and try what is found, rounded."""
        domain, now = self._relax(box), time.monotonic()
        left = self.limits.deadline - now
        is_open = bool((box[self.whole, 0] < box[self.whole, 1]).any())
        seconds = min(left, max(NODE_SECONDS, NODE_SHARE * left)) if is_open else left
        start = sample_points(domain)
        self._try(start, box)
        if self.lower > self.limits.stop_above:
            return Extreme(self.lower, self.where, np.inf)
        limits = replace(self.limits, deadline=now + seconds)
        found = maximize_objective(self.objective, domain, limits, start=start)
        if np.isfinite(found.lower):
            self._try(found.where[None], box)
        return found

    def _relax(self, box: Floats) -> Domain:
        """Return the inputs of a box with all rows that say something in it."""
        A, b = self.domain.A.copy(), self.domain.b.copy()
        if not self.has_rows:
            return Domain(box, A[: self.n_rows], b[: self.n_rows])
        for k, group in enumerate(map(list, self.columns.one_hot)):
            if (box[group, 0] == box[group, 1]).all():  # an equation leaves no interior
                rows = slice(self.n_rows + 2 * k, self.n_rows + 2 * k + 2)
                A[rows], b[rows] = 0.0, 1.0
        return Domain(box, A, b)

    def _try(self, X: Floats, box: Floats) -> None:
        """Keep the best of inputs (p, n), rounded, by the value that is proved."""
        X = self.columns.round(X, box)
        X = X[self.domain.contains(X)]
        self.try_points(X[[self.columns.allows(x) for x in X]] if len(X) else X)

    def _choose(self, box: Floats, x: Floats) -> tuple[int, float]:
        """Return the column to split and where: the furthest from a whole number, or in a group that is not one-hot."""
        is_open = box[self.whole, 0] < box[self.whole, 1]
        if not is_open.any():
            return -1, 0.0
        away = np.abs(x[self.whole] - np.round(x[self.whole]))
        wrong = [j for group in self.columns.one_hot if x[list(group)].sum() != 1 for j in group]
        score = away + 1e-3 * np.isin(self.whole, wrong) + 1e-6 * np.ptp(box[self.whole], axis=1) / LARGEST
        column = int(self.whole[np.where(is_open, score, -1.0).argmax()])
        low, high = box[column]
        return column, float(np.clip(np.floor(x[column]), low, high - 1) + 0.5)

    def _fix_groups(self, number: int, box: Floats) -> tuple[int, Floats] | None:
        """Return a node, and its number, in which all columns of groups are fixed that must be; None if it is closed.

        Each of them is split, and the part where the group does not add up to 1 is closed by its row.
        """
        if (box[:, 0] > box[:, 1]).any():
            self.record.close(number, Leaf("empty"))
            return None
        box = box.copy()
        for k, group in enumerate(map(list, self.columns.one_hot)):
            above, below = (Leaf("empty", Multipliers(domain={self.n_rows + 2 * k + i: 1.0})) for i in (0, 1))
            ones, most = int(box[group, 0].sum()), int(box[group, 1].sum())
            if ones > 1 or most < 1:
                self.record.close(number, above if ones > 1 else below)
                return None
            for j in group if ones == 1 or most == 1 else []:
                if box[j, 0] == box[j, 1]:
                    continue
                zero, one = self.record.split(number, "input", j, 0.5)
                if ones == 1:
                    self.record.close(one, above)
                    box[j, 1], number = 0.0, zero
                else:
                    self.record.close(zero, below)
                    box[j, 0], number = 1.0, one
        return number, box
