"""The entries of a card of points: what a reader looks up and adds, and how far that is from the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal

import numpy as np

from creases._typing import Floats, Ints
from creases.tables._encoding.encoding import Feature
from creases.tables._reading.numbers import IntervalFormat
from creases.tables._reading.scales import ScaleFormat
from creases.tables._stages.basis import PiecewiseLinear
from creases.tables._stages.model import Plane, Units, add_margins
from creases.tables._words.curves import choose_places, feature_axis
from creases.tables._words.terms import ColumnTerm, Terms, days_input

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

    def rounded(self, worth: float, decimals: int, _: int) -> Entry:
        """Return the entry with rounded points, each worth so much."""
        return replace(self, points=np.round(self.points / worth, decimals))

    @property
    def is_zero(self) -> bool:
        """Whether it adds nothing."""
        return not self.points.any()


@dataclass(frozen=True, eq=False)
class Bends:
    """What units of several columns add: points for what a sum of scales is above a threshold.

    Each column has a scale from 0 to 1, and points of its own that belong to the same term.
    """

    title: str
    readings: tuple[Reading, ...]  #: (i,) one for each input
    scales: tuple[Floats, ...]  #: of each: (k,)
    margins: tuple[Floats, ...]  #: of each: (k, m)
    factors: Floats  #: (h, i)
    thresholds: Floats  #: (h,)
    points: Floats  #: (h, m)
    exact: tuple[Sequence[Function], Sequence[Function], Floats, Floats, Floats]  #: the same before rounding
    knots: tuple[Floats, ...]

    def __call__(self, X: Floats) -> Floats:
        """Return what a reader adds (n, m) for encoded rows X (n, d)."""
        weights = [reading.weights(X) for reading in self.readings]
        scales = np.stack([w @ s for w, s in zip(weights, self.scales, strict=True)], axis=1)
        above = np.maximum(scales @ self.factors.T - self.thresholds, 0.0)
        return np.asarray(above @ self.points + sum(w @ g for w, g in zip(weights, self.margins, strict=True)))

    def deviation(self, d: int, worth: float) -> tuple[Floats, Floats]:
        """Return bounds (m,) of the difference from the model over all inputs; points are worth so much.

        A bend changes by no more than the change of its points times its largest value, and its points times the change
        of the sum that it reads.
        """
        scales, margins, factors, thresholds, points = self.exact
        low, high = np.zeros(points.shape[1]), np.zeros(points.shape[1])
        moved = np.zeros(len(self.readings))
        for i, reading in enumerate(self.readings):
            cells = reading.candidates(self.knots[i])
            X = np.zeros((len(cells), d))
            X[:, reading.inputs] = cells
            weights = reading.weights(X)
            change = worth * (weights @ self.margins[i]) - margins[i](X)
            low, high = low + change.min(axis=0), high + change.max(axis=0)
            moved[i] = np.abs(weights @ self.scales[i] - scales[i](X)[:, 0]).max()
        largest = np.maximum(np.maximum(factors, 0.0).sum(axis=1) - thresholds, 0.0)
        sums = np.abs(self.factors) @ moved + np.abs(self.factors - factors).sum(axis=1)
        sums += np.abs(self.thresholds - thresholds)
        bound = largest @ np.abs(worth * self.points - points) + sums @ np.abs(worth * self.points)
        return low - bound, high + bound

    def rounded(self, worth: float, decimals: int, scale_decimals: int) -> Bends:
        """Return the entry with rounded points, each worth so much, scales, factors and thresholds."""
        return replace(
            self,
            scales=tuple(np.round(each, scale_decimals) for each in self.scales),
            margins=tuple(np.round(each / worth, decimals) for each in self.margins),
            factors=np.round(self.factors, scale_decimals),
            thresholds=np.round(self.thresholds, scale_decimals),
            points=np.round(self.points / worth, decimals),
        )

    @property
    def is_zero(self) -> bool:
        """Whether it adds nothing."""
        return not self.points.any() and not any(each.any() for each in self.margins)


# -- places -----------------------------------------------------------------------------------------------------------


def number_text(x: float, tolerance: float, *, commas: bool = True) -> str:
    """Return the shortest decimal number within a tolerance.

    Examples
    --------
    >>> number_text(2750.0004, 0.01), number_text(0.1 + 0.2, 1e-12), number_text(1978.0, 0.1, commas=False)
    ('2,750', '0.3', '1978')
    """
    for digits in range(1, 18):
        text = f"{x:.{digits}g}"
        if abs(float(text) - x) <= tolerance:
            break
    if "e" in text and (abs(x) >= 1e15 or abs(x) < 1e-9):
        return text
    plain = f"{Decimal(text):,f}" if commas else f"{Decimal(text):f}"
    return "0" if not plain.strip("-0.") else plain


def _day_text(first: str, days: float) -> tuple[str, float]:
    """Return a date so many days after the first, to the second, and the days that the text says."""
    start = datetime.fromisoformat(first)
    moment = (start + timedelta(days=days) + timedelta(milliseconds=500)).replace(microsecond=0)
    seconds = ":%S" if moment.second else ""
    form = f"%Y-%m-%d %H:%M{seconds}" if (moment - start).seconds else "%Y-%m-%d"
    return moment.strftime(form), (moment - start) / timedelta(days=1)


@dataclass(frozen=True, eq=False)
class _Places:
    """Places of a number as text, the numbers that the text says, and those that it stands for."""

    texts: list[str]
    positions: Floats  #: (n,)
    cells: Floats  #: (n,)
    is_whole: bool = False

    @classmethod
    def from_knots(cls, terms: Terms, feature: Feature, knots: Floats, share: float) -> _Places:
        """Return the places of knots (k,), each within a share of the gaps beside it; of a cycle all its values."""
        column = next(column for column in terms.encoding.inputs if column.name == feature.column)
        date, notation = column.kind.date, column.kind.notation
        axis = feature_axis(feature, terms.encoding, knots)
        if feature.part == "weekday" or (feature.part == "month" and date is not None and date.whole_months):
            values = np.array(axis.cycle)
            return cls([axis.place(value) for value in values], values, values, True)
        if isinstance(notation, ScaleFormat):
            values = np.arange(float(len(notation.levels)))
            return cls([notation.write(value) for value in values], values, values, True)
        if feature.part == "days":
            assert date is not None
            pairs = [_day_text(date.first, float(knot)) for knot in knots]
            return cls([text for text, _ in pairs], np.array([value for _, value in pairs]), knots)
        if isinstance(notation, IntervalFormat) and notation.labels:
            knots = np.unique(np.concatenate([knots, notation.parse(notation.labels)]))
        gaps = np.diff(knots)
        near = share * np.minimum(np.append(gaps, np.inf), np.append(np.inf, gaps))
        largest = float(np.abs(knots).max())
        commas = largest < 1000 or "," in axis.place(largest)  # years have none
        pairs = []
        for knot, tolerance in zip(knots.tolist(), near.tolist(), strict=True):
            text = number_text(knot, tolerance, commas=commas)
            position = float(text.replace(",", ""))
            if feature.part == "hour" and abs(knot - round(60 * knot) / 60) <= tolerance:
                minutes = round(60 * knot)
                text, position = f"{minutes // 60}:{minutes % 60:02d}", minutes / 60
            elif notation is not None:
                word = notation.write(knot)
                if abs((said := float(notation.parse([word])[0])) - knot) <= tolerance:
                    text, position = word, said
            pairs.append((text, position))
        return cls([text for text, _ in pairs], np.array([position for _, position in pairs]), knots)


def _title(feature: Feature) -> str:
    if feature.kind == "date" and feature.part != "days":
        return f"{feature.part} of {feature.column}"
    unit = feature.unit if feature.kind == "number" else ""
    return f"{feature.column} ({unit})" if unit and unit not in feature.column else feature.column


def number_reading(terms: Terms, j: int, knots: Floats, share: float) -> Reading:
    """Return the reading of an input that is a number; a missing value has a place if the table has missing values."""
    feature = terms.encoding.features[j]
    term = _term_of(terms, feature)
    places = _Places.from_knots(terms, feature, knots, share)
    kept = np.append(True, np.diff(places.positions) > 0)  # two dates of one second are one
    texts = [text for text, keep in zip(places.texts, kept, strict=True) if keep]
    inputs, gaps = [j, *term.codes], [f"code {text}" for text in term.codes.values()]
    if term.indicator is not None:
        inputs.append(term.indicator)
    cells = np.zeros((len(texts), len(inputs)))
    cells[:, 0] = places.cells[kept]
    mean = term.column.means[term.number_inputs.index(j)]
    special = np.concatenate([np.full((len(inputs), 1), mean), np.eye(len(inputs))[:, 1:]], axis=1)[
        1:
    ]  # 1 in one of the gaps
    if term.column.n_missing:
        gaps.append(MISSING)
        if term.indicator is None:
            special = np.concatenate([special, [[mean] + [0.0] * (len(inputs) - 1)]])
    texts, cells = [*texts, *gaps], np.concatenate([cells, special])
    title, positions = _title(feature), places.positions[kept]
    return Reading(title, np.array(inputs), tuple(texts), cells, positions, places.is_whole)


def level_reading(terms: Terms, term: ColumnTerm) -> Reading:
    """Return the reading of a category or of a column of yes and no, with a place for all other values."""
    column, inputs = term.column, term.inputs
    if column.is_category:
        names = [term.level_name(feature) for feature in term.features]
        texts = [*(RARE if name == OTHER else name for name in names), OTHER]
        cells = np.concatenate([np.eye(len(inputs)), np.zeros((1, len(inputs)))])
        if terms.encoding.missing == "mean" and column.n_missing and column.common in texts:
            texts, cells = [*texts, MISSING], np.concatenate([cells, cells[[texts.index(column.common)]]])
        return Reading(column.name, inputs, tuple(texts), cells, np.zeros(0))
    own = [int(inputs[0])] if term.indicator is None else [int(inputs[0]), term.indicator]
    texts, cells = list(column.kind.words or ("0", "1")), np.zeros((2, len(own)))
    cells[1, 0] = 1.0
    if column.n_missing:
        texts, cells = [*texts, MISSING], np.concatenate([cells, [[column.means[0], 1.0][: len(own)]]])
    return Reading(column.name, np.array(own), tuple(texts), cells, np.zeros(0))


def _input_reading(terms: Terms, j: int, knots: Floats, share: float) -> Reading:
    """Return the reading of one input alone: of a category whether it has a value, of a missing value whether it is."""
    feature = terms.encoding.features[j]
    term = _term_of(terms, feature)
    if feature.is_numeric:
        return number_reading(terms, j, knots, share)
    if feature.kind == "yes/no":
        return level_reading(terms, term)
    level = f"code {feature.level}" if feature.level else MISSING
    if feature.kind == "category":
        level = RARE if term.level_name(feature) == OTHER else term.level_name(feature)
    return Reading(feature.column, np.array([j]), (level, "anything else"), np.array([[1.0], [0.0]]), np.zeros(0))


def _term_of(terms: Terms, feature: Feature) -> ColumnTerm:
    return next(term for term in terms.columns if term.column.name == feature.column)


# -- entries ----------------------------------------------------------------------------------------------------------


def start_entry(terms: Terms) -> Entry:
    """Return the entry that every sum begins with: the intercepts."""
    reading = Reading("start", np.zeros(0, int), ("every row",), np.zeros((1, 0)), np.zeros(0))
    points = terms.intercept[:, None, None]
    return Entry(
        "start", None, reading, points, lambda X: np.repeat(terms.intercept[None], len(X), axis=0), np.zeros(0)
    )


def column_entries(terms: Terms, term: ColumnTerm, share: float) -> list[Entry]:
    """Return the entries of a column: one for each part of a date. Knots are printed within a share of their gaps."""
    if not term.numbers:
        function = _curves(terms, term.inputs.tolist())
        return [_entry(terms, None, _by_size(level_reading(terms, term), terms, function), function, np.zeros(0))]
    is_date = term.column.kind.date is not None
    order = sorted(term.number_inputs, key=lambda j: is_date and j != days_input(term))  # the trend first
    entries = []
    for k, j in enumerate(order):
        knots, values = terms.curve_values(j)
        kept = sorted({place for height in values.T for place in choose_places(knots, height, 1e-9)})
        gaps = [] if k else [i for i in term.inputs.tolist() if i not in term.number_inputs]
        function = _curves(terms, [j, *gaps])
        reading = number_reading(terms, j, knots[kept], share)
        entries.append(_entry(terms, None, reading, function, knots))
    return entries


def _curves(terms: Terms, inputs: Sequence[int]) -> Function:
    curves = list(terms.model.curves.values())
    return lambda X: terms.to_points(sum((curves[j](X[:, j]) for j in inputs), np.zeros((len(X), len(terms.outputs)))))


def _by_size(reading: Reading, terms: Terms, function: Function) -> Reading:
    """Return a reading of levels with those first that add most."""
    X = np.zeros((len(reading.texts), len(terms.encoding.features)))
    X[:, reading.inputs] = reading.cells
    order = np.argsort(-function(X).max(axis=1), kind="stable")
    texts = tuple(reading.texts[k] for k in order)
    return Reading(reading.title, reading.inputs, texts, reading.cells[order], reading.positions)


def _entry(terms: Terms, row: Reading | None, column: Reading, function: Function, knots: Floats) -> Entry:
    rows = np.zeros((1, 0)) if row is None else row.cells
    X = np.zeros((len(rows) * len(column.texts), len(terms.encoding.features)))
    X[:, column.inputs] = np.tile(column.cells, (len(rows), 1))
    if row is not None:
        X[:, row.inputs] = np.repeat(rows, len(column.texts), axis=0)
    points = function(X).T.reshape(-1, len(rows), len(column.texts))
    title = column.title if row is None else f"{row.title} (rows) and {column.title} (columns) together"
    return Entry(title, row, column, points, function, knots)


def plane_entry(terms: Terms, plane: Plane, share: float) -> Entry | Bends:
    """Return the table of two columns; of two numbers, between which it bends along diagonals, the bends."""
    by_name = {feature.name: j for j, feature in enumerate(terms.encoding.features)}
    groups = [[by_name[name] for name in names] for names in plane.features]
    numeric = [terms.encoding.features[group[0]].is_numeric for group in groups]
    if all(numeric):
        keys = sorted({*plane.hinges.first.tolist(), *plane.hinges.second.tolist()})
        factors = np.zeros((len(plane.weights), len(keys)))
        rows = zip(plane.hinges.first.tolist(), plane.hinges.second.tolist(), plane.hinges.weights, strict=True)
        for h, (i, j, (a, b, _)) in enumerate(rows):
            factors[h, keys.index(i)] += a
            factors[h, keys.index(j)] += b
        scales = [(plane.hinges.feature_of(key), _transform(plane, key)) for key in keys]
        return _bends(terms, scales, plane, factors, plane.hinges.weights[:, 2], plane.weights, share)

    def function(X: Floats) -> Floats:
        return terms.to_points(plane(X))

    first, second = groups if not numeric[0] else groups[::-1]
    row = _group_reading(terms, first)
    if not any(numeric):
        other = _group_reading(terms, second)
        row, other = (row, other) if len(row.texts) <= len(other.texts) else (other, row)
        return _entry(terms, row, other, function, np.zeros(0))
    knots = _plane_knots(plane, second[0], row)
    X = np.zeros((len(row.cells), len(knots), len(by_name)))
    X[:, :, row.inputs] = row.cells[:, None]
    X[:, :, second[0]] = knots
    values = function(X.reshape(-1, len(by_name))).reshape(len(row.cells), len(knots), -1)
    heights = np.moveaxis(values, 1, 2).reshape(-1, len(knots))
    kept = sorted({place for height in heights for place in choose_places(knots, height, 1e-9)})
    return _entry(terms, row, number_reading(terms, second[0], knots[kept], share), function, knots)


def _group_reading(terms: Terms, inputs: list[int]) -> Reading:
    """Return the reading of one side of a plane that is not a number."""
    feature = terms.encoding.features[inputs[0]]
    term = _term_of(terms, feature)
    if feature.is_gap or (term.column.is_category and len(inputs) < len(term.inputs)):
        return _input_reading(terms, inputs[0], np.zeros(0), 0.0)
    return level_reading(terms, term)


def _transform(plane: Plane, key: int) -> PiecewiseLinear:
    """Return what hinges of a plane read of a number: its spread, or a fold of its circle."""
    if key < 0:
        return plane.hinges.fold(key)
    return _spread(plane.hinges.knots[key])


def _spread(knots: Floats) -> PiecewiseLinear:
    """Return the spread of an input over [0, 1]; one that is 0 or 1 stays what it is."""
    ends = np.array([knots[0], knots[0] + 1.0]) if len(knots) == 1 else knots
    return PiecewiseLinear(ends, np.linspace(0, 1, len(ends))[:, None], is_open=len(knots) == 1)


def _plane_knots(plane: Plane, j: int, row: Reading) -> Floats:
    """Return where a plane can bend along the number j for one of the values in a row."""
    hinges = plane.hinges
    places = [plane.margins[j].knots] if j in plane.margins else []
    for i, k, (a, b, c) in zip(hinges.first.tolist(), hinges.second.tolist(), hinges.weights, strict=True):
        key, other, slope, factor = (i, k, a, b) if hinges.feature_of(i) == j else (k, i, b, a)
        own = _transform(plane, key)
        places.append(own.knots)
        for cell in row.cells:
            level = dict(zip(row.inputs.tolist(), cell.tolist(), strict=True)).get(hinges.feature_of(other), 0.0)
            height = slope * own.values[:, 0] + factor * max(level, 0.0) + c
            for n in np.flatnonzero(height[:-1] * height[1:] < 0):
                share = height[n] / (height[n] - height[n + 1])
                places.append(own.knots[n : n + 1] + share * (own.knots[n + 1] - own.knots[n]))
    return np.unique(np.concatenate(places))


def units_entry(terms: Terms, units: Units, share: float) -> Bends:
    """Return the bends of units of several columns."""
    read = sorted({*np.flatnonzero(np.abs(units.weights).max(axis=0, initial=0.0) > 0).tolist(), *units.margins})
    scales = [(j, _spread(units.knots[j])) for j in read]
    return _bends(terms, scales, units, units.weights[:, read], units.biases, units.outputs, share)


def _scale(j: int, transform: PiecewiseLinear) -> Function:
    return lambda X: transform(X[:, j])


def _margins(terms: Terms, constant: Floats, margins: Mapping[int, PiecewiseLinear]) -> Function:
    """Return the sum of a constant (m,) and of functions of single inputs."""
    return lambda X: terms.to_points(add_margins(np.tile(constant, (len(X), 1)), margins, X))


def _bends(
    terms: Terms,
    transforms: Sequence[tuple[int, PiecewiseLinear]],
    part: Plane | Units,
    factors: Floats,
    biases: Floats,
    outputs: Floats,
    share: float,
) -> Bends:
    """Return ``relu(scales @ factors.T + biases) @ outputs`` with what is taken out of it, by margins of inputs."""
    readings, every = [], []
    scales: list[Function] = []
    margins: list[Function] = []
    left = dict(part.margins)
    for k, (j, transform) in enumerate(transforms):
        own = left[j].knots if j in left else transform.knots
        both = np.unique(np.concatenate([transform.knots, own]))
        readings.append(_input_reading(terms, j, both, share))
        every.append(both)
        scales.append(_scale(j, transform))
        taken = {i: left.pop(i) for i in readings[-1].inputs.tolist() if i in left}  # also of a missing value
        margins.append(_margins(terms, part.constant if k == 0 else 0 * part.constant, taken))
    assert not left, "what is taken out belongs to the columns that are read"
    cells = []
    for reading in readings:
        X = np.zeros((len(reading.texts), len(terms.encoding.features)))
        X[:, reading.inputs] = reading.cells
        cells.append(X)
    points = terms.to_points(outputs)
    titles = list(dict.fromkeys(reading.title for reading in readings))
    name = f"{' and '.join(titles)} together" if isinstance(part, Plane) else "units"
    return Bends(
        name,
        tuple(readings),
        tuple(scale(X)[:, 0] for scale, X in zip(scales, cells, strict=True)),
        tuple(margin(X) for margin, X in zip(margins, cells, strict=True)),
        factors,
        -biases,
        points,
        (scales, margins, factors, -biases, points),
        tuple(every),
    )
