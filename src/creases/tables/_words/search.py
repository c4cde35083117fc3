"""The cheapest choice of one option for each column that reaches a goal: best-first, in the order of cost.

A column can add no more to the goal than a bound for each of its options: what its curves add, what planes and units
could add at most. The sum of these bounds is exact for a model of curves only. Choices whose bounds reach the goal come
in the order of their costs, and the first that reaches it in truth is the cheapest of all. The cost that columns still
need is bounded from below by the convex hulls of their options, as for the knapsack problem [1]_.

References
----------
.. [1] Kellerer, Pferschy, Pisinger, "Knapsack Problems", chapter 11, Springer 2004.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from creases._typing import Bools, Floats
from creases.tables._stages.parts import add_margins
from creases.tables._words.goals import Goal
from creases.tables._words.options import Options
from creases.tables._words.terms import Terms

#: Bounds below the goal by this share of their size may be rounding.
ROUNDING = 1e-9

#: Pairs of options of a plane that are evaluated at once.
PAIRS = 400_000


@dataclass(frozen=True, eq=False)
class Choice:
    """What a search found."""

    x: Floats | None  #: (d,) the cheapest row found that reaches the goal; None if there is none
    cost: float  #: its cost; infinite without a row
    lower_bound: float  #: no row is cheaper; infinite if none reaches the goal


def cheapest_choice(
    terms: Terms, x: Floats, goal: Goal, columns: Sequence[Options], *, most: float = np.inf, until: float = np.inf
) -> Choice:
    """Return the cheapest change of an encoded row x (d,) that reaches a goal.

    Only changes that cost less than ``most`` are looked for; ``until`` is when to stop, by ``time.perf_counter``.
    """
    first = min(_single_change(terms, x, goal, columns), _greedy_change(terms, x, goal, columns), key=lambda c: c.cost)
    most = min(most, first.cost)
    D, c = goal.directions(terms)
    need = c - D @ terms.scores(x[None])[0]  # (k,)
    gains = [terms.gains(x, D, options, columns) for options in columns]
    slack = ROUNDING * max(float(np.abs(need).max()), *(float(np.abs(gain).max()) for gain in gains), 1.0)
    order = sorted(range(len(columns)), key=lambda i: -float(gains[i].max()))
    mixed = terms.mixed_columns()
    costs, kept = [], []
    for i in order:
        useful = np.ones(len(columns[i]), bool) if mixed[i] else _undominated(columns[i].costs, gains[i])
        costs.append(columns[i].costs[useful])
        kept.append((gains[i][useful], columns[i].values[useful], columns[i].term.inputs))
    hulls = _suffix_hulls(costs, [gain for gain, _, _ in kept])
    start = _remaining_cost(hulls[0], need[None] - slack)[0]
    heap: list[tuple[float, int, int, float, Floats, tuple[int, ...]]] = [(start, 0, 0, 0.0, need, ())]
    count = 0
    while heap:
        bound, _, i, cost, rest, chosen = heapq.heappop(heap)
        if bound >= most:
            break
        if i == len(kept):
            row = x.copy()
            for (_, values, inputs), k in zip(kept, chosen, strict=True):
                row[inputs] = values[k]
            if goal.is_reached(terms, row):
                return Choice(row, cost, cost)
            continue
        if time.perf_counter() > until:
            return Choice(first.x, first.cost, bound) if first.cost <= most else Choice(None, np.inf, bound)
        totals = cost + costs[i]
        left = rest - kept[i][0]  # (n, k)
        bounds = totals + _remaining_cost(hulls[i + 1], left - slack)
        for option in np.flatnonzero(bounds < most).tolist():
            count += 1
            heapq.heappush(
                heap, (float(bounds[option]), -count, i + 1, float(totals[option]), left[option], (*chosen, option))
            )
    return first if first.cost <= most else Choice(None, np.inf, most)


def _single_change(terms: Terms, x: Floats, goal: Goal, columns: Sequence[Options]) -> Choice:
    """Return the cheapest change of one column that reaches the goal."""
    best = Choice(None, np.inf, np.inf)
    for options in columns:
        rows = np.repeat(x[None], len(options), axis=0)
        rows[:, options.term.inputs] = options.values
        margins = goal.margins(terms, terms.scores(rows))
        reached = (margins >= 0 if terms.classes is None else margins > 0).all(axis=1)
        if reached.any() and options.costs[reached.argmax()] < best.cost:
            k = int(reached.argmax())  # costs rise
            best = Choice(rows[k], float(options.costs[k]), float(options.costs[k]))
    return best


def _greedy_change(terms: Terms, x: Floats, goal: Goal, columns: Sequence[Options]) -> Choice:
    """Return a change that reaches the goal column by column, each moved as far as helps; it need not be cheap."""
    row, cost, left, margin = x.copy(), 0.0, list(columns), -np.inf
    while left:
        trials = []
        for options in left:
            rows = np.repeat(row[None], len(options), axis=0)
            rows[:, options.term.inputs] = options.values
            margins = goal.margins(terms, terms.scores(rows)).min(axis=1)
            reached = margins >= 0 if terms.classes is None else margins > 0
            k = int(reached.argmax() if reached.any() else margins.argmax())  # costs rise
            trials.append(
                (not reached.any(), float(options.costs[k] if reached.any() else -margins[k]), options, rows[k])
            )
        is_far, size, options, row = min(trials, key=lambda trial: trial[:2])
        cost += float(options.costs[(options.values == row[options.term.inputs]).all(axis=1).argmax()])
        if not is_far:
            return Choice(row, cost, cost)
        if -size <= margin:
            break
        margin = -size
        left = [other for other in left if other is not options]
    return Choice(None, np.inf, np.inf)


def _undominated(costs: Floats, gains: Floats) -> Bools:
    """Return which options (n,), in the order of their costs, gain more (n, k) somewhere than all cheaper ones."""
    kept = np.zeros(len(costs), bool)
    best = np.zeros((0, gains.shape[1]))
    for k, gain in enumerate(gains):
        if not (best >= gain).all(axis=1).any():
            kept[k] = True
            best = np.concatenate([best[~(gain >= best).all(axis=1)], gain[None]])
    return kept


def _suffix_hulls(costs: Sequence[Floats], gains: Sequence[Floats]) -> list[list[tuple[Floats, Floats]]]:
    """Return for the columns from each on, and each part of the goal, the least cost of a gain: knots and costs."""
    k = gains[0].shape[1]
    steps: list[list[tuple[float, float]]] = [[] for _ in range(k)]
    hulls = [[_merge([]) for _ in range(k)]]
    for cost, gain in zip(reversed(costs), reversed(gains), strict=True):
        for part in range(k):
            steps[part] += _hull_steps(cost, gain[:, part])
        hulls.append([_merge(part) for part in steps])
    return hulls[::-1]


def _hull_steps(costs: Floats, gains: Floats) -> list[tuple[float, float]]:
    """Return the steps (gain, cost) of the upper concave hull of options, the one with the most gain a cost first."""
    hull: list[tuple[float, float]] = [(0.0, float(gains[0]))]
    best = float(gains[0])
    for cost, gain in zip(costs[1:].tolist(), gains[1:].tolist(), strict=True):
        if gain <= best:
            continue
        best = gain
        while len(hull) > 1:
            (a, ga), (b, gb) = hull[-2], hull[-1]
            if (gain - ga) * (b - a) < (gb - ga) * (cost - a):
                break
            hull.pop()
        hull.append((cost, gain))
    return [(g1 - g0, c1 - c0) for (c0, g0), (c1, g1) in pairwise(hull)]


def _merge(steps: list[tuple[float, float]]) -> tuple[Floats, Floats]:
    ordered = sorted(steps, key=lambda step: step[1] / step[0])
    table = np.array([(0.0, 0.0), *ordered])
    total = np.cumsum(table, axis=0)
    return total[:, 0], total[:, 1]


def _remaining_cost(hulls: list[tuple[Floats, Floats]], need: Floats) -> Floats:
    """Return the least cost (n,) at which columns can gain what is needed (n, k); infinite where they cannot."""
    costs = np.zeros(len(need))
    for part, (gains, total) in enumerate(hulls):
        cost = np.interp(need[:, part], gains, total)
        costs = np.maximum(costs, np.where(need[:, part] > gains[-1], np.inf, cost))
    return costs


# -- bounds of what an option adds ------------------------------------------------------------------------------------


def curve_gains(terms: Terms, x: Floats, D: Floats, options: Options, columns: Sequence[Options]) -> Floats:
    """Return by how much each option (n,) of a column brings each part of the goal (n, k) nearer at most."""
    inputs = options.term.inputs
    curves = list(terms.model.curves.values())
    parts = [curves[j](options.values[:, k]) for k, j in enumerate(inputs)]
    total = terms.to_points(np.sum(parts, axis=0)) @ D.T
    gains = np.asarray(total - total[0])
    by_name = {feature.name: other for other in columns for feature in other.term.features}
    for plane in terms.model.planes:
        first, second = (by_name[group[0]] for group in plane.features)
        if options.term in (first.term, second.term):
            gains = gains + _plane_gains(terms, x, D, plane, options, second if options is first else first, first)
    if terms.model.units is not None:
        gains = gains + _unit_gains(terms, x, D, options)
    return gains


def _plane_gains(
    terms: Terms, x: Floats, D: Floats, plane: object, options: Options, other: Options, first: Options
) -> Floats:
    """Return what a plane adds at most with each option of one of its columns.

    The change of both is the first's, with the row's own second cell, and then the second's, with the new first.
    """
    if options is first:
        rows = np.repeat(x[None], len(options), axis=0)
        rows[:, options.term.inputs] = options.values
        values = terms.to_points(plane(rows)) @ D.T  # type: ignore[operator]
        return np.asarray(values - values[0])
    result = np.full((len(options), len(D)), -np.inf)
    size = max(1, PAIRS // len(options))
    for start in range(0, len(other), size):
        part = other.values[start : start + size]
        rows = np.repeat(x[None], len(options) * len(part), axis=0)
        rows[:, options.term.inputs] = np.repeat(options.values, len(part), axis=0)
        rows[:, other.term.inputs] = np.tile(part, (len(options), 1))
        values = (terms.to_points(plane(rows)) @ D.T).reshape(len(options), len(part), -1)  # type: ignore[operator]
        result = np.maximum(result, (values - values[:1]).max(axis=1))
    return result


def _unit_gains(terms: Terms, x: Floats, D: Floats, options: Options) -> Floats:
    """Return what units add at most: a unit changes by no more than its input, if in the right direction.

    What is taken out of them by columns is known exactly.
    """
    units = terms.model.units
    assert units is not None
    rows = np.repeat(x[None], len(options), axis=0)
    rows[:, options.term.inputs] = options.values
    spread = units.spread(rows)
    moved = (spread - spread[0]) @ units.weights.T  # (n, h): of this column alone
    effect = terms.to_points(units.outputs) @ D.T  # (h, k)
    margins = add_margins(np.zeros((len(rows), units.outputs.shape[1])), units.margins, rows)
    known = terms.to_points(margins - margins[0]) @ D.T
    return np.asarray(
        known + np.maximum(moved, 0) @ np.maximum(effect, 0) + np.minimum(moved, 0) @ np.minimum(effect, 0)
    )
