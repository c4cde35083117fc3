"""Columns that can trade their effects: rows that move together cannot tell which of two has one."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from creases._typing import Floats, Ints
from creases.tables._stages.inputs import Inputs
from creases.tables._stages.penalized import Fit
from creases.tables._stages.rows import Rows

#: Correlation of the errors of two effects, and share of the deviation of all scores that goes from one to the other,
#: from which on two columns can trade.
TRADING, TRADED = -0.4, 0.06

#: Rows that trades are looked for in at most, and quantiles of a column that its effect is said between.
MOST_ROWS, BETWEEN = 5_000, (0.1, 0.9)

#: Standard errors on both sides of an effect that are its range.
ERRORS = 2.0


@dataclass(frozen=True)
class Effect:
    """What a column adds from one of its usual values to another, and what it could add at nearly the same loss."""

    inputs: tuple[int, int]  #: that differ: twice the same number, or two levels of a category
    values: tuple[float, float]  #: of the number, from and to; 1 and 1 of levels
    low: float
    high: float

    def scale(self, factor: float) -> Effect:
        """Return the effect in other units."""
        return replace(self, low=self.low * float(factor), high=self.high * float(factor))


@dataclass(frozen=True)
class Trade:
    """Two columns that can trade their effects on a score."""

    effects: tuple[Effect, Effect]
    score: int


def find_trades(fit: Fit, rows: Rows, inputs: Inputs, scale: Floats) -> list[Trade]:
    """Return the pairs of columns of which one could take what the other gives up, those that trade most first.

    The penalized normal equations say how the weights err together. What columns add to rows errs by the same amount
    into opposite directions if the rows cannot tell which of them has an effect. ``scale`` (m,) is that of scores.
    """
    step = max(len(rows) // MOST_ROWS, 1)
    X, weight = rows.X[::step], rows.weight[::step] / rows.weight[::step].sum()
    curves = fit.basis.curves
    variables = np.where(inputs.groups >= 0, len(inputs.names) + inputs.groups, np.arange(len(inputs.names)))
    p, owner = len(curves.penalty), variables[curves.feature]
    F = curves(X)
    F = F - weight @ F
    gram = (F * weight[:, None]).T @ F
    members = np.zeros((owner.max() + 1, p))
    members[owner, np.arange(p)] = 1.0
    gaps = np.unique(np.concatenate(inputs.gaps)).astype(np.int64)  # inputs that say that others are missing
    gaps = gaps[gaps < len(members)]
    found: dict[tuple[int, int], tuple[float, Trade]] = {}
    for c, covariance in enumerate(fit.covariance):
        errors = members @ (covariance[:p, :p] * gram) @ members.T
        sizes = np.sqrt(np.diag(errors).clip(1e-300))
        total = float((fit.weights[:p, c] @ gram @ fit.weights[:p, c]).clip(0.0)) ** 0.5
        traded = np.sqrt(np.maximum(-errors, 0.0))
        can_trade = (errors < TRADING * np.outer(sizes, sizes)) & (traded > max(TRADED * total, 1e-9))
        can_trade[gaps] = can_trade[:, gaps] = False
        for a, b in np.argwhere(np.triu(can_trade, 1)).tolist():
            share = float(traded[a, b]) / total if total else 0.0
            if share > found.get((a, b), (0.0, None))[0]:
                first, second = (_effect(fit, c, np.flatnonzero(variables == k), X, weight, inputs) for k in (a, b))
                found[a, b] = (share, Trade((first.scale(scale[c]), second.scale(scale[c])), c))
    return [trade for _, trade in sorted(found.values(), key=lambda each: -each[0])]


def _effect(fit: Fit, score: int, own: Ints, X: Floats, weight: Floats, inputs: Inputs) -> Effect:
    """Return what inputs (k,), of one column, add between two usual values, in units of the fit."""
    ends = np.repeat((weight @ X)[None], 2, axis=0)
    if len(own) > 1:
        first, second = own[np.argsort(-(weight @ X[:, own]), kind="stable")[:2]].tolist()
        ends[:, own] = 0.0
        ends[0, first] = ends[1, second] = 1.0
    else:
        first = second = int(own[0])
        if inputs.is_numeric[first]:
            ends[:, first] = np.quantile(X[:, first], BETWEEN, method="inverted_cdf", weights=weight)
        else:
            ends[:, first] = 0.0, 1.0
    values = (float(ends[0, first]), float(ends[1, second]))
    curves = fit.basis.curves
    p = len(curves.penalty)
    for j in own.tolist():
        ends[:, inputs.gaps[j]] = 0.0
    change = np.diff(curves(ends), axis=0)[0]
    middle = float(change @ fit.weights[:p, score])
    error = float(change @ fit.covariance[score][:p, :p] @ change) ** 0.5
    return Effect((first, second), values, middle - ERRORS * error, middle + ERRORS * error)
