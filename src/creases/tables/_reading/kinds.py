"""Kinds of columns: number, yes/no, category, date, time, ID, text and others; and what becomes of each."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from creases._text import plural
from creases._typing import Floats
from creases.errors import InputError
from creases.tables._reading.columns import Column
from creases.tables._reading.numbers import (
    FINDERS,
    SIGNS,
    Notation,
    NumberFormat,
    find_format,
    find_notation,
    find_quantity,
    has_decimal_commas,
    impose_notation,
)
from creases.tables._reading.scales import ScaleFormat, make_scale
from creases.tables._reading.times import DateFormat, find_dates, is_day_first_unclear

Kind = Literal[
    "number", "quantity", "share", "yes/no", "category", "ordinal", "interval", "date", "month", "time", "duration",
    "ID", "text", "constant", "empty", "other",
]  # fmt: skip

#: Kinds that a user can give a column; a scale such as ``low<high`` is one too.
GIVEN_KINDS = ("number", "quantity", "share", "category", "ordinal", "interval", "date", "month", "time", "duration")

#: Notations that a column to predict can have: words in an order, and intervals, are classes.
_TARGET_NOTATIONS = ("time", "duration", "share")

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
_CODE_NAME = re.compile(r"(?i)(?:^|[^a-z])(?:ids?|uuid|guid|zip|plz|(?:\w*[ _-])?code)$|(?:zip|post|postal)code$")
_ID_ENDING = re.compile(r"[a-z](?:Id|ID)$")
_UNREAD = re.compile(r"(; )?[\d,]+ cells? read as missing, such as .*", re.DOTALL)
_UNIT = re.compile(r"[(\[]([^()\[\]]{1,12})[)\]]\s*$")


_PERSON = re.compile(r"(?i)(?:^|[^a-z])(?:customer|client|patient|user|person|subject|account|household|member)s?$")


def looks_like_id(name: str) -> bool:
    """Return whether a column is called like what several rows may belong to: ``customer``, ``patient_id``."""
    return any(pattern.search(name) for pattern in (_ID_NAME, _ID_ENDING, _PERSON))


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
    notation: Notation | None = None  #: how its texts are numbers, and numbers texts again
    codes: tuple[float, ...] = ()  #: of numbers: those that are none but levels of their own, such as -999

    @property
    def is_reading(self) -> bool:
        """Whether its texts are read as something that they need not be, so that its kind is to be said."""
        return self.notation is not None or self.kind in ("quantity", "month")

    @property
    def is_counter(self) -> bool:
        """Whether it is an ID of whole numbers."""
        return self.kind == "ID" and self.number is not None

    @property
    def plural(self) -> str:
        """What its cells are: numbers, dates, times."""
        return "dates" if self.date is not None else "numbers" if self.notation is None else self.notation.plural

    @property
    def unit(self) -> str:
        """The unit of its numbers, by the signs in its cells or the brackets in its name; "" if there is none."""
        if self.number is not None and self.number.unit:
            return self.number.unit
        if self.notation is not None:
            return "h" if self.kind in ("time", "duration") else ""
        match = _UNIT.search(self.name)
        return match[1].strip() if match else ""

    def read(self, column: Column) -> Column:
        """Return a column with its numbers and dates read, so that cells that are none count as missing."""
        if self.date is not None:
            return replace(column, values=self.date.parse(column))
        if column.is_text and (self.number is not None or self.notation is not None):
            return replace(column, values=self.numbers(column))
        return column

    def numbers(self, column: Column) -> Floats:
        """Return the cells of a number or yes/no column as numbers (n,), NaN for what is missing or unreadable."""
        if self.words is not None:
            if not column.is_text:  # new rows may have true numbers
                return np.where(np.isin(column.values, (0.0, 1.0)), column.values, np.nan)
            code = {self.words[0].lower(): 0.0, self.words[1].lower(): 1.0}
            return np.array([code.get(str(text).lower(), np.nan) for text in column.values], np.float64)
        if column.is_text and self.notation is not None:
            return self.notation.parse(column.values.tolist())
        if isinstance(self.notation, ScaleFormat) and not column.is_date:  # numbers of levels
            return np.where(np.isin(column.values, np.arange(len(self.notation.levels))), column.values, np.nan)
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
        if column.is_date:
            return ["" if text == "NaT" else text for text in np.datetime_as_string(column.values).tolist()]
        return [format_level(number) for number in self.numbers(column)]


def set_codes(kind: ColumnKind, codes: Any) -> ColumnKind:
    """Return the kind of a column with numbers that are levels of their own."""
    if kind.kind in ("category", "date", "month", "yes/no", "time") or (kind.left_out and not kind.is_counter):
        hint = "each value of a category is a level already"
        raise InputError("codes", f"be of columns of numbers; {kind.name!r} is of the kind {kind.kind}", hint=hint)
    values = [codes] if isinstance(codes, int | float | str) else list(codes)
    try:
        numbers = tuple(sorted({float(value) for value in values}))
    except (TypeError, ValueError):
        numbers = ()
    if not numbers or not np.isfinite(numbers).all():
        raise InputError("codes", f"have numbers for column {kind.name!r}", repr(codes), 'such as {"age": [-999]}')
    return replace(kind, codes=numbers)


def format_level(number: float) -> str:
    """Return a number as the name of a category or class: 3, 0.5; "" for NaN."""
    if np.isnan(number):
        return ""
    return str(int(number)) if abs(number) < 1e15 and number == round(number) else repr(float(number))


def detect_kinds(
    columns: Sequence[Column],
    *,
    given: Mapping[str, str] | None = None,
    wanted: Collection[str] = (),
    target: str = "",
) -> list[ColumnKind]:
    """Return the kind of every column.

    Parameters
    ----------
    columns
        Columns with different names.
    given
        Kinds by the names of columns, instead of what their values look like.
    wanted
        Names of columns that are to be used, also where they look like an ID or text.
    target
        The name of the column to predict.
    """
    commas, given = has_decimal_commas(columns), given or {}
    return [
        impose_kind(column, given[column.name], commas=commas)
        if column.name in given
        else detect_kind(column, wanted=column.name in wanted, is_target=column.name == target, commas=commas)
        for column in columns
    ]


def detect_kind(column: Column, *, wanted: bool = False, is_target: bool = False, commas: bool = False) -> ColumnKind:
    """Return the kind of one column; the options are those of :func:`detect_kinds`, for this column."""
    name, present = column.name, column.present
    if column.unreadable:
        return ColumnKind(name, "other", f"values of type {column.unreadable}", left_out=True)
    if not len(present):
        return ColumnKind(name, "empty", "no values", left_out=True)
    if column.is_date and (dates := find_dates(column)) is not None:
        return _date_kind(column, dates)
    if not column.is_text:
        names = None if is_target else _name_kind(column, None, column.values)
        return names or _number_kind(column, None, column.values, wanted=wanted)
    numbers = find_format(column, commas=commas)
    if numbers is not None and not is_target and (names := _name_kind(column, *numbers)) is not None:
        return names
    if numbers is not None and not _has_flaws(column, numbers[1]):
        return _number_kind(column, *numbers, wanted=wanted)
    if (words := _yes_no_words(column)) is not None:
        return ColumnKind(name, "yes/no", words=words)
    if (dates := find_dates(column)) is not None:
        return _date_kind(column, dates)
    if (kind := _notation_kind(column, is_target=is_target, commas=commas)) is not None:
        return kind
    if numbers is not None and len(column.levels()) > MAX_LEVELS:
        return _number_kind(column, *numbers, wanted=wanted)
    return _text_kind(column, wanted=wanted)


def impose_kind(column: Column, kind: str, *, commas: bool = False) -> ColumnKind:
    """Return the kind that a user gives a column; values that cannot be so are refused."""
    name, n = column.name, len(column.present)
    if not isinstance(kind, str) or (kind not in GIVEN_KINDS and "<" not in kind):
        kinds = f"{', '.join(GIVEN_KINDS)}, or its values in order such as low<high"
        raise InputError("kinds", f"have for column {name!r} one of {kinds}", repr(kind))
    if column.unreadable or not n:
        return detect_kind(column)
    result, numbers = _read_as(column, kind, commas)
    flaws = np.isnan(numbers) & ~column.missing
    if result is None or 2 * int(flaws.sum()) > n:
        example = column.values[flaws.argmax()] if flaws.any() else column.present[0]
        example = str(example) if column.is_text or column.is_date else format_level(float(example))
        got = f"{kind!r}, which values such as {example!r} are not"
        other = f"; write values in order, such as {name!r}: 'low<high'" if kind == "ordinal" else ""
        hint = f"kinds are {', '.join(GIVEN_KINDS)}{other}"
        raise InputError("kinds", f"be what column {name!r} can be read as", got, hint)
    return result


def _read_as(column: Column, kind: str, commas: bool) -> tuple[ColumnKind | None, Floats]:
    """Return a column's kind as it is given, None if it cannot be so, and its numbers (n,): NaN for what is not."""
    name, n = column.name, len(column.values)
    unread = np.where(column.missing, np.nan, np.full(n, np.nan))
    if kind == "category":
        form = (find_format(column, commas=commas) or (None,))[0] if column.is_text else None
        is_number = not column.is_text and not column.is_date
        return ColumnKind(name, "category", number=NumberFormat() if is_number else form), np.zeros(n)
    if kind in ("date", "month"):
        dates = find_dates(column) if column.is_text or column.is_date else None
        if dates is None or (kind == "month" and not dates.is_months):
            return None, unread
        return _date_kind(column, dates), np.zeros(n)
    if kind == "number" or not column.is_text:
        if not column.is_text:
            is_number = kind == "number" and not column.is_date
            return (ColumnKind(name, "number", number=NumberFormat()) if is_number else None), np.zeros(n)
        found = find_format(column, commas=commas) or (NumberFormat(), NumberFormat().parse(column.values.tolist()))
        return _number_kind(column, *found, wanted=True), found[1]
    if kind == "quantity" or (kind == "share" and any("%" in text for text in column.present[:100])):
        read = find_quantity(column, commas=commas) if kind == "quantity" else find_format(column, commas=commas)
        return (None, unread) if read is None else (_number_kind(column, *read, wanted=True), read[1])
    words = [word.strip() for word in kind.split("<")]
    notation = make_scale(words) if len(words) > 1 else impose_notation(column, kind)
    if notation is None:
        return None, unread
    numbers = notation.parse(column.values.tolist())
    return _describe_notation(column, notation, numbers), numbers


