"""A model as a card of points: what its columns add, to look up and to add by hand, and how exact that is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import ceil, expm1, floor, log10
from typing import Any

import numpy as np

from creases._display import Described
from creases._text import common_decimals, format_fixed, format_percent, format_value
from creases._typing import Floats, Ints
from creases.errors import InputError
from creases.tables._columns.codec import UNKNOWN, number_text, unused_name
from creases.tables._columns.levels import Levels
from creases.tables._model.schema import RowFunction
from creases.tables._stages.model import Plane
from creases.tables._words.column_text import choose_places, plane_knots
from creases.tables._words.rows import TermEffects, table_rows
from creases.tables._words.terms import POINTS, ColumnTerm, CurveTerms, probability

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

#: What a card calls a value that is missing.
MISSING = "missing"


#: Encoded rows (n, d) to the scores (n, m) that they add.
Function = Callable[[Floats], Floats]


@dataclass(frozen=True, eq=False)
class Reading:
    """A column, or a part of a date, as a card asks for it: numbers in order, then values with a place of their own."""

    title: str
    inputs: Ints  #: (i,) that encode it
    texts: tuple[str, ...]  #: (k,) the places as they are printed
    cells: Floats  #: (k, i) what is encoded there
    positions: Floats  #: (n,) of the first n places: the numbers as they are printed; points are in proportion between
    is_whole: bool = False  #: whether a number takes no other values, as a month does and a word in an order

    @property
    def is_curve(self) -> bool:
        """Whether points are in proportion between places."""
        return len(self.positions) > 1

    def weights(self, X: Floats) -> Floats:
        """Return the share (n, k) of each place in encoded rows X (n, d), as a reader of the card finds it."""
        x, n = X[:, self.inputs], len(self.positions)
        result, rows = np.zeros((len(X), len(self.texts))), np.arange(len(X))
        apart = np.abs(x[:, None] - self.cells[None, n:]).sum(axis=2)
        if not n:
            result[rows, apart.argmin(axis=1)] = 1.0
            return result
        place = np.interp(x[:, 0], self.positions, np.arange(n))
        before = np.floor(place).astype(np.int64)
        np.add.at(result, (rows, before), 1 - (place - before))
        np.add.at(result, (rows, np.minimum(before + 1, n - 1)), place - before)
        if apart.shape[1]:
            special = apart.min(axis=1) == 0
            result[special] = 0.0
            result[special, n + apart.argmin(axis=1)[special]] = 1.0
        return result

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {"name": self.title, "places": list(self.texts), "numbers": self.positions.tolist()}


@dataclass(frozen=True, eq=False)
class Entry:
    """Points of the places of one column, or of two together."""

    row: Reading | None  #: of two columns: what the rows are; it has no numbers between which points are in proportion
    column: Reading
    points: Floats  #: (m, r, k) as they are printed; r is 1 without a row
    function: Function  #: what the model adds

    @classmethod
    def from_function(cls, terms: CurveTerms, function: Function, column: Reading, row: Reading | None = None) -> Entry:
        """Return the entry of a function, exact at every place."""
        points = terms.to_points(function(_rows_at(terms, row, column, column.cells)))
        shape = (-1, 1 if row is None else len(row.texts), len(column.texts))
        return cls(row, column, points.T.reshape(shape), function)

    @property
    def title(self) -> str:
        """What it is called."""
        column = self.column.title
        return column if self.row is None else f"{self.row.title} (rows) and {column} (columns) together"

    @property
    def readings(self) -> list[Reading]:
        """The columns that it asks for."""
        return [self.column] if self.row is None else [self.column, self.row]

    def __call__(self, X: Floats) -> Floats:
        """Return what a reader adds (n, m) for encoded rows X (n, d)."""
        rows = np.ones((len(X), 1)) if self.row is None else self.row.weights(X)
        return np.asarray(np.einsum("nr,nk,mrk->nm", rows, self.column.weights(X), self.points))

    def deviation(self, terms: CurveTerms, worth: float) -> tuple[Floats, Floats]:
        """Return the least and largest difference (m,) from the model over all inputs; points are worth so much.

        Between the knots and the numbers that are printed for them the card and the model are both straight.
        """
        cells = self.column.cells
        if self.column.is_curve and not self.column.is_whole:
            printed = cells[: len(self.column.positions)].copy()
            printed[:, 0] = self.column.positions
            cells = np.concatenate([cells, printed])
        X = _rows_at(terms, self.row, self.column, cells)
        change = worth * self(X) - terms.to_points(self.function(X))
        return change.min(axis=0), change.max(axis=0)


def _rows_at(terms: CurveTerms, row: Reading | None, column: Reading, cells: Floats) -> Floats:
    """Return encoded rows (r k, d) with every place of a row's and every one of a column's cells (k, i)."""
    n = 1 if row is None else len(row.texts)
    X = np.zeros((n * len(cells), len(terms.encoding.features)))
    X[:, column.inputs] = np.tile(cells, (n, 1))
    if row is not None:
        X[:, row.inputs] = np.repeat(row.cells, len(cells), axis=0)
    return X


@dataclass(frozen=True, eq=False)
class PointsCard(Described):
    """A model of curves as a card of points; print it.

    Points are those that are printed: following the card gives ``sums``, and ``bound`` is proved for all inputs.
    """

    entries: tuple[Entry, ...]  #: the start, then the most important first
    unused: tuple[str, ...]  #: columns that add nothing
    decimals: int  #: of the points
    worth: float  #: of a point of values: 1 unless they are rounded to whole points, or logarithms
    threshold: float  #: sum above which the second of two classes is predicted
    bound: tuple[Floats, Floats]  #: (m,) least and largest difference from the model's sum over all inputs
    terms: CurveTerms
    n_rows: int = 0  #: rows that its decisions were compared on
    changed: int = 0  #: of these, rows that are not clearly decided as by the model

    def sums(self, X: Floats) -> Floats:
        """Return the sums (n, m) that a reader gets for encoded rows X (n, d)."""
        return np.asarray(self.worth * sum(entry(X) for entry in self.entries))

    @property
    def reach(self) -> float:
        """How far a sum can be from the model's, at most."""
        return float(np.abs(self.bound).max())

    @property
    def chance(self) -> float:
        """How far a probability can be from the model's, at most.

        A class has the probability ``1 / (1 + exp(-t))`` with t its score minus the logarithm of the sum of the others'
        powers, which changes by no more than the others do. Where t changes by d, that is ``tanh(d / 4)`` at most.
        """
        low, high = (np.append(end, 0.0) if self.terms.is_binary else end for end in self.bound)
        ahead = [high[k] - np.delete(low, k).min() for k in range(len(low))]
        behind = [np.delete(high, k).max() - low[k] for k in range(len(low))]
        return float(np.tanh(max(0.0, *ahead, *behind) / POINTS / 4))

    # -- text ----------------------------------------------------------------------------------------------------------

    def lines(self) -> list[str]:
        """Return the card as lines of text; nothing is left out."""
        lines = self._opening()
        for entry in self.entries:
            lines += ["", *self._entry_lines(entry)]
        return [*lines, "", *self._notes()]

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
                    "columns": entry.column.to_dict(),
                    "rows": None if entry.row is None else entry.row.to_dict(),
                    "points": entry.points.tolist(),
                }
                for entry in self.entries
            ],
            "unused": list(self.unused),
            "rows": self.n_rows,
            "changed": self.changed,
            "largest_change": self.reach,
            "largest_change_of_probability": None if self.terms.classes is None else self.chance,
        }

    def _opening(self) -> list[str]:
        terms = self.terms
        add = "start with the points of every row and add those of each column"
        if terms.classes is None:
            name, unit = terms.target or "prediction", terms.target_unit
            name += f" in{unit}" if unit else ""
            if terms.is_factor:
                most = format_value(terms.largest)
                power = f"2 to the power of a tenth of the sum is predicted, {most} at most"
                return [f"{name}: {add}; {power}. 10 points double it."]
            worth = f" a point is {format_value(self.worth)}{unit};" if self.worth != 1 else ""
            return [f"{name}:{worth} {add}."]
        if terms.is_binary:
            bound = format_fixed(self.threshold, self.decimals)
            decides = f"above {bound} {terms.labels[1]} is predicted, else {terms.labels[0]}"
            return [f"{terms.labels[1]}: {add}; {decides}. 10 points double the odds."]
        what = f"{add}, for each class; the class with the largest sum is predicted"
        return [f"{', '.join(terms.labels)}: {what}. 10 points more than another are odds of 2 to 1."]

    def _notes(self) -> list[str]:
        terms, notes = self.terms, []
        if any(reading.is_curve for entry in self.entries for reading in entry.readings):
            notes.append("Between two numbers points are in proportion; beyond the first and last they stay the same.")
        if self.unused:
            notes.append(f"Add nothing: {', '.join(self.unused)}.")
        used = [term for term in terms.columns if term.column.name not in self.unused]
        filled = [term for term in used if not term.column.n_missing and not isinstance(term.codec, Levels)]
        means = [
            f"{feature.name} as {number_text(term.column.means[k], 1e-6 * abs(term.column.means[k]))}"
            for term in filled
            for k, (_, feature) in enumerate(term.numbers)
        ]
        if means:
            notes.append(f"A missing number counts as its mean: {', '.join(means)}.")
        for term in filled:
            if not term.numbers:
                (yes, _), (no, _) = term.values[:2]
                share = number_text(100 * term.column.means[0], 1e-4)
                notes.append(f"A missing {term.column.name} counts {share} % as {yes}, the rest as {no}.")
        for term in used:
            if term.column.rare:
                notes.append(f"Other values of {term.column.name}: {'; '.join(term.column.rare)}.")
        if terms.is_binary:
            chances = probability(terms, np.array(LOOKUP, float)[:, None])[:, 1]
            pairs = [f"{points:+d}: {format_percent(chance)}" for points, chance in zip(LOOKUP, chances, strict=True)]
            notes.append(f"Sum of points and probability of {terms.labels[1]}: {', '.join(pairs)}.")
        if terms.is_factor:
            percent = _round_up(100 * expm1(self.reach))
            return [*notes, f"For any row its prediction differs from the model's by at most {percent} %."]
        text = f"For any row its sum differs from the model's by at most {_round_up(self.reach)}{terms.unit}"
        if terms.classes is not None:
            text += f" and a probability by at most {_round_up(100 * self.chance)} %"
        notes.append(f"{text}.")
        if self.n_rows:
            which = (
                f"can decide otherwise than the model on {self.changed:,}"
                if self.changed
                else "decides as the model on all"
            )
            notes[-1] += f" On the {self.n_rows:,} rows of the table this card {which} of them."
        return notes

    def _entry_lines(self, entry: Entry) -> list[str]:
        how = ", in proportion between" if entry.column.is_curve and not entry.column.is_whole else ""
        lines = [f"{entry.title}{how}"]
        outputs = self.terms.outputs if len(self.terms.outputs) > 1 else ("points",)
        if entry.row is None:
            rows = zip(outputs, entry.points[:, 0], strict=True)
            return lines + _table(entry.column.texts, rows, self.decimals)
        for name, points in zip(outputs, entry.points, strict=True):
            lines += [f"  for {name}"] if len(outputs) > 1 else []
            lines += _table(entry.column.texts, zip(entry.row.texts, points, strict=True), self.decimals)
        return lines


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


