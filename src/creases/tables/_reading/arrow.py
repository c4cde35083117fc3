"""Arrays of pyarrow as columns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from creases.tables._columns.kinds import ColumnKind
from creases.tables._reading.columns import Column, from_texts, from_values, is_long


def arrow_column(name: str, values: pa.Array, *, is_text_file: bool, kind: ColumnKind | None = None) -> Column:
    """Return an array of pyarrow as a column; text stays text, but where all of it spells plain numbers of its kind."""
    form = values.type
    source: Any = "" if is_text_file else "O"
    if pa.types.is_boolean(form):
        values, form, source = pc.if_else(values, "True", "False"), pa.string(), "b"
    if pa.types.is_integer(form) or (pa.types.is_decimal(form) and form.scale == 0):
        ends = pc.min_max(values)
        if not is_long(ends["min"].as_py() or 0, ends["max"].as_py() or 0):
            return Column(name, _floats(values), source="i")
        values, form, source = values.cast(pa.string()), pa.string(), "i"
    if pa.types.is_floating(form):
        return Column(name, _floats(values), source="f")
    if pa.types.is_decimal(form):
        return Column(name, _floats(values.cast(pa.float64())))
    if pa.types.is_date(form) or pa.types.is_timestamp(form):
        moments = values.cast(pa.timestamp("us", getattr(form, "tz", None)), safe=False)
        return Column(name, np.asarray(moments.to_numpy(zero_copy_only=False), "datetime64[us]"))
    if pa.types.is_null(form):
        return Column(name, np.full(len(values), np.nan))
    if pa.types.is_dictionary(form):
        values, form = values.cast(form.value_type), form.value_type
    if not (pa.types.is_string(form) or pa.types.is_large_string(form)):
        objects = np.empty(len(values), object)
        objects[:] = values.to_pylist()
        return from_values(name, objects)
    if is_text_file and kind is not None and kind.codec.is_plain:
        numbers = _parse_plain(values)
        if numbers is not None:
            return Column(name, numbers)
    coded = values.dictionary_encode()
    texts = [*coded.dictionary.to_pylist(), None]
    places = coded.indices.fill_null(len(texts) - 1).to_numpy(zero_copy_only=False).astype(np.int64)
    return replace(from_texts(name, texts), source=source, places=places)


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
