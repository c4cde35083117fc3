"""A model as a card of points: for each column what its values add, to look up and to add by hand."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from creases._text import common_decimals, format_fixed, format_percent, format_value, plural
from creases._typing import Floats
from creases.tables._words.axes import feature_axis
from creases.tables._words.column_text import column_graphs, level_values
from creases.tables._words.curves import choose_places
from creases.tables._words.model_text import opening_text
from creases.tables._words.points import probability
from creases.tables._words.terms import NEGLIGIBLE, POINTS, ColumnTerm, ReadableModel, TermEffects, Terms

#: Letters of a line, lines of two pages, and places of a plane's columns.
WIDTH, LENGTH, PLACES = 100, 120, 6

#: Points at which the card gives the probability.
LOOKUP = (-40, -30, -20, -10, -5, 0, 5, 10, 20, 30, 40)


@dataclass(frozen=True, eq=False)
class CardEntry:
    """What the values of one column add, or those of two columns together."""

    name: str
    places: tuple[str, ...]  #: (k,) numbers, dates or categories
    rows: tuple[str, ...]  #: (r,) what each row of points is for: "", the classes, or values of a second column
    points: Floats  #: (r, k)
    is_curve: bool  #: whether values between two places add what is in proportion between theirs


@dataclass(frozen=True, eq=False)
class PointsCard:
    """A model of curves as a card of points; print it."""

    opening: str  #: what the points add to
    start: Floats  #: (m,) points or value of the average row
    unit: str
    entries: tuple[CardEntry, ...]  #: the most important first
    notes: tuple[str, ...]

    def lines(self) -> list[str]:
        """Return the card as lines of text, two pages at most."""
        decimals = common_decimals(
            np.concatenate([entry.points.reshape(-1) for entry in self.entries] or [self.start]).tolist()
        )
        shown = [entry for entry in self.entries if np.abs(entry.points).max() >= 0.5 * 10.0**-decimals]
        blocks = [_entry_lines(entry, decimals) for entry in shown]
        lines = [self.opening]
        for k, block in enumerate(blocks):
            if len(lines) + len(block) + len(self.notes) + 2 > LENGTH:
                lines.append(f"{len(blocks) - k} smaller entries are left out here.")
                break
            lines += block
        return [*lines, *self.notes]

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, ready for JSON."""
        entries = [
            {"name": e.name, "places": list(e.places), "rows": list(e.rows), "points": e.points.tolist()}
            | {"is_curve": e.is_curve}
            for e in self.entries
        ]
        return {"opening": self.opening, "start": self.start.tolist(), "unit": self.unit.strip(), "entries": entries}


def points_card(model: ReadableModel, *, X: Floats | None = None) -> PointsCard:
    """Return a model of curves as a card: the prediction is the sum of what the card gives for each column.

    Parameters
    ----------
    model
        A model with curves.
    X
        (n, d) encoded rows by which entries are ordered; by default those that the model was trained on.
    """
    terms = Terms.from_model(model)
    sizes = TermEffects.from_model(model, terms, X).sizes
    ranked = sorted(range(len(terms.names)), key=lambda k: -sizes[k])
    entries: list[CardEntry] = []
    for k in ranked:
        if k < len(terms.columns):
            entries += _column_entries(terms, terms.columns[k])
        elif k - len(terms.columns) < len(terms.model.planes) and len(terms.outputs) == 1:
            entries += _plane_entries(terms, k - len(terms.columns))
    largest = max((float(np.ptp(entry.points)) for entry in entries), default=0.0)
    kept = tuple(entry for entry in entries if np.ptp(entry.points) > NEGLIGIBLE * largest)
    if not terms.is_factor:
        return PointsCard(opening_text(terms), terms.intercept, terms.unit, kept, tuple(_notes(terms, kept)))
    average = format_value(float(terms.predictions(terms.intercept)[0]), 4)
    opening = f"{terms.target or 'prediction'}: {average}{terms.target_unit} times 2 for every 10 points of the sum:"
    doubled = tuple(replace(entry, points=POINTS * entry.points) for entry in kept)
    return PointsCard(opening, POINTS * terms.intercept, " points", doubled, tuple(_notes(terms, kept)))


