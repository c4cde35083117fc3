"""Rows that come from elsewhere than files, such as a query of a database: written to a file once, and read from it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from creases.errors import FileError, InputError
from creases.tables._streaming.files import BLOCK_BYTES, CELL_BYTES, TableFiles, find_files

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
        schema = pa.schema([_plain_field(field) for field in reader.schema])
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


def _plain_field(field: pa.Field) -> pa.Field:
    """Return a column of text as files have it: some libraries have views of text, which files cannot hold."""
    return field.with_type(pa.string()) if "view" in str(field.type) else field
