"""Rows of a table to train on: duplicates merged into weights, in an order that does not depend on the table's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from creases._typing import Floats, Ints
from creases.errors import InputError


@dataclass(frozen=True, eq=False)
class UniqueRows:
    """The different rows of a table, each with its weight, sorted."""

    X: Floats  #: (n, d)
    y: Floats  #: (n, m)
    weight: Floats  #: (n,) above 0
    first: Ints  #: (n,) the number of the row in the table where each occurs first
    inverse: Ints  #: (rows of the table,) which of these each row is; -1 for rows of weight 0

    def __len__(self) -> int:
        return len(self.X)

    def table_rows(self, rows: Ints) -> Ints:
        """Return the numbers, in the table, of all rows that equal these."""
        return np.flatnonzero(np.isin(self.inverse, rows))


def merge_duplicates(X: Floats, y: Floats, weight: Floats) -> UniqueRows:
    """Merge equal rows X (n, d), y (n, m) into one with the sum of their weights (n,), and sort them.

    Rows of weight 0 are dropped. So a row of weight 2 and one that occurs twice are the same training problem to the
    last bit, and so are the rows in another order.

    Examples
    --------
    >>> X, y = np.array([[3.0], [1.0], [3.0]]), np.array([[0.0], [1.0], [0.0]])
    >>> rows = merge_duplicates(X, y, np.ones(3))
    >>> sorted(zip(rows.X[:, 0].tolist(), rows.weight.tolist(), rows.first.tolist()))
    [(1.0, 1.0, 1), (3.0, 2.0, 0)]
    """
    counted = np.flatnonzero(weight > 0)
    rows = np.ascontiguousarray(np.column_stack([X[counted], y[counted]])) + 0.0  # -0.0 becomes 0.0: equal, other bits
    keys = rows.view(np.dtype((np.void, rows.shape[1] * rows.itemsize)))[:, 0]  # compared byte by byte: fast
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    which = which.reshape(-1)
    total = np.bincount(which, weights=weight[counted])
    inverse = np.full(len(X), -1, np.int64)
    inverse[counted] = which
    d = X.shape[1]
    return UniqueRows(rows[first, :d], rows[first, d:], total.astype(np.float64), counted[first], inverse)


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

    Examples
    --------
    >>> class_weights(np.array([0, 0, 0, 1]), np.ones(4), ["no", "yes"], "balanced").tolist()
    [0.6666666666666666, 2.0]
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