def _round_up(value: float) -> str:
    """Return a bound with two digits that is not smaller."""
    if not value:
        return "0"
    unit = 10.0 ** (floor(log10(value)) - 1)
    return format_value(ceil(value / unit * (1 + 1e-9)) * unit, 2)


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
    bends = [
        pair
        for pair, plane in zip(terms.pairs, terms.model.planes, strict=True)
        if all(features[inputs[0]].is_numeric for inputs in plane.inputs)
    ]
    bends += ["units of several columns"] if terms.model.units is not None else []
    if bends:
        expected, hint = "add up columns, and pairs of which one has levels", "export it to Excel or Python"
        raise InputError("model", expected, f"sums of several numbers that bend: {', '.join(bends)}", hint)
    rows = table_rows(model) if X is None else X
    sizes = TermEffects.from_model(model, terms, X).sizes
    for more in range(MORE):
        card = _make_card(terms, sizes, rows, more, integer)
        span = float(terms.spans.sum()) if rows is None else float(np.ptp(terms.scores(rows), axis=0).max())
        is_close = card.reach <= CLOSE * span if terms.classes is None else card.chance <= CLOSE_CHANCE
        if integer or (is_close and not card.changed):
            break
    return card


def _make_card(terms: CurveTerms, sizes: Floats, rows: Floats | None, more: int, integer: bool) -> PointsCard:
    """Return the card with so many more digits than the least."""
    share = SHARE * 10.0 ** -(3 if integer else more)
    start = Reading("start", np.zeros(0, int), ("every row",), np.zeros((1, 0)), np.zeros(0))
    exact = [Entry.from_function(terms, lambda X: np.repeat(terms.start[None], len(X), axis=0), start)]
    for k in np.argsort(-sizes, kind="stable").tolist():
        if k < len(terms.columns):
            exact += column_entries(terms, terms.columns[k], share)
        else:
            exact.append(plane_entry(terms, terms.model.planes[k - len(terms.columns)], share))
    most = [float(np.abs(entry.points).max(initial=0.0)) for entry in exact]
    largest = max(most[1:], default=0.0) or most[0]
    worth, decimals = 1 / POINTS if terms.is_factor else 1.0, 0
    if not integer:
        decimals = common_decimals([largest / worth], DIGITS) + more
    elif terms.classes is None and not terms.is_factor and largest:
        worth = 10.0 ** (floor(log10(largest)) - DIGITS + 1)
    rounded = [replace(entry, points=np.round(entry.points / worth, decimals)) for entry in exact]
    entries = (rounded[0], *(entry for entry in rounded[1:] if entry.points.any()))
    used = {j for entry in entries for reading in entry.readings for j in reading.inputs.tolist()}
    unused = tuple(term.column.name for term in terms.columns if used.isdisjoint(term.inputs.tolist()))
    threshold = round(terms.threshold_points, decimals) if terms.is_binary else 0.0
    parts = [entry.deviation(terms, worth) for entry in rounded]
    bound = np.sum([low for low, _ in parts], axis=0), np.sum([high for _, high in parts], axis=0)
    card = PointsCard(entries, unused, decimals, worth, threshold, bound, terms)
    if rows is None or terms.classes is None:
        return card
    sums, truth = card.sums(rows), terms.scores(rows)
    ahead = np.where(truth[:, 0] > terms.threshold_points, 1.0, -1.0) * (sums[:, 0] - threshold)
    if not terms.is_binary:  # by how much the class that the model decides for is before the others
        decided, others = truth.argmax(axis=1)[:, None], sums.copy()
        np.put_along_axis(others, decided, -np.inf, axis=1)
        ahead = np.take_along_axis(sums, decided, axis=1)[:, 0] - others.max(axis=1)
    changed = int((ahead <= TIE * (1 + np.abs(sums).max(axis=1))).sum())
    return replace(card, n_rows=len(rows), changed=changed)


