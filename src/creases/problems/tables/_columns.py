"""Columns of a table: numbers or text, missing values, and their encoding as numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from creases._text import plural
from creases._typing import Floats
from creases.errors import InputError

#: Cells, without regard to case, that stand for a missing value.
MISSING = frozenset({"", "na", "n/a", "nan", "null", "?"})

#: What Python writes for a missing value, and pandas reads as one; other spellings are ordinary text.
NONE = "None"

#: A column of text with more different values than this is not a category.
MAX_LEVELS = 20


@dataclass(frozen=True, eq=False)
class Column:
    """A named column: float64 with NaN for missing values, or strings (object) with None for missing values."""

    name: str
    values: NDArray[Any]  #: (n,)

    @property
    def is_text(self) -> bool:
        """Whether the values are strings."""
        return self.values.dtype == object

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Whether each value (n,) is missing."""
        if self.is_text:
            return np.array([value is None for value in self.values], bool)
        gaps: NDArray[np.bool_] = np.isnan(self.values)
        return gaps

    def levels(self) -> list[Any]:
        """Return the different values, in order."""
        return sorted(set(self.values[~self.missing].tolist()))

    def rows(self, mask: NDArray[np.bool_]) -> Column:
        """Return the column with some of the rows only."""
        return Column(self.name, self.values[mask])


def from_texts(name: str, cells: Sequence[str | None]) -> Column:
    """Return a column of numbers if every cell that is not missing is a number, else of stripped strings."""
    texts = [None if cell is None or _is_gap(cell.strip()) else cell.strip() for cell in cells]
    numbers = [np.nan if text is None else to_number(text) for text in texts]
    if None in numbers:
        values = np.empty(len(texts), object)
        values[:] = texts
        return Column(name, values)
    return Column(name, np.array(numbers, np.float64))


def _is_gap(cell: str) -> bool:
    return cell == NONE or cell.lower() in MISSING


def to_number(text: str) -> float | None:
    """Return the number that a string spells, None if it spells none."""
    if "_" in text:  # Python reads 1_000 as a number; in tables it is text
        return None
    try:
        return float(text)
    except ValueError:
        return None


def check_finite(columns: Sequence[Column]) -> None:
    """Refuse infinite numbers, which cannot be averaged, scaled or learned."""
    for column in columns:
        if not column.is_text and np.isinf(column.values).any():
            infinite = np.isinf(column.values)
            raise InputError(
                f"column {column.name!r}",
                "have finite values",
                f"{plural(int(infinite.sum()), 'infinite value')} {_first(infinite)}",
                "correct or remove those rows, or leave those cells empty and choose what to do with missing values",
            )


def check_not_empty(columns: Sequence[Column]) -> None:
    """Refuse columns without any value."""
    for column in columns:
        if column.missing.all():
            raise InputError(f"column {column.name!r}", "have values", "none", "remove it")


def missing_report(columns: Sequence[Column]) -> str:
    """List the columns with missing values: ``'age' 3 (the first in row ...), 'cabin' 1 (...)``; empty if none."""
    parts = []
    for column in columns:
        gaps = column.missing
        if gaps.any():
            parts.append(f"{column.name!r} {int(gaps.sum())} {_first(gaps)}")
    return ", ".join(parts[:10]) + (f" and {len(parts) - 10} more columns" if len(parts) > 10 else "")


def _first(mask: NDArray[np.bool_]) -> str:
    """Describe the first row of a mask (n,), numbered as in every report."""
    return f"(the first in row {int(mask.argmax())}, counted from 0)"


def encode(column: Column) -> tuple[list[str], Floats]:
    """Return feature names and numbers (n, k): k = 1 for numbers, one column of 0 and 1 for each level of text.

    Missing values are NaN in all k.
    """
    if not column.is_text:
        return [column.name], column.values[:, None]
    levels = column.levels()
    if len(levels) > MAX_LEVELS:
        raise _too_many_levels(column, len(levels))
    index = {level: k for k, level in enumerate(levels)}
    numbers = np.zeros((len(column.values), len(levels)))
    for row, value in enumerate(column.values):
        if value is None:
            numbers[row] = np.nan
        else:
            numbers[row, index[value]] = 1.0
    return [f"{column.name}={level}" for level in levels], numbers


def _too_many_levels(column: Column, count: int) -> InputError:
    """Return the error for text with too many different values, with a hint that depends on its content."""
    texts = [value for value in column.values if value is not None]
    example = next(value for value in texts if to_number(value) is None)
    if all(to_number(value.replace(",", ".")) is not None for value in texts):
        hint = "its numbers have decimal commas: write them with points"
    elif sum(to_number(value) is not None for value in texts) > len(texts) / 2:
        hint = "most of it is numbers: correct the others, or leave them empty"
    else:
        hint = "remove it (names, identifiers and free text are of no use) or group its values"
    return InputError(
        f"column {column.name!r}",
        f"be numbers, or text with at most {MAX_LEVELS} different values",
        f"text (such as {example!r}) with {count}",
        hint,
    )
