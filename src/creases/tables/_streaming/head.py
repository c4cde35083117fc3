"""The first pass: some rows from everywhere in the files, which show the kinds of columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from creases._engines import Engine
from creases._typing import Ints
from creases.errors import InputError
from creases.tables._reading.cells import read_cells
from creases.tables._reading.columns import Column
from creases.tables._streaming.files import TableFiles
from creases.tables._streaming.passes import sum_blocks

#: Rows from which the kinds of columns are seen, spread over the files; a table of fewer is read as a whole.
KIND_ROWS = 50_000

#: Parts of a table that these rows are from at most. If there are fewer, rows are from everywhere in each part: a file
#: may be sorted.
KIND_PARTS = 64

#: Runs of consecutive rows into which ``KIND_ROWS`` are divided then.
KIND_RUNS = 256


@dataclass(frozen=True, eq=False)
class Head:
    """Some rows of a table."""

    blocks: list[pa.RecordBatch]
    is_all: bool  #: whether these are all rows

    def __add__(self, other: Head) -> Head:
        return Head(self.blocks + other.blocks, self.is_all and other.is_all)

    def columns(self, files: TableFiles) -> list[Column]:
        """Return the rows as columns of the files they are from."""
        columns, is_text_file = [], files.form == "csv"
        for k, name in enumerate(files.columns):
            cells = (read_cells(name, block.column(k), is_text_file=is_text_file) for block in self.blocks)
            pieces = [piece for piece in (each.expand() for each in cells) if len(piece.values)]
            if not pieces:
                raise InputError(files.label, "have rows of values", "none")
            columns.append(replace(pieces[0], values=np.concatenate([piece.values for piece in pieces])))
        return columns


@dataclass(frozen=True, eq=False)
class HeadReader:
    """Reads some rows of some parts of files."""

    files: TableFiles
    parts: list[int]
    quota: int  #: rows of a part at most
    run: int  #: consecutive rows that are kept together; 0: the first rows of a part are kept

    @property
    def n_tasks(self) -> int:
        """Parts that can be read apart."""
        return len(self.parts)

    def read(self, task: int) -> Iterator[Head]:
        """Yield the rows of a part that are kept."""
        batches = self.files.read(self.parts[task], self.files.columns)
        yield Head(*(spread_rows(batches, self.quota, self.run) if self.run else first_rows(batches, self.quota)))


def read_head(engine: Engine, files: TableFiles) -> Head:
    """Return some rows, spread over the files, the same on any engine."""
    parts = np.unique(np.linspace(0, files.n_tasks - 1, min(KIND_PARTS, files.n_tasks)).astype(int)).tolist()
    run = 0 if len(parts) == KIND_PARTS else -(-KIND_ROWS // KIND_RUNS)
    head: Head = sum_blocks(engine, _same, HeadReader(files, parts, -(-KIND_ROWS // len(parts)), run))
    return head if len(parts) == files.n_tasks else replace(head, is_all=False)


def _same(head: Head) -> Head:
    return head


def first_rows(batches: Iterable[pa.RecordBatch], limit: int) -> tuple[list[pa.RecordBatch], bool]:
    """Return the first rows of a part, and whether these are all."""
    kept, left = [], limit
    for batch in batches:
        kept.append(copy_rows(batch, np.arange(min(left, batch.num_rows))))
        left -= batch.num_rows
        if left < 0:
            return kept, False
    return kept, True


def spread_rows(batches: Iterable[pa.RecordBatch], limit: int, run: int) -> tuple[list[pa.RecordBatch], bool]:
    """Return runs of rows from everywhere in a part, ``limit`` rows at most, and whether these are all.

    How long the part is shows at its end only: all runs are kept until they are too many, from then on every second
    one, later every fourth, and so on.
    """
    stride, start, n_kept = 1, 0, 0
    kept: list[tuple[Ints, pa.RecordBatch]] = []
    for batch in batches:
        runs, rows = _thin((start + np.arange(batch.num_rows)) // run, batch, stride)
        start += batch.num_rows
        n_kept += len(runs)
        if len(runs):
            kept.append((runs, rows))
        while n_kept > limit:
            stride *= 2
            kept = [each for pair in kept if len((each := _thin(*pair, stride))[0])]
            n_kept = sum(len(runs) for runs, _ in kept)
    return [rows for _, rows in kept], stride == 1


def _thin(runs: Ints, rows: pa.RecordBatch, stride: int) -> tuple[Ints, pa.RecordBatch]:
    """Return the rows whose run (n,) is a multiple of the stride, with their runs."""
    places = np.flatnonzero(runs % stride == 0)
    return runs[places], copy_rows(rows, places)


def copy_rows(batch: pa.RecordBatch, places: Ints) -> pa.RecordBatch:
    """Return some rows of a block in memory of their own: a slice would keep all rows that were read with them."""
    return batch.take(pa.array(places))