def column_entries(terms: CurveTerms, term: ColumnTerm, share: float) -> list[Entry]:
    """Return the entries of a column: one for each part of a date. Knots are printed within a share of their gaps."""

    def adds(inputs: Sequence[int]) -> Function:
        return lambda X: np.asarray(np.sum([terms.model.curves[j](X[:, j]) for j in inputs], axis=0))

    if not term.numbers:
        reading = level_reading(terms, term)
        entry = Entry.from_function(terms, adds(term.inputs.tolist()), reading)
        order = np.argsort(-entry.points[:, 0].max(axis=0), kind="stable").tolist()  # those first that add most
        reading = replace(reading, texts=tuple(reading.texts[k] for k in order), cells=reading.cells[order])
        return [replace(entry, column=reading, points=entry.points[:, :, order])]
    entries: list[Entry] = []
    for j in sorted(term.number_inputs, key=lambda j: j != term.main_input):  # the trend first
        gaps = [] if entries else [i for i in term.inputs.tolist() if i not in term.number_inputs]
        reading = number_reading(terms, j, *terms.curve_values(j), share)
        entries.append(Entry.from_function(terms, adds([j, *gaps]), reading))
    return entries


def plane_entry(terms: CurveTerms, plane: Plane, share: float) -> Entry:
    """Return the table of two columns, one of which has levels."""

    def reading(inputs: list[int]) -> Reading:
        feature, term = terms.encoding.features[inputs[0]], terms.term_of[inputs[0]]
        if not feature.is_gap and not (term.codec.has_levels and len(inputs) < len(term.inputs)):
            return level_reading(terms, term)
        title, texts = feature.name, ("yes", "no")  # of one input alone
        if feature.is_level:
            title, texts = feature.column, (term.levels[term.features.index(feature)], "anything else")
        return Reading(title, np.array(inputs[:1]), texts, np.array([[1.0], [0.0]]), np.zeros(0))

    first, second = sorted(plane.inputs, key=lambda inputs: terms.encoding.features[inputs[0]].is_numeric)
    row = reading(first)
    if not terms.encoding.features[second[0]].is_numeric:
        row, column = sorted([row, reading(second)], key=lambda side: len(side.texts))
        return Entry.from_function(terms, plane, column, row)
    cells = [dict(zip(row.inputs.tolist(), cell, strict=True)) for cell in row.cells.tolist()]
    knots = plane_knots(plane, second[0], cells)
    places = Reading("", np.array(second[:1]), ("",) * len(knots), knots[:, None], knots)
    heights = Entry.from_function(terms, plane, places, row).points.reshape(-1, len(knots)).T
    return Entry.from_function(terms, plane, number_reading(terms, second[0], knots, heights, share), row)


