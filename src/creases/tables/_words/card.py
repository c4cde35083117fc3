"""A model as a card of points: what its columns add, to look up and to add by hand, and how exact that is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil, expm1, floor, log10
from typing import Any

import numpy as np

from creases._display import Described
from creases._document import Document
from creases._text import common_decimals, format_fixed, format_percent, format_value
from creases._typing import Bools, Floats
from creases.errors import InputError
from creases.tables._columns.axes import number_text
from creases.tables._columns.levels import Levels
from creases.tables._model.schema import RowFunction
from creases.tables._words.card_entries import (
    Entry,
    Reading,
    column_entries,
    plane_entry,
    start_entry,
)
from creases.tables._words.rows import TermEffects, table_rows
from creases.tables._words.terms import POINTS, CurveTerms, largest_change, probability

#: Letters of a line, and of what stands before the points of a row at most.
WIDTH, LABEL = 100, 33

#: Points at which the card gives the probability.
LOOKUP = (-40, -30, -20, -10, -5, 0, 5, 10, 20, 30, 40)

#: Digits of the largest points at least, and how many more are tried until the card decides as the model.
DIGITS, MORE = 3, 8

#: A knot is printed within this share of the gaps beside it, which gets smaller with more digits.
SHARE = 1e-3

#: Sums nearer than this share of their size to a tie are decided by rounding.
TIE = 1e-9

#: The largest change of a value by the digits that are printed, as a share of the range, and of a probability.
CLOSE, CLOSE_CHANCE = 1e-3, 0.01


@dataclass(frozen=True, eq=False)
class PointsCard(Described):
    """A model of curves as a card of points; print it.

    Points are those that are printed: following the card gives ``sums``, and ``bound`` is proved for all inputs from
    the ranges of the curves.
    """

    entries: tuple[Entry, ...]  #: the start, then the most important first
    unused: tuple[str, ...]  #: columns that add nothing
    decimals: int  #: of the points
    worth: float  #: of a point of values: 1 unless they are rounded to whole points, or logarithms
    threshold: float  #: sum above which the second of two classes is predicted
    bound: tuple[Floats, Floats]  #: (m,) least and largest difference from the model's sum over all inputs
    n_rows: int  #: rows that it was compared on; 0 if the model has none
    changed: int  #: of these, rows that are not clearly decided as by the model
    farthest: float  #: largest difference of a sum on these rows
    terms: CurveTerms

    # -- what following it gives ---------------------------------------------------------------------------------------

    def sums(self, X: Floats) -> Floats:
        """Return the sums (n, m) that a reader gets for encoded rows X (n, d)."""
        return np.asarray(self.worth * sum(entry(X) for entry in self.entries))

    @property
    def reach(self) -> float:
        """How far a sum can be from the model's, at most."""
        low, high = self.bound
        return float(np.maximum(-low, high).max())

    @property
    def chance(self) -> float:
        """How far a probability can be from the model's, at most."""
        return largest_change(self.terms, *self.bound)

    # -- text ----------------------------------------------------------------------------------------------------------

    def lines(self) -> list[str]:
        """Return the card as lines of text; nothing is left out."""
        lines = self._opening()
        for entry in self.entries:
            lines += ["", *self._entry_lines(entry)]
        return [*lines, "", *self._notes()]

    def describe(self) -> Document:
        """Return the card as it is printed."""
        return Document("Card of points", "", [{"title": "Card", "code": str(self)}], self.to_dict())

    def __str__(self) -> str:
        return "\n".join(self.lines())

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, ready for JSON."""
        return {
            "outputs": list(self.terms.outputs),
            "unit": self.terms.unit.strip(),
            "worth": self.worth,
            "threshold": self.threshold if self.terms.is_binary else None,
            "entries": [
                {
                    "name": entry.title,
                    "columns": _reading_dict(entry.column),
                    "rows": None if entry.row is None else _reading_dict(entry.row),
                    "points": entry.points.tolist(),
                }
                for entry in self.entries
            ],
            "unused": list(self.unused),
            "rows": self.n_rows,
            "changed": self.changed,
            "largest_change_on_rows": self.farthest,
            "largest_change": self.reach,
            "largest_change_of_probability": self.chance if self.terms.classes is not None else None,
        }

    def _opening(self) -> list[str]:
        terms = self.terms
        add = "start with the points of every row and add those of each column"
        if terms.classes is None:
            name, unit = terms.target or "prediction", terms.target_unit
            if terms.is_factor:
                most = format_value(terms.largest)
                power = f"2 to the power of a tenth of the sum is predicted, {most} at most"
                return [f"{name}{f' in{unit}' if unit else ''}: {add}; {power}. 10 points double it."]
            worth = f" a point is {format_value(self.worth)}{unit};" if self.worth != 1 else ""
            return [f"{name}{f' in{unit}' if unit else ''}:{worth} {add}."]
        if terms.is_binary:
            bound = format_fixed(self.threshold, self.decimals)
            decides = f"above {bound} {terms.labels[1]} is predicted, else {terms.labels[0]}"
            return [f"{terms.labels[1]}: {add}; {decides}. 10 points double the odds."]
        what = f"{add}, for each class; the class with the largest sum is predicted"
        return [f"{', '.join(terms.labels)}: {what}. 10 points more than another are odds of 2 to 1."]

    def _notes(self) -> list[str]:
        terms, notes = self.terms, []
        if any(reading.is_curve for entry in self.entries for reading in _readings(entry)):
            notes.append("Between two numbers points are in proportion; beyond the first and last they stay the same.")
        if self.unused:
            notes.append(f"Add nothing: {', '.join(self.unused)}.")
        if text := _missing_text(terms, self.unused):
            notes.append(text)
        for term in terms.columns:
            if term.column.rare and term.column.name not in self.unused:
                notes.append(f"Rare values of {term.column.name}: {'; '.join(term.column.rare)}.")
        if terms.is_binary:
            chances = probability(terms, np.array(LOOKUP, float)[:, None])[:, 1]
            pairs = [f"{points:+d}: {format_percent(chance)}" for points, chance in zip(LOOKUP, chances, strict=True)]
            notes.append(f"Sum of points and probability of {terms.labels[1]}: {', '.join(pairs)}.")
        return [*notes, self._promise()]

    def _promise(self) -> str:
        """Say how exact the card is."""
        terms, unit = self.terms, self.terms.unit
        reach = f"its sum differs from the model's by at most {_round_up(self.reach)}{unit}"
        if terms.is_factor:
            reach = f"its prediction differs from the model's by at most {_round_up(100 * expm1(self.reach))} %"
        if terms.classes is not None:
            reach += f" and a probability by at most {_round_up(100 * self.chance)} %"
        everywhere = f"For any row {reach}."
        if not self.n_rows:
            return everywhere
        rows = f"{self.n_rows:,} rows"
        if terms.classes is None:
            farthest = (
                f"{_round_up(100 * expm1(self.farthest))} %" if terms.is_factor else _round_up(self.farthest) + unit
            )
            return f"{everywhere} On the {rows} of the table by at most {farthest}."
        same = "decides as the model on all of them" if not self.changed else (
            f"can decide otherwise than the model on {self.changed:,} of them"
        )  # fmt: skip
        return f"{everywhere} On the {rows} of the table this card {same}."

    def _entry_lines(self, entry: Entry) -> list[str]:
        how = ", in proportion between" if entry.column.is_curve and not entry.column.is_whole else ""
        lines = [f"{entry.title}{how}"]
        if entry.row is None:
            return lines + _table(entry.column.texts, self._rows(entry.points[:, 0]), self.decimals)
        for name, points in self._rows(entry.points):
            lines += [f"  for {name}"] if len(entry.points) > 1 else []
            lines += _table(entry.column.texts, zip(entry.row.texts, points, strict=True), self.decimals)
        return lines

    def _rows(self, points: Floats) -> list[tuple[str, Floats]]:
        """Return points (m, ...) with what they are for."""
        outputs = self.terms.outputs
        return list(zip(("points",) if len(outputs) == 1 else outputs, points, strict=True))


def _table(places: Sequence[str], rows: Iterable[tuple[str, Floats]], decimals: int) -> list[str]:
    """Return rows of numbers under their places, in as many lines as the width asks for; two spaces part columns."""
    cells = [(name, [format_fixed(value, decimals) for value in row]) for name, row in rows]
    margin = min(max(len(name) for name, _ in cells), LABEL)
    widths = [max(len(place), *(len(row[k]) for _, row in cells)) for k, place in enumerate(places)]
    lines, start = [], 0
    while start < len(widths):
        end, total = start, margin + 2
        while end < len(widths) and (end == start or total + widths[end] + 2 <= WIDTH):
            total += widths[end] + 2
            end += 1
        for name, row in [("at", places), *cells]:
            lines.append(f"  {name.ljust(margin)}" + "".join(f"  {row[k].rjust(widths[k])}" for k in range(start, end)))
        start = end
    return lines


def _readings(entry: Entry) -> list[Reading]:
    return [entry.column, *([] if entry.row is None else [entry.row])]


def _missing_text(terms: CurveTerms, unused: Sequence[str]) -> str:
    """Say what a missing value counts as in columns of numbers where the table has none."""
    names = []
    for term in terms.columns:
        if term.column.n_missing or isinstance(term.codec, Levels) or term.column.name in unused:
            continue
        for k, (_, feature) in enumerate(term.numbers or ((0, term.features[0]),)):
            names.append(f"{feature.name} as {number_text(term.column.means[k], 1e-6 * abs(term.column.means[k]))}")
    return f"A missing number counts as its mean: {', '.join(names)}." if names else ""


def _round_up(value: float) -> str:
    """Return a bound with two digits that is not smaller."""
    if not value:
        return "0"
    unit = 10.0 ** (floor(log10(value)) - 1)
    return format_value(ceil(value / unit * (1 + 1e-9)) * unit, 2)


def _reading_dict(reading: Reading) -> dict[str, Any]:
    return {"name": reading.title, "places": list(reading.texts), "numbers": reading.positions.tolist()}


# -- making it --------------------------------------------------------------------------------------------------------


def points_card(model: RowFunction, *, X: Floats | None = None, integer: bool = False) -> PointsCard:
    """Return a model of curves as a card: the prediction is the sum of what the card gives for each column.

    It has as many decimals as it takes to decide every row as the model does.

    Entries are ordered, and compared with the model, by encoded rows X (n, d), by default those of the model. With
    ``integer`` points are whole numbers, and the card says how many decisions that can change.
    """
    terms = model._terms()
    assert isinstance(terms, CurveTerms)
    features = terms.encoding.features
    maps = [
        pair
        for pair, plane in zip(terms.pairs, terms.model.planes, strict=True)
        if all(features[inputs[0]].is_numeric for inputs in plane.inputs)
    ]
    if maps or terms.model.units is not None:
        parts = [*maps, *(["units of several columns"] if terms.model.units is not None else [])]
        expected, hint = "add up columns, and pairs of which one has levels", "export it to Excel or Python"
        raise InputError("model", expected, f"sums of several numbers that bend: {', '.join(parts)}", hint)
    every = table_rows(model) if X is None else X
    sizes = TermEffects.from_model(model, terms, X).sizes
    for more in range(MORE):
        card = _make(terms, sizes, every, more, integer)
        if integer or _is_close(card, every):
            break
    return card


def _make(terms: CurveTerms, sizes: Floats, X: Floats | None, more: int, integer: bool) -> PointsCard:
    """Return the card with so many more digits than the least."""
    share = SHARE * 10.0 ** -(3 if integer else more)
    exact: list[Entry] = []
    for k in sorted(range(len(terms.names)), key=lambda k: -sizes[k]):
        if k < len(terms.columns):
            exact += column_entries(terms, terms.columns[k], share)
        else:
            exact.append(plane_entry(terms, terms.model.planes[k - len(terms.columns)], share))
    start = start_entry(terms)
    largest = max([float(np.abs(entry.points).max(initial=0.0)) for entry in exact], default=0.0)
    largest = largest or float(np.abs(start.points).max())
    worth = 1 / POINTS if terms.is_factor else 1.0
    decimals = common_decimals([largest / worth], DIGITS) + more
    if integer:
        if terms.classes is None and not terms.is_factor and largest:
            worth = 10.0 ** (floor(log10(largest)) - DIGITS + 1)
        decimals = 0
    rounded = [entry.rounded(worth, decimals) for entry in (start, *exact)]
    kept = (rounded[0], *(entry for entry in rounded[1:] if not entry.is_zero))
    used = {j for entry in kept for reading in _readings(entry) for j in reading.inputs.tolist()}
    unused = tuple(term.column.name for term in terms.columns if used.isdisjoint(term.inputs.tolist()))
    parts = [entry.deviation(len(terms.encoding.features), worth) for entry in rounded]
    low, high = (np.sum([part[k] for part in parts], axis=0) for k in range(2))
    threshold = terms.threshold_points if terms.is_binary else 0.0
    threshold = round(threshold, decimals)
    n, changed, farthest = 0, 0, 0.0
    if X is not None:
        sums = np.asarray(worth * sum(entry(X) for entry in kept))
        truth = terms.scores(X)
        n, farthest = len(X), float(np.abs(sums - truth).max(initial=0.0))
        assert farthest <= max(-low.min(), high.max()) + 1e-9 * (1 + np.abs(truth).max()), "entries sum to the model"
        changed = int((~_agree(terms, sums, truth, threshold)).sum()) if terms.classes is not None else 0
    return PointsCard(kept, unused, decimals, worth, threshold, (low, high), n, changed, farthest, terms)


def _agree(terms: CurveTerms, sums: Floats, truth: Floats, threshold: float) -> Bools:
    """Return which rows (n,) a card clearly decides as the model."""
    above = (truth[:, 0] > terms.threshold_points).astype(np.int64)
    decided = above if terms.is_binary else truth.argmax(axis=1)
    slack = TIE * (1 + np.abs(sums).max(axis=1))
    if terms.is_binary:
        return np.asarray(np.where(decided == 1, sums[:, 0] - threshold > slack, threshold - sums[:, 0] > slack))
    best = np.take_along_axis(sums, decided[:, None], axis=1)
    others = sums.copy()
    np.put_along_axis(others, decided[:, None], -np.inf, axis=1)
    return np.asarray(best[:, 0] - others.max(axis=1) > slack)


def _is_close(card: PointsCard, X: Floats | None) -> bool:
    """Return whether a card has digits enough."""
    if X is None or not len(X):
        return (
            card.reach <= CLOSE * (float(card.terms.spans.sum()) or 1.0)
            if card.terms.classes is None
            else card.chance <= CLOSE_CHANCE
        )
    if card.terms.classes is not None:
        return not card.changed and card.chance <= CLOSE_CHANCE
    return card.reach <= CLOSE * max(float(np.ptp(card.terms.scores(X), axis=0).max()), 1e-300)
