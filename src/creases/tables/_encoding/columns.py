"""The encoding of a column: numbers with means for what is missing, and 0 and 1 for each value of a category."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np

from creases._typing import Bools, Floats
from creases.tables._reading.columns import Column
from creases.tables._reading.kinds import MAX_LEVELS, ColumnKind
from creases.tables._reading.numbers import NumberFormat, read_notation
from creases.tables._reading.times import DateFormat

#: A value is rare in fewer rows than this, or than one of so many: its rows cannot tell what it adds.
RARE, RARE_SHARE = 3, 2_000

#: Values of a category that are not pooled at most, and of all categories together while each keeps a few.
MOST_LEVELS, ALL_LEVELS = 400, 600

#: Largest mean that is stored: sums of larger ones would not be finite.
LARGEST = 1e300


@dataclass(frozen=True, eq=False)
class ColumnEncoding:
    """A column of the table: its kind, its use, and what its numbers are."""

    kind: ColumnKind
    use: Literal["input", "target", "left out"]
    n_missing: int = 0
    means: tuple[float, ...] = ()  #: of numbers: what missing values become, one for each number
    levels: tuple[str, ...] = ()  #: of a category: its values, sorted; "" where it is missing
    rare: tuple[str, ...] = ()  #: those of them that are pooled
    common: str = ""  #: the most frequent one

    @property
    def name(self) -> str:
        """The name of the column."""
        return self.kind.name

    @property
    def is_category(self) -> bool:
        """Whether it becomes a column of 0 and 1 for each of its values."""
        return self.kind.kind == "category"

    @property
    def n_frequent(self) -> int:
        """Of a category: values with an input of their own."""
        return len(self.levels) - len(self.rare)

    @property
    def n_levels(self) -> int:
        """Of a category: inputs, one for each frequent value and one for all rare ones."""
        return self.n_frequent + bool(self.rare)

    def places(self, missing: str) -> dict[str, int]:
        """Return the input of each value of a category, by number: that of rare ones is ``n_frequent``."""
        place = {level: k for k, level in enumerate(level for level in self.levels if level not in self.rare)}
        place |= dict.fromkeys(self.rare, self.n_frequent)
        return place | ({"": place.get(self.common, len(place))} if missing == "mean" else {})

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        forms: dict[str, Any] = {name: getattr(self.kind, name) for name in ("number", "date", "notation")}
        kind = {entry.name: getattr(self.kind, entry.name) for entry in fields(self.kind) if entry.name not in forms}
        formats = {name: None if form is None else form.to_dict() for name, form in forms.items()}
        rest = {name: getattr(self, name) for name in ("use", "n_missing", "means", "levels", "rare", "common")}
        return kind | formats | rest

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> ColumnEncoding:
        """Return the column of plain data."""
        number, date, words = value["number"], value["date"], value["words"]
        kind = ColumnKind(
            value["name"],
            value["kind"],
            value["note"],
            value["left_out"],
            None if number is None else NumberFormat(**number),
            None if date is None else DateFormat(**{**date, "parts": as_tuple(date["parts"], "parts")}),
            None if words is None else _as_pair(words),
            read_notation(value["notation"]),
            as_tuple(value["codes"], "codes"),
        )
        lists = {name: as_tuple(value[name], name) for name in ("means", "levels", "rare")}
        return cls(kind, value["use"], value["n_missing"], common=value["common"], **lists)


def as_tuple(values: Any, name: str) -> tuple[Any, ...]:
    """Return a list of a file as a tuple; text is not a list of its letters."""
    if not isinstance(values, list | tuple):
        raise TypeError(f"{name} is {values!r}, not a list")
    return tuple(values)


def _as_pair(values: Any) -> tuple[Any, Any]:
    first, second = as_tuple(values, "words")
    return first, second


def fit_columns(columns: Sequence[tuple[Column, ColumnKind]], missing: str) -> list[dict[str, Any]]:
    """Return what the input columns tell: means of numbers, values of categories, as plain data for each column."""
    counts = {column.name: Counter(kind.texts(column)) for column, kind in columns if kind.kind == "category"}
    most = most_levels(counts.values())
    learned: list[dict[str, Any]] = []
    for column, kind in columns:
        if kind.kind == "category":
            learned.append(fit_category(counts[column.name], missing, most))
        else:
            numbers = column_numbers(column, kind)
            n_missing = int(np.isnan(numbers[:, 0]).sum()) - int(is_code(column, kind).sum())
            learned.append({"n_missing": n_missing, "means": fit_means([add_exactly(x) for x in numbers.T])})
    return learned


def encode(columns: Sequence[ColumnEncoding], raw: Sequence[Column], missing: str) -> Floats:
    """Return the numbers (n, d) of columns, as they were fitted."""
    return np.concatenate([encode_column(*pair, missing) for pair in zip(columns, raw, strict=True)], axis=1)


def encode_column(column: ColumnEncoding, raw: Column, missing: str) -> Floats:
    """Return the numbers (n, k) of a column: with the mean for what is missing or a code, or 0 and 1 for each value."""
    if column.is_category:
        return _encode_category(column, column.kind.texts(raw), missing)
    numbers = column_numbers(raw, column.kind)
    gaps = np.isnan(numbers)
    codes = is_code(raw, column.kind)
    parts: list[Any] = [np.where(gaps, np.array(column.means), numbers)]
    if column.n_missing and missing == "indicate":
        parts.append(gaps[:, 0] & ~codes.any(axis=1))
    return np.column_stack([*parts, codes]) if codes.shape[1] or len(parts) > 1 else parts[0]


def _encode_category(column: ColumnEncoding, texts: Sequence[str], missing: str) -> Floats:
    place = column.places(missing)
    codes = np.array([place.get(text, column.n_levels) for text in texts], np.int64)
    result: Floats = np.eye(column.n_levels + 1, column.n_levels)[codes]  # an unknown value is 0 in all
    return result


def column_numbers(column: Column, kind: ColumnKind) -> Floats:
    """Return the numbers (n, k) of a column, NaN where they are missing or codes."""
    numbers = kind.date.numbers(kind.date.parse(column)) if kind.date else kind.numbers(column)[:, None]
    numbers = np.asarray(numbers, np.float64)
    return np.where(np.isin(numbers, kind.codes), np.nan, numbers) if kind.codes else numbers


def is_code(column: Column, kind: ColumnKind) -> Bools:
    """Return whether each cell is each of the codes (n, codes) of a column."""
    if not kind.codes:
        return np.zeros((len(column.values), 0), bool)
    return np.asarray(kind.numbers(column)[:, None] == np.array(kind.codes))


Sum = tuple[float, float, int]  #: a sum, what rounding took from it, and how many numbers it is of


def add_exactly(values: Floats) -> Sum:
    """Return the sum of numbers (n,) without those that are missing, and what rounding took from it.

    Both together have twice the digits of a float64, so sums of parts of a column, in any order, round to the same
    number as that of the whole column (the two-sum of Knuth, by halves).
    """
    values = values[~np.isnan(values)]
    count, rest = len(values), 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        while len(values) > 1:
            half = len(values) // 2
            a, b, odd = values[:half], values[half : 2 * half], values[2 * half :]
            total = a + b
            shadow = total - a
            rest += float(((a - (total - shadow)) + (b - shadow)).sum())
            values = np.append(total, odd)
    return float(values.sum()), rest if math.isfinite(rest) else 0.0, count


def fit_means(sums: Sequence[Sum]) -> tuple[float, ...]:
    """Return the means of columns by their sums, 0 where everything is missing."""
    means = []
    for total, rest, count in sums:
        whole = math.fsum([total, rest]) if math.isfinite(total) else total
        means.append(float(np.clip(whole / max(count, 1), -LARGEST, LARGEST)))
    return tuple(means)


def most_levels(counts: Collection[Counter[str]]) -> int:
    """Return how many values of a category are not pooled at most, by the rows with each value of all categories."""
    sizes = np.array([sum(count >= _least_rows(each.total()) for count in each.values()) for each in counts])
    most = MOST_LEVELS
    while most > MAX_LEVELS and sizes.clip(max=most).sum() > ALL_LEVELS:
        most -= 1
    return most


def _least_rows(n: int) -> int:
    """Return in how many of n rows a value is not rare."""
    return max(RARE, n // RARE_SHARE) if n >= RARE * MAX_LEVELS else 1


def fit_category(counts: Counter[str], missing: str, most: int, *, n_others: int = 0) -> dict[str, Any]:
    """Return the values of a category, sorted, those that are pooled as rare, and the most frequent one.

    ``counts`` is in how many rows each is; it is changed. At most ``most`` values are not pooled. ``n_others`` further
    rows have values so rare that they were not counted.
    """
    n = counts.total() + n_others
    common = _most_frequent(counts)
    gaps = counts[""]
    if missing == "mean" and common:
        counts[common] += counts.pop("", 0)
    levels = sorted(level for level, count in counts.items() if count)
    rare = tuple(level for level in _rare_levels(levels, counts, _least_rows(n), most) if level != common)
    return {"n_missing": gaps, "levels": tuple(levels), "rare": rare, "common": common}


def _rare_levels(levels: Sequence[str], counts: Mapping[str, int], least: int, most: int) -> list[str]:
    """Return the values in fewer rows than ``least``, and the rarest of more than ``most``."""
    many = np.array([counts[level] for level in levels])
    is_rare = many < least
    if len(levels) - is_rare.sum() + 1 > most:  # one is for those that are pooled
        is_rare[np.argsort(many, kind="stable")[: 1 - most]] = True
    return [level for level, rare in zip(levels, is_rare, strict=True) if rare]


def _most_frequent(counts: Mapping[str, int]) -> str:
    """Return the most frequent text that is not missing, the first of equals in sorted order."""
    return min((text for text in counts if text), key=lambda text: (-counts[text], text), default="")
