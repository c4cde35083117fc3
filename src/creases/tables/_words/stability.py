"""By how much predictions can change while the numbers of a row change a little: bounds that hold for every change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from creases._text import format_value
from creases._typing import Bools, Floats
from creases.tables._stages.basis import PiecewiseLinear
from creases.tables._stages.pairs import PairHinges
from creases.tables._words.goals import class_goals
from creases.tables._words.rows import InputRanges
from creases.tables._words.terms import Terms

#: Bounds nearer to 0 than this share of their size may be rounding.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Stability:
    """What small changes of the numbers of rows can do; dates, categories and missing values stay as they are."""

    reach: float  #: how far each number may move, in standard deviations
    stable: Bools  #: (n,) rows whose decision provably cannot change; of a regression all False
    changed: Bools  #: (n,) rows for which a change of the decision was found; the others are undecided
    change: Floats  #: (n,) of a regression: the prediction changes by no more than this; else NaN
    is_relative: bool = False  #: whether changes are in per cent of the prediction

    def sentence(self, unit: str) -> str:
        """Return what is known, in words."""
        step = "a tenth of a standard deviation" if self.reach == 0.1 else f"{self.reach:g} standard deviations"
        within = f"while every number changes by up to {step}"
        n = len(self.stable)
        if np.isfinite(self.change).all() and n:
            unit = " %" if self.is_relative else unit
            typical, most = (f"{format_value(value, 3)}{unit}" for value in (np.median(self.change), self.change.max()))
            return f"{within[0].upper()}{within[1:]}, predictions change by at most {most}, half by at most {typical}."
        share, lost = 100 * self.stable.mean(), 100 * self.changed.mean()
        rest = f"; for {100 - share - lost:.0f} % it is open" if share + lost < 99.5 else ""
        kept = f"{share:.0f} % of {n} test rows keep their decision {within} (computed)"
        return f"{kept}; for {lost:.0f} % a change was found{rest}."


def measure_stability(terms: Terms, X: Floats, ranges: InputRanges, reach: float = 0.1) -> Stability:
    """Bound what changes of encoded rows X (n, d) by up to ``reach`` standard deviations of each number can do."""
    is_number = np.array([feature.kind == "number" for feature in terms.encoding.features])
    step = np.where(is_number, reach * ranges.spread, 0.0)
    known = np.ones(X.shape, bool)
    for term in terms.columns:
        if term.indicator is not None or term.codes:
            known[:, term.inputs] = term.is_number(X)[:, None]
    low, high = X - step * known, X + step * known
    if terms.classes is None:
        (rise, _), (fall, _) = (_lowest_change(terms, X, low, high, sign) for sign in (-np.ones(1), np.ones(1)))
        change = np.maximum(-rise, -fall)
        change = (100 * np.expm1(change) if terms.is_factor else change) * (1 + ROUNDING)
        return Stability(reach, np.zeros(len(X), bool), np.zeros(len(X), bool), change, terms.is_factor)
    stable, changed = np.ones(len(X), bool), np.zeros(len(X), bool)
    scores = terms.scores(X)
    for goal in class_goals(terms):
        rows = np.flatnonzero(~goal.reached(terms, scores))
        needs = -goal.margins(terms, scores[rows])  # what is still needed: one that stays needed keeps the decision
        bounds = [_lowest_change(terms, X[rows], low[rows], high[rows], -d) for d in goal.directions(terms)[0]]
        left = needs + np.stack([change for change, _ in bounds], axis=1)
        stable[rows] &= left.max(axis=1) > ROUNDING * np.abs(needs).max(axis=1, initial=1.0)
        for _, corner in bounds:
            changed[rows] |= goal.reached(terms, terms.scores(corner))
    return Stability(reach, stable & ~changed, changed, np.full(len(X), np.nan))


def _lowest_change(terms: Terms, X: Floats, low: Floats, high: Floats, d: Floats) -> tuple[Floats, Floats]:
    """Return a lower bound (n,) of the change of ``d . scores`` in boxes around rows, and rows (n, d) near the least.

    Of curves alone the bound is exact, and reached at these rows.
    """
    corner = X.copy()
    total = np.zeros(len(X))
    for j, curve in enumerate(terms.model.curves.values()):
        moves = low[:, j] < high[:, j]
        if not moves.any():
            continue
        inner = np.clip(curve.knots[None], low[:, [j]], high[:, [j]])
        places = np.concatenate([low[:, [j]], high[:, [j]], inner], axis=1)  # (n, k): the least is at an end or a knot
        values = terms.to_points(curve(places.reshape(-1))) @ d
        values = values.reshape(places.shape)
        own = terms.to_points(curve(X[:, j])) @ d
        total += np.where(moves, values.min(axis=1) - own, 0.0)
        corner[:, j] = np.where(moves, places[np.arange(len(X)), values.argmin(axis=1)], X[:, j])
    for plane in terms.model.planes:
        ends = _spread_ranges(plane.hinges, low, high)
        sides = zip(plane.hinges.first.tolist(), plane.hinges.second.tolist(), plane.hinges.weights, strict=True)
        effects = terms.to_points(plane.weights) @ d
        own = plane.hinges(X)
        for h, (i, j, (a, b, c)) in enumerate(sides):
            inputs = [np.stack([weight * ends[0][k], weight * ends[1][k]]) for k, weight in ((i, a), (j, b))]
            least, most = (sum(f(each, axis=0) for each in inputs) + c for f in (np.min, np.max))
            total += _least(effects[h], own[:, h], np.maximum(least, 0), np.maximum(most, 0))
        total += _least_margins(terms, d, plane.margins, X, low, high)
    units = terms.model.units
    if units is not None:
        spreads = [units.spread(end) for end in (low, high)]
        rising, falling = np.maximum(units.weights, 0).T, np.minimum(units.weights, 0).T
        least = spreads[0] @ rising + spreads[1] @ falling + units.biases
        most = spreads[1] @ rising + spreads[0] @ falling + units.biases
        own = np.maximum(units.spread(X) @ units.weights.T + units.biases, 0)
        effects = terms.to_points(units.outputs) @ d
        total += _least(effects, own, np.maximum(least, 0), np.maximum(most, 0)).sum(axis=1)
        total += _least_margins(terms, d, units.margins, X, low, high)
    return total, corner


def _spread_ranges(hinges: PairHinges, low: Floats, high: Floats) -> list[dict[int, Floats]]:
    """Return the least and the largest values of what hinges read in boxes from low to high (n, d)."""
    ends = [hinges.spread(end) for end in (low, high)]
    for key, (j, _) in hinges.folds.items():
        fold = hinges.fold(key)
        inner = [fold(np.clip(knot, low[:, j], high[:, j]))[:, 0] for knot in fold.knots]
        every = np.stack([ends[0][key], ends[1][key], *inner])
        ends[0][key], ends[1][key] = every.min(axis=0), every.max(axis=0)
    return ends


def _least_margins(
    terms: Terms, d: Floats, margins: Mapping[int, PiecewiseLinear], X: Floats, low: Floats, high: Floats
) -> Floats:
    """Return the least change (n,) of functions of single inputs, within the boxes of rows X, in direction d (m,)."""
    total = np.zeros(len(X))
    for j, part in margins.items():
        inner = np.clip(part.knots[None], low[:, [j]], high[:, [j]])
        places = np.concatenate([low[:, [j]], high[:, [j]], inner], axis=1)
        values = (terms.to_points(part(places.reshape(-1))) @ d).reshape(places.shape)
        total += np.where(low[:, j] < high[:, j], values.min(axis=1) - terms.to_points(part(X[:, j])) @ d, 0.0)
    return total


def _least(effect: Floats, own: Floats, least: Floats, most: Floats) -> Floats:
    """Return the least change of ``effect * value`` for values from least to most, from own."""
    return np.asarray(np.where(effect > 0, effect * (least - own), effect * (most - own)))
