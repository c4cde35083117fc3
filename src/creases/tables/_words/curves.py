"""A curve in words: slopes of few pieces, or its values at the places that matter; and how values are written there."""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from math import floor, log10

import numpy as np

from creases._text import format_change, format_value
from creases._typing import Floats
from creases.tables._encoding.encoding import Feature, TableEncoding
from creases.tables._reading.numbers import Notation

#: Pieces of a curve that are told by their slopes; one with more by its values at so many places.
PIECES, PLACES = 3, 5

#: A change below this share of the curve's range is flat; a place nearer than that to the others' line is left out.
FLAT, NEAR = 0.005, 0.03


def curve_text(
    knots: Floats, values: Floats, axis: Axis, unit: str, change: Callable[[float], str] = format_change
) -> str:
    """Return a piecewise-linear function with values (k,) at knots (k,) in words; "" if it is constant.

    ``change`` writes what is added.

    Examples
    --------
    >>> from creases.tables._words.curves import number_axis
    >>> knots, values = np.array([1600.0, 2750.0, 5150.0]), np.array([13.8, 0.0, -14.4])
    >>> curve_text(knots, values, number_axis("weight", "lb", knots), " mpg")
    '-1.2 mpg per 100 lb up to 2,750 lb, -0.6 above'
    """
    if not np.ptp(values) > 1e-12 * max(float(np.abs(values).max(initial=0.0)), 1e-300):
        return ""
    if axis.cycle:
        return _extremes_text(np.array(axis.cycle), np.interp(axis.cycle, knots, values), axis, unit, change)
    if axis.levels:
        return places_text(np.array(axis.levels), np.interp(axis.levels, knots, values), axis, unit, change)
    knots, values = straighten(knots, values)
    if len(knots) - 1 > PIECES:
        return places_text(knots, values, axis, unit, change)
    return _slopes_text(knots, values, axis, unit, change)


def straighten(knots: Floats, values: Floats, share: float = 1e-9) -> tuple[Floats, Floats]:
    """Return the function without the knots at which it does not bend, up to a share of its range."""
    kept = choose_places(knots, values, share)
    return knots[kept], values[kept]


def choose_places(knots: Floats, values: Floats, share: float, most: int = 1_000_000) -> list[int]:
    """Return the knots between which straight lines are within a share of the range, or the best so many.

    The knot farthest from the lines so far is added until none is far (Douglas and Peucker 1973).
    """
    kept = [0, len(knots) - 1]
    while len(kept) < most:
        distance = np.abs(np.interp(knots, knots[kept], values[kept]) - values)
        farthest = int(distance.argmax())
        if distance[farthest] <= share * np.ptp(values) or farthest in kept:
            break
        kept = sorted([*kept, farthest])
    return kept


def places_text(knots: Floats, values: Floats, axis: Axis, unit: str, change: Callable[[float], str]) -> str:
    """Return the values of a function at the places between which it is nearly straight."""
    kept = choose_places(knots, values, NEAR, PLACES)
    shown = [f"{change(values[k])} {axis.at} {axis.place(knots[k])}" for k in kept]
    if unit:
        shown[0] = shown[0].replace(f" {axis.at} ", f"{unit} {axis.at} ", 1)
    return ", ".join(shown)


def _slopes_text(knots: Floats, values: Floats, axis: Axis, unit: str, change: Callable[[float], str]) -> str:
    """Return the slopes of a few pieces: ``-1.2 mpg per 100 lb up to 2,750 lb, -0.6 above``."""
    words, named = [], False
    last = len(knots) - 2
    for k in range(last + 1):
        a, b, rise = knots[k], knots[k + 1], values[k + 1] - values[k]
        if abs(rise) < FLAT * np.ptp(values):
            text = "flat"
        elif b - a < axis.step and last:  # too short for a slope: nearly a jump
            words.append(f"{change(rise)}{'' if named else unit} from {axis.place(a)} to {axis.place(b)}")
            continue
        else:
            text = change(rise / (b - a) * axis.step)
            text += "" if named else f"{unit} per {axis.step_name}"
            named = True
        if last and k == last:
            text += f" {axis.beyond}"
        elif last:
            text += f" {axis.until} {axis.place(b)}"
        words.append(text)
    return ", ".join(words)


def _extremes_text(places: Floats, values: Floats, axis: Axis, unit: str, change: Callable[[float], str]) -> str:
    """Return where a function of months, weekdays or hours is lowest and highest."""
    low, high = int(values.argmin()), int(values.argmax())
    lowest = f"lowest {axis.at} {axis.place(places[low])} ({change(values[low])}{unit})"
    return f"{lowest}, highest {axis.at} {axis.place(places[high])} ({change(values[high])})"


#: Days of a month and a year, on average.
MONTH, YEAR = 30.4375, 365.25

