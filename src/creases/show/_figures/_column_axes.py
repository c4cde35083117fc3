"""What the axes of a table's columns show, for every drawing of them; imports no matplotlib."""

from __future__ import annotations

from datetime import date
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np

from creases._text import format_value
from creases._typing import Floats, Ints
from creases.tables import PairGraph

#: Share of the largest range of effects that the axis of every column spans at least, so that small effects look small.
LEAST_RANGE = 0.25

#: Ticks of an axis of months, weekdays or hours.
CYCLE_TICKS = 8


class ColumnAxis(Protocol):
    """What the axis of a number shows."""

    @property
    def knots(self) -> Floats: ...
    @property
    def axis(self) -> Any: ...


def axis_ticks(column: ColumnAxis) -> list[tuple[float, str]]:
    """Return where to label an axis of dates, times, intervals or words, and the labels; [] for any other number."""
    if (axis := column.axis) is None:
        return []
    if axis.ticks:
        return [(value, axis.place(value)) for value in axis.ticks]
    if axis.cycle:
        some = axis.cycle[:: -(-len(axis.cycle) // CYCLE_TICKS)]
        return [(value, name[:3] if (name := axis.place(value)).isalpha() else name) for value in some]
    if axis.first_day:
        return list(zip(*date_ticks(axis.first_day, float(column.knots[0]), float(column.knots[-1])), strict=True))
    return []


def date_ticks(first: str, low: float, high: float) -> tuple[list[float], list[str]]:
    """Return days since the first date at which to label an axis of dates, and their labels.

    Examples
    --------
    >>> date_ticks("1970-01-01", 0.0, 4383.0)
    ([0.0, 1096.0, 2191.0, 3287.0, 4383.0], ['1970', '1973', '1976', '1979', '1982'])
    """
    start = np.datetime64(first[:10], "D")
    ends = start + np.array([np.floor(low), np.ceil(high)]).astype("m8[D]")
    unit: Literal["Y", "M", "D"] = "Y" if high - low > 900 else "M" if high - low > 70 else "D"
    first_mark, last_mark = ends.astype(f"M8[{unit}]")
    marks = np.arange(first_mark, last_mark + np.timedelta64(1, unit))
    days = (marks.astype("M8[D]") - start).astype(float)
    inside = (days >= low) & (days <= high)
    marks, days = marks[inside], days[inside]
    step = max(1, -(-len(marks) // 5))
    dates: list[date] = marks.astype("M8[D]").tolist()
    names = [day.strftime({"Y": "%Y", "M": "%b %Y", "D": "%d %b"}[unit]) for day in dates]
    return days[::step].tolist(), names[::step]


def short_text(text: str, length: int) -> str:
    """Return a text of at most so many letters; a longer one ends in an ellipsis."""
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


def pair_label(graph: PairGraph, output: int) -> str:
    """Return the label of a pair's values."""
    of = f" for {short_text(graph.outputs[output], 18)}" if graph.unit == "points" else ""
    return f"{graph.unit or short_text(graph.outputs[output], 20)}{of}"


class PairLines(NamedTuple):
    """The graph of a number and a category as lines: of the output that varies most."""

    number: Any  #: the column of numbers
    category: Any
    output: int
    values: Floats  #: (levels, knots)

    @classmethod
    def from_graph(cls, graph: PairGraph) -> PairLines:
        """Evaluate a graph at the knots of the number for each level of the category."""
        number, category = (graph.first, graph.second) if graph.second.levels else (graph.second, graph.first)
        knots, levels = number.knots, np.arange(len(category.levels))
        x, level = np.tile(knots, len(levels)), np.repeat(levels, len(knots)).astype(np.float64)
        every = graph(x, level) if category is graph.second else graph(level, x)
        table = every.reshape(len(levels), len(knots), -1)
        output = int(np.abs(table).max(axis=(0, 1)).argmax())
        return cls(number, category, output, table[:, :, output])


class PairTable(NamedTuple):
    """The graph of two categories as a table, the one with more values down: of the output that varies most."""

    down: Any  #: the category with more values
    across: Any
    rows: Ints  #: numbers of its values that are shown: those with the largest effects
    columns: Ints
    output: int
    values: Floats  #: (rows, columns)
    left_out: float  #: the largest effect that is not shown; 0 if all are

    @classmethod
    def from_graph(cls, graph: PairGraph, most: tuple[int, int]) -> PairTable:
        """Evaluate a graph at all values of both categories, and keep at most so many rows and columns."""
        sizes = len(graph.first.levels), len(graph.second.levels)
        a, b = (np.ravel(each) for each in np.meshgrid(np.arange(sizes[0]), np.arange(sizes[1]), indexing="ij"))
        table = graph(a.astype(np.float64), b.astype(np.float64)).reshape(*sizes, -1)
        output = int(np.abs(table).max(axis=(0, 1)).argmax())
        values, sides = table[:, :, output], (graph.first, graph.second)
        if sizes[0] < sizes[1]:
            values, sides = values.T, sides[::-1]
        rows, columns = (largest(np.abs(values).max(axis=1 - k), most[k]) for k in (0, 1))
        shown = values[np.ix_(rows, columns)]
        hidden = np.ones(values.shape, bool)
        hidden[np.ix_(rows, columns)] = False
        left_out = float(np.abs(values[hidden]).max(initial=0.0))
        return cls(*sides, rows, columns, output, shown, left_out)

    @property
    def note(self) -> str:
        """Which values are left out; "" if none are."""
        rest = [
            f"{len(side.levels) - len(kept)} of {len(side.levels)} {side.name}"
            for side, kept in ((self.down, self.rows), (self.across, self.columns))
            if len(kept) < len(side.levels)
        ]
        return f"not shown: {' and '.join(rest)}, at most ±{format_value(self.left_out, 2)}" if rest else ""


def largest(sizes: Floats, most: int) -> Ints:
    """Return the numbers of the largest sizes, in their order."""
    return np.sort(np.argsort(-sizes, kind="stable")[:most])
