"""Columns of a table as they were read: numbers, dates or text, with missing values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

#: Cells, without regard to case, that stand for a missing value.
MISSING = frozenset({"", "na", "n/a", "nan", "null", "?"})

#: What Python writes for a missing value, and pandas reads as one; other spellings are ordinary text.
NONE = "None"

PANDAS_MISSING = ("NAType", "NaTType")  # what pandas puts for a missing value


@dataclass(frozen=True, eq=False)
class Column:
    """A named column: float64 with NaN, datetime64[us] with NaT or strings (object) with None for missing values."""

    name: str
    values: NDArray[Any]  #: (n,)
    unreadable: str = ""  #: the type of values that are no numbers, dates or text; they count as missing
    source: Literal["", "b", "i", "f", "O"] = ""  #: booleans, integers, floats or strings; "" for cells of a text file

    @property
    def is_text(self) -> bool:
        """Whether the values are strings."""
        return self.values.dtype == object

    @property
    def is_date(self) -> bool:
        """Whether the values are dates."""
        return self.values.dtype.kind == "M"

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Whether each value (n,) is missing."""
        if self.is_text:
            return np.array([value is None for value in self.values], bool)
        gaps: NDArray[np.bool_] = np.isnat(self.values) if self.is_date else np.isnan(self.values)
        return gaps

    @property
    def present(self) -> NDArray[Any]:
        """The values that are not missing."""
        return self.values[~self.missing]

    def levels(self) -> list[Any]:
        """Return the different values, in order."""
        return sorted(set(self.present.tolist()))

    def rows(self, mask: NDArray[np.bool_]) -> Column:
        """Return the column with some of the rows only."""
        return replace(self, values=self.values[mask])


def from_texts(name: str, cells: Sequence[str | None]) -> Column:
    """Return a column of stripped strings, with None for missing values."""
    values = np.empty(len(cells), object)
    values[:] = [None if cell is None or _is_gap(cell.strip()) else cell.strip() for cell in cells]
    return Column(name, values)


def _is_gap(cell: str) -> bool:
    return cell == NONE or cell.lower() in MISSING


def to_number(text: str) -> float | None:
    """Return the number that a string spells in Python's way, None if it spells none."""
    if "_" in text:  # Python reads 1_000 as a number; in tables it is text
        return None
    try:
        return float(text)
    except ValueError:
        return None


def from_values(name: str, values: NDArray[Any]) -> Column:
    """Return a column of typed values; ``unreadable`` names their type unless they are numbers, dates or text."""
    if values.dtype.kind in "biuf":
        sources: dict[str, Literal["b", "i", "f"]] = {"b": "b", "i": "i", "u": "i", "f": "f"}
        return Column(name, values.astype(np.float64), source=sources[values.dtype.kind])
    if values.dtype.kind == "M":
        return Column(name, values.astype("datetime64[us]"))
    if values.dtype.kind == "m":
        return from_texts(name, [_span_text(value) for value in values.astype("m8[us]")])
    if values.dtype.kind == "U":
        return replace(from_texts(name, [str(value) for value in values]), source="O")
    kind = str(values.dtype)
    if values.dtype.kind == "O":
        present = [value for value in values if not is_missing(value)]
        kinds = {type(value).__name__ for value in present}
        if all(isinstance(value, str | bool | int | float | np.number | np.bool_) for value in present):
            if not any(isinstance(value, str) for value in present):
                numbers = np.array([np.nan if is_missing(v) else float(v) for v in values], np.float64)
                return Column(name, numbers, source=_number_source(present))
            return replace(from_texts(name, [None if is_missing(v) else str(v) for v in values]), source="O")
        if kinds <= {"Decimal", "int", "float"}:
            return Column(name, np.array([np.nan if is_missing(v) else float(v) for v in values], np.float64))
        if kinds <= {"date", "datetime", "Timestamp"}:
            return Column(name, _dates(values))
        if kinds == {"time"}:
            return from_texts(name, [None if is_missing(value) else value.isoformat() for value in values])
        if kinds <= {"timedelta", "Timedelta"}:
            spans = np.array([None if is_missing(value) else value for value in values], "m8[us]")
            return from_texts(name, [_span_text(value) for value in spans])
        kind = ", ".join(sorted(kinds))
    return Column(name, np.full(len(values), None, object), kind)


def _span_text(span: np.timedelta64) -> str | None:
    """Return a span of time as hours, minutes and seconds, as a table of text may have it."""
    if np.isnat(span):
        return None
    count = int(span.astype(np.int64))
    seconds, fraction = divmod(abs(count), 10**6)
    minutes, seconds = divmod(seconds, 60)
    tail = f".{fraction:06d}".rstrip("0") if fraction else ""
    return f"{'-' if count < 0 else ''}{minutes // 60}:{minutes % 60:02d}:{seconds:02d}{tail}"


def _number_source(values: Sequence[Any]) -> Literal["b", "i", "f"]:
    if all(isinstance(value, bool | np.bool_) for value in values):
        return "b"
    return "i" if all(isinstance(value, int | np.integer) for value in values) else "f"


def _dates(values: NDArray[Any]) -> NDArray[Any]:
    import pandas as pd

    moments = pd.to_datetime(pd.Series([None if is_missing(value) else value for value in values]), utc=True)
    return np.asarray(moments.dt.tz_localize(None).to_numpy(), "datetime64[us]")


def is_missing(value: Any) -> bool:
    """Return whether a cell of a typed table stands for a missing value."""
    return (
        value is None
        or (isinstance(value, float | np.floating) and bool(value != value))
        or type(value).__name__ in PANDAS_MISSING
    )