def _has_flaws(column: Column, numbers: Floats) -> bool:
    """Return whether some cells that are not missing are no numbers."""
    return bool((np.isnan(numbers) & ~column.missing).any())


def _notation_kind(column: Column, *, is_target: bool, commas: bool) -> ColumnKind | None:
    """Return the kind of a column of text that is read as numbers: with a unit, as times, intervals and so on.

    A column of one value is none of these. Nor is one of few different values of which some are not readable, and a
    column to predict that has few values has classes.
    """
    levels = column.levels()
    few = len(levels) <= MAX_LEVELS
    if len(levels) == 1 or (is_target and few and 2 * len(levels) <= len(column.present)):
        return None
    first = find_notation(column, ("time", "duration"))
    if first is None and (found := find_quantity(column, commas=commas)) is not None:
        return None if few and _has_flaws(column, found[1]) else _number_kind(column, *found, wanted=True)
    rest = tuple(kind for kind in FINDERS if not is_target or kind in _TARGET_NOTATIONS)
    read = first or find_notation(column, rest)
    if read is None or (few and _has_flaws(column, read[1])):
        return None
    return _describe_notation(column, *read)


def _describe_notation(column: Column, notation: Notation, numbers: Floats) -> ColumnKind:
    notes = [notation.describe(), _flaw_note(column, numbers)]
    kind: Kind = notation.kind  # type: ignore[assignment]
    return ColumnKind(column.name, kind, "; ".join(filter(None, notes)), notation=notation)


