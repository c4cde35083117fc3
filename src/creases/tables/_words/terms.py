"""The sum that a model is, in the terms of a reader: one for each column, each plane, and one for all units."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import exp, expm1, log
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from creases._text import format_change, format_value, plural, short_names
from creases._typing import Bools, Floats, Ints
from creases.tables._encoding.columns import ColumnEncoding
from creases.tables._encoding.encoding import Feature, TableEncoding
from creases.tables._reading.times import CYCLES, FEW_DAYS, date_numbers
from creases.tables._stages.families import apply_link
from creases.tables._stages.model import CurveModel

if TYPE_CHECKING:
    from creases.tables._model.row_model import RowModel
    from creases.tables._model.table_model import TableModel
    from creases.tables._words.column_text import Options


#: Points by which odds double, and the points of one unit of log-odds.
DOUBLING = 10.0
POINTS = DOUBLING / log(2.0)

#: Points beyond which a class is as good as certain or excluded: odds of about a million to one.
DECISIVE = 200.0

#: Factors up to this one, or its inverse, are told in per cent.
FACTOR = 1.5

#: Points that nobody sees: odds change by less than a thousandth.
UNSEEN = 0.01

#: Terms that change the prediction by less than this share of the largest count as constant.
NEGLIGIBLE = 1e-6

_UNIT = re.compile(r"^(.*\S)\s*[(\[][^()\[\]]{1,12}[)\]]\s*$")  # petal length (cm)


_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")


@dataclass(frozen=True, eq=False)
class ColumnTerm:
    """What one column of the table adds: the curves of all inputs that encode it."""

    column: ColumnEncoding
    features: tuple[Feature, ...]
    inputs: Ints  #: (k,) numbers of these inputs

    @property
    def name(self) -> str:
        """The column's name without its unit."""
        return plain_name(self.column.name)

    @property
    def numbers(self) -> tuple[tuple[int, Feature], ...]:
        """The inputs that are numbers or parts of a date."""
        pairs = zip(self.inputs.tolist(), self.features, strict=True)
        return tuple((j, feature) for j, feature in pairs if feature.is_numeric)

    @property
    def number_inputs(self) -> list[int]:
        """The numbers of these inputs."""
        return [j for j, _ in self.numbers]

    @property
    def indicator(self) -> int | None:
        """The input that is 1 where the number or date is missing; None if there is none."""
        pairs = zip(self.inputs.tolist(), self.features, strict=True)
        return next((j for j, feature in pairs if feature.is_gap and not feature.is_code), None)

    @property
    def codes(self) -> dict[int, str]:
        """The inputs that are 1 where the number is a code, with its text."""
        pairs = zip(self.inputs.tolist(), self.features, strict=True)
        return {j: feature.level for j, feature in pairs if feature.is_code}

    def is_number(self, X: Floats) -> Bools:
        """Return in which encoded rows X (n, d) the number or date is neither missing nor a code."""
        gaps = [*self.codes, *([] if self.indicator is None else [self.indicator])]
        return np.asarray(~(X[:, gaps] > 0.5).any(axis=1))

    def level_name(self, feature: Feature) -> str:
        """Return the value of a category that an input stands for: ``Ulm``, ``missing``, ``other values``."""
        if feature.level:
            return feature.level
        return "missing" if feature.name == f"{self.column.name} is missing" else "other values"


