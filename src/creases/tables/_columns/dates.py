"""Dates, months and quarters as tables write them, and as numbers."""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from creases._typing import Floats
from creases.tables._columns.clocks import hour_label, read_clock
from creases.tables._columns.codec import (
    CHANGE,
    CIRCLES,
    Axis,
    Codec,
    EncodedColumn,
    Feature,
    Ranges,
    Steps,
    date_text,
    days_axis,
)
from creases.tables._columns.nodes import FIRST_YEAR, LAST_YEAR, If, Input, Interpolate, Name, Number, Whole
from creases.tables._columns.numbers import MIN_CELLS, MOSTLY, PLAIN
from creases.tables._reading.columns import Column

if TYPE_CHECKING:
    import pandas as pd

ISO = "ISO8601"

_DAYS = (
    "%d.%m.%Y", "%d.%m.%y", "%m/%d/%Y", "%d/%m/%Y", "%m/%d/%y", "%d/%m/%y", "%Y/%m/%d", "%d-%m-%Y", "%m-%d-%Y",
    "%d-%b-%Y", "%d-%b-%y", "%d %b %Y", "%d %B %Y", "%b %d %Y", "%b %d, %Y", "%B %d, %Y", "%B %d %Y",
)  # fmt: skip

#: Years and quarters: ``2024Q1``, ``2024-Q1``, ``Q1 2024``.
QUARTERS = ("quarter after year", "quarter before year")
_QUARTER = (re.compile(r"(\d{4})[\s/-]?Q([1-4])", re.ASCII), re.compile(r"Q([1-4])[\s/-]?(\d{4})", re.ASCII))

#: Years and months; each is read as its first day.
MONTHS = ("%Y-%m", "%Y/%m", "%m/%Y", "%m.%Y", "%m-%Y", "%b %Y", "%B %Y", "%b-%Y", "%Y %b", "%Y %B", *QUARTERS)

_TIMES = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")

#: Formats in the order of preference: where both fit, the month is before the day in 1/2/2020.
FORMATS = (*MONTHS, ISO, *(day + time for time in _TIMES for day in _DAYS))

#: What every format has: a year of four digits, or three parts.
_MAY_BE_DATE = re.compile(r"\d{4}|\d[./-]\w+[./-]\d")

#: What a date can become, in this order. Tables of earlier versions have years.
PARTS = ("year", "month", "weekday", "hour", "days")

#: Parts that come again after so many days: what does not come again in a table is said by its days already.
CYCLES = {"month": 366.0, "weekday": 7.0, "hour": 1.0}

#: How values of a part that is not days are written, what its step is called, and the word before them.
_PLACES: dict[str, tuple[Callable[[float], str], str, str]] = {
    "year": (lambda x: f"{x:.0f}", "year", "in"),
    "month": (lambda x: calendar.month_name[(int(x) - 1) % 12 + 1], "month", "in"),
    "weekday": (lambda x: calendar.day_name[round(x) % 7], "day", "on"),
    "hour": (lambda x: f"{int(x) % 24}:{int(60 * (x % 1)):02d}", "hour", "at"),
}

#: Days of the month, such as first and last, up to which a table has dates of months: their weekdays say nothing.
FEW_DAYS = 2


