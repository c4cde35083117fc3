"""Times of day and durations as tables write them, as numbers of hours."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from creases._typing import Floats
from creases.tables._reading.columns import Column

if TYPE_CHECKING:
    import pandas as pd


_CLOCK = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}(?:\.\d+)?))?(?:\s*([ap])\.?\s?m\.?)?", re.IGNORECASE | re.ASCII)
_HOUR = re.compile(r"(\d{1,2})\s*([ap])\.?m\.?", re.IGNORECASE | re.ASCII)
_LONG_CLOCK = re.compile(
    r"(-?)(?:(\d+)\s*(?:d|days?),?\s+)?(\d{1,6}):(\d{2})(?::(\d{2}(?:\.\d+)?))?", re.IGNORECASE | re.ASCII
)
_PART = re.compile(r"(\d+(?:[.,]\d+)?)\s*([a-zµ]*)\.?(?:\s*,\s*|\s+and\s+|\s*)", re.IGNORECASE | re.ASCII)
_ISO = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?", re.ASCII)

#: A column of this name has durations where it writes 12:30.
_DURATION_NAME = re.compile(r"(?i)duration|elapsed|runtime|run time|time taken|lap|length")

MINUTE, HOUR, DAY = 60.0, 3600.0, 86_400.0  # in seconds

#: Units of time, with other spellings and seconds, the largest first; a year is 365.25 days, a month a twelfth of it.
UNITS: dict[str, tuple[tuple[str, ...], float]] = {
    "years": (("y", "yr", "yrs", "year"), 365.25 * DAY),
    "months": (("mo", "mos", "month"), 365.25 * DAY / 12),
    "weeks": (("w", "wk", "wks", "week"), 7 * DAY),
    "d": (("day", "days"), DAY),
    "h": (("hr", "hrs", "hour", "hours"), HOUR),
    "min": (("m", "mins", "minute", "minutes"), MINUTE),
    "s": (("sec", "secs", "second", "seconds"), 1.0),
    "ms": (("msec", "millisecond", "milliseconds"), 0.001),
}
_SECONDS = {word: size for name, (others, size) in UNITS.items() for word in (name, *others)}

#: Spellings that are units of other things too: they count as time only beside another unit of time.
_UNCLEAR = frozenset({"m"})

#: Steps by which slopes are told, in seconds, with their names.
_STEPS = ((0.001, "ms"), (1.0, "s"), (10.0, "10 s"), (MINUTE, "min"), (600.0, "10 min"), (HOUR, "h"), (DAY, "d"),
          (10 * DAY, "10 d"), (100 * DAY, "100 d"), (1000 * DAY, "1,000 d"))  # fmt: skip

#: Steps in which a time can change, in seconds.
_GRID = (0.001, 0.01, 0.1, 1.0, 5.0, 10.0, 15.0, 30.0, MINUTE, 300.0, 600.0, 900.0, 1800.0, HOUR, 6 * HOUR, DAY,
         7 * DAY, 30 * DAY, 365 * DAY, 3650 * DAY)  # fmt: skip


@dataclass(frozen=True)
class TimeFormat:
    """How a column writes times of day, which become hours from 0 to 24."""

    kind: ClassVar[str] = "time"
    plural: ClassVar[str] = "times"
    half_days: bool = False  #: whether it has am and pm
    seconds: bool = False

    def parse(self, texts: Sequence[str | None]) -> Floats:
        """Return the hours (n,) of cells, NaN for those that are missing or no times."""
        return parse_each(texts, _read_time)

    def write(self, hours: float) -> str:
        """Return a time as the column writes it: ``08:30``, ``8:30 pm``."""
        total = round(hours * HOUR, 3) if self.seconds else MINUTE * round(hours * 60)
        whole, rest = divmod(total, HOUR)
        minutes, seconds = divmod(rest, MINUTE)
        tail = f"{int(minutes):02d}" + (f":{_two_digits(seconds)}" if self.seconds else "")
        if self.half_days:
            return f"{int(whole) % 12 or 12}:{tail} {'pm' if 12 <= whole < 24 else 'am'}"
        return f"{int(whole):02d}:{tail}"

    def describe(self) -> str:
        """Say how its numbers are to be read."""
        return "hours from 0 to 24"

    def step(self, low: float, high: float) -> tuple[float, str]:
        """Return by how much to tell slopes over a range, and the name of this step."""
        return _slope_step(low, high)

    def grid(self, low: float, high: float, most: int) -> Floats:
        """Return round times within a range, at most about so many."""
        return _time_grid(low, high, 1.0 if self.seconds else MINUTE, most)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {"kind": self.kind, **asdict(self)}


def _read_time(text: str) -> float:
    if match := _HOUR.fullmatch(text):
        hour, minutes, seconds, half = int(match[1]), 0, 0.0, match[2]
    elif match := _CLOCK.fullmatch(text):
        hour, minutes, seconds, half = int(match[1]), int(match[2]), float(match[3] or 0), match[4]
    else:
        return np.nan
    if minutes > 59 or seconds >= 60 or (half and not 1 <= hour <= 12):
        return np.nan
    if half:
        hour = hour % 12 + (12 if half.lower() == "p" else 0)
    total = HOUR * hour + MINUTE * minutes + seconds
    return total / HOUR if total <= DAY else np.nan


def _two_digits(seconds: float) -> str:
    text = f"{seconds:06.3f}".rstrip("0").rstrip(".")
    return text if len(text.split(".")[0]) == 2 else f"{int(seconds):02d}"


def find_times(counts: Mapping[str, int], name: str) -> TimeFormat | None:
    """Return how texts write times of day; None if they write none, or durations by the column's name or their look.

    12:30 is a time of day. It is a duration in a column that is called so, or that has hours without a zero before
    them and seconds too (1:30:00).
    """
    clocks = [text for text in counts if not np.isnan(_read_time(text))]
    if not clocks:
        return None
    half_days = any(text[-1] in "mM." for text in clocks)
    if not half_days and (_DURATION_NAME.search(name) or any(re.fullmatch(r"\d:\d\d:\d\d.*", text) for text in clocks)):
        return None
    return TimeFormat(half_days, any(text.count(":") == 2 for text in clocks))


@dataclass(frozen=True)
class DurationFormat:
    """How a column writes durations, which become hours."""

    kind: ClassVar[str] = "duration"
    plural: ClassVar[str] = "durations"
    unit: str = ""  #: as in ``90 min``, where all have one; "" for ``1 h 30 min`` and ``1:30:00``
    clock: bool = False  #: whether they are written as ``1:30:00``
    seconds: bool = True  #: whether a clock has seconds

    def parse(self, texts: Sequence[str | None]) -> Floats:
        """Return the hours (n,) of cells, NaN for those that are missing or no durations; numbers have its unit."""
        return parse_each(texts, self._read)

    def _read(self, text: str) -> float:
        hours = _read_duration(text)
        return _read_duration(f"{text} {self.unit}") if self.unit and np.isnan(hours) else hours

    def write(self, hours: float) -> str:
        """Return a duration as the column writes it: ``90 min``, ``1 h 30 min``, ``1:30:00``."""
        if self.unit:
            return f"{float(f'{hours * HOUR / _SECONDS[self.unit.lower()]:.6g}'):.15g} {self.unit}"
        sign, total = "-" if hours < 0 else "", round(abs(hours) * HOUR, 3)
        if self.clock:
            total = total if self.seconds else MINUTE * round(total / MINUTE)
            whole, rest = divmod(total, HOUR)
            minutes, seconds = divmod(rest, MINUTE)
            return f"{sign}{int(whole)}:{int(minutes):02d}" + (f":{_two_digits(seconds)}" if self.seconds else "")
        words = []
        for name in ("d", "h", "min"):
            count, total = divmod(total, UNITS[name][1])
            words += [f"{int(count)} {name}"] if count else []
        words += [f"{total:.6g} s"] if total or not words else []
        return sign + " ".join(words)

    def describe(self) -> str:
        """Say how its numbers are to be read."""
        return f"in {self.unit}" if self.unit else ""

    def step(self, low: float, high: float) -> tuple[float, str]:
        """Return by how much to tell slopes over a range, and the name of this step."""
        return _slope_step(low, high)

    def grid(self, low: float, high: float, most: int) -> Floats:
        """Return round durations within a range, at most about so many."""
        least = _SECONDS[self.unit.lower()] if self.unit else 1.0 if self.seconds else MINUTE
        return _time_grid(low, high, least, most)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {"kind": self.kind, **asdict(self)}


def _read_duration(text: str) -> float:
    if match := _LONG_CLOCK.fullmatch(text):
        sign, days, hours, minutes, seconds = match.groups()
        if int(minutes) > 59 or float(seconds or 0) >= 60:
            return np.nan
        total = DAY * int(days or 0) + HOUR * int(hours) + MINUTE * int(minutes) + float(seconds or 0)
        return (-total if sign else total) / HOUR
    if (match := _ISO.fullmatch(text)) and len(text) > 2 and text[-1] != "T":
        sizes = (DAY, HOUR, MINUTE, 1.0)
        return sum(size * float(part or 0) for size, part in zip(sizes, match.groups(), strict=True)) / HOUR
    parts = _split_units(text.lower())
    if parts is None:
        return np.nan
    return sum(number * _SECONDS[unit] for number, unit in parts) / HOUR


def _split_units(text: str) -> list[tuple[float, str]] | None:
    """Return the numbers and units of a text such as ``1 h 30``; None if it is no duration. Units get smaller."""
    parts: list[tuple[float, str]] = []
    place = 0
    while place < len(text):
        match = _PART.match(text, place)
        if match is None:
            return None
        unit = match[2]
        if not unit and parts and match.end() == len(text):  # the minutes of 1 h 30, the seconds of 5 min 20
            unit = {HOUR: "min", MINUTE: "s"}.get(_SECONDS[parts[-1][1]], "")
        if unit not in _SECONDS or (parts and _SECONDS[unit] >= _SECONDS[parts[-1][1]]):
            return None
        parts.append((float(match[1].replace(",", ".")), unit))
        place = match.end()
    return parts or None


def find_durations(counts: Mapping[str, int], _name: str) -> DurationFormat | None:
    """Return how texts write durations; None if they write none."""
    read = {text: count for text, count in counts.items() if not np.isnan(_read_duration(text))}
    clocks = {text: count for text, count in read.items() if ":" in text}
    spelled = {text: parts for text in read if text not in clocks and (parts := _split_units(text.lower()))}
    units = {unit for parts in spelled.values() for _, unit in parts}
    if not read or (not clocks and units and units <= _UNCLEAR):
        return None
    if 2 * sum(clocks.values()) > sum(read.values()):
        return DurationFormat(clock=True, seconds=any(text.count(":") == 2 for text in clocks))
    if spelled and len({_SECONDS[unit] for unit in units}) == 1 and len(spelled) == len(read):
        names: Counter[str] = Counter()
        for text in spelled:
            names[re.sub(r"^[\d.,\s]+", "", text).rstrip(". ,")] += read[text]
        return DurationFormat(unit=min(names, key=lambda unit: (-names[unit], unit)))
    return DurationFormat()


def parse_each(texts: Sequence[str | None], read: Callable[[str], float]) -> Floats:
    """Return what a function reads in cells (n,), each different one once; NaN for those that are missing."""
    values = {text: read(text) for text in set(texts) if text is not None}
    return np.array([np.nan if text is None else values[text] for text in texts], np.float64)


def thin_out(values: Floats, low: float, high: float, most: int) -> Floats:
    """Return the values (n,) within a range, or at most so many of them at equal steps."""
    values = values[(values >= low) & (values <= high)]
    return values[:: max(1, -(-len(values) // most))]


def _slope_step(low: float, high: float) -> tuple[float, str]:
    fits = [(size / HOUR, name) for size, name in _STEPS if size <= 0.1 * HOUR * (high - low) * (1 + 1e-12)]
    return fits[-1] if fits else (_STEPS[0][0] / HOUR, _STEPS[0][1])


def _time_grid(low: float, high: float, least: float, most: int) -> Floats:
    """Return the hours between two that are multiples of a step of at least so many seconds."""
    need = max(HOUR * (high - low) / most, least) * (1 - 1e-12)
    size = next((size for size in _GRID if size >= need), _GRID[-1])
    values = np.arange(np.ceil(low * HOUR / size - 1e-9), np.floor(high * HOUR / size + 1e-9) + 1) * size / HOUR
    return np.clip(values, low, high)


# Dates as tables write them, and as numbers.

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

#: A column is dates with flaws if at least this share of its cells are dates; of fewer cells all must be.
MOSTLY, MIN_CELLS = 0.9, 20

#: What a date can become, in this order. Tables of earlier versions have years.
PARTS = ("year", "month", "weekday", "hour", "days")

#: Parts that come again after so many days: what does not come again in a table is said by its days already.
CYCLES = {"month": 366.0, "weekday": 7.0, "hour": 1.0}

#: Where these begin and end: a circle, whose end is its beginning. Months have fractions unless a table has few days.
CIRCLES = {"month": (1.0, 13.0), "weekday": (0.0, 7.0), "hour": (0.0, 24.0)}

#: Days of the month, such as first and last, up to which a table has dates of months: their weekdays say nothing.
FEW_DAYS = 2


@dataclass(frozen=True)
class DateFormat:
    """How a column writes its dates, and which numbers they become."""

    format: str = ISO  #: of pandas
    first: str = ""  #: the earliest day of the table, ISO 8601
    parts: tuple[str, ...] = (*CYCLES, "days")
    whole_months: bool = False  #: whether all days of a month are one: the table has dates of months

    @property
    def is_months(self) -> bool:
        """Whether it writes years and months, or quarters, without days."""
        return self.format in MONTHS

    def write(self, days: float) -> str:
        """Return the month or quarter so many days after the first day, as the column writes it."""
        moment = np.datetime64(self.first, "D") + np.timedelta64(round(days), "D")
        date = moment.item()
        if self.format not in QUARTERS:
            return str(date.strftime(self.format))
        quarter = f"Q{(date.month + 2) // 3}"
        return f"{date.year}{quarter}" if self.format == QUARTERS[0] else f"{quarter} {date.year}"

    def names(self, column: str) -> tuple[str, ...]:
        """Return the names of the numbers."""
        return tuple(f"{column} {f'days since {self.first}' if part == 'days' else part}" for part in self.parts)

    def parse(self, column: Column) -> NDArray[Any]:
        """Return the moments (n,) of a column as datetime64[us], NaT for what is missing or no date.

        Cells that are not written as the table writes dates are read in any other way that gives them one meaning:
        25/12/2020 is Christmas, 3/4/2020 may be two days.
        """
        if column.is_date:
            return column.values
        texts = column.values if column.is_text else np.full(len(column.values), None, object)
        moments = _moments(texts.tolist(), self.format)
        unread = np.flatnonzero(np.isnat(moments) & (texts != None))  # noqa: E711
        for form in FORMATS if len(unread) else ():
            found = _moments(texts[unread].tolist(), form)
            clear = np.isnat(_moments(texts[unread].tolist(), _swap_days(form))) | (_swap_days(form) == form)
            read = ~np.isnat(found) & clear
            moments[unread[read]] = found[read]
            unread = unread[~read]
        return moments

    def numbers(self, moments: NDArray[Any]) -> Floats:
        """Return the numbers (n, parts) of moments (n,); weekdays count from 0 for Monday.

        The others have fractions: half past nine is 9.5 hours, the middle of May 5.5 months, unless months are whole.
        Just before midnight, and before the new year, a number is just below the end of its circle.
        """
        known = ~np.isnat(moments)
        values = date_numbers(moments[known].astype("datetime64[us]"), self.first, whole_months=self.whole_months)
        result = np.full((len(moments), len(self.parts)), np.nan)
        result[known] = np.stack([values[part] for part in self.parts], axis=1)
        return result

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return asdict(self) | {"parts": list(self.parts)}


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
    moments = DateFormat(form).parse(column)
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
    for need in (1.0, MOSTLY if len(texts) >= MIN_CELLS else 1.0):
        for form in FORMATS:
            if np.isnat(_moments(sample, form)).mean() > 2 * (1 - need):
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