def number_reading(terms: CurveTerms, j: int, knots: Floats, values: Floats, share: float) -> Reading:
    """Return the reading of a number: the knots (k,) between which values (k, m) are straight, or all its values.

    Each is printed within a share of the gaps beside it. A missing value has a place if the table has missing values.
    """
    feature, term = terms.encoding.features[j], terms.term_of[j]
    knots = knots[sorted({place for height in values.T for place in choose_places(knots, height, 1e-9)})]
    axis = term.codec.axis(feature, knots)
    if axis.whole:
        knots = np.array(axis.whole)
        labels = [(axis.place(value), value) for value in axis.whole]
    else:
        knots = np.union1d(knots, [*term.codec.labels().values()])
        gaps = np.diff(knots)
        near = share * np.minimum(np.append(gaps, np.inf), np.append(np.inf, gaps))
        largest = float(np.abs(knots).max())
        commas = largest < 1000 or "," in axis.place(largest)  # years have none
        pairs = zip(knots.tolist(), near.tolist(), strict=True)
        labels = [term.codec.label(feature, knot, tolerance, commas=commas) for knot, tolerance in pairs]
    positions = np.array([position for _, position in labels])
    apart = np.flatnonzero(np.append(True, np.diff(positions) > 0))  # two dates of one second are one
    texts = [labels[k][0] for k in apart.tolist()] + [f"code {text}" for text in term.codes.values()]
    inputs = [j, *term.codes, *([] if term.indicator is None else [term.indicator])]
    mean = term.column.means[term.number_inputs.index(j)]
    cells = np.zeros((len(apart) + len(inputs), len(inputs)))
    cells[: len(apart), 0] = knots[apart]
    cells[len(apart) :, 0] = mean
    cells[len(apart) :, 1:] = np.eye(len(inputs))[:, 1:]  # the first is of a mean without a gap, the others have one
    first = [len(apart)] if term.column.n_missing and term.indicator is None else []
    cells = np.concatenate([cells[: len(apart)], cells[len(apart) + 1 :], cells[first]])
    texts += [MISSING] if term.column.n_missing else []
    title, unit = feature.column, feature.unit if feature.is_free else ""
    title = f"{feature.part} of {title}" if j != term.main_input else title
    title += f" ({unit})" if unit and unit not in title else ""
    return Reading(title, np.array(inputs), tuple(texts), cells, positions[apart], bool(axis.whole))


def level_reading(terms: CurveTerms, term: ColumnTerm) -> Reading:
    """Return the reading of a category or of a column of yes and no, with a place for all other values."""
    column, inputs = term.column, term.inputs
    if not isinstance(term.codec, Levels):
        own = [int(inputs[0]), *([] if term.indicator is None else [term.indicator])]
        texts, cells = [text for text, _ in term.values[1::-1]], np.eye(2, len(own), -1)
        if column.n_missing:
            texts, cells = [*texts, MISSING], np.concatenate([cells, [[column.means[0], 1.0][: len(own)]]])
        return Reading(column.name, np.array(own), tuple(texts), cells, np.zeros(0))
    texts = [text for text, _ in term.values]
    texts.append(unused_name(UNKNOWN, texts))
    cells = np.stack([*(cell for _, cell in term.values), np.zeros(len(inputs))])
    if terms.encoding.missing == "mean" and column.n_missing and column.common in texts:
        cells = np.concatenate([cells, cells[[texts.index(column.common)]]])
        texts.append(unused_name(MISSING, texts))
    return Reading(column.name, inputs, tuple(texts), cells, np.zeros(0))