@dataclass(frozen=True, eq=False)
class Terms:
    """A model of curves with the columns, classes and units of its table.

    What each term adds is in the units of the target, or with a logarithmic link to its logarithm, so that it
    multiplies the prediction. Of two classes it is in points for the second one, of more classes in points for each,
    above their mean: ten points double the odds.
    """

    most_rows: ClassVar[int] = 20_000  #: that sizes of effects are means over
    has_curves: ClassVar[bool] = True  #: whether a curve says what each column adds

    model: CurveModel
    encoding: TableEncoding
    classes: tuple[str, ...] | None
    target: str
    threshold: float

    @classmethod
    def from_model(cls, model: TableModel) -> Terms:
        """Return the terms of a model with curves."""
        schema = model.schema
        return cls(model.function, schema.encoder, schema.classes, plain_name(schema.target), schema.threshold)

    @cached_property
    def columns(self) -> tuple[ColumnTerm, ...]:
        """The terms of the columns, in the table's order."""
        places: dict[str, list[int]] = {}
        for j, feature in enumerate(self.encoding.features):
            places.setdefault(feature.column, []).append(j)
        by_name = {column.name: column for column in self.encoding.inputs}
        return tuple(
            ColumnTerm(by_name[name], tuple(self.encoding.features[j] for j in inputs), np.array(inputs))
            for name, inputs in places.items()
        )

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What the terms are called: columns, planes, units."""
        names = [term.name for term in self.columns]
        names += [self.plane_name(k) for k in range(len(self.model.planes))]
        units = self.model.units
        return tuple(names + ([f"{plural(len(units.biases), 'unit')} of several columns"] if units else []))

    def plane_name(self, k: int) -> str:
        """Return the columns of plane k: ``hour and workday together``."""
        by_name = {feature.name: feature for feature in self.encoding.features}
        parts = [part_name(by_name[features[0]], self) for features in self.model.planes[k].features]
        return f"{' and '.join(parts)} together"

    @property
    def is_factor(self) -> bool:
        """Whether what terms add are logarithms of factors of the prediction."""
        return self.model.link == "log"

    def predictions(self, scores: Floats) -> Floats:
        """Return what scores (..., m), in the units of the terms, stand for: values; points stay points."""
        return apply_link(scores, "log", self.model.largest) if self.is_factor else scores

    def amount_text(self, value: float) -> str:
        """Return what is added with its sign, or the factor that it stands for: ``+12 %``, ``x 1.8``."""
        return factor_text(value) if self.is_factor else format_change(value)

    @property
    def graph_unit(self) -> str:
        """What the values of a graph are measured in; "" where it is the target, whose unit is not known.

        Of factors it is their logarithm, with what a step of it is.
        """
        return f"log {self.target}".rstrip() + " (0.1 is x 1.11)" if self.is_factor else self.unit.strip()

    @property
    def is_binary(self) -> bool:
        """Whether the model decides between two classes."""
        return self.classes is not None and len(self.classes) == 2

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the classes, shortened where they are long; numbers with the target: ``survived=1``."""
        return class_labels(self.classes or (), self.target)

    @property
    def outputs(self) -> tuple[str, ...]:
        """(m,) What the terms are for: the target, the second of two classes, or each of more."""
        if self.classes is not None:
            return self.labels[1:] if self.is_binary else self.labels
        m = len(self.model.intercept)
        return (self.target,) if m == 1 else tuple(f"{self.target} {k + 1}" for k in range(m))

    @property
    def unit(self) -> str:
        """What the terms are measured in, with a space before it; "" where it is not known."""
        if self.classes is not None:
            return " points"
        return "" if self.is_factor else self.target_unit

    @property
    def target_unit(self) -> str:
        """The unit of the target, with a space before it; "" where it is not known."""
        unit = next((c.kind.unit for c in self.encoding.columns if c.use == "target"), "")
        return f" {unit}" if unit else ""

    @property
    def scale(self) -> float:
        """What one unit of the model's scores is in the units of the terms."""
        return 1.0 if self.classes is None else POINTS

    @property
    def unseen(self) -> float:
        """What a column must change at least to be mentioned."""
        return 0.0 if self.classes is None else UNSEEN

    @cached_property
    def intercept(self) -> Floats:
        """(m,) The prediction for the average row: where all terms are 0."""
        return self.to_points(self.model.intercept)

    def to_points(self, scores: Floats) -> Floats:
        """Return scores (..., m) in the units of the terms."""
        if self.classes is None:
            return scores
        return POINTS * (scores if self.is_binary else scores - scores.mean(axis=-1, keepdims=True))

    def contributions(self, X: Floats) -> Floats:
        """Return what each term adds at encoded rows X (n, d): (n, t, m); with the intercept they are the scores."""
        curves = [curve(X[:, j]) for j, curve in enumerate(self.model.curves.values())]
        parts = [sum((curves[j] for j in term.inputs), np.zeros_like(curves[0])) for term in self.columns]
        parts += [plane(X) for plane in self.model.planes]
        units = self.model.units
        parts += [units(X)] if units else []
        return self.to_points(np.stack(parts, axis=1))

    def scores(self, X: Floats) -> Floats:
        """Return the predictions (n, m) in the units of the terms."""
        return self.to_points(self.model.scores(X))

    def mixed_columns(self) -> list[bool]:
        """Return for each column whether planes or units read it."""
        names = {name for plane in self.model.planes for group in plane.features for name in group}
        units = self.model.units
        used = np.zeros(len(self.encoding.features), bool) if units is None else np.any(units.weights != 0, axis=0)
        return [bool(names & {f.name for f in term.features}) or bool(used[term.inputs].any()) for term in self.columns]

    def gains(self, x: Floats, D: Floats, options: Options, columns: Sequence[Options]) -> Floats:
        """Return by how much each option (n,) of a column brings each part of a goal (n, k) nearer at most."""
        from creases.tables._words.changes import curve_gains

        return curve_gains(self, x, D, options, columns)

    def curve_values(self, j: int) -> tuple[Floats, Floats]:
        """Return knots (k,) and values (k, m) of the curve of input j, in the units of the terms."""
        curve = list(self.model.curves.values())[j]
        return curve.knots, self.to_points(curve.values)

    def error_values(self, j: int) -> Floats:
        """Return the standard errors (k, m) of the curve of input j at its knots, in the units of the terms."""
        errors = list(self.model.curves.values())[j].errors
        return errors if self.classes is None else POINTS * errors

    def at(self, term: ColumnTerm, values: Mapping[int, float]) -> Floats:
        """Return what a column adds (m,) with values by input; the other inputs of the column are 0."""
        curves = list(self.model.curves.values())
        parts = [curves[j](np.array([values.get(j, 0.0)]))[0] for j in term.inputs.tolist()]
        return self.to_points(np.sum(parts, axis=0))

    def missing(self, term: ColumnTerm) -> Floats | None:
        """Return what a column of numbers or dates adds (m,) where it is missing; None if that never occurred."""
        return None if term.indicator is None else self._gap(term, term.indicator)

    def codes(self, term: ColumnTerm) -> dict[str, Floats]:
        """Return what each code of a column adds, (m,) by its text."""
        return {text: self._gap(term, j) for j, text in term.codes.items()}

    def _gap(self, term: ColumnTerm, indicator: int) -> Floats:
        means = dict(zip([j for j, _ in term.numbers], term.column.means, strict=False))
        if not term.numbers:  # yes or no
            means = {int(term.inputs[0]): term.column.means[0]}
        return self.at(term, means | {indicator: 1.0})

    @cached_property
    def spans(self) -> Floats:
        """(columns,) How far each column can move the prediction over the range of the rows trained on."""
        spans = []
        for term in self.columns:
            parts = [self.curve_values(j)[1] for j in term.inputs.tolist()]
            if term.column.is_category:
                total = np.stack([self.at(term, {j: 1.0}) for j in term.inputs.tolist()])
                spans.append(float(np.ptp(total, axis=0).max()))
            else:
                spans.append(float(sum(np.ptp(values, axis=0).max() for values in parts)))
        return np.array(spans)

    def change_text(self, value: float) -> str:
        """Return what is added with its sign; of points no more than odds of a million to one."""
        if self.classes is not None and abs(value) > DECISIVE:
            return f"{'under -' if value < 0 else 'over +'}{DECISIVE:.0f}"
        return "0" if self.classes is not None and abs(value) < UNSEEN else self.amount_text(value)

    def is_decisive(self, term: ColumnTerm) -> bool:
        """Return whether a column of numbers can move the odds of a class by more than a million to one."""
        return self.classes is not None and bool(self.spans[self.columns.index(term)] > DECISIVE)

    @cached_property
    def parts(self) -> tuple[str, ...]:
        """What the terms are called where a model stores them: the table's columns, planes and units."""
        names = [term.column.name for term in self.columns]
        for name in [*(plane.name for plane in self.model.planes), *(["units"] if self.model.units else [])]:
            while name in names:  # a column may have this name
                name += "'"
            names.append(name)
        return tuple(names)


