"""One pass over the raw columns: how often each category occurs, means, missing values, the first day of dates."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from creases._engines import Engine
from creases.errors import InputError
from creases.tables._encoding.columns import (
    ColumnEncoding,
    Sum,
    add_exactly,
    column_numbers,
    fit_category,
    fit_means,
    is_code,
    most_levels,
)
from creases.tables._reading.cells import Cells, Unread, read_cells
from creases.tables._reading.kinds import ColumnKind
from creases.tables._streaming.files import TableFiles
from creases.tables._streaming.passes import sum_blocks

# In how many rows each text is, in bounded memory: frequent texts of a column that has very many.

#: Different values of a column that are counted at once.
MOST_VALUES = 20_000


@dataclass(frozen=True, eq=False)
class ValueCounts:
    """Rows with each value; of more than ``MOST_VALUES`` values those that may be frequent.

    The algorithm of Misra and Gries: of too many values the counts of all are lowered until few enough are left, and
    those at 0 go. Every value in more than one of ``MOST_VALUES`` rows stays, and its count is too low by at most that
    share of the rows. Counts of blocks add up; in a fixed order the result is always the same.
    """

    counts: Counter[Any]  #: rows with each value, without those that are missing
    n_missing: int = 0  #: rows with ""
    n_others: int = 0  #: rows that no count has
    other: Any = None  #: the first in order of the values that went

    @classmethod
    def from_values(cls, rows: Counter[Any], among: Collection[Any] | None = None) -> ValueCounts:
        """Return the counts of the values of a block, or of some of them; ``rows`` with each value are changed."""
        n_missing, n = rows.pop("", 0), rows.total()
        if among is not None:
            rows = Counter({value: count for value, count in rows.items() if value in among})
        return cls(rows, n_missing, n - rows.total())._lower()

    def __add__(self, other: ValueCounts) -> ValueCounts:
        gone = [each for each in (self.other, other.other) if each is not None]
        n_missing, n_others = self.n_missing + other.n_missing, self.n_others + other.n_others
        return ValueCounts(self.counts + other.counts, n_missing, n_others, min(gone, default=None))._lower()

    def _lower(self) -> ValueCounts:
        """Return the counts of few enough values."""
        if len(self.counts) + (self.other is not None) <= MOST_VALUES:
            return self
        least = sorted(self.counts.values())[-MOST_VALUES]
        kept = Counter({value: count - least for value, count in self.counts.items() if count > least})
        gone = min(value for value, count in self.counts.items() if count <= least)
        n_others = self.n_others + self.counts.total() - kept.total()
        return ValueCounts(kept, self.n_missing, n_others, gone if self.other is None else min(gone, self.other))

    @property
    def candidates(self) -> frozenset[Any] | None:
        """The values that may be frequent, and one that is not; None if all values are counted."""
        return frozenset(self.counts) | {self.other} if self.n_others else None


Values = frozenset[Any]


@dataclass(frozen=True, eq=False)
class RawReader:
    """Reads the columns of a table that are used; rows without a target are left out, or those with any gap."""

    files: TableFiles
    kinds: tuple[ColumnKind, ...]  #: of the columns that are used, the target last
    missing: str

    @property
    def n_tasks(self) -> int:
        """Parts that can be read apart."""
        return self.files.n_tasks

    def read(self, task: int) -> Iterator[RawBlock]:
        """Yield the blocks of a part."""
        names = [kind.name for kind in self.kinds]
        is_text_file, number = self.files.form == "csv", 0
        for batch in self.files.read(task, names):
            pairs = zip(self.kinds, batch.columns, strict=True)
            cells = [read_cells(kind.name, x, is_text_file=is_text_file, kind=kind) for kind, x in pairs]
            unread = tuple(each.unread for each in cells)
            lacking = cells if self.missing == "drop" else cells[-1:]
            kept = ~np.any([each.missing for each in lacking], axis=0)
            numbers = (task << 40) + number + np.flatnonzero(kept)
            number += batch.num_rows
            if not kept.all():
                cells = [each.rows(kept) for each in cells]
            yield RawBlock(self.kinds, cells, numbers, int((~kept).sum()), unread)


@dataclass(frozen=True, eq=False)
class RawBlock:
    """Rows of the columns that are used."""

    kinds: tuple[ColumnKind, ...]
    cells: list[Cells]
    numbers: Any  #: (n,) tells the rows of a table apart
    n_dropped: int  #: rows that were left out
    unread: tuple[Unread, ...]  #: of each column, in the rows that were left out too

    def check(self) -> None:
        """Refuse infinite numbers."""
        for kind, each in zip(self.kinds, self.cells, strict=True):
            values = each.column.values
            if values.dtype.kind == "f" and np.isinf(each.take(values)).any():
                hint = "correct those cells, leave them empty, or leave the column out"
                raise InputError("data", "have finite numbers", f"column {kind.name!r} with infinite values", hint)


@dataclass(frozen=True, eq=False)
class ColumnSummary:
    """What a pass tells of a column."""

    n_missing: int
    sums: tuple[Sum, ...] = ()  #: of numbers
    counts: ValueCounts | None = None  #: of a category or a target: rows with each value
    first: Any = None  #: of dates: the earliest

    def __add__(self, other: ColumnSummary) -> ColumnSummary:
        counts = None if self.counts is None or other.counts is None else self.counts + other.counts
        days = [each for each in (self.first, other.first) if each is not None]
        sums = tuple(_add_sums(a, b) for a, b in zip(self.sums, other.sums, strict=True))
        return ColumnSummary(self.n_missing + other.n_missing, sums, counts, min(days, default=None))


@dataclass(frozen=True, eq=False)
class TableSummary:
    """What a pass tells of a table: all columns that are used, the target last."""

    n_rows: int
    n_dropped: int
    columns: tuple[ColumnSummary, ...]
    unread: tuple[Unread, ...]

    def __add__(self, other: TableSummary) -> TableSummary:
        columns = tuple(a + b for a, b in zip(self.columns, other.columns, strict=True))
        unread = tuple(
            (a + b, first or second) for (a, first), (b, second) in zip(self.unread, other.unread, strict=True)
        )
        return TableSummary(self.n_rows + other.n_rows, self.n_dropped + other.n_dropped, columns, unread)


def summarize(engine: Engine, raw: RawReader, has_classes: bool) -> TableSummary:
    """Return the summary of a table; the values of the target are counted if they are classes.

    Where a column has so many different values that counts are estimates, a second pass counts those that may be
    frequent.
    """
    summary: TableSummary = sum_blocks(engine, partial(_summarize_block, has_classes, None), raw)
    *inputs, target = summary.columns
    if target.counts is not None and target.counts.n_others:
        got, hint = f"more in column {raw.kinds[-1].name!r}", "predict another column"
        raise InputError("target", f"have at most {MOST_VALUES:,} classes", got, hint)
    candidates = [None if each.counts is None else each.counts.candidates for each in inputs]
    if any(candidates):
        summary = sum_blocks(engine, partial(_summarize_block, has_classes, candidates), raw)
    return summary


def _summarize_block(has_classes: bool, candidates: Sequence[Values | None] | None, block: RawBlock) -> TableSummary:
    """Return the summary of a block, in which only the candidates of a column are counted, if it has any."""
    block.check()
    *inputs, (_, target) = zip(block.kinds, block.cells, strict=True)
    chosen = candidates or [None] * len(inputs)
    columns = [_summarize(*each, values) for each, values in zip(inputs, chosen, strict=True)]
    counts = ValueCounts.from_values(_count(target, target.column.values.tolist())) if has_classes else None
    columns.append(ColumnSummary(0, counts=counts))
    return TableSummary(len(block.numbers), block.n_dropped, tuple(columns), block.unread)


def _summarize(kind: ColumnKind, cells: Cells, values: Values | None) -> ColumnSummary:
    if kind.kind == "category":
        rows = _count(cells, kind.texts(cells.column))
        counts = ValueCounts.from_values(rows, values)
        return ColumnSummary(counts.n_missing, counts=counts)
    numbers = cells.take(column_numbers(cells.column, kind))
    first = None
    if kind.date is not None:
        present = cells.column.present if cells.places is None else cells.expand().present
        first = present.min().astype("datetime64[D]") if len(present) else None
    n_codes = int(cells.take(is_code(cells.column, kind)).sum())
    return ColumnSummary(int(np.isnan(numbers[:, 0]).sum()) - n_codes, tuple(map(add_exactly, numbers.T)), first=first)


def _count(cells: Cells, values: Sequence[Any]) -> Counter[Any]:
    """Return in how many rows each value is."""
    if cells.places is None:
        return Counter(values)
    result: Counter[Any] = Counter()
    for value, count in zip(values, np.bincount(cells.places, minlength=len(values)).tolist(), strict=True):
        if count:
            result[value] += count
    return result


def _add_sums(a: Sum, b: Sum) -> Sum:
    total, rest, _ = add_exactly(np.array([a[0], b[0]]))
    return total, math.fsum([a[1], b[1], rest]), a[2] + b[2]


def column_encodings(
    kinds: Sequence[ColumnKind], columns: Sequence[ColumnSummary], missing: str
) -> dict[str, ColumnEncoding]:
    """Return how columns become numbers, by name, by what a pass tells of them."""
    counts = [_level_counts(each) for each in columns]
    most = most_levels([each for each in counts if each is not None])
    pairs = zip(kinds, columns, counts, strict=True)
    return {kind.name: _column_encoding(kind, each, count, missing, most) for kind, each, count in pairs}


def _level_counts(summary: ColumnSummary) -> Counter[str] | None:
    """Return the rows with each value of a category, "" where it is missing; None for other columns."""
    if summary.counts is None:
        return None
    return Counter(summary.counts.counts) + Counter({"": summary.n_missing})


def _column_encoding(
    kind: ColumnKind, summary: ColumnSummary, counts: Counter[str] | None, missing: str, most: int
) -> ColumnEncoding:
    if counts is not None and summary.counts is not None:
        return ColumnEncoding(kind, "input", **fit_category(counts, missing, most, n_others=summary.counts.n_others))
    sums = list(summary.sums)
    if kind.date is not None and summary.first is not None:  # days were counted from the first of a sample
        shift = float((np.datetime64(kind.date.first, "D") - summary.first).astype(int))
        note = kind.note.replace(kind.date.first, str(summary.first), 1)
        kind = replace(kind, note=note, date=replace(kind.date, first=str(summary.first)))
        at = kind.date.parts.index("days") if kind.date is not None else 0
        sums[at] = _add_sums(sums[at], (shift * sums[at][2], 0.0, 0))
    return ColumnEncoding(kind, "input", summary.n_missing, fit_means(sums))


def gaps(summary: TableSummary, kinds: Sequence[ColumnKind]) -> str:
    """List the columns with missing values."""
    pairs = zip(kinds, summary.columns, strict=True)
    return ", ".join(f"{kind.name!r} {each.n_missing:,}" for kind, each in pairs if each.n_missing)
