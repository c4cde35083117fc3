"""Blocks of encoded rows, each row in its part by its content; and all rows to fit to, read again for every sum."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from creases._engines import Engine
from creases._typing import Bools, Floats
from creases.tables._encoding.encoding import TableEncoding
from creases.tables._reading.columns import Column
from creases.tables._split.split import Keys, is_below, mix, row_keys
from creases.tables._stages.families import Family, Targets
from creases.tables._stages.rows import Rows
from creases.tables._streaming.passes import sum_blocks
from creases.tables._streaming.summary import RawReader


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