@dataclass(frozen=True, eq=False)
class TermEffects:
    """What each term of a model does to the predictions of the rows that it was fitted to, in the units of the terms.

    Every text and picture takes the order of the terms and their ranges from here, so that they agree.
    """

    sizes: Floats  #: (t,) mean absolute effect; of several classes that of the one moved most
    ranges: Floats | None  #: (t, 2) least and largest effect on any class; None if no rows are known

    @classmethod
    def from_rows(cls, terms: Terms, X: Floats, count: Floats | Ints | None = None) -> TermEffects:
        """Return the effects on encoded rows X (n, d), each of which occurs ``count`` (n,) times."""
        effects = terms.contributions(X)
        sizes = np.average(np.abs(effects).max(axis=2), axis=0, weights=count)
        return cls(sizes, np.stack([effects.min(axis=(0, 2)), effects.max(axis=(0, 2))], axis=1))

    @classmethod
    def from_model(cls, model: RowModel, terms: Terms, X: Floats | None = None) -> TermEffects:
        """Return the effects on rows X, or on those that the model was fitted to, which it has or remembers.

        Without any, the size of a column is a quarter of its range.
        """
        if X is not None:
            return cls.from_rows(terms, X)
        if (stored := model._facts.get("effects")) is not None:
            values = np.array([stored[name] for name in terms.parts]).reshape(-1, 3) * terms.scale
            return cls(values[:, 0], values[:, 1:])
        data = model.data
        if data is None:
            return cls(np.concatenate([terms.spans / 4, np.zeros(len(terms.names) - len(terms.columns))]), None)
        used = np.sort(np.concatenate(data.parts[:2]))
        used = used[np.linspace(0, len(used) - 1, min(len(used), terms.most_rows)).astype(np.int64)]
        return cls.from_rows(terms, data.rows.X[used], data.rows.count[used])

    def to_dict(self, terms: Terms) -> dict[str, list[float]]:
        """Return size, least and largest effect on the scores by the name of each part, the largest first."""
        assert self.ranges is not None
        table = np.column_stack([self.sizes, self.ranges]) / terms.scale
        order = np.argsort(-self.sizes, kind="stable")
        return {terms.parts[k]: table[k].tolist() for k in order}