@dataclass(frozen=True)
class DateFormat(Codec):
    """How a column writes its dates, and which numbers they become."""

    kinds: ClassVar[tuple[str, ...]] = ("date", "month")
    given: ClassVar[tuple[str, ...]] = ("date", "month")
    plural: ClassVar[str] = "dates"
    is_moment: ClassVar[bool] = True
    has_codes: ClassVar[bool] = False

    format: str = ISO  #: of pandas
    first: str = ""  #: the earliest day of the table, ISO 8601
    parts: tuple[str, ...] = (*CYCLES, "days")
    whole_months: bool = False  #: whether all days of a month are one: the table has dates of months

    @property
    def is_months(self) -> bool:
        """Whether it writes years and months, or quarters, without days."""
        return self.format in MONTHS

    @property
    def is_reading(self) -> bool:  # type: ignore[override]
        """Whether it has months, which are read as their first days."""
        return self.is_months

    def write(self, days: float) -> str:
        """Return the month or quarter so many days after the first day, as the column writes it."""
        day = (np.datetime64(self.first, "D") + np.timedelta64(round(days), "D")).item()
        if self.format not in QUARTERS:
            return str(day.strftime(self.format))
        quarter = f"Q{(day.month + 2) // 3}"
        return f"{day.year}{quarter}" if self.format == QUARTERS[0] else f"{quarter} {day.year}"

    def read(self, column: Column) -> Column:
        """Return a column as datetime64[us], NaT for what is missing or no date.

        Cells that are not written as the table writes dates are read in any other way that gives them one meaning:
        25/12/2020 is Christmas, 3/4/2020 may be two days.
        """
        if column.is_date:
            return column
        texts = column.values if column.is_text else np.full(len(column.values), None, object)
        moments = _moments(texts.tolist(), self.format)
        unread = np.flatnonzero(np.isnat(moments) & (texts != None))  # noqa: E711
        for form in FORMATS if len(unread) else ():
            found = _moments(texts[unread].tolist(), form)
            clear = np.isnat(_moments(texts[unread].tolist(), _swap_days(form))) | (_swap_days(form) == form)
            read = ~np.isnat(found) & clear
            moments[unread[read]] = found[read]
            unread = unread[~read]
        return replace(column, values=moments)

    def numbers(self, read: Column) -> Floats:
        """Return the numbers (n, parts) of moments; weekdays count from 0 for Monday.

        The others have fractions: half past nine is 9.5 hours, the middle of May 5.5 months, unless months are whole.
        Just before midnight, and before the new year, a number is just below the end of its circle.
        """
        moments, known = read.values, ~read.missing
        values = date_numbers(moments[known].astype("datetime64[us]"), self.first, whole_months=self.whole_months)
        result = np.full((len(moments), len(self.parts)), np.nan)
        result[known] = np.stack([values[part] for part in self.parts], axis=1)
        return result

    def describe(self) -> str:
        """Say when it begins."""
        return f"from {self.first}"

    def check(self) -> bool:
        """Return whether its format, its parts and its first day are some."""
        has_parts = 0 < len(self.parts) == len(set(self.parts) & set(PARTS))
        is_day = date.fromisoformat(self.first).isoformat() == self.first
        return self.format in FORMATS and has_parts and is_day

    @property
    def main(self) -> int:  # type: ignore[override]
        """The number that counts days."""
        return self.parts.index("days")

    def features(self, name: str) -> list[Feature]:
        """Return the parts."""
        units = {"days": "days", "hour": "h"}
        return [
            Feature(
                f"{name} {f'days since {self.first}' if part == 'days' else part}",
                name,
                "date",
                unit=units.get(part, ""),
                part=part,
            )
            for part in self.parts
        ]

    def first_of(self, read: Column) -> Any:
        """Return the first day of cells."""
        present = read.present
        return present.min().astype("datetime64[D]") if len(present) else None

    def begin(self, first: Any) -> tuple[Self, float]:
        """Return the same dates with days from another first one, and what each day counts more then."""
        shift = float((np.datetime64(self.first, "D") - first).astype(int))
        return replace(self, first=str(first)), shift

    # -- words --------------------------------------------------------------------------------------------------------

    def cell(self, column: EncodedColumn, values: Floats) -> Any:
        """Return the moment, to the nearest millisecond: days with fractions are not exact."""
        days = timedelta(milliseconds=round(float(values[self.main]) * 86_400_000))
        return datetime.fromisoformat(self.first) + days

    def text(self, values: Floats, name: str, knots: Floats) -> str:
        """Return a date as a reader writes it: ``14 May 2020``, or a month as the column does."""
        days = float(values[self.main])
        return self.write(days) if self.is_months else date_text(self.first, days)

    def axis(self, feature: Feature, knots: Floats) -> Axis:
        """Return the axis of a part; values of months are told in their middle, unless they are whole."""
        part = feature.part
        if part == "days":
            axis = replace(days_axis(self.first, float(knots[-1] - knots[0])), name="trend", first_day=self.first)
            return replace(axis, place=self.write, at="in") if self.is_months else axis
        place, step, at = _PLACES[part]
        middle = 0.5 if part == "month" and not self.whole_months else 0.0
        cycle = tuple(k + middle for k in range(*map(int, CIRCLES[part]))) if part in CIRCLES else ()
        whole = cycle if part in ("month", "weekday") and not middle else ()
        return Axis(place, 1.0, step, "until", "after", at, cycle, name=part, whole=whole)

    def label(self, feature: Feature, value: float, tolerance: float, *, commas: bool) -> tuple[str, float]:
        """Return a date to the second with the days that it says, or an hour and its minutes."""
        if feature.part == "days":
            start = datetime.fromisoformat(self.first)
            moment = (start + timedelta(days=value) + timedelta(milliseconds=500)).replace(microsecond=0)
            seconds = ":%S" if moment.second else ""
            form = f"%Y-%m-%d %H:%M{seconds}" if (moment - start).seconds else "%Y-%m-%d"
            return moment.strftime(form), (moment - start) / timedelta(days=1)
        hour = hour_label(value, tolerance) if feature.part == "hour" else None
        return hour or super().label(feature, value, tolerance, commas=commas)

    # -- other dates --------------------------------------------------------------------------------------------------

    def month_days(self, values: Floats) -> set[int]:
        """Return the days of the month of encoded dates (n, k)."""
        return set(self._parts(values[:, self.main])["day"].astype(int).tolist())

    def _parts(self, days: Floats) -> dict[str, Floats]:
        """Return the parts of dates, days since the first one (n,), as the encoding has them, and the day of month."""
        moments = np.datetime64(self.first, "ms") + np.round(days * 86_400_000).astype("m8[ms]")
        parts = date_numbers(moments.astype("M8[us]"), self.first, whole_months=self.whole_months)
        return parts | {"days": days}

    def _others(self, own: Floats, ranges: Ranges) -> tuple[Floats, Floats]:
        """Return other dates (n, k) than that of a row, with their distance in days (n,).

        They are at the same time of day within the range of the table. A month or weekday that never changes in the
        table does not here.
        """
        start, low, high = float(own[self.main]), ranges.low[self.main], ranges.high[self.main]
        steps = np.arange(np.ceil(low - start - 1e-9), np.floor(high - start + 1e-9) + 1)
        days = start + steps[steps != 0]
        parts, before = self._parts(days), self._parts(np.array([start]))
        allowed = np.ones(len(days), bool)
        for name in ("month",) if ranges.month_days else ("month", "weekday"):
            if name not in self.parts and high - low > CYCLES[name]:
                allowed &= np.floor(parts[name]) == np.floor(before[name])
        if ranges.month_days:
            allowed &= np.isin(parts["day"], sorted(ranges.month_days))
        table = np.stack([parts[name] for name in self.parts], axis=1)[allowed]
        return table, np.abs(days - start)[allowed]

    def joint_values(self, own: Floats, ranges: Ranges) -> Floats | None:
        """Return the numbers (n, k) of the row's own date and of all others that it could be."""
        return np.concatenate([own[None, : len(self.parts)], self._others(own, ranges)[0]])

    def options(self, own: Floats, features: Sequence[Feature], ranges: Ranges) -> tuple[Floats, Floats]:
        """Return other dates by whole days."""
        table, distance = self._others(own, ranges)
        rows = np.repeat(own[None], len(table), axis=0)
        rows[:, : table.shape[1]] = table
        return rows, CHANGE + distance / ranges.spread[self.main]

    # -- exported programs --------------------------------------------------------------------------------------------

    def input(self, column: EncodedColumn) -> Input:
        """Return how a program reads dates."""
        return Input(column.name, "date", "a date YYYY-MM-DD, with or without a time HH:MM or HH:MM:SS")

    def steps(self, column: EncodedColumn, k: int, missing: str) -> Steps:
        """Return the steps that read dates, and the numbers that the encoding makes of them."""
        stages, wrong, (hour, *_) = read_clock("date", k)
        year, month, day, clock = (Name(f"{part}{k}") for part in ("year", "month", "day", "clock"))
        leap, years, before, after = (Name(f"{part}{k}") for part in ("leap", "years", "before", "after"))

        def days_before(month: Any) -> Any:
            """Return the days before a month of the year; month 13 begins the next year."""
            return Whole((month * 367 - 362) / 12) + If(month < 3, 0, leap - 2)  # first with a February of 30 days

        past = year - 1
        stages[2] |= {
            f"leap{k}": If((year % 4).equals(0) & ((year % 100 > 0) | (year % 400).equals(0)), 1, 0),
            f"years{k}": past * 365 + Whole(past / 4) - Whole(past / 100) + Whole(past / 400),  # in days
        }
        stages.append({f"before{k}": days_before(month), f"after{k}": days_before(month + 1)})
        wrong |= (hour > 23) | (year < FIRST_YEAR) | (year > LAST_YEAR) | (month < 1) | (month > 12)
        flaw = If(wrong | (day < 1) | (day > after - before), 1, 0)
        days = years + before + day  # since the last day of the year 0
        numbers = {
            "year": year,
            "month": month if self.whole_months else month + (day - 1 + clock / 24) / (after - before),
            "weekday": (days + 6) % 7,
            "hour": clock,
            "days": days - date.fromisoformat(self.first).toordinal() + clock / 24,
        }
        return self.split(column, f"missing{k}", stages, numbers, flaw)

    def split(
        self, column: EncodedColumn, gap: str, stages: list[dict[str, Any]], numbers: dict[str, Any], flaw: Any
    ) -> Steps:
        """Return stages with the numbers of the parts, or their means where a cell is missing, as a step says."""
        is_gap = Name(gap).equals(1)
        nodes = [If(is_gap, mean, numbers[part]) for mean, part in zip(column.means, self.parts, strict=True)]
        return Steps(stages, nodes, flaw, Name(gap))

    def exported_cell(self, column: EncodedColumn, values: Floats) -> Any:
        """Return a date that programs read, to the second."""
        moment = np.datetime64(self.first, "s") + np.timedelta64(round(float(values[self.main]) * 86_400), "s")
        return str(moment).replace("T", " ")


