"""The probability from which the second of two classes is predicted."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from creases._typing import Bools, Floats, Ints

if TYPE_CHECKING:
    from creases.tables._split.split import TableSplit


def choose_threshold(net: Callable[[Floats], Floats], data: TableSplit, threshold: float | str) -> float:
    """Return the threshold: as given, or the best on the rows to validate with by a score.

    Parameters
    ----------
    net
        The network, for rows in the data's own units.
    data
        The split; of its rows each counts by its weight, without the weights of classes.
    threshold
        A number, or ``"f1"``, ``"balanced_accuracy"`` or ``"accuracy"``, the score to maximize. Candidates are halfway
        between neighboring probabilities; of equally good ones the middle is taken. Without rows to validate with, or
        where these are of one class, it is 0.5.
    """
    if not isinstance(threshold, str):
        return float(threshold)
    rows = data.parts[1]
    outputs = np.asarray(net(data.rows.X[rows])) if len(rows) else np.zeros((0, 2))
    return best_threshold(outputs[:, 1] - outputs[:, 0], data, rows, data.rows.weight[rows], threshold)


def best_threshold(margins: Floats, data: TableSplit, rows: Ints, weight: Floats, score: str) -> float:
    """Return the threshold that maximizes a score of rows, by number, with margins (n,) and weights (n,)."""
    y = data.rows.y[rows, 0].astype(np.int64)
    if len(np.unique(y)) < 2:
        return 0.5
    weight = weight / (1.0 if data.class_weights is None else data.class_weights[y])
    values = np.unique(margins)
    cuts = np.concatenate([[min(values[0] - 1, 0.0)], (values[1:] + values[:-1]) / 2, [max(values[-1] + 1, 0.0)]])
    scores = _scores(margins, y == 1, weight, cuts, score)
    best = np.flatnonzero(scores >= scores.max() - 1e-12)
    return float(np.clip(1 / (1 + np.exp(-cuts[best[len(best) // 2]])), 1e-6, 1 - 1e-6))


def _scores(margins: Floats, positive: Bools, weight: Floats, cuts: Floats, rule: str) -> Floats:
    """Return a score (k,) for each cut (k,), the second class being decided above it."""
    order = np.argsort(margins, kind="stable")
    below = np.searchsorted(margins[order], cuts, side="right")
    hits = np.append(0.0, np.cumsum((weight * positive)[order]))
    others = np.append(0.0, np.cumsum((weight * ~positive)[order]))
    missed, rejected = hits[below], others[below]
    correct, accepted = hits[-1] - missed, others[-1] - rejected
    if rule == "f1":
        return np.asarray(2 * correct / (2 * correct + accepted + missed))
    if rule == "balanced_accuracy":
        return np.asarray((correct / hits[-1] + rejected / others[-1]) / 2)
    return np.asarray((correct + rejected) / (hits[-1] + others[-1]))
