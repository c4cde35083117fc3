"""Blocks of encoded rows, each row in its part by its content."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from creases._typing import Bools, Floats
from creases.errors import InputError
from creases.tables._encoding.columns import encode_column
from creases.tables._encoding.encoding import TableEncoding
from creases.tables._reading.cells import Cells
from creases.tables._split.split import Keys, is_below, mix, row_keys
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
            X = encode_cells(self.encoding, block.cells[:-1])
            y = self._targets(block.cells[-1])[:, None]
            keys = row_keys(X, y, self.seed)
            drawn = mix(keys ^ block.numbers.astype(np.uint64)) if self.deals_copies else keys
            is_test = is_below(drawn, self.test_fraction)
            yield EncodedBlock(X, y, keys, is_test)

    def _targets(self, cells: Cells) -> Floats:
        """Return values or class numbers (n,)."""
        values = cells.column.values
        if not self.levels:
            return np.asarray(cells.take(values), np.float64)
        if cells.places is None:
            return np.searchsorted(np.array(self.levels), values).astype(np.float64)
        number = {level: float(k) for k, level in enumerate(self.levels)}
        return np.asarray(cells.take(np.array([number.get(value, np.nan) for value in values.tolist()])))


@dataclass(frozen=True, eq=False)
class EncodedBlock:
    """Rows as numbers."""

    X: Floats  #: (n, d)
    y: Floats  #: (n, 1)
    keys: Keys  #: (n,)
    is_test: Bools  #: (n,)


def encode_cells(encoding: TableEncoding, cells: list[Cells]) -> Floats:
    """Return the input columns of a table as numbers (n, d)."""
    pairs = zip(encoding.inputs, cells, strict=True)
    return np.concatenate([c.take(encode_column(column, c.column, encoding.missing)) for column, c in pairs], axis=1)


def check_columns(encoding: TableEncoding, names: list[str]) -> None:
    """Refuse files that lack input columns."""
    absent = [column.name for column in encoding.inputs if column.name not in names]
    if absent:
        raise InputError("rows", f"have the columns {', '.join(map(repr, absent[:20]))}", ", ".join(names[:20]))
