"""Dates and times that tables write as numbers: seconds since 1970, days of a spreadsheet."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, ClassVar

import numpy as np

from creases._typing import Floats
from creases.tables._columns.codec import EncodedColumn, Steps
from creases.tables._columns.dates import DateFormat, find_dates
from creases.tables._columns.nodes import If, Input, Interpolate, Name, Number, Whole
from creases.tables._columns.numbers import MIN_CELLS, PLAIN
from creases.tables._reading.columns import Column

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