def factor_text(value: float) -> str:
    """Return the factor that adding to a logarithm is: in per cent while it is small.

    Examples
    --------
    >>> factor_text(log(1.12)), factor_text(log(1.8)), factor_text(log(0.4))
    ('+12 %', 'x 1.8', 'x 0.4')
    """
    if abs(value) < log(FACTOR):
        return f"{format_change(100 * expm1(value))} %"
    return f"x {format_value(exp(min(value, 700.0)), 2)}"


def class_labels(classes: Sequence[str], target: str) -> tuple[str, ...]:
    """Return what classes are called in sentences: their names, shortened; numbers with the target.

    Examples
    --------
    >>> class_labels(("0", "1"), "survived"), class_labels(("no", "yes"), "survived")
    (('survived=0', 'survived=1'), ('no', 'yes'))
    """
    is_number = bool(classes and target) and all(_NUMBER.fullmatch(name) for name in classes)
    return short_names([f"{target}={name}" for name in classes] if is_number else classes)


def training_rows(model: TableModel) -> Floats | None:
    """Return the encoded rows (n, d) that a model was trained on; None if it was loaded without them."""
    data = model.data
    return None if data is None else data.rows.X[np.sort(np.concatenate(data.parts[:2]))]


def table_rows(model: RowModel) -> Floats | None:
    """Return all encoded rows (n, d) of a model's table; a loaded model reads them again, if they are still there."""
    from creases.errors import CreasesError
    from creases.tables._folder.folder import RunFile
    from creases.tables._folder.settings import FitSettings

    if (data := model.data) is not None:
        return np.asarray(data.rows.X)
    folder = model._facts.get("folder")
    if folder is None or not (folder / RunFile.SETTINGS).exists():
        return None
    try:
        return np.asarray(FitSettings.load(folder).load_problem().X)
    except (CreasesError, OSError):
        return None  # the table has gone


def plain_name(name: str) -> str:
    """Return a column's name without the unit in it: ``petal length`` of ``petal length (cm)``."""
    match = _UNIT.match(name)
    return match[1] if match else name


def part_name(feature: Feature, terms: Terms) -> str:
    """Return what an input is called: by its column, a part of a date that recurs with its part (``month of sold``)."""
    if feature.kind != "date" or feature.part == "days":
        return plain_name(feature.column)
    return f"{feature.part} of {plain_name(feature.column)}"


# What the inputs of a model are in the rows it was trained on: ranges, spreads, whole numbers, days.


