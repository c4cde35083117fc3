"""Rows of a table to train on: duplicates merged into weights, in an order that does not depend on the table's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from creases._typing import Floats, Ints
from creases.errors import InputError

#: Weights that are whole numbers are copies of rows up to this many in all.
MAX_COPIES = 10_000_000

#: More parts than a table is ever split into.
PARTS = 8

#: Rows for each value of a column that has few, and the decimals that its values have at most.
ROWS_PER_VALUE, FEW_DIGITS = 5, 2


@dataclass(frozen=True, eq=False)
class UniqueRows:
    """The different rows of a table, each with its weight, sorted."""

    X: Floats  #: (n, d)
    y: Floats  #: (n, m)
    weight: Floats  #: (n,) above 0
    count: Ints  #: (n,) copies: how often each occurs in the table, where a row of weight 2 occurs twice
    first: Ints  #: (n,) the number of the row in the table where each occurs first
    inverse: Ints  #: (rows of the table,) which of these each row is; -1 for rows of weight 0
    group: Ints | None = None  #: (n,) rows of a group are in one part and one fold; None where each row is by itself
    is_time: bool = False  #: whether groups are in the order of time: later ones are held out

    def __len__(self) -> int:
        return len(self.X)

    def table_rows(self, rows: Ints) -> Ints:
        """Return the numbers, in the table, of all rows that equal these."""
        return np.flatnonzero(np.isin(self.inverse, rows))

    @cached_property
    def deals_copies(self) -> bool:
        """Whether equal rows are dealt to all parts and folds, a share of the copies of each to every one.

        So they are where columns of few values make equal rows by chance: with copies kept together, a combination of
        values could be in no part that is fitted, and parts would hold other targets for the same inputs. In other
        tables equal rows are the same case twice. A copy in another part would give its target away, so copies are
        kept together.
        """
        return self.group is None and (self._has_few_values or self._has_other_targets)

    @property
    def _has_few_values(self) -> bool:
        """Whether every input has few values, written with few digits: categories, codes, counts, grades."""
        total = self.count.sum()
        for x in self.X.T:
            if (np.round(x, FEW_DIGITS) != x).any() or ROWS_PER_VALUE * len(np.unique(x)) > total:
                return False
        return True

    @property
    def _has_other_targets(self) -> bool:
        """Whether most rows have inputs that occur with other targets too."""
        which = np.unique(_row_keys(self.X), return_inverse=True)[1].reshape(-1)
        _, first = np.unique(
            _row_keys(np.column_stack([self.X, self.y])), return_index=True
        )  # a row may be in two parts
        targets = np.bincount(which[first], minlength=len(which))
        return 2 * int(self.count[targets[which] > 1].sum()) > int(self.count.sum())

    def describe_copies(self) -> str:
        """Say what becomes of equal rows in splits, and why; "" if there are none."""
        n_equal = int(self.count[self.count > 1].sum())
        if not n_equal:
            return ""
        rows = f"{n_equal:,} of {int(self.count.sum()):,} rows occur more than once"
        if self.group is not None:
            return ""
        if self._has_few_values:
            return f"{rows}, since all columns have few values: a share of the copies of each is held out"
        if self._has_other_targets:
            return f"{rows}, most of them with other targets too: a share of the copies of each is held out"
        return f"{rows}: copies of a row are held out together, as a copy would give its target away"

    def deal(self, rows: Ints) -> Ints:
        """Return what is dealt to parts and folds: the rows by number, or each as often as it has copies."""
        return np.repeat(rows, self.count[rows]) if self.deals_copies else rows


def merge_duplicates(X: Floats, y: Floats, weight: Floats) -> UniqueRows:
    """Merge equal rows X (n, d), y (n, m) into one with the sum of their weights (n,), and sort them.

    Rows of weight 0 are dropped. So a row of weight 2 and one that occurs twice are the same training problem to the
    last bit, and so are the rows in another order.
    """
    counted = np.flatnonzero(weight > 0)
    rows = np.column_stack([X[counted], y[counted]]) + 0.0  # -0.0 becomes 0.0: equal, other bits
    _, first, which = np.unique(_row_keys(rows), return_index=True, return_inverse=True)
    which = which.reshape(-1)
    total = np.bincount(which, weights=weight[counted])
    is_count = bool((weight == np.round(weight)).all()) and total.sum() <= MAX_COPIES
    count = total.astype(np.int64) if is_count else np.bincount(which)
    inverse = np.full(len(X), -1, np.int64)
    inverse[counted] = which
    d = X.shape[1]
    return UniqueRows(rows[first, :d], rows[first, d:], total.astype(np.float64), count, counted[first], inverse)


def _row_keys(rows: Floats) -> NDArray[Any]:
    """Return keys (n,) of rows (n, d) that are compared byte by byte, which is fast."""
    rows = np.ascontiguousarray(rows)
    keys: NDArray[Any] = rows.view(np.dtype((np.void, max(rows.shape[1], 1) * rows.itemsize)))[:, 0]
    return keys


def split_copies(rows: UniqueRows, part: Ints, dealt: Ints) -> tuple[UniqueRows, Ints]:
    """Return a row for each row and each of its copies' parts, and these parts; ``dealt`` and ``part`` are copies'."""
    pairs, first, share = np.unique(np.column_stack([dealt, part]), axis=0, return_index=True, return_counts=True)
    which, parts = pairs.T
    weight = rows.weight[which] * share / rows.count[which]
    counted = np.flatnonzero(rows.inverse >= 0)
    order = counted[np.argsort(rows.inverse[counted], kind="stable")]  # the table's rows as they were dealt
    number = np.searchsorted(which * PARTS + parts, dealt * PARTS + part)  # of each copy's new row
    is_once = len(order) == len(dealt)  # no row of the table has a weight other than 1
    inverse = np.full(len(rows.inverse), -1, np.int64)
    inverse[order] = number if is_once else number[np.searchsorted(dealt, rows.inverse[order])]
    table_rows = order[first] if is_once else rows.first[which]
    return UniqueRows(rows.X[which], rows.y[which], weight, share, table_rows, inverse), parts


def fold_weights(rows: UniqueRows, among: Ints, n_folds: int, seed: int, *, stratify: bool) -> Floats:
    """Return the weight (n_folds, n) of each of n rows, by number, that each fold holds out.

    Rows are shuffled; with ``stratify`` each class has about the same share in all folds. The sum over the folds is the
    weight of a row: a fold is fitted to the rest of it. Rows of a group are held out by one fold; in the order of time
    a fold is a stretch of it, the first fold the last stretch.
    """
    if rows.group is not None:
        part = deal_groups(rows, among, n_folds, seed)
        return np.asarray((part == np.arange(n_folds)[:, None]) * rows.weight[among])
    position = np.full(len(rows), -1)
    position[among] = np.arange(len(among))
    dealt = position[rows.deal(among)]
    order = dealt[np.random.default_rng(seed).permutation(len(dealt))]
    if stratify:
        order = order[np.argsort(rows.y[among][order, 0], kind="stable")]
    held = np.zeros((n_folds, len(among)))
    np.add.at(held, (np.arange(len(order)) % n_folds, order), 1.0)
    result: Floats = held * (rows.weight[among] / held.sum(axis=0))
    return result


def deal_groups(rows: UniqueRows, among: Ints, n_parts: int, seed: int) -> Ints:
    """Return the part (n,) of some rows, by number, so that groups stay together and parts are about as large."""
    assert rows.group is not None
    groups, which = np.unique(rows.group[among], return_inverse=True)
    if len(groups) < n_parts:
        what = "times" if rows.is_time else "groups"
        raise InputError("time" if rows.is_time else "groups", f"have at least {n_parts} {what}", f"{len(groups)}")
    sizes = np.bincount(which, rows.count[among])
    if rows.is_time:
        middle = (np.cumsum(sizes) - sizes / 2) / sizes.sum()
        return np.asarray(n_parts - 1 - (middle * n_parts).astype(np.int64).clip(0, n_parts - 1))[which]
    part, filled = np.zeros(len(groups), np.int64), np.zeros(n_parts)
    order = np.random.default_rng(seed).permutation(len(groups))
    for k in order[np.argsort(-sizes[order], kind="stable")].tolist():  # the largest first, each to the emptiest part
        part[k] = filled.argmin()
        filled[part[k]] += sizes[k]
    return part[which]


def split_groups(rows: UniqueRows, fraction: float, seed: int) -> tuple[Ints, Ints]:
    """Split rows so that those of a group are on one side; return the numbers of both parts, rising.

    In the order of time, the last are in the second.
    """
    assert rows.group is not None
    groups, which = np.unique(rows.group, return_inverse=True)
    sizes = np.bincount(which, rows.count)
    order = np.arange(len(groups))[::-1] if rows.is_time else np.random.default_rng(seed).permutation(len(groups))
    filled = np.cumsum(sizes[order]) - sizes[order] / 2
    chosen = order[filled < fraction * sizes.sum()]
    is_second = np.isin(which, chosen)
    return np.flatnonzero(~is_second), np.flatnonzero(is_second)


def split_rows(y: Floats, fraction: float, seed: int, *, stratify: bool) -> tuple[Ints, Ints]:
    """Split rows with targets y (n, m) at random; return the row numbers of both parts, rising.

    With ``stratify`` each class has about the same share in both parts, and the only row of its class is in the first.
    """
    order = np.random.default_rng(seed).permutation(len(y))
    if stratify:
        classes = y[order, 0].astype(np.int64)
        order, classes = order[np.argsort(classes, kind="stable")], np.sort(classes)
        order = order[np.bincount(classes)[classes] > 1]
    count = round(fraction * len(order))
    picked = ((np.arange(count) + 0.5) / max(count, 1) * len(order)).astype(np.int64)  # evenly over the classes
    second = np.sort(order[picked])
    return np.setdiff1d(np.arange(len(y)), second), second


def class_weights(y: Ints, weight: Floats, classes: Sequence[Any], class_weight: str | Mapping[Any, float]) -> Floats:
    """Return the weight of each class, for rows with class numbers y (n,) and weights (n,).

    ``"balanced"``: so that all classes that occur weigh the same, and all rows as much as before. A dictionary names
    classes; others have weight 1.
    """
    if isinstance(class_weight, str):
        total = np.bincount(y, weights=weight, minlength=len(classes))
        present = total > 0
        return np.where(present, total.sum() / (present.sum() * np.where(present, total, 1.0)), 1.0)
    names = {str(name): k for k, name in enumerate(classes)}
    unknown = [name for name in class_weight if str(name) not in names]
    if unknown:
        raise InputError("class_weight", f"name classes among {', '.join(names)}", repr(unknown[0]))
    weights = np.ones(len(classes))
    for name, value in class_weight.items():
        weights[names[str(name)]] = value
    return weights
