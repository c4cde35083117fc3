"""What is certain about a model: columns that provably only raise or lower it, its range, rows that are safe."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from creases._text import format_percent, format_value
from creases._typing import Floats
from creases.tables._words.column_text import level_values
from creases.tables._words.points import probability
from creases.tables._words.stability import Stability, measure_stability
from creases.tables._words.terms import ColumnTerm, InputRanges, ReadableModel, Terms, date_options, model_ranges

#: Ends of a sum are widened by this share: more than its rounding.
ROUNDING = 1e-12

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
                format_percent(end) if self.target.startswith("probability") else format_value(end, 4) + self.unit
                for end in (self.low, self.high)
            ]
            reached = "both ends are reached" if self.is_exact else "the true range may be narrower"
            ends_text = f"{ends[0]} to {ends[1]} (computed; {reached})"
            lines.append(f"Within the range of the table {self.target} is {ends_text}.")
        return lines + ([self.stability.sentence(self.unit)] if self.stability is not None else [])


def certify_model(
    model: ReadableModel,
    *,
    X: Floats | None = None,
    directions: Mapping[str, Direction] | None = None,
    reach: float = 0.1,
    budget: float = 5.0,
    trained: Floats | None = None,
) -> ModelFacts:
    """Prove facts about a model of curves, planes and units, within the range of the rows it was trained on.

    Parameters
    ----------
    model
        A model with curves.
    X
        (n, d) encoded rows whose stability is measured; by default the test rows, if the model has any.
    directions
        By column: ``"rising"`` or ``"falling"``, what is to be proved; by default that of each curve that has one.
    reach
        How far numbers of a row may move, in standard deviations.
    budget
        Seconds for each proof.
    trained
        (n, d) encoded rows that the model was trained on; by default what the model knows of them.
    """
    terms = Terms.from_model(model)
    ranges = model_ranges(model, terms, trained)
    wanted = curve_directions(terms) if directions is None else dict(directions)
    single = len(terms.outputs) == 1
    monotone = _prove_directions(terms, model, ranges, wanted, budget) if single else ()
    low, high, exact = _prove_range(terms, model, ranges, budget) if single else (np.nan, np.nan, False)
    if X is None:
        data: Any = getattr(model, "data", None)
        X = None if data is None else data.rows.X[data.parts[2]]
    stability = measure_stability(terms, X, ranges, reach) if X is not None and len(X) else None
    what = terms.target or "the prediction"
    if terms.classes is not None:
        what = f"probability of {terms.labels[1]}" if terms.is_binary else terms.target
    return ModelFacts(
        what, "" if terms.classes is not None else terms.target_unit, monotone, low, high, exact, stability
    )


def curve_directions(terms: Terms) -> dict[str, Direction]:
    """Return the columns of numbers whose curves only rise or only fall."""
    directions: dict[str, Direction] = {}
    for term in terms.columns:
        for j, feature in term.numbers:
            rises = np.diff(terms.curve_values(j)[1][:, 0])
            if feature.kind == "number" and rises.any() and ((rises >= 0).all() or (rises <= 0).all()):
                directions[term.column.name] = "rising" if (rises >= 0).all() else "falling"
    return directions


def _box(ranges: InputRanges) -> Floats:
    return np.column_stack([ranges.low, np.where(ranges.high > ranges.low, ranges.high, ranges.low + 1e-9)])


def _prove_directions(
    terms: Terms, model: Any, ranges: InputRanges, wanted: Mapping[str, Direction], budget: float
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


def _is_shown_by_curve(terms: Terms, term: ColumnTerm, direction: Direction) -> bool:
    """Return whether curve and planes of a column that is one number, and in no unit, rise or fall everywhere.

    Between its knots a curve is straight, and a plane has one of finitely many slopes, whatever the other column is:
    where the slope of the curve with the least of each plane is never negative, this is a proof.
    """
    if len(term.numbers) != 1:
        return False
    (j, feature), model = term.numbers[0], terms.model
    if model.units is not None and (model.units.weights[:, j].any() or j in model.units.margins):
        return False
    curve, planes = model.curves[feature.name], [each for each in model.planes if j in each.hinges.knots]
    sign = 1.0 if direction == "rising" else -1.0
    places = [curve.knots, *(each.hinges.knots[j] for each in planes)]
    knots = np.unique(np.concatenate([*places, *(each.margins[j].knots for each in planes if j in each.margins)]))
    least = sign * _piece_slopes(curve(knots)[:, 0], knots)
    for plane in planes:
        if j in plane.margins:
            least += sign * _piece_slopes(plane.margins[j](knots)[:, 0], knots)
        for _, patterns in plane.hinges.slope_patterns(j, knots):
            least += [float((sign * pattern @ plane.weights[:, 0]).min()) for pattern in patterns]
    return bool((least >= 0).all())


def _piece_slopes(values: Floats, knots: Floats) -> Floats:
    return np.asarray(np.diff(values) / np.diff(knots))


def _prove_range(terms: Terms, model: Any, ranges: InputRanges, budget: float) -> tuple[float, float, bool]:
    """Return the least and largest prediction, categories having one value, and whether both are reached."""
    if not terms.model.planes and terms.model.units is None:
        return _sum_ranges(terms, ranges)
    from creases.certify import output_range  # imports torch

    groups = [term.inputs for term in terms.columns if term.column.is_category]
    A = np.zeros((2 * len(groups), len(ranges.low)))
    for k, inputs in enumerate(groups):
        A[2 * k, inputs], A[2 * k + 1, inputs] = 1.0, -1.0
    limits: Any = {"A": A, "b": np.tile([1.0, -1.0], len(groups))} if groups else {}
    found = output_range(model.network, _box(ranges), budget=budget, **limits)
    k = 1 if terms.is_binary else 0
    ends = np.array([found.low[k], found.high[k]]) * (2.0 if terms.is_binary else 1.0)  # a logit is half the log-odds
    return (*_as_prediction(terms, terms.to_points(ends[:, None])), bool(found.exact[k]))


def _sum_ranges(terms: Terms, ranges: InputRanges) -> tuple[float, float, bool]:
    """Return the range of a sum of curves: each column is at its own best, dates being days of the calendar."""
    ends = np.repeat(terms.intercept[None], 2, axis=0)
    x = ranges.low.copy()
    for term in terms.columns:
        values = [terms.missing(term)] if term.indicator is not None else []
        if term.column.is_category or term.features[0].kind == "yes/no":
            values += level_values(terms, term).values()
        elif term.column.kind.date is not None:
            dates = np.concatenate([x[None, term.number_inputs], date_options(term, x, ranges)[1]])
            values += [terms.at(term, dict(zip(term.number_inputs, row, strict=True))) for row in dates.tolist()]
        else:
            j = int(term.inputs[0])
            knots = np.clip(terms.curve_values(j)[0], ranges.low[j], ranges.high[j])
            values += [terms.at(term, {j: knot}) for knot in [ranges.low[j], ranges.high[j], *knots]]
        table = np.stack([value for value in values if value is not None])
        ends += np.stack([table.min(axis=0), table.max(axis=0)])
    return (*_as_prediction(terms, ends), True)


def _as_prediction(terms: Terms, ends: Floats) -> tuple[float, float]:
    """Return the least and the largest prediction (2, 1), widened by rounding; as probabilities with two classes."""
    ends = ends + ROUNDING * np.abs(ends) * [[-1.0], [1.0]]
    low, high = (probability(terms, ends)[:, 1] if terms.is_binary else terms.predictions(ends)[:, 0]).tolist()
    return low, high