def _column_entries(terms: Terms, term: ColumnTerm) -> list[CardEntry]:
    """Return the entries of a column: one for each part of a date."""
    rows = terms.outputs if len(terms.outputs) > 1 else ("",)
    if term.column.is_category or term.features[0].kind == "yes/no":
        levels = level_values(terms, term)
        order = sorted(levels, key=lambda name: -float(levels[name].max()))
        points = np.stack([levels[name] for name in order], axis=1)
        return [CardEntry(term.name, tuple(order), rows, points, is_curve=False)]
    entries: list[CardEntry] = []
    constant = np.zeros(len(terms.outputs)) if term.indicator is None else terms.curve_values(term.indicator)[1][0]
    for graph in column_graphs(terms, term):
        knots, values = graph.knots, graph.values
        if graph.axis.levels:
            knots = np.array(graph.axis.levels)
            values = np.stack([np.interp(knots, graph.knots, height) for height in graph.values.T], axis=1)
        kept = sorted({k for height in values.T for k in choose_places(knots, height, 1e-9)})
        points = (values[kept] + (constant if not entries else 0.0)).T
        places = tuple(graph.axis.place(float(knots[k])) for k in kept)
        name = term.name if graph.name in ("", "trend") else f"{graph.name} of {term.name}"
        entries.append(CardEntry(name, places, rows, points, is_curve=True))
    missing = terms.missing(term)
    if missing is None or len(entries) > 1:
        return entries
    entry = entries[0]
    points = np.concatenate([entry.points, missing[:, None]], axis=1)
    return [CardEntry(entry.name, (*entry.places, "missing"), rows, points, True)]


def _plane_entries(terms: Terms, k: int) -> list[CardEntry]:
    """Return the table of a plane: values of one column by those of the other."""
    plane = terms.model.planes[k]
    first, second = (_plane_places(terms, group) for group in plane.features)
    if len(first[1]) > len(second[1]):
        first, second = second, first
    X = np.zeros((len(first[1]) * len(second[1]), len(terms.encoding.features)))
    for i, (inputs, cells) in enumerate(((first[0], first[1]), (second[0], second[1]))):
        table = [cell for _, cell in cells]
        rows = np.repeat(table, len(second[1]), axis=0) if i == 0 else np.tile(table, (len(first[1]), 1))
        X[:, inputs] = rows
    points = terms.to_points(plane(X)).reshape(len(first[1]), len(second[1]))
    is_curve = terms.encoding.features[second[0][0]].is_numeric
    places = tuple(place for place, _ in second[1])
    return [CardEntry(terms.names[len(terms.columns) + k], places, tuple(p for p, _ in first[1]), points, is_curve)]


def _plane_places(terms: Terms, group: tuple[str, ...]) -> tuple[list[int], list[tuple[str, list[float]]]]:
    """Return the inputs of one of a plane's columns, and places with their values: categories, or a few numbers."""
    features = {feature.name: (j, feature) for j, feature in enumerate(terms.encoding.features)}
    inputs = [features[name][0] for name in group]
    feature = features[group[0]][1]
    if feature.is_numeric:
        knots, _ = terms.curve_values(inputs[0])
        axis = feature_axis(feature, terms.encoding, knots)
        values = [*axis.levels] or [*axis.ticks] or np.linspace(knots[0], knots[-1], PLACES).tolist()
        return inputs, [(axis.place(value), [value]) for value in values]
    term = next(term for term in terms.columns if term.column.name == feature.column)
    if feature.kind == "category":
        names = [term.level_name(features[name][1]) for name in group]
        return inputs, [(name, np.eye(len(group))[k].tolist()) for k, name in enumerate(names)]
    no, yes = (term.column.kind.words or ("0", "1")) if feature.kind == "yes/no" else ("known", "missing")
    return inputs, [(no, [0.0]), (yes, [1.0])]


def _notes(terms: Terms, entries: tuple[CardEntry, ...]) -> list[str]:
    notes = []
    if any(entry.is_curve for entry in entries):
        notes.append("Between two numbers the points are in proportion; beyond the first and last they stay the same.")
    units = terms.model.units
    if units is not None:
        count = plural(len(units.biases), "unit")
        notes.append(f"{count} of several columns: not on this card, so that sums are not exact.")
    if terms.is_binary:
        chances = probability(terms, np.array(LOOKUP, float)[:, None])[:, 1]
        pairs = [f"{points:+d}: {format_percent(chance)}" for points, chance in zip(LOOKUP, chances, strict=True)]
        notes.append(f"Sum of points and probability of {terms.labels[1]}: {', '.join(pairs)}.")
    elif terms.classes is not None:
        notes.append("The class with the largest sum is predicted; 10 points more than another are odds of 2 to 1.")
    return notes


def _entry_lines(entry: CardEntry, decimals: int) -> list[str]:
    """Return an entry as lines: the places, and under them the points, in as many lines as the width asks for."""
    cells = [[format_fixed(value, decimals) for value in row] for row in entry.points]
    left = [entry.name, *(f"  {row}" if row else "" for row in entry.rows)]
    margin = min(max(len(text) for text in left), WIDTH // 3)
    widths = [max(len(place), *(len(row[k]) for row in cells)) for k, place in enumerate(entry.places)]
    lines, start = [], 0
    while start < len(widths):
        end, total = start, margin
        while end < len(widths) and (end == start or total + widths[end] + 2 <= WIDTH):
            total += widths[end] + 2
            end += 1
        for text, row in zip(left, [entry.places, *cells], strict=True):
            label = text[:margin].ljust(margin) if not start or row is not entry.places else " " * margin
            body = "".join(f"  {row[k].rjust(widths[k])}" for k in range(start, end))
            lines.append(f"{label}{body}".rstrip())
        start = end
    return ["", *lines]
