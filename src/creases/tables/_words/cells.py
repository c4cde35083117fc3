"""Encoded rows as cells of the table, and cells as text."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import numpy as np

from creases._text import format_value
from creases._typing import Floats
from creases.tables._reading.kinds import ColumnKind
from creases.tables._words.axes import date_text, number_axis
from creases.tables._words.ranges import days_input
from creases.tables._words.terms import ColumnTerm, Terms

#: What stands for a value that the table did not have.
UNKNOWN = "a new value"


def decode_row(terms: Terms, x: Floats) -> dict[str, Any]:
    """Return an encoded row x (d,) as cells by the names of columns; None is missing.

    Encoding the cells gives the row again. Of values that were pooled because they are rare the first one stands for
    all. An unknown value of a category is the text ``a new value``.
    """
    return {term.column.name: _decode(term, x) for term in terms.columns}


def _decode(term: ColumnTerm, x: Floats) -> Any:
    column, values = term.column, x[term.inputs]
    if term.indicator is not None and x[term.indicator]:
        return None
    if column.is_category:
        if not values.any():
            return UNKNOWN
        name = term.level_name(term.features[int(values.argmax())])
        return None if name == "missing" else column.rare[0] if name == "other values" and column.rare else name
    if column.kind.date is not None:
        return datetime.fromisoformat(column.kind.date.first) + _days(float(x[days_input(term)]))
    if column.kind.words is not None:
        return column.kind.words[int(values[0] > 0.5)]
    return _as_written(column.kind, float(values[0]))


def _as_written(kind: ColumnKind, value: float) -> str | float:
    """Return a number as the column writes it, where that is read as the same number again."""
    if kind.notation is None:
        return value
    text = kind.notation.write(value)
    return text if kind.notation.parse([text])[0] == value else value


def _days(days: float) -> timedelta:
    """Return a span of time, to the nearest millisecond: days with fractions are not exact."""
    return timedelta(milliseconds=round(days * 86_400_000))


def cell_text(terms: Terms, term: ColumnTerm, x: Floats) -> str:
    """Return a column's cell in an encoded row x (d,) as a reader writes it: ``58``, ``2,130 lb``, ``14 May 2020``."""
    column, values = term.column, x[term.inputs]
    if term.indicator is not None and x[term.indicator]:
        return "missing"
    if column.is_category:
        return term.level_name(term.features[int(values.argmax())]) if values.any() else UNKNOWN
    if column.kind.date is not None:
        days = float(x[days_input(term)])
        return column.kind.date.write(days) if column.kind.date.is_months else date_text(column.kind.date.first, days)
    if column.kind.words is not None:
        return column.kind.words[int(values[0] > 0.5)]
    return number_text(terms, term, float(values[0]))


def number_text(terms: Terms, term: ColumnTerm, value: float) -> str:
    """Return a number of a column as it writes it, or with its unit."""
    if (notation := term.column.kind.notation) is not None:
        return notation.write(value)
    knots, _ = terms.curve_values(int(term.inputs[0]))
    axis = number_axis(term.column.name, term.features[0].unit, knots)
    unit = f" {term.features[0].unit}" if term.features[0].unit else ""
    is_year = "," not in axis.place(2000.0) and knots[0] >= 1000
    return format_value(value, 12 if np.isclose(value, round(value, 6)) else 6, commas=not is_year) + unit
