"""Predictions for files of any size, block by block, in the order of their rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from creases._engines import MANY, check_engine, map_in_order, open_engine
from creases._files import write_atomically
from creases.errors import InputError
from creases.tables._encoding.encoding import TableEncoding
from creases.tables._model.predictions import PredictionSummary, predict_frame
from creases.tables._model.schema import RowFunction
from creases.tables._reading.files import is_stream
from creases.tables._streaming.files import TableFiles, block_columns, find_files
from creases.tables._streaming.passes import spool

ENDINGS = (".csv", ".parquet")

#: Rows of a block where the nearest change of each decision is searched, which takes long: a process takes the next one
#: when it is free.
SEARCHED = 16


def write_predictions(
    model: RowFunction,
    data: Any,
    out: Path,
    *,
    n_jobs: int | None = None,
    engine: str = "local",
    address: str | None = None,
    header: bool | None = None,
    budget: float = 0.0,
) -> dict[str, Any]:
    """Write the predictions for files to a file: see :meth:`RowModel.write_predictions`."""
    if out.suffix not in ENDINGS:
        raise InputError("out", f"be a file name ending in {' or '.join(ENDINGS)}", repr(out.name))
    check_engine(engine, n_jobs, address)
    if is_stream(data):
        with spool(data, engine) as files:
            return _write_blocks(model, files, out, budget=budget, where=(n_jobs, engine, address))
    found = find_files(data, header=header, always=True)
    if found is None:
        raise InputError("data", "be a file, a pattern or a folder of Parquet, CSV or Feather files", repr(data))
    return _write_blocks(model, found, out, budget=budget, where=(n_jobs, engine, address))


def _write_blocks(
    model: RowFunction, files: TableFiles, out: Path, *, budget: float, where: tuple[int | None, str, str | None]
) -> dict[str, Any]:
    """Write the predictions for files; ``where`` are ``n_jobs``, ``engine`` and ``address``."""
    n_jobs, engine, address = where
    if budget > 0:
        files = replace(files, block=min(files.block, SEARCHED))
    encoding = model.schema.encoder
    names = encoding.find_columns(files.columns)
    work = _Work(model, encoding, names, files.form == "csv", out.suffix, budget)
    total = PredictionSummary()
    with (
        open_engine(engine, _predict, MANY, n_jobs, address) as workers,
        write_atomically(out) as temporary,
        _open_writer(temporary, out.suffix) as write,
    ):
        for content, summary in map_in_order(workers, _tasks(work, files)):
            write(content)
            total = total + summary
        files.check_unchanged()
    return total.to_dict(out)


@dataclass(frozen=True, eq=False)
class _Work:
    """What all blocks share."""

    model: RowFunction
    encoding: TableEncoding
    names: list[str]  #: the column that each input is read from
    is_text_file: bool
    ending: str
    budget: float


def _tasks(work: _Work, files: TableFiles) -> Iterator[tuple[_Work, int, bytes]]:
    """Yield the blocks of files, each with the number of its first row, as bytes that another process can read."""
    names, start = [*dict.fromkeys(work.names)], 0
    for batch in files.read_all(names):
        yield work, start, _to_bytes(batch)
        start += batch.num_rows
    if not start:  # predictions for no rows have their columns all the same
        yield work, 0, _to_bytes(files.empty_block(names))


def _to_bytes(batch: pa.RecordBatch) -> bytes:
    """Return a block as bytes, without the rest of the rows that a slice still refers to."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def _predict(work: _Work, start: int, content: bytes) -> tuple[Any, PredictionSummary]:
    """Return the predictions for a block, as text or as a table of pyarrow, and their summary."""
    import pandas as pd
    from threadpoolctl import threadpool_limits

    table = pa.ipc.open_stream(content).read_all().combine_chunks()
    arrays = {name: pa.concat_arrays(values.chunks) if values.num_chunks else pa.array([], values.type)
              for name, values in zip(dict.fromkeys(work.names), table.columns, strict=True)}  # fmt: skip
    columns = block_columns(arrays, [each.kind for each in work.encoding.inputs], is_text_file=work.is_text_file)
    rows = work.encoding.transform_columns(columns, is_all=False)
    with threadpool_limits(1):
        frame = predict_frame(work.model, rows.X, budget=work.budget)
    summary = PredictionSummary.from_frame(frame, work.model.classes is not None, rows.unusual)
    frame.insert(0, "row", pd.RangeIndex(start, start + len(frame)))
    if work.ending == ".csv":
        return frame.to_csv(index=False, header=start == 0).encode(), summary
    return pa.Table.from_pandas(frame, preserve_index=False), summary


@contextmanager
def _open_writer(path: Path, ending: str) -> Iterator[Any]:
    """Yield a function that appends text or tables to a file."""
    if ending == ".csv":
        with path.open("wb") as file:
            yield file.write
        return
    writers: list[Any] = []

    def write(table: pa.Table) -> None:
        if not writers:
            writers.append(pyarrow.parquet.ParquetWriter(path, table.schema.remove_metadata()))
        writers[0].write_table(table.replace_schema_metadata().cast(writers[0].schema))

    try:
        yield write
    finally:
        for writer in writers:
            writer.close()
