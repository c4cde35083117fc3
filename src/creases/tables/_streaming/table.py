"""A table larger than memory: its columns and encoding, a sample of its rows, and all of them as sums."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from creases._engines import Engine, check_engine, open_engine
from creases._text import plural
from creases._typing import Floats, Ints
from creases.errors import InputError
from creases.problems import Problem
from creases.tables._encoding.column_encoding import ColumnEncoding
from creases.tables._encoding.encoding import TableEncoding
from creases.tables._reading.columns import Column
from creases.tables._reading.kinds import ColumnKind
from creases.tables._reading.table import choose_columns, make_problem, read_cells
from creases.tables._reading.target import encode_target, label_kind
from creases.tables._split.options import CurveConfig
from creases.tables._split.rows import class_weights, merge_duplicates
from creases.tables._split.split import TableSplit
from creases.tables._streaming import cells as raw_cells
from creases.tables._streaming.draw import Draw, draw_rows
from creases.tables._streaming.encoded import EncodedReader, encode_cells
from creases.tables._streaming.files import TableFiles
from creases.tables._streaming.passes import sum_blocks, sum_task
from creases.tables._streaming.rows import StreamedRows, TrainReader
from creases.tables._streaming.summary import (
    RawReader,
    TableSummary,
    column_encoding,
    gaps,
    summarize_block,
)

#: Rows from which the kinds of columns are seen, spread over the files; a table of fewer is read as a whole.
KIND_ROWS = 50_000

#: Parts of a table that these rows are from at most. If there are fewer, rows are from everywhere in each part: a file
#: may be sorted.
KIND_PARTS = 64

#: Runs of consecutive rows into which ``KIND_ROWS`` are divided then.
KIND_RUNS = 256


@dataclass(frozen=True, eq=False)
class StreamedTable:
    """A table whose rows are in files: a sample, split into rows to train on and to test with, and sums over all."""

    data: TableSplit  #: the sample
    rows: StreamedRows  #: all rows to train on
    n_train: int
    n_test: int
    center: Floats  #: (d,) means of the inputs
    spread: Floats  #: (d,) their standard deviations, 1 where an input is constant
    ranges: Floats  #: (d, 2)


@contextmanager
def open_table(
    files: TableFiles,
    reading: Mapping[str, Any],
    config: CurveConfig,
    *,
    engine: str = "local",
    n_jobs: int | None = None,
    address: str | None = None,
) -> Iterator[StreamedTable | Problem]:
    """Read the columns of a table in three passes or less; a table of few rows is returned as a problem.

    The first pass, which keeps a part of the rows, sees the kinds of columns; the second counts categories, missing
    values and means; the third draws a sample. ``reading`` are the options of ``read_table``. The table can be summed
    over until the context ends, which stops the processes.
    """
    check_engine(engine, n_jobs, address)
    columns, is_whole = read_head(files)
    path = Path(files.label)
    if is_whole:
        yield make_problem(path, columns, **reading, name=files.name, source=files.source)
        return
    with open_engine(engine, sum_task, files.n_tasks, n_jobs, address) as workers:
        yield _read_table(workers, files, path, columns, dict(reading), config)
    files.check_unchanged()


def read_head(files: TableFiles) -> tuple[list[Column], bool]:
    """Return the columns of some rows, spread over the files, and whether these are all rows."""
    parts = np.unique(np.linspace(0, files.n_tasks - 1, min(KIND_PARTS, files.n_tasks)).astype(int)).tolist()
    quota, names = -(-KIND_ROWS // len(parts)), files.columns
    is_whole, blocks = len(parts) == files.n_tasks, list[pa.RecordBatch]()
    for task in parts:
        keep = first_rows if len(parts) == KIND_PARTS else spread_rows
        kept, is_all = keep(files.read(task, names), quota)
        is_whole, blocks = is_whole and is_all, blocks + kept
    columns = []
    for k, name in enumerate(names):
        pieces = [
            raw_cells.read_cells(name, block.column(k), is_text_file=files.form == "csv").expand() for block in blocks
        ]
        pieces = [piece for piece in pieces if len(piece.values)]
        if not pieces:
            raise InputError(files.label, "have rows of values", "none")
        columns.append(replace(pieces[0], values=np.concatenate([piece.values for piece in pieces])))
    return columns, is_whole


def first_rows(batches: Iterable[pa.RecordBatch], limit: int) -> tuple[list[pa.RecordBatch], bool]:
    """Return the first rows of a part, and whether these are all."""
    kept, left = [], limit
    for batch in batches:
        kept.append(copy_rows(batch, np.arange(min(left, batch.num_rows))))
        left -= batch.num_rows
        if left < 0:
            return kept, False
    return kept, True


def spread_rows(batches: Iterable[pa.RecordBatch], limit: int) -> tuple[list[pa.RecordBatch], bool]:
    """Return runs of rows from everywhere in a part, ``limit`` rows at most, and whether these are all.

    How long the part is shows at its end only: all runs are kept until they are too many, from then on every second
    one, later every fourth, and so on.
    """
    length, stride, start, n_kept = -(-KIND_ROWS // KIND_RUNS), 1, 0, 0
    kept: list[tuple[Ints, pa.RecordBatch]] = []
    for batch in batches:
        runs, rows = _thin((start + np.arange(batch.num_rows)) // length, batch, stride)
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


def _read_table(
    engine: Engine, files: TableFiles, path: Path, head: list[Column], reading: dict[str, Any], config: CurveConfig
) -> StreamedTable:
    choice = {name: reading[name] for name in ("target", "inputs", "drop", "categorical")}
    position, kinds, uses = choose_columns(path, head, **choice)
    head = read_cells(head, kinds)
    target = head[position].rows(~head[position].missing)
    _, classes = encode_target(target, kinds[position], reading["task"])
    inputs = [k for k, use in enumerate(uses) if use == "input"]
    raw = RawReader(files, tuple(kinds[k] for k in [*inputs, position]), reading["missing"])
    summary: TableSummary = sum_blocks(engine, partial(summarize_block, classes is not None), raw)
    _check_gaps(summary, raw, reading["missing"])
    levels: list[Any] = []
    if classes is not None:
        seen = list(summary.columns[-1].counts or ())
        target = replace(target, values=np.append(target.values, np.array(seen, target.values.dtype)))
        _, classes = encode_target(target, kinds[position], "classification")
        levels = target.levels()
    by_name = {
        kind.name: column_encoding(kind, each, reading["missing"])
        for kind, each in zip(raw.kinds[:-1], summary.columns[:-1], strict=True)
    }
    encoding = TableEncoding(
        tuple(_encode_column(*each, by_name) for each in zip(head, kinds, uses, strict=True)),
        reading["missing"],
        "regression" if classes is None else "classification",
        classes,
        "text" if classes is None else label_kind(target),
    )
    raw = replace(raw, kinds=(*(column.kind for column in encoding.inputs), kinds[position]))
    reader = EncodedReader(raw, encoding, tuple(levels), config.seed, config.test_fraction, is_mixed=False)
    X, y = _encode_head(head, reader, inputs, position)
    reader = replace(reader, is_mixed=merge_duplicates(X, y, np.ones(len(y))).is_mixed)
    shift = np.append(X.mean(axis=0), y.mean())
    draw = draw_rows(engine, reader, summary.n_rows, shift)
    return _finish(engine, reader, draw, config, summary)


def _check_gaps(summary: TableSummary, raw: RawReader, missing: str) -> None:
    target = raw.kinds[-1].name
    if summary.n_rows == 0:
        raise InputError("target", "have values", f"none in column {target!r}")
    report = gaps(summary, raw.kinds)
    if missing == "error" and (report or summary.n_dropped):
        report = ", ".join(filter(None, [report, f"{target!r} {summary.n_dropped:,}" if summary.n_dropped else ""]))
        hint = "drop those rows with {0}, or add an indicator column with {1}"
        settings = [("missing", "drop"), ("missing", "indicate")]
        raise InputError("data", "have no missing values", report, hint, settings)


def _encode_column(column: Column, kind: ColumnKind, use: Any, inputs: Mapping[str, ColumnEncoding]) -> ColumnEncoding:
    if use == "input":
        return inputs[kind.name]
    return ColumnEncoding(kind, use, 0 if use == "target" else int(column.missing.sum()))


def _encode_head(
    head: Sequence[Column], reader: EncodedReader, inputs: Sequence[int], position: int
) -> tuple[Floats, Floats]:
    """Return the rows from which kinds were seen as numbers (n, d), with their targets (n, 1)."""
    present = ~head[position].missing
    cells = [raw_cells.Cells(head[k].rows(present)) for k in inputs]
    y = head[position].rows(present).values
    if reader.levels:
        number = {level: k for k, level in enumerate(reader.levels)}
        y = np.array([number[value] for value in y.tolist()], np.float64)
    return encode_cells(reader.encoding, cells), np.asarray(y, np.float64)[:, None]


def _finish(
    engine: Engine, reader: EncodedReader, draw: Draw, config: CurveConfig, summary: TableSummary
) -> StreamedTable:
    classes = reader.encoding.classes
    n_classes = len(reader.levels)
    weights = np.ones(max(n_classes, 1))
    if config.class_weight is not None:
        if classes is None:
            raise InputError("class_weight", "be None for a regression", repr(config.class_weight))
        weights = class_weights(np.arange(n_classes), draw.count, classes, config.class_weight)
    center, deviation = draw.moments(weights)
    m = 1 if n_classes in (0, 2) else n_classes
    scores = (np.zeros(m), np.ones(m))
    if not n_classes:
        scores = center[-1:], np.where(deviation[-1:] < 1e-12 * max(abs(center[-1]), 1e-300), 1.0, deviation[-1:])
    own = weights * (draw.count.sum() / (weights @ draw.count))
    rows = StreamedRows(TrainReader(reader, n_classes, *scores, own), engine)
    ranges = np.stack([draw.low, draw.high], axis=1)
    is_constant = (ranges[:, 0] == ranges[:, 1]) | (deviation[:-1] == 0)
    n_train = int(draw.count.sum())
    data = _sample_split(draw, reader, weights if config.class_weight is not None else None, summary)
    spread = np.where(is_constant, 1.0, deviation[:-1])
    return StreamedTable(data, rows, n_train, draw.n_test, center[:-1], spread, ranges)


def _sample_split(draw: Draw, reader: EncodedReader, weights: Floats | None, summary: TableSummary) -> TableSplit:
    """Return the sampled rows as a split table."""
    encoding, files = reader.encoding, reader.raw.files
    X, y, count = (np.concatenate([getattr(sample, name) for sample in draw.samples]) for name in ("X", "y", "count"))
    part = np.repeat([0.0, 1.0], [len(sample.keys) for sample in draw.samples])
    rows = merge_duplicates(X, np.column_stack([y, part]), count.astype(np.float64))
    part, rows = rows.y[:, -1], replace(rows, y=rows.y[:, :-1])
    if weights is not None:
        rows = replace(rows, weight=rows.weight * weights[rows.y[:, 0].astype(np.int64)])
    dropped = f"; {plural(summary.n_dropped, 'row')} dropped" if summary.n_dropped else ""
    n_kept = f"{len(draw.samples[0].keys):,} and {len(draw.samples[1].keys):,}"
    problem = Problem(
        name=files.name,
        X=X,
        y=y[:, 0].astype(np.int64) if reader.levels else y[:, 0],
        features=tuple(feature.name for feature in encoding.features),
        classes=encoding.classes,
        description=f"{plural(summary.n_rows, 'row')} of {files.source}, predicting {encoding.target!r}{dropped}; "
        f"stages chosen and scored on a sample of {n_kept} rows",
        target=encoding.target,
        encoding=encoding,
    )
    parts = (np.flatnonzero(part == 0), np.zeros(0, np.int64), np.flatnonzero(part == 1))
    n_outputs = 1 if encoding.classes is None else len(encoding.classes)
    return TableSplit(rows, problem.task, n_outputs, parts, True, None, problem, weights)
