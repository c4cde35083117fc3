"""Columns of a table: numbers or texts, what is missing in them, and their numbers for a network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from creases._typing import Floats
from creases.errors import InputError

#: Cells, without regard to case, that stand for a missing value.
MISSING = frozenset({"", "na", "n/a", "nan", "null", "?"})

#: What Python writes for a missing value, and pandas reads as one; in other spellings it is a word of the table's own.
NONE = "None"

#: A column of texts with more different values than this is no category.
MOST_LEVELS = 20


@dataclass(frozen=True, eq=False)
class Column:
    """A named column: float64 with NaN for what is missing, or texts (object) with None for what is missing."""

    name: str
    values: NDArray[Any]  #: (n,)

    @property
    def is_text(self) -> bool:
        return self.values.dtype == object

    @property
    def missing(self) -> NDArray[np.bool_]:
        """(n,) where there is no value."""
        if self.is_text:
            return np.array([value is None for value in self.values], bool)
        gaps: NDArray[np.bool_] = np.isnan(self.values)
        return gaps

    def levels(self) -> list[Any]:
        """The different values, in order."""
        return sorted(set(self.values[~self.missing].tolist()))

    def rows(self, chosen: NDArray[np.bool_]) -> Column:
        """The column of the chosen rows only."""
        return Column(self.name, self.values[chosen])


def from_texts(name: str, cells: Sequence[str | None]) -> Column:
    """A column of numbers if every cell that is not missing is a number, else of texts (blanks around them removed)."""
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
    """The number that the text spells, None if it spells none."""
    if "_" in text:  # Python reads 1_000 as a number; tables mean a text
        return None
    try:
        return float(text)
    except ValueError:
        return None


def check_finite(columns: Sequence[Column]) -> None:
    """Refuse infinite numbers: no mean, no scaling and no network can take them."""
    for column in columns:
        if not column.is_text and np.isinf(column.values).any():
            infinite = np.isinf(column.values)
            raise InputError(
                f"column {column.name!r} has {plural(int(infinite.sum()), 'infinite value')} {_first(infinite)}; "
                "correct or remove those rows, or leave those cells empty and choose what to do with missing values"
            )


def check_not_empty(columns: Sequence[Column]) -> None:
    """Refuse columns without any value."""
    for column in columns:
        if column.missing.all():
            raise InputError(f"column {column.name!r} has no values at all; remove it")


def missing_report(columns: Sequence[Column]) -> str:
    """Which columns lack how many values: ``'age' 3 (the first in row ...), 'cabin' 1 (...)``; empty if none does."""
    parts = []
    for column in columns:
        gaps = column.missing
        if gaps.any():
            parts.append(f"{column.name!r} {int(gaps.sum())} {_first(gaps)}")
    return ", ".join(parts[:10]) + (f" and {len(parts) - 10} more columns" if len(parts) > 10 else "")


def _first(found: NDArray[np.bool_]) -> str:
    """Where a mark (n,) comes first, rows numbered as in every report."""
    return f"(the first in row {int(found.argmax())}, counted from 0)"


def encode(column: Column) -> tuple[list[str], Floats]:
    """Feature names and numbers (n, k): k = 1 for numbers, one column of 0 and 1 for each level of a text.

    Missing values are NaN in all k.
    """
    if not column.is_text:
        return [column.name], column.values[:, None]
    levels = column.levels()
    if len(levels) > MOST_LEVELS:
        raise InputError(_too_many(column, len(levels)))
    place = {level: k for k, level in enumerate(levels)}
    numbers = np.zeros((len(column.values), len(levels)))
    for row, value in enumerate(column.values):
        if value is None:
            numbers[row] = np.nan
        else:
            numbers[row, place[value]] = 1.0
    return [f"{column.name}={level}" for level in levels], numbers


def _too_many(column: Column, count: int) -> str:
    """Why a column of texts is refused: is it nearly numbers, or names?"""
    texts = [value for value in column.values if value is not None]
    text = next(value for value in texts if to_number(value) is None)
    message = (
        f"column {column.name!r} holds text (such as {text!r}) with {count} different values; at most "
        f"{MOST_LEVELS} can be made columns of 0 and 1."
    )
    if all(to_number(value.replace(",", ".")) is not None for value in texts):
        return f"{message} Its numbers have decimal commas: write them with points"
    if sum(to_number(value) is not None for value in texts) > len(texts) / 2:
        return f"{message} Most of it is numbers: correct the others, or leave them empty"
    return f"{message} Remove it (as one does with names, numbers of cases and free text) or group its values"


def plural(count: int, noun: str) -> str:
    """``1 row``, ``2 rows``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
