"""Columns of rows from arrays of pyarrow: numbers and dates as they are; of text each value once, and where it is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from creases._typing import Bools, Ints
from creases.tables._reading.columns import Column, from_texts, from_values
from creases.tables._reading.kinds import ColumnKind
from creases.tables._reading.numbers import PLAIN

Unread = tuple[int, str]  #: how many cells of text are not what their column has, and the first of them


@dataclass(frozen=True, eq=False)
class Cells:
    """A column of n rows. That of text has its different values only, so that each is read once."""

    column: Column
    places: Ints | None = None  #: (n,) which of the values each row has; None where each row has its own
    unread: Unread = (0, "")

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

    def rows(self, mask: Bools) -> Cells:
        """Return the column with some of the rows only."""
        if self.places is None:
            return Cells(self.column.rows(mask))
        return Cells(self.column, self.places[mask])

    def read(self, kind: ColumnKind) -> Cells:
        """Return the cells with numbers and dates read; a cell that cannot be read counts as missing."""
        column = kind.read(self.column)
        if column is self.column and (not column.is_text or kind.words is None):
            return self
        is_missing = column.missing if kind.words is None else np.isnan(kind.numbers(column))
        flaws = self.take(is_missing & ~self.column.missing)
        if not flaws.any():
            return replace(self, column=column)
        first = flaws.argmax() if self.places is None else self.places[flaws.argmax()]
        return replace(self, column=column, unread=(int(flaws.sum()), str(self.column.values[first])))


def read_cells(name: str, values: pa.Array, *, is_text_file: bool, kind: ColumnKind | None = None) -> Cells:
    """Return an array of pyarrow as cells, in which numbers and dates are read if the kind of the column is known."""
    cells = raw_cells(name, values, is_text_file=is_text_file, kind=kind)
    return cells if kind is None else cells.read(kind)


def raw_cells(name: str, values: pa.Array, *, is_text_file: bool, kind: ColumnKind | None = None) -> Cells:
    """Return an array of pyarrow as cells; text stays text, but where all of it spells plain numbers."""
    form = values.type
    if pa.types.is_boolean(form):
        return Cells(Column(name, _floats(values.cast(pa.uint8())), source="b"))
    if pa.types.is_integer(form):
        return Cells(Column(name, _floats(values), source="i"))
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
    if is_text_file and kind is not None and kind.number == PLAIN and kind.words is None:
        numbers = _parse_plain(values)
        if numbers is not None:
            return Cells(Column(name, numbers))
    coded = values.dictionary_encode()
    texts = [*coded.dictionary.to_pylist(), None]
    places = coded.indices.fill_null(len(texts) - 1).to_numpy(zero_copy_only=False).astype(np.int64)
    column = from_texts(name, texts)
    return Cells(column if is_text_file else replace(column, source="O"), places)


def _floats(values: pa.Array) -> NDArray[np.float64]:
    """Return numbers (n,), NaN for nulls."""
    return np.asarray(values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), np.float64)


def _parse_plain(values: pa.Array) -> NDArray[np.float64] | None:
    """Return the numbers (n,) that texts spell, NaN for empty ones; None if some are neither."""
    trimmed = pc.utf8_trim_whitespace(values)
    try:
        return _floats(pc.if_else(pc.equal(trimmed, ""), pa.scalar(None, trimmed.type), trimmed).cast(pa.float64()))
    except pa.ArrowInvalid:
        return None
