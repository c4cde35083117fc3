"""What is certain about a model: columns that provably only raise or lower it, its range, rows that are safe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from creases._text import format_percent, format_value
from creases._typing import Bools, Floats
from creases.tables._stages.basis import PiecewiseLinear
from creases.tables._stages.pairs import PairHinges
from creases.tables._words.changes import class_goals
from creases.tables._words.column_text import level_values, plane_knots
from creases.tables._words.rows import InputRanges, model_ranges
from creases.tables._words.terms import ColumnTerm, CurveTerms, probability

if TYPE_CHECKING:
    from creases.tables._model.table_model import TableModel


#: Ends of a sum are widened by this share: more than its rounding.
ROUNDING = 1e-12

#: Points at which creases of columns that act together meet, up to which all are evaluated.
MEETING_POINTS = 200_000

Direction = Literal["rising", "falling"]


@dataclass(frozen=True)
class MonotoneFact:
    """Whether the prediction only rises, or only falls, with a column, whatever the others are."""

    column: str
    direction: Direction
    status: str  #: "holds", "violated" or "unknown", as :func:`creases.certify.monotone` says

    def sentence(self, what: str) -> str:
        """Return it in words."""
        subject = f"{what[0].upper()}{what[1:]}"
        verb = "falls" if self.direction == "rising" else "rises"
        if self.status == "holds":
            return f"{subject} never {verb} as {self.column} grows, whatever the other columns are (proved)."
        if self.status == "violated":
            return f"{subject} {verb} somewhere as {self.column} grows (an example was found)."
        return f"Whether {what} ever {verb} as {self.column} grows was not decided within the time limit."


@dataclass(frozen=True, eq=False)
class ModelFacts:
    """Facts about a model within the range of the rows it was trained on."""

    target: str  #: what is predicted: the target, or the probability of a class
    is_probability: bool
    unit: str
    monotone: tuple[MonotoneFact, ...]
    low: float  #: no row within the range has a smaller prediction; NaN for more than two classes
    high: float  #: nor a larger one
    is_exact: bool  #: whether both ends are reached
    stability: Stability | None  #: of the test rows; None without any

    def sentences(self) -> list[str]:
        """Return the facts as sentences."""
        lines = [fact.sentence(self.target) for fact in self.monotone]
        if np.isfinite(self.low):
            ends = [
                format_percent(end) if self.is_probability else format_value(end, 4) + self.unit
                for end in (self.low, self.high)
            ]
            reached = "both ends are reached" if self.is_exact else "the true range may be narrower"
            ends_text = f"{ends[0]} to {ends[1]} (computed; {reached})"
            lines.append(f"Within the range of the table {self.target} is {ends_text}.")
        return lines + ([self.stability.sentence(self.unit)] if self.stability is not None else [])


def certify_model(
    model: TableModel,
    *,
    X: Floats | None = None,
    directions: Mapping[str, Direction] | None = None,
    reach: float = 0.1,
    budget: float = 5.0,
    trained: Floats | None = None,
) -> ModelFacts:
    """Prove facts about a model of curves, planes and units, within the range of the rows it was trained on.

    ``directions`` are by column ``"rising"`` or ``"falling"``, what is to be proved; by default that of each curve that
    has one. Stability is measured for encoded rows X (n, d), by default the test rows, whose numbers may move by
    ``reach`` standard deviations. ``budget`` are seconds for each proof, ``trained`` (n, d) the rows of the range.
    """
    terms = model._terms()
    ranges = model_ranges(model, terms, trained)
    wanted = dict(directions or {})
    for term in () if directions is not None else terms.columns:  # those of curves that only rise or only fall
        for j, feature in term.numbers:
            rises = np.diff(terms.curve_values(j)[1][:, 0])
            if feature.is_free and rises.any() and ((rises >= 0).all() or (rises <= 0).all()):
                wanted[term.column.name] = "rising" if (rises >= 0).all() else "falling"
    single = len(terms.outputs) == 1
    monotone = _prove_directions(terms, model, ranges, wanted, budget) if single else ()
    low, high, exact = _prove_range(terms, model, ranges, budget) if single else (np.nan, np.nan, False)
    if X is None:
        data = model.data
        X = None if data is None else data.rows.X[data.parts[2]]
    stability = measure_stability(terms, X, ranges, reach) if X is not None and len(X) else None
    what = terms.target or "the prediction"
    if terms.classes is not None:
        what = f"probability of {terms.labels[1]}" if terms.is_binary else terms.target
    unit = "" if terms.classes is not None else terms.target_unit
    return ModelFacts(what, terms.is_binary, unit, monotone, low, high, exact, stability)


def _box(ranges: InputRanges) -> Floats:
    return np.column_stack([ranges.low, np.where(ranges.high > ranges.low, ranges.high, ranges.low + 1e-9)])


def _prove_directions(
    terms: CurveTerms, model: Any, ranges: InputRanges, wanted: Mapping[str, Direction], budget: float
) -> tuple[MonotoneFact, ...]:
    """Prove directions of columns: of one that acts alone its curve decides, of others the network."""
    inputs = {term.column.name: (term, int(term.inputs[0])) for term in terms.columns}
    output = 1 if terms.is_binary else 0
    facts = []
    for name, direction in wanted.items():
        term, j = inputs[name]
        status = "holds"
        if not _is_shown_by_curve(terms, term, direction):
            from creases.certify import monotone  # imports torch

            verdict = monotone(model.network, j, _box(ranges), output=output, direction=direction, budget=budget)
            status = verdict.status
        facts.append(MonotoneFact(term.name, direction, status))
    return tuple(facts)


def _is_shown_by_curve(terms: CurveTerms, term: ColumnTerm, direction: Direction) -> bool:
    """Return whether curve and planes of a column that is one number, and in no unit, rise or fall everywhere.

    Between its knots a curve is straight, and a plane has one of finitely many slopes, whatever the other column is:
    where the slope of the curve with the least of each plane is never negative, this is a proof.
    """
    if len(term.numbers) != 1:
        return False
    (j, _), model = term.numbers[0], terms.model
    if model.units is not None and (model.units.weights[:, j].any() or j in model.units.margins):
        return False
    curve, planes = model.curves[j], [each for each in model.planes if j in each.hinges.knots]
    sign = 1.0 if direction == "rising" else -1.0
    places = [curve.knots, *(each.hinges.knots[j] for each in planes)]
    knots = np.unique(np.concatenate([*places, *(each.margins[j].knots for each in planes if j in each.margins)]))
    least = sign * np.diff(curve(knots)[:, 0]) / np.diff(knots)
    for plane in planes:
        if j in plane.margins:
            least += sign * np.diff(plane.margins[j](knots)[:, 0]) / np.diff(knots)
        for _, patterns in plane.hinges.slope_patterns(j, knots):
            least += [float((sign * pattern @ plane.weights[:, 0]).min()) for pattern in patterns]
    return bool((least >= 0).all())


def _prove_range(terms: CurveTerms, model: Any, ranges: InputRanges, budget: float) -> tuple[float, float, bool]:
    """Return the least and largest prediction, and whether both are reached by rows that can be.

    The search takes the parts of a date apart, and what is 0 or 1 as any number between.
    """
    if terms.model.units is None and (ends := _sum_ranges(terms, ranges)) is not None:
        return (*_as_prediction(terms, ends), True)
    from creases.certify import output_range  # imports torch

    groups = [term.inputs for term in terms.columns if term.codec.has_levels]
    A = np.zeros((2 * len(groups), len(ranges.low)))
    for k, inputs in enumerate(groups):
        A[2 * k, inputs], A[2 * k + 1, inputs] = 1.0, -1.0
    limits: Any = {"A": A, "b": np.tile([1.0, -1.0], len(groups))} if groups else {}
    found = output_range(model.network, _box(ranges), budget=budget, **limits)
    k = 1 if terms.is_binary else 0
    ends = np.array([found.low[k], found.high[k]]) * (2.0 if terms.is_binary else 1.0)  # a logit is half the log-odds
    points = np.stack([found.argmin[k], found.argmax[k]])
    can_be = all(
        feature.is_free if feature.is_numeric else np.isin(points[:, j], (0.0, float(not feature.is_gap))).all()
        for j, feature in enumerate(terms.encoding.features)
    )
    return (*_as_prediction(terms, terms.to_points(ends[:, None])), can_be and bool(found.exact[k]))


def _sum_ranges(terms: CurveTerms, ranges: InputRanges) -> Floats | None:
    """Return the ends (2, m) of a sum of curves and planes: columns that act together are at their best together.

    A sum that is straight between creases has its ends where creases meet, and there are few such points as long as no
    more than two numbers act together; otherwise None.
    """
    ends = np.repeat(terms.intercept[None], 2, axis=0)
    for group, planes in _groups(terms):
        if len(group) == 1 and not planes:
            term = group[0]
            if term.codec.is_discrete:
                values = np.stack([*level_values(terms, term).values()])
            else:  # it is least or largest where it bends, or is missing
                rows = term.codec.joint_values(ranges.low[term.inputs], ranges.of(term))
                if rows is None:
                    j = int(term.inputs[0])
                    knots = np.clip(terms.curve_values(j)[0], ranges.low[j], ranges.high[j])
                    rows = np.array([ranges.low[j], ranges.high[j], *knots])[:, None]
                cells = [dict(zip(term.number_inputs, row, strict=True)) for row in rows.tolist()]
                values = np.stack([*terms.gaps(term).values(), *(terms.at(term, each) for each in cells)])
        elif (X := _meeting_points(terms, group, planes, ranges)) is not None:
            kept = [terms.columns.index(term) for term in group] + [len(terms.columns) + k for k in planes]
            values = terms.contributions(X)[:, kept].sum(axis=1)
        else:
            return None
        ends += np.stack([values.min(axis=0), values.max(axis=0)])
    return ends


def _groups(terms: CurveTerms) -> list[tuple[list[ColumnTerm], list[int]]]:
    """Return the columns that planes connect, and the numbers of these planes; a column that acts alone has none."""
    root = list(range(len(terms.columns)))
    pairs = [[terms.columns.index(terms.term_of[j]) for j, *_ in plane.inputs] for plane in terms.model.planes]
    for first, second in pairs:
        root = [root[first] if each == root[second] else each for each in root]
    return [
        (
            [term for k, term in enumerate(terms.columns) if root[k] == group],
            [n for n, (first, _) in enumerate(pairs) if root[first] == group],
        )
        for group in dict.fromkeys(root)
    ]


def _meeting_points(
    terms: CurveTerms, group: Sequence[ColumnTerm], planes: Sequence[int], ranges: InputRanges
) -> Floats | None:
    """Return encoded rows (n, d), 0 in other columns, at which a group's creases meet; None if they would be many."""
    numbers = [term for term in group if term.numbers]
    others = [term for term in group if not term.numbers]
    if len(numbers) > 2 or any(term.codec.is_moment for term in numbers):
        return None
    parts = [terms.model.planes[k] for k in planes]
    inputs = [int(term.inputs[0]) for term in numbers]
    knots: dict[int, Floats] = {}
    for j in inputs:
        bends = [plane_knots(plane, j) for plane in parts if j in plane.hinges.knots]
        places = np.concatenate([terms.curve_values(j)[0], [ranges.low[j], ranges.high[j]], *bends])
        knots[j] = np.unique(np.clip(places, ranges.low[j], ranges.high[j]))
    points = np.array(list(product(*knots.values())), np.float64)  # (n, numbers); one empty point of none
    if len(inputs) == 2:
        points = np.concatenate([points, *(_crossings(plane.hinges, inputs, knots) for plane in parts)])
    options = [np.stack([cells for _, cells in term.values]) for term in others]
    if len(points) * np.prod([len(each) for each in options]) > MEETING_POINTS:
        return None
    X = np.zeros((len(points), len(ranges.low)))
    X[:, inputs] = np.clip(points, ranges.low[inputs], ranges.high[inputs])
    for term in numbers:
        missing = [j for j, feature in zip(term.inputs.tolist(), term.features, strict=True) if feature.is_gap]
        absent = np.repeat(X[None], len(missing), axis=0)
        for rows, j in zip(absent, missing, strict=True):
            rows[:, term.inputs[0]], rows[:, j] = term.column.means[0], 1.0
        X = np.concatenate([X, *absent])
    for term, levels in zip(others, options, strict=True):
        X = np.repeat(X, len(levels), axis=0)
        X[:, term.inputs] = np.tile(levels, (len(X) // len(levels), 1))
    return X


def _crossings(hinges: PairHinges, inputs: Sequence[int], knots: Mapping[int, Floats]) -> Floats:
    """Return points (n, 2) where hinges of two numbers meet each other, and where they meet knots of either."""
    if set(hinges.knots) != set(inputs):
        return np.zeros((0, 2))
    places = [hinges.knots[j] for j in inputs]
    even = [np.linspace(0, 1, len(each)) for each in places]
    is_first = (hinges.first == inputs[0])[:, None]
    weights = np.where(is_first, hinges.weights, hinges.weights[:, [1, 0, 2]])
    a, b, c = weights.T
    points = []
    for k, j in enumerate(inputs):  # along the knots of one number
        along, across = (a, b) if k == 0 else (b, a)
        u = np.interp(knots[j], places[k], even[k])
        v = np.clip(-(along * u[:, None] + c) / across, 0, 1)
        x = np.repeat(knots[j][:, None], len(c), axis=1)
        y = np.interp(v, even[1 - k], places[1 - k])
        points.append(np.stack([x, y] if k == 0 else [y, x], axis=-1).reshape(-1, 2))
    first, second = (np.asarray(each) for each in np.triu_indices(len(c), 1))
    det = a[first] * b[second] - a[second] * b[first]
    first, second, det = first[det != 0], second[det != 0], det[det != 0]
    u = (b[first] * c[second] - b[second] * c[first]) / det
    v = (a[second] * c[first] - a[first] * c[second]) / det
    inside = (u >= 0) & (u <= 1) & (v >= 0) & (v <= 1)
    meet = np.stack([np.interp(u[inside], even[0], places[0]), np.interp(v[inside], even[1], places[1])], axis=-1)
    return np.concatenate([*points, meet])


def _as_prediction(terms: CurveTerms, ends: Floats) -> tuple[float, float]:
    """Return the least and the largest prediction (2, 1), widened by rounding; as probabilities with two classes."""
    ends = ends + ROUNDING * np.abs(ends) * [[-1.0], [1.0]]
    low, high = (probability(terms, ends)[:, 1] if terms.is_binary else terms.predictions(ends)[:, 0]).tolist()
    return low, high


# By how much predictions can change while the numbers of a row change a little: bounds that hold for every change.


#: Bounds nearer to 0 than this share of their size may be rounding.
NEAR_ZERO = 1e-9


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


def measure_stability(terms: CurveTerms, X: Floats, ranges: InputRanges, reach: float = 0.1) -> Stability:
    """Bound what changes of encoded rows X (n, d) by up to ``reach`` standard deviations of each number can do."""
    is_number = np.array([feature.is_free for feature in terms.encoding.features])
    step = np.where(is_number, reach * ranges.spread, 0.0)
    known = np.ones(X.shape, bool)
    for term in terms.columns:
        if term.indicator is not None or term.codes:
            known[:, term.inputs] = term.is_number(X)[:, None]
    low, high = X - step * known, X + step * known
    if terms.classes is None:
        (rise, _), (fall, _) = (_lowest_change(terms, X, low, high, sign) for sign in (-np.ones(1), np.ones(1)))
        change = np.maximum(-rise, -fall)
        change = (100 * np.expm1(change) if terms.is_factor else change) * (1 + NEAR_ZERO)
        return Stability(reach, np.zeros(len(X), bool), np.zeros(len(X), bool), change, terms.is_factor)
    stable, changed = np.ones(len(X), bool), np.zeros(len(X), bool)
    scores = terms.scores(X)
    for goal in class_goals(terms):
        rows = np.flatnonzero(~goal.reached(terms, scores))
        needs = -goal.margins(terms, scores[rows])  # what is still needed: one that stays needed keeps the decision
        bounds = [_lowest_change(terms, X[rows], low[rows], high[rows], -d) for d in goal.directions(terms)[0]]
        left = needs + np.stack([change for change, _ in bounds], axis=1)
        stable[rows] &= left.max(axis=1) > NEAR_ZERO * np.abs(needs).max(axis=1, initial=1.0)
        for _, corner in bounds:
            changed[rows] |= goal.reached(terms, terms.scores(corner))
    return Stability(reach, stable & ~changed, changed, np.full(len(X), np.nan))


def _lowest_change(terms: CurveTerms, X: Floats, low: Floats, high: Floats, d: Floats) -> tuple[Floats, Floats]:
    """Return a lower bound (n,) of the change of ``d . scores`` in boxes around rows, and rows (n, d) near the least.

    Of curves alone the bound is exact, and reached at these rows.
    """
    corner = X.copy()
    total = np.zeros(len(X))
    for j, curve in enumerate(terms.model.curves):
        if (low[:, j] < high[:, j]).any():
            change, corner[:, j] = _least_in_boxes(terms, d, curve.function, X[:, j], low[:, j], high[:, j])
            total += change
    for part in terms.model.mixed:
        for j, function in part.margins.items():
            total += _least_in_boxes(terms, d, function, X[:, j], low[:, j], high[:, j])[0]
    for plane in terms.model.planes:
        ends = [plane.hinges.spread(end) for end in (low, high)]
        for key, (j, _) in plane.hinges.folds.items():  # the least and the largest values of what hinges read
            fold = plane.hinges.fold(key)
            inner = [fold(np.clip(knot, low[:, j], high[:, j]))[:, 0] for knot in fold.knots]
            every = np.stack([ends[0][key], ends[1][key], *inner])
            ends[0][key], ends[1][key] = every.min(axis=0), every.max(axis=0)
        sides = zip(plane.hinges.first.tolist(), plane.hinges.second.tolist(), plane.hinges.weights, strict=True)
        effects = terms.to_points(plane.weights) @ d
        own = plane.hinges(X)
        for h, (i, j, (a, b, c)) in enumerate(sides):
            inputs = [np.stack([weight * ends[0][k], weight * ends[1][k]]) for k, weight in ((i, a), (j, b))]
            least, most = (sum(f(each, axis=0) for each in inputs) + c for f in (np.min, np.max))
            total += _least(effects[h], own[:, h], np.maximum(least, 0), np.maximum(most, 0))
    units = terms.model.units
    if units is not None:
        spreads = [units.spread(end) for end in (low, high)]
        rising, falling = np.maximum(units.weights, 0).T, np.minimum(units.weights, 0).T
        least = spreads[0] @ rising + spreads[1] @ falling + units.biases
        most = spreads[1] @ rising + spreads[0] @ falling + units.biases
        own = np.maximum(units.spread(X) @ units.weights.T + units.biases, 0)
        effects = terms.to_points(units.outputs) @ d
        total += _least(effects, own, np.maximum(least, 0), np.maximum(most, 0)).sum(axis=1)
    return total, corner


def _least_in_boxes(
    terms: CurveTerms, d: Floats, function: PiecewiseLinear, x: Floats, low: Floats, high: Floats
) -> tuple[Floats, Floats]:
    """Return the least change (n,) in direction d (m,) of a function from x (n,) to a place from low to high, and this.

    It is at an end or a knot.
    """
    places = np.concatenate([np.stack([low, high]), np.clip(function.knots[:, None], low, high)]).T
    values = (terms.to_points(function(places.reshape(-1))) @ d).reshape(places.shape)
    change = values.min(axis=1) - terms.to_points(function(x)) @ d
    place = places[np.arange(len(x)), values.argmin(axis=1)]
    return np.where(low < high, change, 0.0), np.where(low < high, place, x)


def _least(effect: Floats, own: Floats, least: Floats, most: Floats) -> Floats:
    """Return the least change of ``effect * value`` for values from least to most, from own."""
    return np.asarray(np.where(effect > 0, effect * (least - own), effect * (most - own)))