def date_numbers(moments: NDArray[Any], first: str, *, whole_months: bool) -> dict[str, Floats]:
    """Return all numbers that dates (n,) can become, by part, and the day of the month."""
    months, dates = moments.astype("M8[M]"), moments.astype("M8[D]")
    into_month = (moments - months) / ((months + 1).astype("M8[D]") - months.astype("M8[D]")).astype("m8[us]")
    return {
        "year": moments.astype("M8[Y]").astype(np.float64) + 1970,
        "month": months.astype(np.int64) % 12 + 1.0 + (0.0 if whole_months else into_month),
        "weekday": (dates.astype(np.int64) + 3) % 7.0,  # day 0 was a Thursday
        "hour": (moments - dates) / np.timedelta64(1, "h"),
        "day": (dates - months).astype("m8[D]").astype(np.float64) + 1,
        "days": (moments - np.datetime64(first, "us")) / np.timedelta64(1, "D"),
    }


def find_dates(column: Column) -> DateFormat | None:
    """Return how a column writes dates and which numbers they become; None if it has none.

    Days are the trend. A month, a weekday or an hour is a number of its own where it varies and comes again; else days
    say the same, and two curves of one date could cancel each other. Nor does the weekday count of dates that are all
    the first of a month.
    """
    if not column.is_date:
        form = _find_format(column)
        if form is None:
            return None
    else:
        form = ISO
    moments = DateFormat(form).read(column).values
    present = moments[~np.isnat(moments)]
    first = str(present.min().astype("datetime64[D]"))
    numbers = date_numbers(present.astype("datetime64[us]"), first, whole_months=True)
    ranges = {part: float(np.ptp(values)) for part, values in numbers.items()}
    few = len(np.unique(numbers["day"])) <= FEW_DAYS
    cyclic = [
        part
        for part, cycle in CYCLES.items()
        if ranges[part] > 0 and ranges["days"] > cycle and not (part == "weekday" and few)
    ]
    return DateFormat(form, first, (*cyclic, "days"), few)


