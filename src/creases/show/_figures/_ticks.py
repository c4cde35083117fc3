"""Ticks of the axes of columns that are no plain numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from creases._typing import Floats

#: Ticks of an axis of months, weekdays or hours.
CYCLE_TICKS = 8


class ColumnAxis(Protocol):
    """What the axis of a number shows."""

    @property
    def knots(self) -> Floats: ...
    @property
    def place(self) -> Callable[[float], str]: ...
    @property
    def first_day(self) -> str: ...
    @property
    def cycle(self) -> tuple[float, ...]: ...
    @property
    def ticks(self) -> tuple[float, ...]: ...


def axis_ticks(axis: ColumnAxis) -> list[tuple[float, str]]:
    """Return where to label an axis of dates, times, intervals or words, and the labels; [] for any other number."""
    if axis.ticks:
        return [(value, axis.place(value)) for value in axis.ticks]
    if axis.cycle:
        some = axis.cycle[:: -(-len(axis.cycle) // CYCLE_TICKS)]
        return [(value, axis.place(value)[:3].rstrip(":")) for value in some]
    if axis.first_day:
        return list(zip(*date_ticks(axis.first_day, float(axis.knots[0]), float(axis.knots[-1])), strict=True))
    return []


def date_ticks(first: str, low: float, high: float) -> tuple[list[float], list[str]]:
    """Return days since the first date at which to label an axis of dates, and their labels.

    Examples
    --------
    >>> date_ticks("1970-01-01", 0.0, 4383.0)
    ([0.0, 1096.0, 2191.0, 3287.0, 4383.0], ['1970', '1973', '1976', '1979', '1982'])
    """
    start = np.datetime64(first[:10], "D")
    ends = start + np.array([np.floor(low), np.ceil(high)]).astype(int)
    unit = "Y" if high - low > 900 else "M" if high - low > 70 else "D"
    marks = np.arange(ends[0].astype(f"M8[{unit}]"), ends[1].astype(f"M8[{unit}]") + 1)
    days = (marks.astype("M8[D]") - start).astype(float)
    inside = (days >= low) & (days <= high)
    marks, days = marks[inside], days[inside]
    step = max(1, -(-len(marks) // 5))
    names = [str(mark) if unit == "Y" else mark.item().strftime("%b %Y" if unit == "M" else "%d %b") for mark in marks]
    return days[::step].tolist(), names[::step]
