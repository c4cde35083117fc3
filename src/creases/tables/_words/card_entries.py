"""The entries of a card of points: what a reader looks up and adds, and how far that is from the model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from creases._typing import Floats, Ints
from creases.tables._columns.codec import Codec, Feature, unused_name
from creases.tables._columns.levels import Levels
from creases.tables._stages.model import Plane
from creases.tables._words.curves import choose_places, plane_knots
from creases.tables._words.terms import ColumnTerm, CurveTerms

#: What a card calls a value that is missing, those of a category that are pooled, and those that it does not name.
MISSING, RARE, OTHER = "missing", "rare values", "other values"

#: Encoded rows (n, d) to what they add (n, m).
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
        result = np.zeros((len(X), len(self.texts)))
        every = np.arange(len(X))
        apart = np.abs(x[:, None] - self.cells[None, n:]).sum(axis=2)
        if not n:
            result[every, apart.argmin(axis=1)] = 1.0
            return result
        k = np.clip(np.searchsorted(self.positions, x[:, 0], "right") - 1, 0, max(n - 2, 0))
        after = np.minimum(k + 1, n - 1)
        gap = np.where(after > k, self.positions[after] - self.positions[k], 1.0)
        share = np.clip((x[:, 0] - self.positions[k]) / gap, 0.0, 1.0)
        result[every, k] += 1 - share
        result[every, after] += share
        if apart.shape[1]:
            special = apart.min(axis=1) == 0
            result[special] = 0.0
            result[special, n + apart.argmin(axis=1)[special]] = 1.0
        return result

    def candidates(self, knots: Floats) -> Floats:
        """Return encoded cells (c, i) between which the card and a function with these knots are both straight."""
        n = len(self.positions)
        if not self.is_curve or self.is_whole:
            return self.cells
        cells = np.repeat(self.cells[:1], len(knots) + n, axis=0)
        cells[:, 0] = np.concatenate([knots, self.positions])
        return np.concatenate([cells, self.cells[n:]])


@dataclass(frozen=True, eq=False)
class Entry:
    """Points of the places of one column, or of two together: (m, r, k)."""

    title: str
    row: Reading | None  #: of two columns: what the rows are; it has no numbers between which points are in proportion
    column: Reading
    points: Floats  #: (m, r, k) as they are printed; r is 1 without a row
    function: Function  #: what the model adds
    knots: Floats  #: where it can bend

    def __call__(self, X: Floats) -> Floats:
        """Return what a reader adds (n, m) for encoded rows X (n, d)."""
        rows = np.ones((len(X), 1)) if self.row is None else self.row.weights(X)
        return np.asarray(np.einsum("nr,nk,mrk->nm", rows, self.column.weights(X), self.points))

    def deviation(self, d: int, worth: float) -> tuple[Floats, Floats]:
        """Return the least and largest difference (m,) from the model over all inputs; points are worth so much."""
        cells = self.column.candidates(self.knots)
        rows = np.zeros((1, 0)) if self.row is None else self.row.cells
        X = np.zeros((len(rows) * len(cells), d))
        X[:, self.column.inputs] = np.tile(cells, (len(rows), 1))
        if self.row is not None:
            X[:, self.row.inputs] = np.repeat(rows, len(cells), axis=0)
        change = worth * self(X) - self.function(X)
        return change.min(axis=0), change.max(axis=0)

    def rounded(self, worth: float, decimals: int) -> Entry:
        """Return the entry with rounded points, each worth so much."""
        return replace(self, points=np.round(self.points / worth, decimals))

    @property
    def is_zero(self) -> bool:
        """Whether it adds nothing."""
        return not self.points.any()


# -- places -----------------------------------------------------------------------------------------------------------


def _label_knots(codec: Codec, feature: Feature, knots: Floats, share: float) -> tuple[list[str], Floats, Floats, bool]:
    """Return places of a number as text, what the texts say and what they stand for, and whether it takes no others.

    Places are the knots (k,), each within a share of the gaps beside it; or all values, if these are few.
    """
    axis = codec.axis(feature, knots)
    if axis.whole:
        values = np.array(axis.whole)
        return [*map(axis.place, axis.whole)], values, values, True
    knots = np.union1d(knots, [*codec.labels().values()])
    gaps = np.diff(knots)
    near = share * np.minimum(np.append(gaps, np.inf), np.append(np.inf, gaps))
    largest = float(np.abs(knots).max())
    commas = largest < 1000 or "," in axis.place(largest)  # years have none
    pairs = zip(knots.tolist(), near.tolist(), strict=True)
    labels = [codec.label(feature, knot, tolerance, commas=commas) for knot, tolerance in pairs]
    return [text for text, _ in labels], np.array([position for _, position in labels]), knots, False


def number_reading(terms: CurveTerms, j: int, knots: Floats, share: float) -> Reading:
    """Return the reading of an input that is a number; a missing value has a place if the table has missing values."""
    feature, term = terms.encoding.features[j], terms.term_of[j]
    texts, positions, values, is_whole = _label_knots(term.codec, feature, knots, share)
    kept = np.append(True, np.diff(positions) > 0)  # two dates of one second are one
    texts = [text for text, keep in zip(texts, kept, strict=True) if keep]
    inputs, gaps = [j, *term.codes], [f"code {text}" for text in term.codes.values()]
    if term.indicator is not None:
        inputs.append(term.indicator)
    cells = np.zeros((len(texts), len(inputs)))
    cells[:, 0] = values[kept]
    mean = term.column.means[term.number_inputs.index(j)]
    special = np.concatenate([np.full((len(inputs), 1), mean), np.eye(len(inputs))[:, 1:]], axis=1)[
        1:
    ]  # 1 in one of the gaps
    if term.column.n_missing:
        gaps.append(MISSING)
        if term.indicator is None:
            special = np.concatenate([special, [[mean] + [0.0] * (len(inputs) - 1)]])
    texts, cells = [*texts, *gaps], np.concatenate([cells, special])
    title, unit = feature.column, feature.unit if feature.is_free else ""
    title = f"{feature.part} of {title}" if j != term.main_input else title
    title += f" ({unit})" if unit and unit not in title else ""
    return Reading(title, np.array(inputs), tuple(texts), cells, positions[kept], is_whole)


def level_reading(terms: CurveTerms, term: ColumnTerm) -> Reading:
    """Return the reading of a category or of a column of yes and no, with a place for all other values."""
    column, inputs = term.column, term.inputs
    if isinstance(term.codec, Levels):
        texts = [text for text, _ in term.values]
        if column.rare and term.codec.has_levels:
            texts[-1] = unused_name(RARE, term.levels)
        texts.append(unused_name(OTHER, texts))
        cells = np.stack([*(own for _, own in term.values), np.zeros(len(inputs))])
        if terms.encoding.missing == "mean" and column.n_missing and column.common in texts:
            texts, cells = (
                [*texts, unused_name(MISSING, texts)],
                np.concatenate([cells, cells[[texts.index(column.common)]]]),
            )
        return Reading(column.name, inputs, tuple(texts), cells, np.zeros(0))
    own = [int(inputs[0])] if term.indicator is None else [int(inputs[0]), term.indicator]
    texts, cells = [text for text, _ in term.values[1::-1]], np.zeros((2, len(own)))
    cells[1, 0] = 1.0
    if column.n_missing:
        texts, cells = [*texts, MISSING], np.concatenate([cells, [[column.means[0], 1.0][: len(own)]]])
    return Reading(column.name, np.array(own), tuple(texts), cells, np.zeros(0))


def _input_reading(terms: CurveTerms, j: int) -> Reading:
    """Return the reading of one input alone: of a category whether it has a value, of a gap whether it is there."""
    feature, term = terms.encoding.features[j], terms.term_of[j]
    title, texts = feature.name, ("yes", "no")
    if feature.is_level:
        level = RARE if feature.is_pooled else term.levels[term.features.index(feature)]
        title, texts = feature.column, (level, "anything else")
    return Reading(title, np.array([j]), texts, np.array([[1.0], [0.0]]), np.zeros(0))


# -- entries ----------------------------------------------------------------------------------------------------------


def start_entry(terms: CurveTerms) -> Entry:
    """Return the entry that every sum begins with: the intercepts."""
    reading = Reading("start", np.zeros(0, int), ("every row",), np.zeros((1, 0)), np.zeros(0))
    points = terms.intercept[:, None, None]
    return Entry(
        "start", None, reading, points, lambda X: np.repeat(terms.intercept[None], len(X), axis=0), np.zeros(0)
    )


def column_entries(terms: CurveTerms, term: ColumnTerm, share: float) -> list[Entry]:
    """Return the entries of a column: one for each part of a date. Knots are printed within a share of their gaps."""
    if not term.numbers:
        function = _curves(terms, term.inputs.tolist())
        reading = level_reading(terms, term)
        X = np.zeros((len(reading.texts), len(terms.encoding.features)))
        X[:, reading.inputs] = reading.cells
        order = np.argsort(-function(X).max(axis=1), kind="stable").tolist()  # those first that add most
        reading = replace(reading, texts=tuple(reading.texts[k] for k in order), cells=reading.cells[order])
        return [_entry(terms, None, reading, function, np.zeros(0))]
    inputs = sorted(term.number_inputs, key=lambda j: j != term.main_input)  # the trend first
    entries = []
    for k, j in enumerate(inputs):
        knots, values = terms.curve_values(j)
        kept = sorted({place for height in values.T for place in choose_places(knots, height, 1e-9)})
        gaps = [] if k else [i for i in term.inputs.tolist() if i not in term.number_inputs]
        function = _curves(terms, [j, *gaps])
        reading = number_reading(terms, j, knots[kept], share)
        entries.append(_entry(terms, None, reading, function, knots))
    return entries


def _curves(terms: CurveTerms, inputs: Sequence[int]) -> Function:
    curves = terms.model.curves
    return lambda X: terms.to_points(sum((curves[j](X[:, j]) for j in inputs), np.zeros((len(X), len(terms.outputs)))))


def _entry(terms: CurveTerms, row: Reading | None, column: Reading, function: Function, knots: Floats) -> Entry:
    rows = np.zeros((1, 0)) if row is None else row.cells
    X = np.zeros((len(rows) * len(column.texts), len(terms.encoding.features)))
    X[:, column.inputs] = np.tile(column.cells, (len(rows), 1))
    if row is not None:
        X[:, row.inputs] = np.repeat(rows, len(column.texts), axis=0)
    points = function(X).T.reshape(-1, len(rows), len(column.texts))
    title = column.title if row is None else f"{row.title} (rows) and {column.title} (columns) together"
    return Entry(title, row, column, points, function, knots)


def plane_entry(terms: CurveTerms, plane: Plane, share: float) -> Entry:
    """Return the table of two columns, one of which has levels."""
    groups, d = plane.inputs, len(terms.encoding.features)
    numeric = [terms.encoding.features[group[0]].is_numeric for group in groups]

    def function(X: Floats) -> Floats:
        return terms.to_points(plane(X))

    first, second = groups if not numeric[0] else groups[::-1]

    def reading(inputs: list[int]) -> Reading:
        feature, term = terms.encoding.features[inputs[0]], terms.term_of[inputs[0]]
        if feature.is_gap or (term.codec.has_levels and len(inputs) < len(term.inputs)):
            return _input_reading(terms, inputs[0])
        return level_reading(terms, term)

    row = reading(first)
    if not any(numeric):
        other = reading(second)
        row, other = (row, other) if len(row.texts) <= len(other.texts) else (other, row)
        return _entry(terms, row, other, function, np.zeros(0))
    cells = [dict(zip(row.inputs.tolist(), cell, strict=True)) for cell in row.cells.tolist()]
    knots = plane_knots(plane, second[0], cells)
    X = np.zeros((len(row.cells), len(knots), d))
    X[:, :, row.inputs] = row.cells[:, None]
    X[:, :, second[0]] = knots
    values = function(X.reshape(-1, d)).reshape(len(row.cells), len(knots), -1)
    heights = np.moveaxis(values, 1, 2).reshape(-1, len(knots))
    kept = sorted({place for height in heights for place in choose_places(knots, height, 1e-9)})
    return _entry(terms, row, number_reading(terms, second[0], knots[kept], share), function, knots)
