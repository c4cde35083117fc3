"""Results in Parquet: every finished chunk is a part, a small file that is there whole or not at all.

A part holds at least one record for each of its jobs: ``sweep.key``, ``sweep.row`` (the row's number; none for a job
without rows), ``sweep.error`` (a traceback, or none), ``sweep.seconds``, ``sweep.finished`` (seconds since 1970),
``sweep.columns`` (the row's own columns, in order), and the columns of the rows.

Its name says which parts it stands for, ``first-last.parquet``; of two parts one of which stands for the other, the
greater counts: so parts can be merged, and a merge can be killed at any moment.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from creases._files import write_atomically
from creases.errors import FileError
from creases.lab._sweeps.functions import Outcome

KEY, ROW, ERROR = "sweep.key", "sweep.row", "sweep.error"
SECONDS, FINISHED, COLUMNS = "sweep.seconds", "sweep.finished", "sweep.columns"
_TYPES = {
    KEY: pa.string(),
    ROW: pa.int64(),
    ERROR: pa.string(),
    SECONDS: pa.float64(),
    FINISHED: pa.float64(),
    COLUMNS: pa.string(),
}
_DIGITS = 8


def records(keys: Sequence[str], outcomes: Sequence[Outcome], finished: float) -> pa.Table:
    """A chunk's records."""
    heads: list[tuple[Any, ...]] = []
    rows: list[dict[str, Any]] = []
    for key, outcome in zip(keys, outcomes, strict=True):
        for number, row in enumerate(outcome.rows or [{}]):
            place = number if outcome.rows else None
            heads.append((key, place, outcome.error, outcome.seconds, finished, json.dumps(list(row))))
            rows.append(row)
    columns = zip(_TYPES, zip(*heads, strict=True), strict=True)
    fixed = {name: pa.array(values, _TYPES[name]) for name, values in columns}
    names = dict.fromkeys(name for row in rows for name in row)
    return pa.table(fixed | {name: column([row.get(name) for row in rows]) for name in names})


def column(values: Sequence[Any]) -> pa.Array:
    """Plain values as a column; values of different kinds, such as numbers and texts, become texts."""
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError):
        return pa.array([_text(value) for value in values], pa.string())


def join(tables: Sequence[pa.Table]) -> pa.Table:
    """Tables one after the other; a column that is of different kinds in some becomes text."""
    names = dict.fromkeys(name for table in tables for name in table.column_names)
    return pa.table({name: _joined([_column(table, name) for table in tables]) for name in names})


def write(folder: Path, first: int, last: int, table: pa.Table) -> None:
    """Write a part that stands for those from the first to the last."""
    path = _path(folder, (first, last))
    try:
        with write_atomically(path) as temporary:
            pq.write_table(table, temporary)
    except OSError as error:
        raise FileError(f"folder: {path} cannot be written: {error.strerror or error}") from None


def spans(folder: Path) -> list[tuple[int, int]]:
    """The parts that count, in order: of each, the first and the last that it stands for."""
    found = [_span(path) for path in folder.glob("[0-9]*-[0-9]*.parquet")]
    kept: list[tuple[int, int]] = []
    for span in sorted(found, key=lambda span: (span[0], -span[1])):
        if not kept or span[1] > kept[-1][1]:
            kept.append(span)
    return kept


def read(folder: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """The records of all parts, in order; of a job that was done again after a failure, only the later ones."""
    for _ in range(10):
        try:
            tables = [_read(_path(folder, span), columns) for span in spans(folder)]
            break
        except FileNotFoundError:  # merged by the process that runs the sweep, in between
            continue
    else:
        raise FileError(f"folder: the parts in {folder} change faster than they can be read; try again")
    if not tables:
        return pa.table({name: pa.array([], kind) for name, kind in _TYPES.items()})
    return _latest(tables)


def last(folder: Path) -> tuple[str, dict[str, Any]] | None:
    """The row that was stored last: its job's key, its columns."""
    for span in reversed(spans(folder)):
        try:
            table = _read(_path(folder, span))
        except FileNotFoundError:  # merged in between
            return last(folder)
        table = table.filter(table[ROW].is_valid())
        if len(table):
            (row,) = table.slice(len(table) - 1).to_pylist()
            return row[KEY], {name: row[name] for name in json.loads(row[COLUMNS])}
    return None


def merge(folder: Path, merged: Sequence[tuple[int, int]]) -> None:
    """Make one part of parts that follow each other, and remove what it stands for."""
    if len(merged) > 1:
        table = _latest([_read(_path(folder, span)) for span in merged])
        write(folder, merged[0][0], merged[-1][1], table)
    clean(folder)


def clean(folder: Path) -> None:
    """Remove parts that do not count any more, and what a killed process left half-written."""
    counts = {_path(folder, span) for span in spans(folder)}
    for path in folder.glob("*.parquet"):
        if path not in counts and (path.name.startswith(".") or path.name[0].isdigit()):
            path.unlink(missing_ok=True)


def _path(folder: Path, span: tuple[int, int]) -> Path:
    return folder / f"{span[0]:0{_DIGITS}}-{span[1]:0{_DIGITS}}.parquet"


def _span(path: Path) -> tuple[int, int]:
    first, _, last = path.stem.partition("-")
    return int(first), int(last)


def _read(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    try:
        with path.open("rb") as file:
            return pq.read_table(file, columns=columns)
    except pa.ArrowException as error:
        raise FileError(f"folder: {path} is damaged ({error}); remove it, and its jobs are done again") from None


def _column(table: pa.Table, name: str) -> pa.ChunkedArray:
    return table[name] if name in table.column_names else pa.chunked_array([pa.nulls(len(table))])


def _joined(columns: Sequence[pa.ChunkedArray]) -> pa.ChunkedArray:
    try:
        return pa.concat_tables([pa.table({"": one}) for one in columns], promote_options="permissive")[""]
    except pa.ArrowException:
        return pa.chunked_array([pa.array(map(_text, one.to_pylist()), pa.string()) for one in columns])


def _latest(tables: Sequence[pa.Table]) -> pa.Table:
    """Tables joined, without records of jobs that are in a later table too."""
    joined = join(tables)
    part = np.repeat(np.arange(len(tables)), [len(table) for table in tables])
    keys = joined[KEY].combine_chunks().dictionary_encode().indices.to_numpy()
    last = np.zeros(keys.max(initial=-1) + 1, int)
    np.maximum.at(last, keys, part)
    return joined if (last[keys] == part).all() else joined.filter(pa.array(last[keys] == part))


def _text(value: Any) -> str | None:
    """A value as text; 1 and 1.0 alike, as it depends on its neighbours which of them a column of numbers holds."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list):
        return f"[{', '.join(str(_text(entry)) for entry in value)}]"
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        value = int(value)
    return str(value)