#: Dates over more days than this are told by month and year, slopes over more than so many by year or by month.
LONG, YEARS, MONTHS = 3 * YEAR, 2 * YEAR, 60.0

#: A step by which slopes are told is at most this share of the column's range.
STEP = 0.1

#: Levels of an ordinal or intervals that are told one by one, and labels of a picture, at most.
LEVELS, TICKS = 100, 6


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


def feature_axis(feature: Feature, encoding: TableEncoding, knots: Floats) -> Axis:
    """Return the axis of an input that is a number, as its column writes it."""
    if feature.kind == "date":
        return _date_axis(feature, encoding, knots)
    notation = next(column for column in encoding.inputs if column.name == feature.column).kind.notation
    return number_axis(feature.column, feature.unit, knots) if notation is None else _notation_axis(notation, knots)


def _notation_axis(notation: Notation, knots: Floats) -> Axis:
    low, high = float(knots[0]), float(knots[-1])
    is_time = notation.kind in ("time", "duration")
    words = ("until", "after") if notation.kind == "time" else ("up to", "above")
    levels = tuple(notation.grid(low, high, LEVELS).tolist()) if notation.kind in ("ordinal", "interval") else ()
    ticks = tuple(notation.grid(low, high, TICKS).tolist())
    step = notation.step(low, high) if is_time or high > low else (1.0, "1")
    return Axis(notation.write, *step, *words, "at", levels=levels if len(levels) > 1 else (), ticks=ticks)


def number_axis(name: str, unit: str, knots: Floats) -> Axis:
    """Return the axis of a column of numbers from its name, unit and knots (k,).

    Examples
    --------
    >>> axis = number_axis("weight", "lb", np.array([1613.0, 2750.0, 5140.0]))
    >>> axis.place(2750.0), axis.step_name
    ('2,750 lb', '100 lb')
    """
    low, high = float(knots[0]), float(knots[-1])
    is_year = bool(re.search(r"(?i)year", name)) and low >= 1000 and high <= 2200
    step = round_step(low, high, whole=bool((knots == np.round(knots)).all()))
    after = f" {unit}" if unit else ""
    size = f"1{after}" if step == 1 and not unit else unit if step == 1 else f"{format_value(step)}{after}"
    digits = _digits(low, high)

    def place(x: float) -> str:
        return format_value(x, digits, commas=not is_year) + after

    return Axis(place, step, "year" if is_year and step == 1 else size, "up to", "above", "at")


def _digits(low: float, high: float) -> int:
    """Return the digits that separate values of a range: at least four, and more where it is narrow for its values."""
    largest = max(abs(low), abs(high))
    return int(np.clip(3 + np.ceil(np.log10(largest / (high - low))), 4, 15))


def _date_axis(feature: Feature, encoding: TableEncoding, knots: Floats) -> Axis:
    """Return the axis of a part of a date."""
    column = next(column for column in encoding.inputs if column.name == feature.column)
    part = feature.part
    if part == "year":
        return Axis(lambda x: f"{x:.0f}", 1.0, "year", "until", "after", "in")
    if part == "month":
        middle = 0.0 if column.kind.date is not None and column.kind.date.whole_months else 0.5
        cycle = tuple(k + middle for k in range(1, 13))
        return Axis(lambda x: calendar.month_name[(int(x) - 1) % 12 + 1], 1.0, "month", "until", "after", "in", cycle)
    if part == "weekday":
        cycle = tuple(float(k) for k in range(7))
        return Axis(lambda x: calendar.day_name[round(x) % 7], 1.0, "day", "until", "after", "on", cycle)
    if part == "hour":
        cycle = tuple(float(k) for k in range(24))
        return Axis(lambda x: f"{int(x) % 24}:{int(60 * (x % 1)):02d}", 1.0, "hour", "until", "after", "at", cycle)
    assert column.kind.date is not None
    axis = days_axis(column.kind.date.first, float(knots[-1] - knots[0]))
    return replace(axis, place=column.kind.date.write, at="in") if column.kind.date.is_months else axis


def days_axis(first: str, length: float) -> Axis:
    """Return the axis of days since the first one, over so many days.

    Examples
    --------
    >>> days_axis("1970-01-01", 4383.0).place(1500.0), days_axis("2020-01-01", 300.0).place(44.0)
    ('February 1974', '14 February 2020')
    """
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
    """Return the power of ten by which to tell slopes over a range: 100 of 1,600 to 5,100; at least 1 if whole.

    Examples
    --------
    >>> round_step(1613, 5140, whole=True), round_step(3, 8, whole=True), round_step(0.1, 0.9, whole=False)
    (100.0, 1.0, 0.01)
    """
    exponent = floor(log10(STEP * (high - low) * (1 + 1e-12)))
    return 10.0 ** (max(exponent, 0) if whole else exponent)
