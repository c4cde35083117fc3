"""Passes over the rows of a table: a function of every block, summed in a fixed order on any engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet

from creases._engines import Engine, map_in_order, open_engine
from creases.errors import FileError, InputError
from creases.tables._streaming.files import BLOCK_BYTES, CELL_BYTES, TableFiles, find_files
from creases.tables._streaming.memory import LimitedEngine, MemoryLimit


class Reader(Protocol):
    """Something that reads the blocks of a table, in any process."""

    @property
    def n_tasks(self) -> int:
        """Parts that can be read apart."""

    def read(self, task: int) -> Iterator[Any]:
        """Yield the blocks of a part."""


def sum_blocks(engine: Engine, function: Callable[[Any], Any], reader: Reader) -> Any:
    """Return the sum of a function of all blocks; None if there are none.

    Blocks of a part are added one after another, then parts: so the sum is the same, bit for bit, however many
    processes there are.
    """
    total = None
    for parts in map_in_order(engine, ((function, reader, task) for task in range(reader.n_tasks))):
        for part in parts:
            total = part if total is None else total + part
    return total


def sum_task(function: Callable[[Any], Any], reader: Reader, task: int) -> list[Any]:
    """Return the sum over the blocks of a part, in a list that is empty where there are none."""
    from threadpoolctl import threadpool_limits

    total = None
    with threadpool_limits(1):  # products of matrices are rounded in another way by more threads
        for block in reader.read(task):
            part = function(block)
            total = part if total is None else total + part
    return [] if total is None else [total]


@contextmanager
def open_sums(
    engine: str, n_jobs: int | None, address: str | None, files: TableFiles, limit: MemoryLimit
) -> Iterator[Engine]:
    """Start an engine for :func:`sum_blocks` over files; stop it at the end.

    All processes of this machine together keep to a limit of memory.
    """
    if engine == "ray":
        with open_engine(engine, sum_task, files.n_tasks, n_jobs, address) as workers:
            yield workers
        return
    from loky import cpu_count

    wanted = 1 if engine == "serial" else min(files.n_tasks, n_jobs or cpu_count())
    processes = LimitedEngine(sum_task, limit.plan(wanted, files.block_bytes), limit)
    try:
        yield processes
    finally:
        processes.close()


# Rows that come from elsewhere than files, such as a query of a database: written to a file once, and read from it.

#: What a table that is not in files is called.
NAME = "table"

#: Rows of a row group at most: parts that processes read.
GROUP = 250_000


@contextmanager
def spool(data: Any, engine: str = "local") -> Iterator[TableFiles]:
    """Write a stream of rows to a temporary Parquet file, which is removed at the end.

    ``data`` has the method ``__arrow_c_stream__`` of Arrow's PyCapsule interface, as relations of DuckDB, tables and
    readers of pyarrow, and data frames of Polars have it. A fit reads rows several times, by several processes, and
    needs the same each time; a stream or a query may give them only once, or in another order.
    """
    if engine == "ray":
        got, hint = f"'ray' for a {type(data).__name__}", "write it to files that all machines can read"
        raise InputError("engine", "be 'local' or 'serial' for a table that is not in files", got, hint)
    with TemporaryDirectory(prefix="creases-") as folder:
        path = Path(folder, f"{NAME}.parquet")
        _write_stream(data, path)
        files = find_files(path, always=True)
        assert files is not None
        yield replace(files, title=NAME)


def _write_stream(data: Any, path: Path) -> None:
    """Write all rows of a stream, in constant memory."""
    try:
        reader = pa.RecordBatchReader.from_stream(data)
        # some libraries have views of text, which files cannot hold
        is_view = ["view" in str(each.type) for each in reader.schema]
        pairs = zip(reader.schema, is_view, strict=True)
        schema = pa.schema([each.with_type(pa.string()) if view else each for each, view in pairs])
        size = max(min(GROUP, BLOCK_BYTES // (CELL_BYTES * max(len(schema), 1))), 1)
        with pyarrow.parquet.ParquetWriter(path, schema) as writer:
            waiting: list[pa.RecordBatch] = []
            for batch in reader:
                waiting.append(batch)
                if sum(each.num_rows for each in waiting) >= size:
                    writer.write_table(pa.Table.from_batches(waiting).cast(schema), row_group_size=size)
                    waiting = []
            if waiting:
                writer.write_table(pa.Table.from_batches(waiting).cast(schema), row_group_size=size)
    except (pa.ArrowException, OSError) as error:
        raise FileError(f"cannot write the rows of a {type(data).__name__} to {path.parent}: {error}") from None
