"""Columns of a table as they came, from a file or from memory: numbers, dates or text, with missing values.

What a column of a DataFrame is, its cells in a CSV file are: truth values are the texts ``True`` and ``False``, whole
numbers that a float64 cannot hold are text, and spaces around a cell say nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from creases._typing import Bools, Ints
from creases.errors import InputError

#: Texts, without regard to case, that stand for a missing value where a user names no others. Empty cells always do.
MARKS = frozenset({"na", "n/a", "nan", "null", "?"})

#: What Python writes for a missing value, and pandas reads as one; other spellings are ordinary text.
NONE = "None"

#: Texts that stand for a missing value; None for the usual ones.
Marks = tuple[str, ...] | None

#: Whole numbers up to this one are float64, each as itself.
LARGEST_WHOLE = 2**53

PANDAS_MISSING = ("NAType", "NaTType")  # what pandas puts for a missing value


@dataclass(frozen=True, eq=False)
class Column:
    """A named column: float64 with NaN, datetime64[us] with NaT or strings (object) with None for missing values.

    That of n rows of a block has each text once, so that it is read once; what is computed for values is
    given to rows by :meth:`take`. Of other columns each value is that of a row.
    """

    name: str
    values: NDArray[Any]  #: (k,)
    unreadable: str = ""  #: the type of values that are no numbers, dates or text; they count as missing
    source: Literal["", "b", "i", "f", "O"] = ""  #: booleans, integers, floats or strings; "" for cells of a text file
    part: Any = None  #: the ``Part`` of another column's cells that it is
    places: Ints | None = None  #: (n,) which of the values each row has; None where value k is that of row k

    def take(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return for each row what was computed for its value."""
        return values if self.places is None else values[self.places]

    def expand(self) -> Column:
        """Return the column with a value for every row."""
        return replace(self, values=self.take(self.values), places=None)

    @property
    def counts(self) -> Ints:
        """In how many rows each value is."""
        n = len(self.values)
        return np.ones(n, np.int64) if self.places is None else np.bincount(self.places, minlength=n)

    @property
    def is_text(self) -> bool:
        """Whether the values are strings."""
        return self.values.dtype == object

    @property
    def is_date(self) -> bool:
        """Whether the values are dates."""
        return self.values.dtype.kind == "M"

    @property
    def missing(self) -> Bools:
        """Whether each value (k,) is missing."""
        if self.is_text:
            return np.array([value is None for value in self.values], bool)
        gaps: Bools = np.isnat(self.values) if self.is_date else np.isnan(self.values)
        return gaps

    def is_marked(self, marks: Marks) -> Bools:
        """Return whether each value (k,) is a text that stands for a missing one."""
        texts = {text for text in set(self.values.tolist()) if text is not None} if self.is_text else set()
        usual = {text for text in texts if text == NONE or text.lower() in MARKS}
        found = usual if marks is None else texts & set(marks)
        return np.array([text in found for text in self.values], bool) if found else np.zeros(len(self.values), bool)

    def without(self, marks: Marks) -> Column:
        """Return the column with what is marked as missing so."""
        marked = self.is_marked(marks)
        if not marked.any():
            return self
        values = self.values.copy()
        values[marked] = None
        return replace(self, values=values)

    @property
    def present(self) -> NDArray[Any]:
        """The values that are not missing."""
        return self.values[~self.missing]

    def levels(self) -> list[Any]:
        """Return the different values, in order."""
        return sorted(set(self.present.tolist()))

    def rows(self, mask: Bools) -> Column:
        """Return the column with some of the rows only."""
        if self.places is None:
            return replace(self, values=self.values[mask])
        return replace(self, places=self.places[mask])


def from_texts(name: str, cells: Sequence[str | None]) -> Column:
    """Return a column of stripped strings, with None for empty ones."""
    values = np.empty(len(cells), object)
    values[:] = [None if cell is None else cell.strip() or None for cell in cells]
    check_letters([cell for cell in cells if cell is not None], f" in column {name!r}")
    return Column(name, values)


def check_letters(texts: Sequence[str], where: str) -> None:
    """Refuse texts with half of a surrogate pair."""
    try:
        "".join(texts).encode()
    except UnicodeEncodeError as error:
        raise half_letter(where, error) from None


def half_letter(where: str, error: UnicodeEncodeError) -> InputError:
    """Return the error for text with half of a surrogate pair, which no file, page or export could hold."""
    half = ascii(str(error.object)[error.start])
    return InputError("data", "be text of whole letters", f"half of a surrogate pair, {half}{where}", "replace it")


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
    if values.dtype.kind == "b" or (values.dtype.kind in "iu" and len(values) and is_long(values.min(), values.max())):
        return replace(from_texts(name, [*map(str, values.tolist())]), source="b" if values.dtype.kind == "b" else "i")
    if values.dtype.kind in "iuf":
        return Column(name, values.astype(np.float64), source="f" if values.dtype.kind == "f" else "i")
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
            source = _source(present)
            if source in ("i", "f") and not any(isinstance(v, int | np.integer) and is_long(v, v) for v in present):
                return Column(name, np.array([np.nan if is_missing(v) else float(v) for v in values]), source=source)
            return replace(from_texts(name, [None if is_missing(v) else str(v) for v in values]), source=source)
        if kinds <= {"Decimal", "int", "float"}:
            return Column(name, np.array([np.nan if is_missing(v) else float(v) for v in values], np.float64))
        if kinds <= {"date", "datetime", "Timestamp"}:
            import pandas as pd

            moments = pd.to_datetime(pd.Series([None if is_missing(value) else value for value in values]), utc=True)
            return Column(name, np.asarray(moments.dt.tz_localize(None).to_numpy(), "datetime64[us]"))
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


def is_long(low: Any, high: Any) -> bool:
    """Return whether whole numbers from low to high are more than a float64 holds: names, such as account numbers."""
    return bool(int(low) < -LARGEST_WHOLE or int(high) > LARGEST_WHOLE)


def _source(values: Sequence[Any]) -> Literal["b", "i", "f", "O"]:
    """Return what texts, numbers and truth values are together: truth values beside others are text."""
    are_bool = [isinstance(value, bool | np.bool_) for value in values]
    if any(are_bool) or any(isinstance(value, str) for value in values):
        return "b" if values and all(are_bool) else "O"
    return "i" if all(isinstance(value, int | np.integer) for value in values) else "f"


def is_missing(value: Any) -> bool:
    """Return whether a cell of a typed table stands for a missing value."""
    return (
        value is None
        or (isinstance(value, float | np.floating) and bool(value != value))
        or type(value).__name__ in PANDAS_MISSING
    )
