"""One pass over the raw columns: how often each category occurs, means, missing values, the first day of dates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from creases._engines import Engine
from creases._typing import Bools, Floats
from creases.errors import InputError
from creases.tables._columns.kinds import ColumnKind, Gaps
from creases.tables._encoding.columns import ColumnSummary, count_values
from creases.tables._encoding.encoding import TableEncoding, check_finite
from creases.tables._reading.columns import Column
from creases.tables._split.split import Keys, is_below, mix, row_keys
from creases.tables._stages.families import Family, Targets
from creases.tables._stages.rows import Rows
from creases.tables._streaming.files import TableFiles, block_columns
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
        names = [*dict.fromkeys(kind.source for kind in self.kinds)]
        is_text_file, number = self.files.form == "csv", 0
        for batch in self.files.read(task, names):
            raw = block_columns(dict(zip(names, batch.columns, strict=True)), self.kinds, is_text_file=is_text_file)
            cells = [kind.read(column) for kind, column in zip(self.kinds, raw, strict=True)]
            lacking = [each.take(each.missing) for each in cells]
            triples = zip(lacking, self.kinds, raw, cells, strict=True)
            gaps = tuple((int(each.sum()), kind.gaps(column, read)) for each, kind, column, read in triples)
            kept = ~np.any(lacking if self.missing == "drop" else lacking[-1:], axis=0)
            numbers = (task << 40) + number + np.flatnonzero(kept)
            number += batch.num_rows
            if not kept.all():
                cells = [each.rows(kept) for each in cells]
            yield RawBlock(self.kinds, cells, numbers, int((~kept).sum()), gaps)


@dataclass(frozen=True, eq=False)
class RawBlock:
    """Rows of the columns that are used."""

    kinds: tuple[ColumnKind, ...]
    cells: list[Column]  #: that have been read
    numbers: Any  #: (n,) tells the rows of a table apart
    n_dropped: int  #: rows that were left out
    gaps: tuple[tuple[int, Gaps], ...]  #: cells of each column that are missing, in the rows that were left out too


@dataclass(frozen=True, eq=False)
class TableSummary:
    """What a pass tells of a table: all columns that are used, the target last."""

    n_rows: int
    n_dropped: int
    columns: tuple[ColumnSummary, ...]
    gaps: tuple[tuple[int, Gaps], ...]

    def __add__(self, other: TableSummary) -> TableSummary:
        columns = tuple(a + b for a, b in zip(self.columns, other.columns, strict=True))
        pairs = zip(self.gaps, other.gaps, strict=True)
        gaps = tuple((n + more, before + after) for (n, before), (more, after) in pairs)
        return TableSummary(self.n_rows + other.n_rows, self.n_dropped + other.n_dropped, columns, gaps)


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
    return replace(summary, columns=tuple(_with_all_counts(each) for each in summary.columns))


def _with_all_counts(column: ColumnSummary) -> ColumnSummary:
    """Return what rows tell of a column with its counts as a table in memory has them: "" is what is missing."""
    if (counts := column.counts) is None:
        return column
    return replace(column, counts=counts.counts + Counter({"": column.n_missing}), n_others=counts.n_others)


def _summarize_block(has_classes: bool, candidates: Sequence[Values | None] | None, block: RawBlock) -> TableSummary:
    """Return the summary of a block, in which only the candidates of a column are counted, if it has any."""
    check_finite(block.cells, block.kinds, is_all=False)
    *inputs, (_, target) = zip(block.kinds, block.cells, strict=True)
    chosen = candidates or [None] * len(inputs)
    columns = [_summarize(*each, values) for each, values in zip(inputs, chosen, strict=True)]
    counts = ValueCounts.from_values(count_values(target, target.values.tolist())) if has_classes else None
    columns.append(ColumnSummary(0, counts=counts))
    return TableSummary(len(block.numbers), block.n_dropped, tuple(columns), block.gaps)


def _summarize(kind: ColumnKind, cells: Column, values: Values | None) -> ColumnSummary:
    summary = ColumnSummary.of(kind, cells)
    if summary.counts is None:
        return replace(summary, first=kind.codec.first_of(cells.expand()))
    counts = ValueCounts.from_values(summary.counts, values)
    return ColumnSummary(counts.n_missing, counts=counts)


@dataclass(frozen=True, eq=False)
class EncodedReader:
    """Reads a table as numbers, with the key and the part of every row."""

    raw: RawReader
    encoding: TableEncoding
    levels: tuple[Any, ...]  #: the classes as the raw target has them; empty for a regression
    seed: int
    test_fraction: float
    deals_copies: bool  #: whether equal rows may be in different parts: see ``UniqueRows.deals_copies``

    @property
    def n_tasks(self) -> int:
        """Parts that can be read apart."""
        return self.raw.n_tasks

    def read(self, task: int) -> Iterator[EncodedBlock]:
        """Yield the blocks of a part."""
        for block in self.raw.read(task):
            X = self.encoding.encode(block.cells[:-1])
            y = self.targets(block.cells[-1])[:, None]
            keys = row_keys(X, y, self.seed)
            drawn = mix(keys ^ block.numbers.astype(np.uint64)) if self.deals_copies else keys
            is_test = is_below(drawn, self.test_fraction)
            yield EncodedBlock(X, y, keys, is_test)

    def targets(self, read: Column) -> Floats:
        """Return values or class numbers (n,)."""
        if not self.levels:
            return np.asarray(read.take(self.raw.kinds[-1].codec.numbers(read)[:, 0]), np.float64)
        number = {level: float(k) for k, level in enumerate(self.levels)}
        return np.asarray(read.take(np.array([number.get(value, np.nan) for value in read.values.tolist()])))


@dataclass(frozen=True, eq=False)
class EncodedBlock:
    """Rows as numbers."""

    X: Floats  #: (n, d)
    y: Floats  #: (n, 1)
    keys: Keys  #: (n,)
    is_test: Bools  #: (n,)


@dataclass(frozen=True, eq=False)
class TrainReader:
    """Reads the rows to train on, or all."""

    encoded: EncodedReader
    targets: Targets
    weights: Floats  #: (classes,) of a row of each class; one number for a regression
    total: float  #: weight of all rows, of which a block has a share
    has_test: bool = False  #: whether rows to test with are read too

    @property
    def n_tasks(self) -> int:
        """Parts that can be read apart."""
        return self.encoded.n_tasks

    def read(self, task: int) -> Iterator[Rows]:
        """Yield the blocks of a part."""
        for block in self.encoded.read(task):
            train = ~block.is_test | self.has_test
            X, y = block.X[train], block.y[train]
            if not len(X):
                continue
            family = self.targets.family
            weight = self.weights[y[:, 0].astype(np.int64)] if family.n_classes else np.full(len(y), self.weights[0])
            yield Rows(X, self.targets.standardize(y), weight, np.ones(len(y)), family, total=self.total)


@dataclass(frozen=True, eq=False)
class StreamedRows:
    """The rows of a table larger than memory, as a source of sums."""

    reader: TrainReader
    engine: Engine

    @property
    def targets(self) -> Targets:
        """Their family and scaling."""
        return self.reader.targets

    @property
    def family(self) -> Family:
        """What the targets are."""
        return self.targets.family

    def with_targets(self, targets: Targets) -> StreamedRows:
        """Return the same rows with another family or scaling."""
        return replace(self, reader=replace(self.reader, targets=targets))

    @property
    def freedom(self) -> float:
        """Fraction of the scores that rows can tell."""
        n_classes = self.family.n_classes
        return 1.0 if n_classes <= 2 else (n_classes - 1) / n_classes

    def sum(self, function: Callable[[Rows], Any]) -> Any:
        """Return the sum of a function of blocks of rows, in the order of the files."""
        return sum_blocks(self.engine, function, self.reader)
