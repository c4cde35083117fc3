"""Checks of a table's encoding that was read from a file, which may be damaged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from typing import Any, get_args

import numpy as np

from creases._schema import BOOL, COUNT, NAMES, STRING, check_entries, choice, expect, is_number, optional
from creases._typing import Task
from creases.tables._encoding.column_encoding import ColumnEncoding
from creases.tables._encoding.transformer import LARGEST
from creases.tables._reading import dates, numbers
from creases.tables._reading.kinds import GIVEN_KINDS, ColumnKind, Kind
from creases.tables._reading.notations import check_notation
from creases.tables._reading.quantities import split_unit

#: Kinds of columns that can be inputs.
_INPUT_KINDS = ("yes/no", "ID", *GIVEN_KINDS)


def check_encoding(columns: Sequence[ColumnEncoding], missing: Any, task: Any, classes: Sequence[Any] | None) -> None:
    """Raise ValueError where the parts of an encoding are not what its class declares or do not match each other."""
    kinds = {"missing": choice("indicate", "mean", "drop", "error"), "task": choice(*get_args(Task))}
    encoding = {"missing": missing, "task": task, "classes": classes}
    check_entries(encoding, "the encoding", classes=optional(NAMES), **kinds)
    expect((classes is None) == (task == "regression"), "a regression has classes, or a classification has none")
    for number, column in enumerate(columns):
        _check_kind(column.kind, f"column {number}")
        _check_values(column, f"column {column.name!r}")
    expect(NAMES.allows([column.name for column in columns]), "two columns have one name")
    uses = [column.use for column in columns]
    expect(uses.count("target") == 1 and "input" in uses, "there is no column to predict, or none to predict from")


def _check_kind(kind: ColumnKind, where: str) -> None:
    check_entries(kind, where, name=STRING, note=STRING, kind=choice(*get_args(Kind)), left_out=BOOL)
    has_format = "no date format" if kind.date is None else "a date format"
    is_date = kind.kind in ("date", "month")
    expect((kind.date is not None) == is_date, f"{where} has the kind {kind.kind!r} and {has_format}")
    if kind.date is not None:
        parts, first = kind.date.parts, kind.date.first
        expect(kind.date.format in dates.FORMATS, f"{where} has the date format {kind.date.format!r}")
        known_parts = NAMES.allows(parts) and 0 < len(parts) == len(set(parts) & set(dates.PARTS))
        expect(known_parts, f"{where} has the parts of dates {parts}")
        expect(date.fromisoformat(first).isoformat() == first, f"{where} begins on the day {first!r}")
    if kind.number is not None:
        unit = kind.number.unit
        known = replace(kind.number, unit="") in numbers.FORMATS and isinstance(unit, str)
        expect(known, f"{where} has an unknown format of numbers")
        is_unit = unit in ("", *numbers.SIGNS) or split_unit(f"1 {unit}") == ("1", unit)
        expect(is_unit, f"{where} has numbers with the unit {unit!r}")
    texts = ("ordinal", "interval", "time", "duration")
    named = kind.notation is None or (kind.notation.kind == kind.kind and kind.number is None)
    expect(named and (kind.kind not in texts or kind.notation is not None), f"{where} has a notation of another kind")
    if kind.notation is not None:
        check_notation(kind.notation, where)
    if kind.words is not None:
        expect(kind.kind == "yes/no" and NAMES.allows(kind.words), f"{where} has the words {kind.words}")


def _check_values(column: ColumnEncoding, where: str) -> None:
    kinds = {"levels": NAMES, "rare": NAMES, "common": STRING, "n_missing": COUNT}
    check_entries(column, where, use=choice("input", "target", "left out"), **kinds)
    is_input = column.use == "input"
    expect(not is_input or column.kind.kind in _INPUT_KINDS, f"{where} is an input of the kind {column.kind.kind!r}")
    is_category = is_input and column.is_category
    date_format = column.kind.date
    count = 0 if not is_input or is_category else 1 if date_format is None else len(date_format.parts)
    expect(len(column.means) == count, f"{where} has {len(column.means)} means where {count} belong")
    expect(all(map(_is_mean, column.means)), f"{where} has a mean that is not a number")
    if is_category:
        expect(list(column.levels) == sorted(column.levels), f"the values of {where} are not in order")
        expect(set(column.rare) <= set(column.levels), f"{where} has rare values that it does not have")
        common = [level for level in column.levels if level not in column.rare]
        expect(column.common in common, f"{column.common!r}, the most frequent value of {where}, is not one")
    else:
        expect(not column.levels and not column.rare, f"{where} has values of a category")


def _is_mean(value: Any) -> bool:
    return is_number(value) and bool(np.isfinite(float(value))) and abs(value) <= LARGEST