@dataclass(frozen=True, eq=False)
class InputRanges:
    """The values of inputs that occur."""

    low: Floats  #: (d,)
    high: Floats  #: (d,)
    spread: Floats  #: (d,) standard deviation; 1 where an input is constant
    unit: Floats  #: (d,) power of ten that all values of a number are multiples of; 0 if there is none
    month_days: frozenset[int]  #: days of the month that dates have; empty if they have many

    @classmethod
    def from_rows(cls, terms: Terms, X: Floats) -> InputRanges:
        """Return the ranges in encoded rows X (n, d); a value filled in for a missing one counts nowhere."""
        d = X.shape[1]
        low, high, spread, unit = np.zeros(d), np.ones(d), np.ones(d), np.ones(d)
        days: set[int] = set()
        for term in terms.columns:
            known = X[term.is_number(X)]
            for j in term.inputs.tolist():
                values = known[:, j] if len(known) else X[:, j]
                low[j], high[j] = values.min(), values.max()
                spread[j] = values.std() or 1.0
                unit[j] = _unit(values)
            if term.column.kind.date is not None:
                moments = _moments(term, known[:, days_input(term)])
                days |= set(((moments - moments.astype("M8[M]")).astype("m8[D]").astype(int) + 1).tolist())
        return cls(low, high, spread, unit, frozenset(days) if len(days) <= FEW_DAYS else frozenset())

    @classmethod
    def from_limits(cls, terms: Terms, limits: Floats) -> InputRanges:
        """Return what is known without rows, from the least and largest value (d, 2) of each input."""
        low, high = limits.T
        curves = [terms.curve_values(j)[0] for j in range(len(low))]
        whole = [bool((np.append(knots, ends) % 1 == 0).all()) for knots, ends in zip(curves, limits, strict=True)]
        spread = np.where(high > low, (high - low) / 4, 1.0)
        return cls(low, high, spread, np.where(whole, 1.0, 0.0), frozenset())


def model_ranges(model: TableModel, terms: Terms, X: Floats | None = None) -> InputRanges:
    """Return what the inputs of a model are: in rows X (n, d), in those trained on, or as far as the model knows."""
    X = training_rows(model) if X is None else X
    return InputRanges.from_limits(terms, model.schema.ranges) if X is None else InputRanges.from_rows(terms, X)


def _unit(values: Floats) -> float:
    """Return the largest power of ten, up to 1, that values (n,) are multiples of; 0 if they have many decimals."""
    for decimals in range(7):
        if (np.round(values, decimals) == values).all():
            return float(10.0**-decimals)
    return 0.0


def days_input(term: ColumnTerm) -> int:
    """Return the input of a date that counts days."""
    date = term.column.kind.date
    assert date is not None
    return int(term.inputs[date.parts.index("days")])


def _moments(term: ColumnTerm, days: Floats) -> NDArray[np.datetime64]:
    """Return days since the first one (n,) as moments, to the millisecond."""
    date = term.column.kind.date
    assert date is not None
    return np.datetime64(date.first, "ms") + np.round(days * 86_400_000).astype("m8[ms]")


def date_options(term: ColumnTerm, x: Floats, ranges: InputRanges) -> tuple[Floats, Floats]:
    """Return the other dates that a row x (d,) could have: their distance in days (n,) and encoded parts (n, parts).

    They are at the same time of day within the range of the table. A month or weekday that never changes in the table
    does not here.
    """
    date, j = term.column.kind.date, days_input(term)
    assert date is not None
    start = float(x[j])
    steps = np.arange(np.ceil(ranges.low[j] - start - 1e-9), np.floor(ranges.high[j] - start + 1e-9) + 1)
    own = _parts(term, np.array([start]))
    days = start + steps[steps != 0]
    parts = _parts(term, days)
    allowed = np.ones(len(days), bool)
    for name in ("month",) if ranges.month_days else ("month", "weekday"):
        if name not in date.parts and ranges.high[j] - ranges.low[j] > CYCLES[name]:
            allowed &= np.floor(parts[name]) == np.floor(own[name])
    if ranges.month_days:
        allowed &= np.isin(parts["day"], sorted(ranges.month_days))
    table = np.stack([parts[name] for name in date.parts], axis=1)[allowed]
    return np.abs(days - start)[allowed], table


def _parts(term: ColumnTerm, days: Floats) -> dict[str, Floats]:
    """Return the parts of dates, days since the first one (n,), as the encoding computes them, and the day of month."""
    date = term.column.kind.date
    assert date is not None
    moments = _moments(term, days).astype("M8[us]")
    return date_numbers(moments, date.first, whole_months=date.whole_months) | {"days": days}
