"""Results in Parquet: every finished chunk is a part, a small file that is never incomplete.

A part holds at least one record for each of its jobs: ``sweep.key``, ``sweep.row`` (the row's number; none for a job
without rows), ``sweep.error`` (a traceback, or none), ``sweep.seconds``, ``sweep.finished`` (seconds since 1970),
``sweep.columns`` (the row's own columns, in order), and the columns of the rows.

Its name tells which parts it replaces, ``first-last.parquet``; a part that another replaces is ignored: so parts can be
merged, and a merge can be killed at any moment.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from creases._files import parse_json, write_atomically
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
    """Return the records of a chunk."""
    heads: list[tuple[Any, ...]] = []
    rows: list[dict[str, Any]] = []
    for key, outcome in zip(keys, outcomes, strict=True):
        for number, row in enumerate(outcome.rows or [{}]):
            position = number if outcome.rows else None
            heads.append((key, position, outcome.error, outcome.seconds, finished, json.dumps(list(row))))
            rows.append(row)
    columns = zip(_TYPES, zip(*heads, strict=True), strict=True)
    fixed = {name: pa.array(values, _TYPES[name]) for name, values in columns}
    names = dict.fromkeys(name for row in rows for name in row)
    return pa.table(fixed | {name: column([row.get(name) for row in rows]) for name in names})


def column(values: Sequence[Any]) -> pa.Array:
    """Return plain values as a column; values of different types, such as numbers and strings, become strings."""
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError):
        return pa.array([_text(value) for value in values], pa.string())


def concatenate(tables: Sequence[pa.Table]) -> pa.Table:
    """Concatenate tables; a column with different types becomes strings."""
    names = dict.fromkeys(name for table in tables for name in table.column_names)
    return pa.table({name: _concatenate_columns([_column(table, name) for table in tables]) for name in names})


def write(folder: Path, first: int, last: int, table: pa.Table) -> None:
    """Write a part that replaces those from the first to the last."""
    path = _path(folder, (first, last))
    try:
        with write_atomically(path) as temporary:
            pq.write_table(table, temporary, write_page_checksum=True)
    except OSError as error:
        raise FileError(f"cannot write {path}: {error.strerror or error}") from None


def spans(folder: Path) -> list[tuple[int, int]]:
    """Return the current parts, in order: of each, the first and the last that it replaces."""
    every = [_span(path) for path in folder.glob("[0-9]*-[0-9]*.parquet")]
    current: list[tuple[int, int]] = []
    for span in sorted(every, key=lambda span: (span[0], -span[1])):
        if not current or span[1] > current[-1][1]:
            current.append(span)
    return current


def read(folder: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """Return the records of all parts, in order; of a job that ran again after a failure, only the later ones."""
    for _ in range(10):
        try:
            tables = [_read(_path(folder, span), columns) for span in spans(folder)]
            break
        except FileNotFoundError:  # merged meanwhile by the process that runs the sweep
            continue
    else:
        raise FileError(f"cannot read {folder}: its parts change faster than they can be read; try again")
    if not tables:
        return pa.table({name: pa.array([], kind) for name, kind in _TYPES.items()})
    return _latest_records(tables)


def last(folder: Path) -> tuple[str, dict[str, Any]] | None:
    """Return the row that was stored last: its job's key, its columns."""
    for span in reversed(spans(folder)):
        try:
            table = _read(_path(folder, span))
        except FileNotFoundError:  # merged meanwhile
            return last(folder)
        table = table.filter(table[ROW].is_valid())
        if len(table):
            (row,) = table.slice(len(table) - 1).to_pylist()
            return row[KEY], {name: row[name] for name in parse_json(row[COLUMNS])}
    return None


def merge(folder: Path, merged: Sequence[tuple[int, int]]) -> None:
    """Merge consecutive parts into one, and remove those it replaces."""
    if len(merged) > 1:
        table = _latest_records([_read(_path(folder, span)) for span in merged])
        write(folder, merged[0][0], merged[-1][1], table)
    clean(folder)


def clean(folder: Path) -> None:
    """Remove parts that were replaced, and incomplete files of a killed process."""
    current = {_path(folder, span) for span in spans(folder)}
    for path in folder.glob("*.parquet"):
        if path not in current and (path.name.startswith(".") or path.name[0].isdigit()):
            path.unlink(missing_ok=True)


def _path(folder: Path, span: tuple[int, int]) -> Path:
    return folder / f"{span[0]:0{_DIGITS}}-{span[1]:0{_DIGITS}}.parquet"


def _span(path: Path) -> tuple[int, int]:
    first, _, last = path.stem.partition("-")
    return int(first), int(last)


def _read(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    try:
        with path.open("rb") as file:
            table = pq.read_table(file, columns=columns, page_checksum_verification=True)
        _check_records(table, columns)
    except FileNotFoundError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:  # of damaged pages Arrow raises OSError
        raise FileError(f"cannot read {path}: it is damaged ({error}); remove it to run its jobs again") from None
    return table


def _check_records(table: pa.Table, columns: Sequence[str] | None) -> None:
    """Refuse a table that is not one of records: columns, types, text that is not UTF-8, names of missing columns."""
    for name in _TYPES if columns is None else columns:
        if name not in table.column_names or table.column_names.count(name) > 1:
            raise ValueError(f"it must have one column {name}")
        if not table.schema.field(name).type.equals(_TYPES[name]):
            raise ValueError(f"the column {name} must be of type {_TYPES[name]}, got {table.schema.field(name).type}")
    table.validate(full=True)
    for name in {KEY, COLUMNS} & set(columns or _TYPES):
        if table[name].null_count:
            raise ValueError(f"the column {name} must have no missing values")
    for text in table[COLUMNS].unique().to_pylist() if columns is None else []:
        names = parse_json(text)
        if not isinstance(names, list) or any(name not in table.column_names for name in names):
            raise ValueError(f"the column {COLUMNS} must list columns of the table, got {text}")


def _column(table: pa.Table, name: str) -> pa.ChunkedArray:
    return table[name] if name in table.column_names else pa.chunked_array([pa.nulls(len(table))])


def _concatenate_columns(columns: Sequence[pa.ChunkedArray]) -> pa.ChunkedArray:
    try:
        return pa.concat_tables([pa.table({"": column}) for column in columns], promote_options="permissive")[""]
    except pa.ArrowException:
        return pa.chunked_array([pa.array(map(_text, column.to_pylist()), pa.string()) for column in columns])


def _latest_records(tables: Sequence[pa.Table]) -> pa.Table:
    """Concatenate tables, without records of jobs that occur in a later table."""
    records = concatenate(tables)
    part = np.repeat(np.arange(len(tables)), [len(table) for table in tables])
    keys = records[KEY].combine_chunks().dictionary_encode().indices.to_numpy()
    last = np.zeros(keys.max(initial=-1) + 1, int)
    np.maximum.at(last, keys, part)
    return records if (last[keys] == part).all() else records.filter(pa.array(last[keys] == part))


def _text(value: Any) -> str | None:
    """Return a value as a string; 1 and 1.0 give the same, as either may be stored, depending on the column."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list):
        return f"[{', '.join(str(_text(entry)) for entry in value)}]"
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        value = int(value)
    return str(value)
