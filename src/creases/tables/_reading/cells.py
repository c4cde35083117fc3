"""Columns of rows from arrays of pyarrow: numbers and dates as they are; of text each value once, and where it is."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from creases._typing import Bools, Ints
from creases.errors import InputError
from creases.tables._columns.kinds import ColumnKind, Gaps
from creases.tables._reading.columns import Column, from_texts, from_values, is_long


@dataclass(frozen=True, eq=False)
class Cells:
    """A column of n rows. That of text has its different values only, so that each is read once."""

    column: Column
    places: Ints | None = None  #: (n,) which of the values each row has; None where each row has its own
    gaps: Gaps = field(default_factory=Gaps)  #: what was read as missing

    def take(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return for each row what was computed for its value."""
        return values if self.places is None else values[self.places]

    @property
    def missing(self) -> Bools:
        """Whether each value (n,) is missing."""
        return np.asarray(self.take(self.column.missing))

    def expand(self) -> Column:
        """Return the column with a value for every row."""
        return replace(self.column, values=self.take(self.column.values))

    def check_finite(self) -> None:
        """Refuse infinite numbers."""
        values = self.column.values
        if values.dtype.kind == "f" and np.isinf(self.take(values)).any():
            hint = "correct those cells, leave them empty, or leave the column out"
            raise InputError("data", "have finite numbers", f"column {self.column.name!r} with infinite values", hint)

    def rows(self, mask: Bools) -> Cells:
        """Return the column with some of the rows only."""
        if self.places is None:
            return Cells(self.column.rows(mask))
        return Cells(self.column, self.places[mask])

    @property
    def counts(self) -> Ints | None:
        """In how many rows each value is; None where each row has its own."""
        return None if self.places is None else np.bincount(self.places, minlength=len(self.column.values))

    def read(self, kind: ColumnKind) -> Cells:
        """Return the cells as the kind of their column has them: see :meth:`ColumnKind.read`."""
        raw = kind.cells({self.column.name: self.column})
        column = kind.read(raw)
        return replace(self, column=column, gaps=kind.gaps(raw, column, self.counts))


def raw_cells(name: str, values: pa.Array, *, is_text_file: bool, kind: ColumnKind | None = None) -> Cells:
    """Return an array of pyarrow as cells; text stays text, but where all of it spells plain numbers of its kind."""
    form = values.type
    source: Any = "" if is_text_file else "O"
    if pa.types.is_boolean(form):
        values, form, source = pc.if_else(values, "True", "False"), pa.string(), "b"
    if pa.types.is_integer(form) or (pa.types.is_decimal(form) and form.scale == 0):
        ends = pc.min_max(values)
        if not is_long(ends["min"].as_py() or 0, ends["max"].as_py() or 0):
            return Cells(Column(name, _floats(values), source="i"))
        values, form, source = values.cast(pa.string()), pa.string(), "i"
    if pa.types.is_floating(form):
        return Cells(Column(name, _floats(values), source="f"))
    if pa.types.is_decimal(form):
        return Cells(Column(name, _floats(values.cast(pa.float64()))))
    if pa.types.is_date(form) or pa.types.is_timestamp(form):
        moments = values.cast(pa.timestamp("us", getattr(form, "tz", None)), safe=False)
        return Cells(Column(name, np.asarray(moments.to_numpy(zero_copy_only=False), "datetime64[us]")))
    if pa.types.is_null(form):
        return Cells(Column(name, np.full(len(values), np.nan)))
    if pa.types.is_dictionary(form):
        values, form = values.cast(form.value_type), form.value_type
    if not (pa.types.is_string(form) or pa.types.is_large_string(form)):
        objects = np.empty(len(values), object)
        objects[:] = values.to_pylist()
        return Cells(from_values(name, objects))
    if is_text_file and kind is not None and kind.codec.is_plain:
        numbers = _parse_plain(values)
        if numbers is not None:
            return Cells(Column(name, numbers))
    coded = values.dictionary_encode()
    texts = [*coded.dictionary.to_pylist(), None]
    places = coded.indices.fill_null(len(texts) - 1).to_numpy(zero_copy_only=False).astype(np.int64)
    return Cells(replace(from_texts(name, texts), source=source), places)


def _floats(values: pa.Array) -> NDArray[np.float64]:
    """Return numbers (n,), NaN for nulls."""
    return np.asarray(values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), np.float64)


def _parse_plain(values: pa.Array) -> NDArray[np.float64] | None:
    """Return the numbers (n,) that texts spell, NaN for empty ones; None if some are neither, or "nan"."""
    trimmed = pc.utf8_trim_whitespace(values)
    filled = pc.if_else(pc.equal(trimmed, ""), pa.scalar(None, trimmed.type), trimmed)
    try:
        numbers = _floats(filled.cast(pa.float64()))
    except pa.ArrowInvalid:
        return None
    return numbers if np.isnan(numbers).sum() == filled.null_count else None
