"""How the values of a number are written: on the axis of a picture, in sentences, on printed cards."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from math import floor, log10

import numpy as np

from creases._text import format_value
from creases._typing import Floats

#: Days of a month and a year, on average.
MONTH, YEAR = 30.4375, 365.25

#: Dates over more days than this are told by month and year, slopes over more than so many by year or by month.
LONG, YEARS, MONTHS = 3 * YEAR, 2 * YEAR, 60.0

#: A step by which slopes are told is at most this share of the column's range.
STEP = 0.1


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
    exponent = floor(log10(STEP * (high - low) * (1 + 1e-12)))
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