def _swap_days(form: str) -> str:
    """Return a format with day and month in the other order, where tables write both: 1/2/2020, 1-2-2020."""
    if not re.match(r"%[md][/-]%[md]", form):
        return form
    return form[:1] + form[4] + form[2:4] + form[1] + form[5:]


def is_day_first_unclear(column: Column, form: DateFormat) -> bool:
    """Return whether a column of dates could be read with the day before the month too."""
    if "%m/%d" not in form.format or not column.is_text:
        return False
    other = _moments(column.present.tolist(), form.format.replace("%m/%d", "%d/%m"))
    return not np.isnat(other).any()


def _find_format(column: Column) -> str | None:
    texts = [text for text in column.values if text is not None]
    if not any(character.isdigit() for character in texts[0]) or max(map(len, texts[:50])) < 6:
        return None
    sample = texts[:: max(1, len(texts) // 50)]
    if np.mean([_MAY_BE_DATE.search(text) is not None for text in sample]) < 2 * MOSTLY - 1:
        return None
    unread: dict[str, float] = {}  #: share of the sample
    for need in (1.0, MOSTLY) if len(texts) >= MIN_CELLS else (1.0,):
        for form in FORMATS:
            if form not in unread:
                unread[form] = float(np.isnat(_moments(sample, form)).mean())
            if unread[form] > 2 * (1 - need):
                continue
            if (~np.isnat(_moments(texts, form))).mean() >= need:
                return form
    return None


def _moments(texts: Sequence[str | None], form: str) -> NDArray[Any]:
    import pandas as pd

    if form in QUARTERS:
        texts, form = [_first_day(text, form) for text in texts], ISO
    series: pd.Series[Any] = pd.Series(texts, dtype=object)
    moments = pd.to_datetime(series, format=form, errors="coerce", utc=True)
    return np.array(moments.dt.tz_localize(None).to_numpy(), "datetime64[us]")


def _first_day(text: str | None, form: str) -> str | None:
    """Return the first day of a quarter, ISO 8601; None if a text is none."""
    place = QUARTERS.index(form)
    match = None if text is None else _QUARTER[place].fullmatch(text.upper())
    if match is None:
        return None
    year, quarter = (match[1], match[2]) if place == 0 else (match[2], match[1])
    return f"{year}-{3 * int(quarter) - 2:02d}-01"


# Moments that are numbers.


#: What a number counts, and from which day: its size in microseconds, that day, and what such numbers are below.
CLOCKS = {
    "days of a spreadsheet": (86_400_000_000, "1899-12-30", 1e6),
    "seconds since 1970": (1_000_000, "1970-01-01", 1e11),
    "milliseconds since 1970": (1_000, "1970-01-01", 1e14),
    "microseconds since 1970": (1, "1970-01-01", np.inf),
}
DAY = CLOCKS["days of a spreadsheet"][0]

#: First and last year of numbers that can be dates, and of those that are taken for some.
YEARS, LIKELY_YEARS = (1901, 2099), (1990, 2049)

#: Names of columns of dates, and of times: small numbers are days of a spreadsheet under a name of the first kind only,
#: numbers with fractions are seconds under either.
_DATE_NAME = re.compile(r"(?i)(?:date|datum|day|datetime|stamp|when|[_ ](?:at|on))$")
_TIME_NAME = re.compile(r"(?i)(?:time|epoch|(?:^|[_ ])(?:ts|dt|t))$")

#: The months of four years, the last one with a 29 February: until the last of ``YEARS`` all four years are such ones.
_MONTHS = (np.datetime64("1900-03", "M") + np.arange(49)).astype("M8[us]")


@dataclass(frozen=True)
class StampFormat(DateFormat):
    """How a column counts time in numbers, which become what dates become."""

    kinds: ClassVar[tuple[str, ...]] = ("timestamp",)
    given: ClassVar[tuple[str, ...]] = ("timestamp",)
    plural: ClassVar[str] = "timestamps"
    is_plain: ClassVar[bool] = True
    is_reading: ClassVar[bool] = True

    clock: str = "seconds since 1970"  #: of :data:`CLOCKS`

    def describe(self) -> str:
        """Say what its numbers count, and when it begins."""
        return f"{self.clock}, {super().describe()}"

    def check(self) -> bool:
        """Return whether its clock is known, and what all dates have."""
        return self.clock in CLOCKS and "year" not in self.parts and super().check()

    def read(self, column: Column) -> Column:
        """Return a column as datetime64[us], NaT for what is missing or is out of years that can be."""
        if column.is_date:
            return column
        numbers = PLAIN.parse(column.values.tolist()) if column.is_text else column.values
        size, start, _ = CLOCKS[self.clock]
        can_be = (numbers >= self._number(YEARS[0])) & (numbers < self._number(YEARS[1] + 1))
        moments = np.full(len(numbers), np.datetime64("NaT"), "M8[us]")
        moments[can_be] = np.datetime64(start, "us") + np.floor(numbers[can_be] * size + 0.5).astype("m8[us]")
        return replace(column, values=moments)

    def _number(self, year: int) -> float:
        """Return the number with which a year begins."""
        size, start, _ = CLOCKS[self.clock]
        return float((np.datetime64(str(year), "us") - np.datetime64(start, "us")).astype(np.int64) / size)

    def cell(self, column: EncodedColumn, values: Floats) -> Any:
        """Return the number, to the nearest millisecond."""
        size, start, _ = CLOCKS[self.clock]
        days = (date.fromisoformat(self.first) - date.fromisoformat(start)).days + float(values[self.main])
        number = round(days * 86_400_000) * 1000 / size
        return int(number) if number == int(number) else number

    exported_cell = cell

    # -- exported programs --------------------------------------------------------------------------------------------

    def input(self, column: EncodedColumn) -> Input:
        """Return how a program reads the numbers."""
        return Input(column.name, "number", f"a number of {self.clock}")

    def steps(self, column: EncodedColumn, k: int, missing: str) -> Steps:
        """Return the steps that count microseconds from the first of March 1900 on, and split them."""
        size, start, _ = CLOCKS[self.clock]
        low, high = self._number(YEARS[0]), self._number(YEARS[1] + 1)
        number, before = Number(k, low), int((np.datetime64(start, "us") - _MONTHS[0]).astype(np.int64))
        cycle = (_MONTHS - _MONTHS[0]).astype(np.float64)
        passed, day, months = (Name(f"{name}{k}") for name in ("passed", "day", "months"))
        is_gap = Name(f"missing{k}").equals(1) | (number < low)
        stages: list[dict[str, Any]] = [
            {},
            {
                f"passed{k}": Whole(If(number < low, low, If(number < high, number, low)) * size + 0.5) + before,
                f"gap{k}": If(is_gap, 1, If(number < high, 0, 1)),
            },
            {f"day{k}": Whole(passed / DAY), f"cycle{k}": passed % int(cycle[-1])},
            {f"months{k}": Interpolate(f"cycle{k}", cycle, np.arange(2.0, 51.0))},
        ]
        numbers = {
            "month": Whole(months + 1e-9) % 12 + 1 if self.whole_months else months - Whole(months / 12) * 12 + 1,
            "weekday": (day + 3) % 7,  # day 0 was a Thursday
            "hour": (passed - day * DAY) / (DAY // 24),
            "days": passed / DAY - int((np.datetime64(self.first) - _MONTHS[0].astype("M8[D]")).astype(int)),
        }
        return self.split(column, f"gap{k}", stages, numbers, If(number.equals(Number(k, high)), 0, 1))


def find_stamps(column: Column, *, is_given: bool = False) -> StampFormat | None:
    """Return how numbers count time; None where they do not look so.

    They look so where all are of the years ``LIKELY_YEARS``, and the column is called like a date or, unless they are
    days, like a time or has enough whole numbers. Of a column that ``is_given`` as a timestamp nothing is asked.
    """
    numbers = PLAIN.parse(column.values.tolist()) if column.is_text else column.values
    present = numbers[~np.isnan(numbers)]
    if not len(present) or not np.isfinite(present).all():
        return None
    clock = next(name for name, (_, _, below) in CLOCKS.items() if np.median(present) < below)
    form = StampFormat(clock=clock)
    if not is_given:
        first, last = (form._number(year) for year in (LIKELY_YEARS[0], LIKELY_YEARS[1] + 1))
        if present.min() < first or present.max() >= last:
            return None
        is_clear = bool(_TIME_NAME.search(column.name)) or (len(present) >= MIN_CELLS and (present % 1 == 0).all())
        if not _DATE_NAME.search(column.name) and not (clock != next(iter(CLOCKS)) and is_clear):
            return None
    moments = form.read(replace(column, values=numbers))
    if np.isnat(moments.values).all():
        return None
    dates: Any = find_dates(moments)
    return replace(form, first=dates.first, parts=dates.parts, whole_months=dates.whole_months)