def _flaw_note(column: Column, numbers: Floats) -> str:
    """Say how many cells of text are not readable; "" if all are."""
    flaws = np.isnan(numbers) & ~column.missing
    return _say_unread(int(flaws.sum()), column.values[flaws.argmax()]) if flaws.any() else ""


def _say_unread(count: int, example: str) -> str:
    return f"{plural(count, 'cell')} read as missing, such as {example!r}"


def note_unread(kind: ColumnKind, count: int, example: str) -> ColumnKind:
    """Return a kind whose note says how many cells are not readable, instead of what it said of them before."""
    note = _UNREAD.sub("", kind.note)
    return replace(kind, note="; ".join(filter(None, [note, _say_unread(count, example) if count else ""])))


def _number_kind(column: Column, form: NumberFormat | None, numbers: Floats, *, wanted: bool) -> ColumnKind:
    name, levels = column.name, np.unique(numbers[~np.isnan(numbers)])
    form = form or NumberFormat()
    if not wanted and len(levels) == 1 and not np.isnan(numbers).any():
        return ColumnKind(name, "constant", f"{format_level(levels[0])} in every row", left_out=True, number=form)
    if not wanted and (why := _id_reason(column, numbers)):
        return ColumnKind(name, "ID", why, left_out=True, number=form)
    notes = [form.describe(), _flaw_note(column, numbers) if column.is_text else ""]
    kind: Kind = "yes/no" if set(levels.tolist()) <= {0.0, 1.0} and not form.unit else "number"
    if form.unit:
        kind = "share" if form.unit == "%" else "number" if form.unit in SIGNS else "quantity"
    return ColumnKind(name, kind, "; ".join(filter(None, notes)), number=form)


