"""What is known of a kind of column: how its cells are read and written, encoded, exported, drawn and said.

Everybody who reads a column asks its codec, and nobody asks for its kind. A codec is plain data: it is stored with the
encoding of a table. What :class:`Codec` says holds for numbers; :class:`TextCodec` for texts that are read as numbers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from math import floor, log10
from typing import Any, ClassVar, Literal, Self, TypeAlias

import numpy as np

from creases._text import format_value, list_some
from creases._typing import Floats
from creases.tables._columns.nodes import Choose, If, Input, Missing, Name, Number
from creases.tables._reading.columns import LARGEST_WHOLE, Column, to_number

#: Days of a month and a year, on average.
MONTH, YEAR = 30.4375, 365.25

#: Dates over more days than this are told by month and year, slopes over more than so many by year or by month.
LONG, YEARS, MONTHS = 3 * YEAR, 2 * YEAR, 60.0

#: A step by which slopes are told is at most this share of the column's range.
SLOPE_STEP = 0.1


@dataclass(frozen=True, eq=False)
class Axis:
    """How the values of one input are written."""

    place: Callable[[float], str]  #: a value with its unit
    step: float  #: by how much to tell slopes
    step_name: str  #: ``100 lb``
    until: str  #: ``up to`` of numbers, ``until`` of dates
    beyond: str  #: ``above`` or ``after``
    at: str  #: ``at`` or ``in``
    cycle: tuple[float, ...] = ()  #: all values of a month, weekday or hour
    levels: tuple[float, ...] = ()  #: all values of an ordinal or of intervals
    ticks: tuple[float, ...] = ()  #: where a picture has labels; () for round numbers
    name: str = ""  #: what a curve along it is called; "" where it is that of the column
    first_day: str = ""  #: the day that is 0; "" where it counts no days
    whole: tuple[float, ...] = ()  #: all values of a number that takes no others, as a weekday; () for others


def number_axis(name: str, unit: str, knots: Floats) -> Axis:
    """Return the axis of a column of numbers from its name, unit and knots (k,)."""
    low, high = float(knots[0]), float(knots[-1])
    four_digits = low >= 1000 and high <= 2200  # years, whatever the column is called; other numbers read as well
    is_year = four_digits and bool(re.search(r"(?i)year|built|born|founded|vintage", name))
    step = round_step(low, high, whole=bool((knots == np.round(knots)).all()))
    after = f" {unit}" if unit else ""
    size = f"1{after}" if step == 1 and not unit else unit if step == 1 else f"{format_value(step)}{after}"
    # the digits that separate values of the range: at least four, and more where it is narrow for its values
    digits = int(np.clip(3 + np.ceil(np.log10(max(abs(low), abs(high)) / (high - low))), 4, 15))

    def place(x: float) -> str:
        return format_value(x, digits, commas=not four_digits) + after

    return Axis(place, step, "year" if is_year and step == 1 else size, "up to", "above", "at")


def days_axis(first: str, length: float) -> Axis:
    """Return the axis of days since the first one, over so many days."""
    step, name = (YEAR, "year") if length > YEARS else (MONTH, "month") if length > MONTHS else (1.0, "day")
    if length > LONG:
        return Axis(lambda x: date_text(first, x, "%B %Y"), step, name, "until", "after", "in")
    return Axis(lambda x: date_text(first, x), step, name, "until", "after", "on")


def date_text(first: str, days: float, form: str = "%d %B %Y") -> str:
    """Return a date so many days after the first: ``14 February 2020``, with the time where it is not midnight."""
    moment = datetime.fromisoformat(first) + timedelta(days=float(days))
    moment = (moment + timedelta(seconds=0.5)).replace(microsecond=0)
    time = f" {moment:%H:%M}" if "%d" in form and (moment.hour or moment.minute) else ""
    return moment.strftime(form).lstrip("0") + time


def round_step(low: float, high: float, *, whole: bool) -> float:
    """Return the power of ten by which to tell slopes over a range: 100 of 1,600 to 5,100; at least 1 if whole."""
    exponent = floor(log10(SLOPE_STEP * (high - low) * (1 + 1e-12)))
    return 10.0 ** (max(exponent, 0) if whole else exponent)


def number_text(x: float, tolerance: float, *, commas: bool = True) -> str:
    """Return the shortest decimal number within a tolerance."""
    for digits in range(1, 18):
        text = f"{x:.{digits}g}"
        if abs(float(text) - x) <= tolerance:
            break
    if "e" in text and (abs(x) >= 1e15 or abs(x) < 1e-9):
        return text
    plain = f"{Decimal(text):,f}" if commas else f"{Decimal(text):f}"
    return "0" if not plain.strip("-0.") else plain


# A codec.


#: A ``ColumnEncoding`` and ``InputRanges``: both know the codecs, so no codec can import them.
EncodedColumn: TypeAlias = Any
Ranges: TypeAlias = Any

#: What any change of a column counts, and a change of a category or of yes and no in all.
CHANGE, SWITCH = 0.1, 1.0

#: Numbers move by at most this share of their range, in round steps.
STEP = 1 / 200

#: Levels of an ordinal or intervals that are told one by one, and labels of a picture, at most.
LEVELS, TICKS = 100, 6

_UNIT = re.compile(r"[(\[]([^()\[\]]{1,12})[)\]]\s*$")

#: What stands for a value that the table did not have.
UNKNOWN = "a new value"

#: Where a month, weekday or hour begins and ends: a circle. Months have fractions unless a table has few days.
CIRCLES = {"month": (1.0, 13.0), "weekday": (0.0, 7.0), "hour": (0.0, 24.0)}


@dataclass(frozen=True)
class Feature:
    """A number that the network gets for each row, and where it comes from."""

    name: str  #: as in ``Problem.features``, its own: ``age``, ``town=Ulm``, ``town=other values``, ``age is missing``
    column: str  #: the column of the table
    #: "lookup" is the number of a category's value, from 1 on; "missing" is 1 where the cell is missing, or a code
    kind: Literal["number", "yes/no", "date", "category", "lookup", "missing"]
    level: str = ""  #: of a category: its value; "" for a missing value or the pooled rare ones; the code
    is_pooled: bool = False  #: whether it stands for all rare values of a category
    unit: str = ""  #: of numbers, if known
    part: str = ""  #: of a date: year, month, weekday, hour or days; of a time of day: hour

    @property
    def circle(self) -> tuple[float, float] | None:
        """Where a month, weekday or hour begins and ends, which is the same place; None for what is no circle."""
        return CIRCLES.get(self.part)

    @property
    def variable(self) -> str:
        """What planes read by it, by name: the column, a part of a date, or that the column is missing or a code."""
        is_part = self.is_gap or (self.kind == "date" and self.part != "days")
        return self.name if is_part else self.column

    @property
    def is_numeric(self) -> bool:
        """Whether it takes more values than 0 and 1."""
        return self.kind in ("number", "date")

    @property
    def is_free(self) -> bool:
        """Whether it is a number that moves without another one, as the parts of a date do not."""
        return self.kind == "number"

    @property
    def is_level(self) -> bool:
        """Whether it is 1 for one value of a column, all of whose values have such a number."""
        return self.kind == "category"

    @property
    def is_lookup(self) -> bool:
        """Whether it is the number of one of very many values, each with an effect of its own."""
        return self.kind == "lookup"

    @property
    def is_gap(self) -> bool:
        """Whether it is 1 where the column has no value: the cell is missing, or a code."""
        return self.kind == "missing"

    @property
    def is_code(self) -> bool:
        """Whether it is 1 where the cell is a code, which ``level`` is."""
        return self.is_gap and bool(self.level)


@dataclass(frozen=True, eq=False)
class Steps:
    """How a program reads the cells of a column: stages of steps, and the inputs of the model that they become."""

    stages: Sequence[Mapping[str, Any]]
    nodes: list[Any]
    flaw: Any  #: 1 where a cell is not what the column has, or may be what only the table reads
    gap: Any = None  #: 1 where a cell is missing; None where that has no input


@dataclass(frozen=True)
class Codec:
    """A column of numbers, each a cell. Other kinds override what they do in another way."""

    kinds: ClassVar[tuple[str, ...]] = ()  #: what columns of it are called; the first is its name in files
    given: ClassVar[tuple[str, ...]] = ()  #: those of the kinds that a user can give a column
    plural: ClassVar[str] = "numbers"  #: what its cells are
    has_levels: ClassVar[bool] = False  #: whether it has an input for each of its values, which are counted
    is_discrete: ClassVar[bool] = False  #: whether its values are told one by one
    is_moment: ClassVar[bool] = False  #: whether its cells are points in time, by which rows have an order
    is_plain: ClassVar[bool] = False  #: whether its cells are numbers as Python spells them
    is_reading: ClassVar[bool] = False  #: whether its texts need not be read so, and its kind is to be said
    is_spelled: ClassVar[bool] = True  #: whether a text such as 1234.5 is what it is in Python
    own_unit: ClassVar[str | None] = None  #: the unit of its numbers; None where it may be in the name of the column
    main: ClassVar[int] = 0  #: which of its numbers has the order of the column
    has_codes: ClassVar[bool] = True  #: whether some numbers may be levels of their own

    # -- reading ------------------------------------------------------------------------------------------------------

    def check(self) -> bool:
        """Return whether its fields, which have their types, go together: they may be of a damaged file."""
        return True

    def describe(self) -> str:
        """Say what is special about how it is read; "" for nothing."""
        return ""

    def unit_of(self, name: str) -> str:
        """Return the unit of its numbers; "" if there is none."""
        match = _UNIT.search(name)
        return self.own_unit if self.own_unit is not None else match[1].strip() if match else ""

    def parse(self, texts: Sequence[str | None]) -> Floats:
        """Return the numbers (n,) of texts, NaN for those that are missing or none."""
        raise NotImplementedError

    def accept(self, values: Floats) -> Floats:
        """Return numbers (n,) that came as such, NaN where the column cannot have them."""
        return values

    def read(self, column: Column) -> Column:
        """Return a column as its cells are; what cannot be read is missing."""
        if column.is_date:
            return replace(column, values=np.full(len(column.values), np.nan))
        values = self.parse(column.values.tolist()) if column.is_text else self.accept(column.values)
        return replace(column, values=values)

    def numbers(self, read: Column) -> Floats:
        """Return the numbers (n, k) of a column that has been read, NaN where they are missing."""
        return np.asarray(read.values, np.float64)[:, None]

    # -- encoding -----------------------------------------------------------------------------------------------------

    def features(self, name: str) -> list[Feature]:
        """Return what its numbers are."""
        return [Feature(name, name, "number", unit=self.unit_of(name))]

    def encode(self, column: EncodedColumn, read: Column, missing: str) -> Floats:
        """Return the inputs (n, k) of cells: with the mean for what is missing or a code, which have inputs behind."""
        numbers = self.numbers(read)
        codes = np.asarray(numbers[:, :1] == np.array(column.kind.codes))
        gaps = np.isnan(numbers) | codes.any(axis=1, keepdims=True)
        parts: list[Any] = [np.where(gaps, np.array(column.means), numbers)]
        if column.n_missing and missing == "indicate":
            parts.append(gaps[:, 0] & ~codes.any(axis=1))
        return np.column_stack([*parts, codes]) if codes.shape[1] or len(parts) > 1 else parts[0]

    def encoded_features(self, column: EncodedColumn, missing: str) -> list[Feature]:
        """Return what the inputs of :meth:`encode` are."""
        result, name = self.features(column.name), column.name
        if column.n_missing and missing == "indicate":
            result.append(Feature(f"{name} is missing", name, "missing"))
        texts = [format_level(code) for code in column.kind.codes]
        return result + [Feature(f"{name} is {text}", name, "missing", text) for text in texts]

    def first_of(self, read: Column) -> Any:
        """Return where the numbers of cells begin: the first day; None where they count from nowhere."""
        return None

    def begin(self, first: Any) -> tuple[Self, float]:
        """Return the codec with another beginning of its main number, and what each of these counts more then."""
        return self, 0.0

    def month_days(self, values: Floats) -> set[int]:
        """Return the days of the month of encoded cells (n, k); none where these are no dates."""
        return set()

    # -- one value ----------------------------------------------------------------------------------------------------

    def cell(self, column: EncodedColumn, values: Floats) -> Any:
        """Return inputs (k,) as a cell that is read as these again."""
        return float(values[0])

    def text(self, values: Floats, name: str, knots: Floats) -> str:
        """Return numbers (k,) as a reader writes them: ``58``, ``2,130 lb``, ``14 May 2020``."""
        unit = self.unit_of(name)
        axis = number_axis(name, unit, knots)
        value = float(values[0])
        digits = 12 if value == round(value, 3) else 5
        return format_value(value, digits, commas="," in axis.place(2000.0)) + (f" {unit}" if unit else "")

    def levels(self, column: EncodedColumn, names: Sequence[str]) -> list[tuple[str, Floats]]:
        """Return the values of a discrete column, each with its inputs (k,); ``names`` are those of its inputs."""
        return []

    # -- axes and words -----------------------------------------------------------------------------------------------

    def axis(self, feature: Feature, knots: Floats) -> Axis:
        """Return how the values of one of its numbers are written, from knots (k,)."""
        return number_axis(feature.column, feature.unit, knots)

    def label(self, feature: Feature, value: float, tolerance: float, *, commas: bool) -> tuple[str, float]:
        """Return a number as a printed scale has it, within a tolerance, and the number that this text says."""
        text = number_text(value, tolerance, commas=commas)
        return text, float(text.replace(",", ""))

    # -- other values of a row ----------------------------------------------------------------------------------------

    def options(self, own: Floats, features: Sequence[Feature], ranges: Ranges) -> tuple[Floats, Floats]:
        """Return other inputs (n, k) that a row with inputs (k,) could have, and what each change counts (n,).

        ``ranges`` are those of these inputs. A number moves in round steps, at most as fine as the table writes it.
        """
        low, high = float(ranges.low[0]), float(ranges.high[0])
        step = max(round_down(STEP * (high - low)), float(ranges.unit[0])) if high > low else 1.0
        values = np.arange(np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9) + 1) * step
        values = np.array([float(f"{value:.12g}") for value in np.clip(values, low, high)])
        return self.moved(own, values[np.abs(values - own[0]) > step / 1000], ranges)

    def moved(self, own: Floats, values: Floats, ranges: Ranges) -> tuple[Floats, Floats]:
        """Return inputs with other numbers (n,), and what these changes count."""
        rows = np.repeat(own[None], len(values), axis=0)
        rows[:, 0] = values
        return rows, CHANGE + np.abs(values - own[0]) / ranges.spread[0]

    def joint_values(self, own: Floats, ranges: Ranges) -> Floats | None:
        """Return the numbers (n, k) that a cell can become, where they go together; None where any can be."""
        return None

    # -- exported programs --------------------------------------------------------------------------------------------

    ignores: ClassVar[Literal["nothing", "case", "marks"]] = "case"  #: of labels
    is_closed: ClassVar[bool] = True  #: whether its labels are all that it reads

    def labels(self) -> dict[str, float]:
        """Return the numbers of texts that cells are; {} where a program reads numbers."""
        return {}

    def example(self, value: float, unit: str) -> str:
        """Return how the table writes a number; "" where it is plain."""
        return ""

    def input(self, column: EncodedColumn) -> Input:
        """Return how a program reads the cells of a column."""
        if labels := self.labels():
            words = list_some([repr(word) for word in self.named(labels)])
            return Input(column.name, "text", f"text: {words}", ignores=self.ignores)
        unit, mean = self.unit_of(column.name), float(f"{column.means[0]:.3g}")
        example = self.example(mean, unit)
        about = {"h": " of hours", "": ""}.get(unit, f" in {unit}") + (f", {mean:g} for {example}" if example else "")
        return Input(column.name, "number", f"a number{about}", self.is_spelled)

    def named(self, labels: Mapping[str, float]) -> Sequence[str]:
        """Return those of the labels by which a user is told what cells are to be."""
        return [*labels]

    def program(
        self, column: EncodedColumn, each: Input, k: int, missing: str
    ) -> tuple[list[dict[str, Any]], list[Any]]:
        """Return stages of steps that read the cells of column k, and the inputs of the model that these become.

        The step ``unread`` is 1 where a cell is not a number or date, or may be one that is only read in the table.
        """
        is_missing = Name(f"missing{k}").equals(1)
        stages: list[dict[str, Any]] = [{f"missing{k}": Missing(k)}, {}, {}, {}, {}]
        read = self.label_steps(column, each, k) if self.labels() else self.steps(column, k, missing)
        for stage, more in zip(stages, read.stages, strict=False):
            stage |= more
        if read.flaw:
            stages[4] = {f"unread{k}": If(is_missing, 0, read.flaw)}
        nodes = read.nodes
        if column.n_missing and missing == "indicate" and read.gap is not None:
            nodes.append(read.gap)
        for code in column.kind.codes:  # the mean, which stands for what is missing, may be one
            nodes.append(If(is_missing, 0, If(Name(f"number{k}").equals(code), 1, 0)))
        return stages, nodes

    def steps(self, column: EncodedColumn, k: int, missing: str) -> Steps:
        """Return the steps that read cells, each of them a number."""
        node: Any = Name(f"number{k}")
        for code in column.kind.codes:  # the mean is in their place
            node = If(Name(f"number{k}").equals(code), column.means[0], node)
        number = {f"number{k}": Number(k, column.means[0])}
        flaw = If(Number(k, 0.0).equals(Number(k, 1.0)), 0, 1)
        return Steps(({}, number), [node], flaw, Name(f"missing{k}"))

    def label_steps(self, column: EncodedColumn, each: Input, k: int) -> Steps:
        """Return the steps that read cells, each of them one of the labels."""
        is_missing, labels = Name(f"missing{k}").equals(1), self.labels()
        typed = [*labels.values()] if self.is_closed else [x for x in map(level_number, labels) if x is not None]
        values = {plain_text(word, each.ignores): value for word, value in labels.items()}
        known = Choose(k, dict.fromkeys(values, 0.0), dict.fromkeys(typed, 0.0), 1.0)
        chosen = Choose(k, values, {x: x for x in typed}, column.means[0])
        stage: dict[str, Any] = {f"number{k}": If(is_missing, column.means[0], chosen)}
        if not self.is_closed:
            return Steps(({}, stage), [Name(f"number{k}")], known, Name(f"missing{k}"))
        stage[f"gap{k}"] = If(is_missing, 1, known)
        doubtful = {"true", "false", *map(format_level, typed)} - values.keys()  # numbers, or texts?
        flaw = Choose(k, dict.fromkeys(sorted(doubtful), 1.0), {}, 0.0) if doubtful else 0
        return Steps(({}, stage), [Name(f"number{k}")], flaw, Name(f"gap{k}"))

    def exported_cell(self, column: EncodedColumn, values: Floats) -> Any:
        """Return inputs (k,) as a cell that a program reads."""
        value, labels = float(values[0]), self.labels()
        return min(labels, key=lambda word: abs(labels[word] - value)) if labels else value


@dataclass(frozen=True)
class TextCodec(Codec):
    """A column of texts that are read as numbers, and of numbers that are written as such texts."""

    is_reading: ClassVar[bool] = True
    is_spelled: ClassVar[bool] = False
    own_unit: ClassVar[str | None] = ""
    is_before_units: ClassVar[bool] = False  #: whether it is tried before numbers with a unit
    may_be_target: ClassVar[bool] = False  #: whether numbers are predicted by them; others are classes
    tells_levels: ClassVar[bool] = False  #: whether a curve is told by its values
    until: ClassVar[tuple[str, str]] = ("up to", "above")  #: words between the pieces of a curve

    @classmethod
    def find(cls, counts: Mapping[str, int], name: str) -> Self | None:
        """Return how the texts of a column are written, by how often each is there; None if they are none of these."""
        raise NotImplementedError

    @classmethod
    def impose(cls, counts: Mapping[str, int]) -> Self | None:
        """Return how texts are written that a user says are of this kind."""
        return cls.find(counts, "")

    def write(self, value: float) -> str:
        """Return a number as the column writes it."""
        raise NotImplementedError

    def step(self, low: float, high: float) -> tuple[float, str]:
        """Return by how much to tell slopes over a range, and the name of this step."""
        raise NotImplementedError

    def grid(self, low: float, high: float, most: int) -> Floats:
        """Return round numbers within a range, at most about so many."""
        raise NotImplementedError

    def cell(self, column: EncodedColumn, values: Floats) -> Any:
        """Return a number as the column writes it, where that is read as the same number again."""
        text = self.write(float(values[0]))
        return text if self.parse([text])[0] == values[0] else float(values[0])

    def text(self, values: Floats, name: str, knots: Floats) -> str:
        """Return a number as the column writes it."""
        return self.write(float(values[0]))

    def axis(self, feature: Feature, knots: Floats) -> Axis:
        """Return how its values are written."""
        low, high = float(knots[0]), float(knots[-1])
        levels = tuple(self.grid(low, high, LEVELS).tolist()) if self.tells_levels else ()
        ticks = tuple(self.grid(low, high, TICKS).tolist())
        step = self.step(low, high) if high > low else (1.0, "1")
        return Axis(self.write, *step, *self.until, "at", levels=levels if len(levels) > 1 else (), ticks=ticks)

    def label(self, feature: Feature, value: float, tolerance: float, *, commas: bool) -> tuple[str, float]:
        """Return a number as the column writes it, if that is near enough."""
        word = self.write(value)
        number = float(self.parse([word])[0])
        is_near = abs(number - value) <= tolerance
        return (word, number) if is_near else super().label(feature, value, tolerance, commas=commas)

    def options(self, own: Floats, features: Sequence[Feature], ranges: Ranges) -> tuple[Floats, Floats]:
        """Return other round numbers within the range of the table."""
        low, high = float(ranges.low[0]), float(ranges.high[0])
        values = self.grid(low, high, round(1 / STEP))
        return self.moved(own, values[np.abs(values - own[0]) > 1e-9 * (high - low)], ranges)

    def example(self, value: float, unit: str) -> str:
        """Return how the table writes a number."""
        return self.write(value)


def parse_each(texts: Sequence[str | None], read: Callable[[str], float]) -> Floats:
    """Return what a function reads in cells (n,), each different one once; NaN for those that are missing."""
    values = {text: read(text) for text in set(texts) if text is not None}
    return np.array([np.nan if text is None else values[text] for text in texts], np.float64)


def thin_out(values: Floats, low: float, high: float, most: int) -> Floats:
    """Return the values (n,) within a range, or at most so many of them at equal steps."""
    values = values[(values >= low) & (values <= high)]
    return values[:: max(1, -(-len(values) // most))]


def format_level(number: float) -> str:
    """Return a number as the name of a category or class: 3, 0.5; "" for NaN."""
    if np.isnan(number):
        return ""
    return str(int(number)) if abs(number) <= LARGEST_WHOLE and number == round(number) else repr(float(number))


def level_number(text: str) -> float | None:
    """Return the number that is written as the text of a level."""
    number = to_number(text)
    return number if number is not None and format_level(number) == text else None


def round_down(value: float) -> float:
    """Return the largest of 1, 2, 5, 10, ... (or their tenths, hundredths, ...) that is at most a value."""
    power = 10.0 ** floor(log10(value) + 1e-12)
    return float(f"{power * max(k for k in (1, 2, 5) if k * power <= value * (1 + 1e-12)):.12g}")


def plain_text(text: str, ignores: str) -> str:
    """Return what counts of a text: without white space around it, and without case and marks where it says so."""
    if ignores == "marks":
        return " ".join(text.replace("_", " ").replace("-", " ").split()).lower()
    return text.strip().lower() if ignores == "case" else text.strip()


def unused_name(name: str, used: Collection[str]) -> str:
    """Return a name, with dashes behind it where others have it already."""
    while name in used:
        name += "'"
    return name
