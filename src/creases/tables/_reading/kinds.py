"""Kinds of columns: number, yes/no, category, date, ID, text; and what becomes of each."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from creases._text import plural
from creases._typing import Floats
from creases.tables._reading.columns import Column
from creases.tables._reading.dates import DateFormat, find_dates, is_day_first_unclear
from creases.tables._reading.numbers import NumberFormat, find_format, has_decimal_commas

Kind = Literal["number", "yes/no", "category", "date", "ID", "text", "constant", "empty", "other"]

#: A column of text with more different values than this has rare values, which are pooled, or is no category.
MAX_LEVELS = 20

#: Rows from which a column of different values may be an ID.
MIN_ROWS = 10

#: Share of the steps of a row number that are 1; in a sample, or where rows were deleted, others are larger.
COUNTING = 0.9

#: Words for no and yes.
YES_NO = (
    ("no", "yes"), ("n", "y"), ("false", "true"), ("f", "t"), ("off", "on"), ("nein", "ja"), ("non", "oui"),
)  # fmt: skip

_ID_NAME = re.compile(
    r"(?i)(?:^|[^a-z])(?:ids?|uuid|guid|key|index|idx|nr|no|row ?names?|row)$|^unnamed: \d+$|^column 0$"
)
_ID_ENDING = re.compile(r"[a-z](?:Id|ID)$")
_UNIT = re.compile(r"[(\[]([^()\[\]]{1,12})[)\]]\s*$")


@dataclass(frozen=True, eq=False)
class ColumnKind:
    """What a column holds, and how its cells are read."""

    name: str
    kind: Kind
    note: str = ""  #: why it is left out, or what is special about it
    left_out: bool = False
    number: NumberFormat | None = None  #: how numbers are written; of a category: its values are numbers
    date: DateFormat | None = None
    words: tuple[str, str] | None = None  #: words for 0 and 1, as the table writes them, without regard to case

    @property
    def is_counter(self) -> bool:
        """Whether it is an ID of whole numbers."""
        return self.kind == "ID" and self.number is not None

    @property
    def unit(self) -> str:
        """The unit of its numbers, by the signs in its cells or the brackets in its name; "" if there is none."""
        if self.number is not None and self.number.unit:
            return self.number.unit
        match = _UNIT.search(self.name)
        return match[1].strip() if match else ""

    def numbers(self, column: Column) -> Floats:
        """Return the cells of a number or yes/no column as numbers (n,), NaN for what is missing or unreadable."""
        if self.words is not None:
            if not column.is_text:  # new rows may have true numbers
                return np.where(np.isin(column.values, (0.0, 1.0)), column.values, np.nan)
            code = {self.words[0].lower(): 0.0, self.words[1].lower(): 1.0}
            return np.array([code.get(str(text).lower(), np.nan) for text in column.values], np.float64)
        if column.is_text:
            return self._parse(column)
        return column.values if not column.is_date else np.full(len(column.values), np.nan)

    def _parse(self, column: Column) -> Floats:
        """Return the numbers of text; new rows may write them in another way than the table did."""
        numbers = (self.number or NumberFormat()).parse(column.values.tolist())
        if not (np.isnan(numbers) & ~column.missing).any():
            return numbers
        other = find_format(column)
        is_better = other is not None and not (np.isnan(other[1]) & ~column.missing).any()
        return other[1] if other is not None and is_better else numbers

    def texts(self, column: Column) -> list[str]:
        """Return the cells of a category as text, "" for what is missing; numbers are written in one way."""
        if column.is_text and self.number is None:
            return ["" if text is None else str(text) for text in column.values]
        return [format_level(number) for number in self.numbers(column)]


def format_level(number: float) -> str:
    """Return a number as the name of a category or class: 3, 0.5; "" for NaN."""
    if np.isnan(number):
        return ""
    return str(int(number)) if abs(number) < 1e15 and number == round(number) else repr(float(number))


def detect_kinds(
    columns: Sequence[Column], *, categorical: Collection[str] = (), wanted: Collection[str] = ()
) -> list[ColumnKind]:
    """Return the kind of every column.

    Parameters
    ----------
    columns
        Columns with different names.
    categorical
        Names of columns whose values are categories, also where they are numbers.
    wanted
        Names of columns that are to be used, also where they look like an ID or text.
    """
    commas = has_decimal_commas(columns)
    return [
        detect_kind(column, categorical=column.name in categorical, wanted=column.name in wanted, commas=commas)
        for column in columns
    ]


def detect_kind(column: Column, *, categorical: bool = False, wanted: bool = False, commas: bool = False) -> ColumnKind:
    """Return the kind of one column; the options are those of :func:`detect_kinds`, for this column."""
    name, present = column.name, column.present
    if column.unreadable:
        return ColumnKind(name, "other", f"values of type {column.unreadable}", left_out=True)
    if not len(present):
        return ColumnKind(name, "empty", "no values", left_out=True)
    if column.is_date and (dates := find_dates(column)) is not None:
        return _date_kind(column, dates)
    numbers: tuple[NumberFormat | None, Floats] | None = (None, column.values)
    if column.is_text:
        numbers = find_format(column, commas=commas)
    if numbers is not None and not (column.is_text and _is_few_flaws(column, numbers[1])):
        return _number_kind(column, *numbers, categorical=categorical, wanted=wanted)
    return _text_kind(column, categorical=categorical, wanted=wanted)


def _is_few_flaws(column: Column, numbers: Floats) -> bool:
    """Return whether some cells are no numbers and there are so few different values that they are categories."""
    return bool((np.isnan(numbers) & ~column.missing).any()) and len(column.levels()) <= MAX_LEVELS


def _number_kind(
    column: Column, form: NumberFormat | None, numbers: Floats, *, categorical: bool, wanted: bool
) -> ColumnKind:
    name, levels = column.name, np.unique(numbers[~np.isnan(numbers)])
    form = form or NumberFormat()
    if categorical:
        return ColumnKind(name, "category", number=form)
    if not wanted and len(levels) == 1 and not np.isnan(numbers).any():
        return ColumnKind(name, "constant", f"{format_level(levels[0])} in every row", left_out=True, number=form)
    if not wanted and (why := _id_reason(column, numbers)):
        return ColumnKind(name, "ID", why, left_out=True, number=form)
    notes = [form.describe()]
    if column.is_text and (flaws := np.isnan(numbers) & ~column.missing).any():
        first = column.values[flaws.argmax()]
        notes.append(f"{plural(int(flaws.sum()), 'cell')} read as missing, such as {first!r}")
    kind: Kind = "yes/no" if set(levels.tolist()) <= {0.0, 1.0} else "number"
    return ColumnKind(name, kind, "; ".join(filter(None, notes)), number=form)


def _id_reason(column: Column, numbers: Floats) -> str:
    """Say why a column of numbers is an ID; "" if it is not."""
    n = len(numbers)
    if n < MIN_ROWS or np.isnan(numbers).any() or (numbers != np.round(numbers)).any():
        return ""
    if len(np.unique(numbers)) < n:
        return ""
    if _ID_NAME.search(column.name) or _ID_ENDING.search(column.name):
        return "different in every row"
    steps = np.diff(numbers)
    if numbers[0] in (0, 1) and n >= 2 * MIN_ROWS and steps.min() > 0 and np.mean(steps == 1) > COUNTING:
        return "row number"
    return ""


def _text_kind(column: Column, *, categorical: bool, wanted: bool) -> ColumnKind:
    name, levels, n = column.name, column.levels(), len(column.present)
    lower = {str(level).lower() for level in levels}
    if not categorical:
        for words in YES_NO:
            if lower <= set(words) and len(lower) == 2:
                no, yes = (next(level for level in levels if level.lower() == word) for word in words)
                return ColumnKind(name, "yes/no", words=(no, yes))
        dates = find_dates(column)
        if dates is not None:
            return _date_kind(column, dates)
    if not (categorical or wanted):
        if len(levels) == 1 and n == len(column.values):
            return ColumnKind(name, "constant", f"{levels[0]!r} in every row", left_out=True)
        if (len(levels) > MAX_LEVELS and 2 * len(levels) > n) or (len(levels) == n >= MIN_ROWS):
            length = np.mean([len(str(level).split()) for level in levels])
            kind: Kind = "text" if length >= 2 else "ID"
            return ColumnKind(name, kind, f"{len(levels):,} different values in {plural(n, 'row')}", left_out=True)
    return ColumnKind(name, "category")


def _date_kind(column: Column, dates: DateFormat) -> ColumnKind:
    notes = [f"from {dates.first}"]
    if is_day_first_unclear(column, dates):
        notes.append("read with the month before the day")
    if flaws := int((np.isnat(dates.parse(column)) & ~column.missing).sum()):
        notes.append(f"{plural(flaws, 'cell')} read as missing")
    return ColumnKind(column.name, "date", "; ".join(notes), date=dates)