def _name_kind(column: Column, form: NumberFormat | None, numbers: Floats) -> ColumnKind | None:
    """Return the kind of whole numbers that are names, such as zip codes, and come again; None if they are numbers.

    Their column is called so, or they begin with zeros and have as many digits each.
    """
    present = numbers[~np.isnan(numbers)]
    n_levels = len(np.unique(present))
    if n_levels <= MAX_LEVELS or 2 * n_levels > len(present) or (present != np.round(present)).any():
        return None
    texts = column.present.tolist() if column.is_text else [""]
    if all(map(str.isdecimal, texts)) and len({*map(len, texts)}) == 1 and any(text[0] == "0" for text in texts):
        return ColumnKind(column.name, "category", "numbers that begin with zeros: names")
    if _CODE_NAME.search(column.name) or _ID_ENDING.search(column.name):
        return ColumnKind(column.name, "category", "numbers that are names: by its name", number=form or NumberFormat())
    return None


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


def _yes_no_words(column: Column) -> tuple[str, str] | None:
    """Return the words for no and yes, as a column of two values writes them; None if it has others."""
    levels = column.levels()
    lower = {str(level).lower() for level in levels}
    for words in YES_NO:
        if lower <= set(words) and len(lower) == 2:
            no, yes = (next(level for level in levels if level.lower() == word) for word in words)
            return no, yes
    return None


def _text_kind(column: Column, *, wanted: bool) -> ColumnKind:
    name, levels, n = column.name, column.levels(), len(column.present)
    if not wanted:
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
    flaws = np.isnat(dates.parse(column)) & ~column.missing
    if flaws.any():
        notes.append(_say_unread(int(flaws.sum()), str(column.values[flaws.argmax()])))
    return ColumnKind(column.name, "month" if dates.is_months else "date", "; ".join(notes), date=dates)
