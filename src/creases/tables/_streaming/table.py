"""A table larger than memory: its columns and encoding, a sample of its rows, and all of them as sums."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from creases._engines import Engine, check_engine
from creases._engines._local import Serial
from creases._text import plural
from creases._typing import Floats, Ints
from creases.errors import InputError
from creases.problems import Problem
from creases.tables._columns.kinds import ColumnKind, Gaps
from creases.tables._encoding.encoding import TableEncoding, encode_target, fit_encoding, label_kind
from creases.tables._fit.doubtful_columns import choose_doubtful, note_trial
from creases.tables._reading.arrow import arrow_column
from creases.tables._reading.columns import Column
from creases.tables._reading.options import CurveConfig, ReadOptions
from creases.tables._reading.table import choose_columns, doubtful_columns, make_problem, refuse_missing, with_parts
from creases.tables._split.split import LARGE, Keys, TableSplit, class_weights, is_below, merge_duplicates, mix
from creases.tables._stages.families import NORMAL, Classes, Targets
from creases.tables._streaming.blocks import (
    EncodedBlock,
    EncodedReader,
    RawReader,
    StreamedRows,
    TableSummary,
    TrainReader,
    summarize,
)
from creases.tables._streaming.files import MAX_MEMORY, TableFiles
from creases.tables._streaming.passes import MemoryLimit, open_sums, sum_blocks, sum_task

# A pass over encoded rows: a sample of them, and moments of all.

#: Different rows of the samples: to choose stages, knots and penalties on, and to test with.
SIZES = (LARGE, LARGE // 4)

#: By how much more rows than needed a sample is drawn from, as the number of different ones is not known.
SPARE = 1.5


@dataclass(frozen=True, eq=False)
class Sample:
    """The different rows with the least keys, in the order of their keys: the same in whatever order rows come."""

    keys: Keys  #: (n,) rising
    X: Floats  #: (n, d)
    y: Floats  #: (n, 1)
    count: Ints  #: (n,) rows of the table that equal each
    size: int  #: rows to keep at most

    @classmethod
    def from_rows(cls, keys: Keys, X: Floats, y: Floats, count: Ints, size: int) -> Sample:
        """Return a sample of rows, equal ones merged."""
        keys, first, which = np.unique(keys, return_index=True, return_inverse=True)
        count = np.bincount(which, count, len(keys)).astype(np.int64)
        first = first[:size]
        return cls(keys[:size], X[first], y[first], count[:size], size)

    def __add__(self, other: Sample) -> Sample:
        return Sample.from_rows(
            np.concatenate([self.keys, other.keys]),
            np.concatenate([self.X, other.X]),
            np.concatenate([self.y, other.y]),
            np.concatenate([self.count, other.count]),
            self.size,
        )


@dataclass(frozen=True, eq=False)
class Draw:
    """Samples of the rows to train on and to test with, and moments of those to train on, for each class."""

    samples: tuple[Sample, Sample]
    n_test: int
    count: Floats  #: (classes,) rows to train on; one number for a regression
    shift: Floats  #: (d + 1,) what moments of inputs and target are about
    sums: Floats  #: (classes, d + 1)
    squares: Floats  #: (classes, d + 1)
    low: Floats  #: (d,)
    high: Floats  #: (d,)

    def __add__(self, other: Draw) -> Draw:
        return Draw(
            (self.samples[0] + other.samples[0], self.samples[1] + other.samples[1]),
            self.n_test + other.n_test,
            self.count + other.count,
            self.shift,
            self.sums + other.sums,
            self.squares + other.squares,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
        )

    def moments(self, weights: Floats) -> tuple[Floats, Floats]:
        """Return means and deviations (d + 1,) of inputs and target under weights (classes,) of the classes."""
        total = weights @ self.count
        mean = weights @ self.sums / total
        variance = weights @ self.squares / total - mean**2
        return self.shift + mean, np.sqrt(variance.clip(0.0))


def draw_rows(engine: Engine, reader: EncodedReader, n_rows: int, center: Floats) -> Draw:
    """Return samples and moments of all rows; ``center`` (d + 1,) is near the means of inputs and target."""
    shares = np.array([1 - reader.test_fraction, reader.test_fraction]) * n_rows
    enough = [min(SPARE * size / max(share, 1.0), 1.0) for size, share in zip(SIZES, shares, strict=True)]
    n_classes = max(len(reader.levels), 1)
    draw: Draw = sum_blocks(engine, partial(_draw_block, n_classes, center, SIZES, enough), reader)
    sizes = zip(draw.samples, SIZES, enough, strict=True)
    if not all(len(sample.keys) == size or share == 1.0 for sample, size, share in sizes):
        every = [1.0, 1.0]  # many rows are equal, so every different one counts
        draw = sum_blocks(engine, partial(_draw_block, n_classes, center, SIZES, every), reader)
    return draw


def _draw_block(
    n_classes: int, shift: Floats, sizes: Sequence[int], shares: Sequence[float], block: EncodedBlock
) -> Draw:
    """Return the draw of a block; of each part only a share of the rows, those with the least keys, can be sampled."""
    train, test = ~block.is_test, block.is_test
    keys = mix(block.keys)
    masks = [each & is_below(keys, share) for each, share in zip((train, test), shares, strict=True)]
    samples = [
        Sample.from_rows(keys[mask], block.X[mask], block.y[mask], np.ones(int(mask.sum()), np.int64), size)
        for mask, size in zip(masks, sizes, strict=True)
    ]
    X, y = block.X[train], block.y[train]
    classes = y[:, 0].astype(np.int64) if n_classes > 1 else np.zeros(len(y), np.int64)
    member = np.eye(n_classes)[classes]
    Z = np.hstack([X, y]) - shift
    d = X.shape[1]
    return Draw(
        (samples[0], samples[1]),
        int(test.sum()),
        member.sum(axis=0),
        shift,
        member.T @ Z,
        member.T @ Z**2,
        X.min(axis=0, initial=np.inf) if len(X) else np.full(d, np.inf),
        X.max(axis=0, initial=-np.inf) if len(X) else np.full(d, -np.inf),
    )


#: Rows of a sample at most, copies of equal rows counted; of more, each row has fewer copies and a larger weight.
MOST_COPIES = 100_000

#: Bytes of files whose first pass is not worth the start of processes.
SMALL = 50_000_000


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

    def without_test(self) -> StreamedTable:
        """Return the same table, its rows to test with among the ones to train on."""
        n_rows = self.n_train + self.n_test
        rows = replace(self.rows, reader=replace(self.rows.reader, has_test=True, total=float(n_rows)))
        return replace(self, data=self.data.without_test(), rows=rows, n_train=n_rows, n_test=0)


@contextmanager
def open_table(
    files: TableFiles,
    options: ReadOptions,
    config: CurveConfig,
    *,
    engine: str = "local",
    n_jobs: int | None = None,
    address: str | None = None,
    max_memory: float | None = None,
) -> Iterator[StreamedTable | Problem]:
    """Read the columns of a table in three passes or less; a table of few rows is returned as a problem.

    The first pass, which keeps a part of the rows, sees the kinds of columns; the second counts categories, missing
    values and means; the third draws a sample. The table can be summed
    over until the context ends, which stops the processes. These keep to ``max_memory`` bytes together, 4e9 by default.
    """
    check_engine(engine, n_jobs, address)
    limit = MemoryLimit(MAX_MEMORY if max_memory is None else max_memory)
    head = read_head(Serial(sum_task), files) if files.n_bytes <= SMALL else None
    if head is not None and head.is_all:
        yield _whole_table(files, head, options)
        return
    with open_sums(engine, n_jobs, address, files, limit) as workers:
        head = head or read_head(workers, files)
        if head.is_all:
            yield _whole_table(files, head, options)
        else:
            yield _read_table(workers, files, Path(files.label), head.columns(files), options, config)
    files.check_unchanged()


def _whole_table(files: TableFiles, head: Head, options: ReadOptions) -> Problem:
    return make_problem(Path(files.label), head.columns(files), options, name=files.name, source=files.source)


def _read_table(
    engine: Engine, files: TableFiles, path: Path, head: list[Column], options: ReadOptions, config: CurveConfig
) -> StreamedTable:
    for name, column in options.aside.items():
        hint = "give more memory by max_memory, or a part of the rows"
        raise InputError(name, "be given for a table that fits in memory", repr(column), hint)
    missing, head = options.missing, with_parts(path, head, options)
    position, kinds, uses = choose_columns(path, head, options)
    read = [kind.read(column) for column, kind in zip(head, kinds, strict=True)]
    narrow, doubtful = (kinds, uses), doubtful_columns(read, kinds, uses, missing)
    if doubtful:
        _, kinds, uses = choose_columns(path, head, options, doubtful)
    head = [kind.read(column) for column, kind in zip(head, kinds, strict=True)]
    target = head[position].rows(~head[position].missing)
    _, classes = encode_target(target, kinds[position], options.task)
    inputs = [k for k, use in enumerate(uses) if use == "input"]
    raw = RawReader(files, tuple(kinds[k] for k in [*inputs, position]), missing)
    summary = summarize(engine, raw, classes is not None)
    if summary.n_rows == 0:
        raise InputError("target", "have values", f"none in column {kinds[position].name!r}")
    counts = [*(each.n_missing for each in summary.columns[:-1]), summary.n_dropped]
    listing = [f"{kind.name!r} {count:,}" for kind, count in zip(raw.kinds, counts, strict=True) if count]
    refuse_missing(", ".join(listing), missing)
    levels: list[Any] = []
    if classes is not None:
        seen = list(summary.columns[-1].counts)
        target = replace(target, values=np.append(target.values, np.array(seen, target.values.dtype)))
        _, classes = encode_target(target, kinds[position], "classification")
        levels = target.levels()
    pairs = zip(summary.columns, summary.gaps, strict=True)
    known = {kind.name: each for kind, each in zip(raw.kinds, pairs, strict=True)}

    def encode(kinds: list[ColumnKind], uses: list[Any]) -> TableEncoding:
        summaries = [known[kind.name][0] for kind, use in zip(kinds, uses, strict=True) if use == "input"]
        gaps = [
            (int(column.missing.sum()), Gaps()) if use == "left out" else known[column.name][1]
            for column, use in zip(head, uses, strict=True)
        ]
        facts: dict[str, Any] = {"task": "regression" if classes is None else "classification", "classes": classes}
        facts["labels"] = label_kind(target) if levels else "text"
        return fit_encoding(summaries, kinds, uses, missing, gaps, **facts)

    def draw(encoding: TableEncoding) -> StreamedTable:
        kinds = (*(column.kind for column in encoding.inputs), raw.kinds[-1])
        reader = EncodedReader(
            replace(raw, kinds=kinds), encoding, tuple(levels), config.seed, config.test_fraction, deals_copies=False
        )
        present = ~head[position].missing
        used = {column.name for column in encoding.inputs}
        X = encoding.encode([column.rows(present) for column in head if column.name in used])
        y = reader.targets(head[position].rows(present))[:, None]
        reader = replace(reader, deals_copies=merge_duplicates(X, y, np.ones(len(y))).deals_copies)
        drawn = draw_rows(engine, reader, summary.n_rows, np.append(X.mean(axis=0), y.mean()))
        return _finish(engine, reader, drawn, config, summary)

    encoding = encode(kinds, uses)
    table = draw(encoding)
    if not doubtful:
        return table
    plain = encode(*narrow)
    return draw(note_trial(plain, encoding, choose_doubtful(table.data, plain, encoding, config)))


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
    targets = Targets(Classes(n_classes) if n_classes else NORMAL, *scores)
    n_train = int(draw.count.sum())
    rows = StreamedRows(TrainReader(reader, targets, own, float(n_train)), engine)
    ranges = np.stack([draw.low, draw.high], axis=1)
    is_constant = (ranges[:, 0] == ranges[:, 1]) | (deviation[:-1] == 0)
    data = _sample_split(draw, reader, weights if config.class_weight is not None else None, summary)
    spread = np.where(is_constant, 1.0, deviation[:-1])
    return StreamedTable(data, rows, n_train, draw.n_test, center[:-1], spread, ranges)


def _sample_split(draw: Draw, reader: EncodedReader, weights: Floats | None, summary: TableSummary) -> TableSplit:
    """Return the sampled rows as a split table, those that equal others as often as they occur, up to a limit."""
    encoding, files = reader.encoding, reader.raw.files
    X, y, count = (np.concatenate([getattr(sample, name) for sample in draw.samples]) for name in ("X", "y", "count"))
    part = np.repeat([0.0, 1.0], [len(sample.keys) for sample in draw.samples])
    times = np.ceil(count * min(MOST_COPIES / count.sum(), 1.0)).astype(np.int64)
    X, y, part, weight = (np.repeat(each, times, axis=0) for each in (X, y, part, count / times))
    n_fitted, n_tested = np.bincount(part.astype(np.int64), minlength=2).tolist()
    rows = merge_duplicates(X, np.column_stack([y, part]), weight)
    part, rows = rows.y[:, -1], replace(rows, y=rows.y[:, :-1])
    if weights is not None:
        rows = replace(rows, weight=rows.weight * weights[rows.y[:, 0].astype(np.int64)])
    dropped = f"; {plural(summary.n_dropped, 'row')} dropped" if summary.n_dropped else ""
    n_kept = f"{n_fitted:,} and {n_tested:,}"
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
    return TableSplit(rows, problem.task, n_outputs, parts, True, problem, weights)


#: Rows from which the kinds of columns are seen, spread over the files; a table of fewer is read as a whole.
KIND_ROWS = 50_000

#: Parts of a table that these rows are from at most. If there are fewer, rows are from everywhere in each part: a file
#: may be sorted.
KIND_PARTS = 64

#: Runs of consecutive rows into which ``KIND_ROWS`` are divided then.
KIND_RUNS = 256


# The first pass: some rows from everywhere in the files, which show the kinds of columns.


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
            pieces = [block.column(k) for block in self.blocks if block.num_rows]
            if not pieces:
                raise InputError(files.label, "have rows of values", "none")
            columns.append(arrow_column(name, pa.concat_arrays(pieces), is_text_file=is_text_file).expand())
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
    head: Head = sum_blocks(engine, copy, HeadReader(files, parts, -(-KIND_ROWS // len(parts)), run))
    return head if len(parts) == files.n_tasks else replace(head, is_all=False)


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
