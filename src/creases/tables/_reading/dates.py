"""Dates as tables write them, and as numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from creases._typing import Floats
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

#: A column is dates with flaws if at least this share of its cells are dates; of fewer cells all must be.
MOSTLY, MIN_CELLS = 0.9, 20

#: What a date can become, in this order. Tables of earlier versions have years.
PARTS = ("year", "month", "weekday", "hour", "days")

#: Parts that come again after so many days: what does not come again in a table is said by its days already.
CYCLES = {"month": 366.0, "weekday": 7.0, "hour": 1.0}

#: Days of the month, such as first and last, up to which a table has dates of months: their weekdays say nothing.
FEW_DAYS = 2


@dataclass(frozen=True)
class DateFormat:
    """How a column writes its dates, and which numbers they become."""

    format: str = ISO  #: of pandas
    first: str = ""  #: the earliest day of the table, ISO 8601
    parts: tuple[str, ...] = (*CYCLES, "days")

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
        """Return the moments (n,) of a column as datetime64[us], NaT for what is missing or no date."""
        if column.is_date:
            return column.values
        texts = column.values if column.is_text else [None] * len(column.values)
        return _moments(list(texts), self.format)

    def numbers(self, moments: NDArray[Any]) -> Floats:
        """Return the numbers (n, parts) of moments (n,); weekdays count from 0 for Monday, days have fractions."""
        import pandas as pd

        series = pd.Series(moments)
        days = (series - pd.Timestamp(self.first)) / pd.Timedelta(days=1)
        values = {
            "year": series.dt.year,
            "month": series.dt.month,
            "weekday": series.dt.day_of_week,
            "hour": series.dt.hour,
            "days": days,
        }
        return np.stack([values[part].to_numpy(np.float64) for part in self.parts], axis=1)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return asdict(self) | {"parts": list(self.parts)}


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
    draft = DateFormat(form, first)
    ranges = dict(zip(draft.parts, np.ptp(draft.numbers(present), axis=0).tolist(), strict=True))
    dates = present.astype("datetime64[D]")
    few = len(np.unique(dates - dates.astype("datetime64[M]"))) <= FEW_DAYS
    cyclic = [
        part
        for part, cycle in CYCLES.items()
        if ranges[part] > 0 and ranges["days"] > cycle and not (part == "weekday" and few)
    ]
    return DateFormat(form, first, (*cyclic, "days"))


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
    return np.asarray(moments.dt.tz_localize(None).to_numpy(), "datetime64[us]")


def _first_day(text: str | None, form: str) -> str | None:
    """Return the first day of a quarter, ISO 8601; None if a text is none."""
    place = QUARTERS.index(form)
    match = None if text is None else _QUARTER[place].fullmatch(text.upper())
    if match is None:
        return None
    year, quarter = (match[1], match[2]) if place == 0 else (match[2], match[1])
    return f"{year}-{3 * int(quarter) - 2:02d}-01"
