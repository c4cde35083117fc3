"""What the inputs of a model are in the rows it was trained on: ranges, spreads, whole numbers, days."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from creases._typing import Floats
from creases.errors import InputError
from creases.tables._reading.dates import CYCLES, FEW_DAYS
from creases.tables._words.terms import ColumnTerm, ReadableModel, Terms, training_rows


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
            known = X if term.indicator is None else X[X[:, term.indicator] == 0]
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


def model_ranges(model: ReadableModel, terms: Terms, X: Floats | None = None) -> InputRanges:
    """Return what the inputs of a model are: in rows X (n, d), in those trained on, or as far as the model knows."""
    X = training_rows(model) if X is None else X
    limits: Any = getattr(model, "ranges", None)
    if X is not None:
        return InputRanges.from_rows(terms, X)
    if limits is None:
        raise InputError("X", "be given for a model without rows")
    return InputRanges.from_limits(terms, np.asarray(limits))


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
            allowed &= parts[name] == own[name]
    if ranges.month_days:
        allowed &= np.isin(parts["day"], sorted(ranges.month_days))
    table = np.stack([parts[name] for name in date.parts], axis=1)[allowed]
    return np.abs(days - start)[allowed], table


def _parts(term: ColumnTerm, days: Floats) -> dict[str, Floats]:
    """Return the parts of dates, days since the first one (n,), as the encoding computes them, and the day of month."""
    moments = _moments(term, days)
    months, dates = moments.astype("M8[M]"), moments.astype("M8[D]")
    numbers = {
        "year": moments.astype("M8[Y]").astype(int) + 1970,
        "month": months.astype(int) % 12 + 1,
        "weekday": (dates.astype(int) + 3) % 7,  # day 0 was a Thursday
        "hour": (moments - dates).astype("m8[h]").astype(int),
        "day": (dates - months).astype("m8[D]").astype(int) + 1,
    }
    return {name: values.astype(np.float64) for name, values in numbers.items()} | {"days": days}
