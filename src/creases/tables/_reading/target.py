"""The column to predict: classes by number and by name, or values."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from creases._text import plural
from creases._typing import Floats, Task
from creases.errors import InputError
from creases.tables._encoding.encoding import Labels
from creases.tables._reading.columns import Column
from creases.tables._reading.kinds import MAX_LEVELS, ColumnKind, format_level


def encode_target(
    column: Column, kind: ColumnKind, task: Task | None
) -> tuple[NDArray[np.int64] | Floats, tuple[str, ...] | None]:
    """Return class numbers and the names of the classes, or values and None."""
    levels, n = column.levels(), len(column.values)
    is_integer = not column.is_text and bool((column.values == np.round(column.values)).all())
    few = len(levels) <= MAX_LEVELS and 2 * len(levels) <= n
    if len(levels) == 1:
        raise InputError(
            "target", "have different values", f"{levels[0]!r} in all {plural(n, 'row')} of column {column.name!r}"
        )
    if task is None:
        is_count = is_integer and len(levels) > 2 and column.values.min() >= 0
        is_classes = column.is_text or kind.kind == "category" or (is_integer and few and not is_count)
        task = "classification" if is_classes else "regression"
    if task == "regression":
        if column.is_text:
            raise InputError(
                "target",
                "be numbers for regression",
                f"text in column {column.name!r} ({column.values[0]!r})",
                "use {0}",
                [("task", "classification")],
            )
        return column.values, None
    if len(levels) == n > 2 or (len(levels) > MAX_LEVELS and not column.is_text and not is_integer):
        count = f"{len(levels)} different values in {plural(n, 'row')} of column {column.name!r}"
        if column.is_text:
            raise InputError("target", "be classes", count, "predict another column")
        raise InputError("target", "be classes", count, "use {0}", [("task", "regression")])
    number = {level: k for k, level in enumerate(levels)}
    y = np.array([number[value] for value in column.values.tolist()], np.int64)
    if column.source == "b":
        return y, tuple(str(bool(level)) for level in levels)
    return y, tuple(format_level(level) if is_integer else str(level) for level in levels)


def describe_choice(column: Column, classes: tuple[str, ...] | None) -> str:
    """Say that a column of few whole numbers is read as counts, and how to change that; "" for other columns."""
    levels = column.levels()
    if classes is not None or column.is_text or len(levels) > MAX_LEVELS:
        return ""
    if not (column.values == np.round(column.values)).all():
        return ""
    return f"; the {len(levels)} whole numbers of {column.name!r} are counts, not classes (task: classification)"


def label_kind(column: Column) -> Labels:
    """Return what the values of a column of classes are, so that predictions are of the same type."""
    if column.is_text:
        is_integer = column.source == "" and all(str(level).removeprefix("-").isdecimal() for level in column.levels())
        return "integer" if is_integer else "text"
    if column.source == "b":
        return "boolean"
    is_integer = bool((column.present == np.round(column.present)).all()) and column.source != "f"
    return "integer" if is_integer else "number"
