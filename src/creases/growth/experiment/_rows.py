"""A table in canonical form: what weights, repetition and order have to do with training is settled here, once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from creases._typing import Floats, Ints


@dataclass(frozen=True, eq=False)
class UniqueRows:
    """Rows that all differ and all count, in an order of their own."""

    X: Floats  #: (n, d)
    y: Floats  #: (n, m)
    weight: Floats  #: (n,) above 0
    first: Ints  #: (n,) where each row came first in the data it was made from

    def __len__(self) -> int:
        return len(self.X)


def merge_duplicates(X: Floats, y: Floats, weight: Floats) -> UniqueRows:
    """The rows X (n, d), y (n, m) with weights (n,) at least 0 as a :class:`UniqueRows`.

    Rows of weight 0 go, equal rows become one with the sum of their weights, and the rest is sorted. So a row of weight
    2 and one that comes twice are the same training problem to the last bit, and so is the data in another order.

    Examples
    --------
    >>> X, y = np.array([[3.0], [1.0], [3.0]]), np.array([[0.0], [1.0], [0.0]])
    >>> table = merge_duplicates(X, y, np.ones(3))
    >>> sorted(zip(table.X[:, 0].tolist(), table.weight.tolist(), table.first.tolist()))
    [(1.0, 1.0, 1), (3.0, 2.0, 0)]
    """
    counts = np.flatnonzero(weight > 0)
    rows = np.ascontiguousarray(np.column_stack([X[counts], y[counts]])) + 0.0  # -0.0 becomes 0.0: equal, other bits
    keys = rows.view(np.dtype((np.void, rows.shape[1] * rows.itemsize)))[:, 0]  # compared byte by byte: fast
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    total = np.bincount(inverse.reshape(-1), weights=weight[counts])
    d = X.shape[1]
    return UniqueRows(rows[first, :d], rows[first, d:], total.astype(np.float64), counts[first])


def split_rows(table: UniqueRows, share: float, seed: int, *, by_class: bool) -> tuple[Ints, Ints]:
    """Row numbers to train on and to measure with, both rising; by class: each in about the same shares in both.

    The only row of its class is trained on.
    """
    order = np.random.default_rng(seed).permutation(len(table))
    if by_class:
        classes = table.y[order, 0].astype(np.int64)
        order, classes = order[np.argsort(classes, kind="stable")], np.sort(classes)
        order = order[np.bincount(classes)[classes] > 1]
    count = round(share * len(order))
    picked = ((np.arange(count) + 0.5) / max(count, 1) * len(order)).astype(np.int64)  # evenly over the classes
    held = np.sort(order[picked])
    return np.setdiff1d(np.arange(len(table)), held), held
