"""A model in a file that others run: SQL, Python, Excel or ONNX, compared with the model before it is handed out."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from creases._files import write_atomically
from creases._text import plural
from creases._typing import Floats
from creases.errors import InputError
from creases.tables._encoding.columns import ColumnEncoding
from creases.tables._encoding.encoding import TableEncoding
from creases.tables._model.dialects import write_python, write_sql
from creases.tables._model.onnx_export import run_onnx, write_onnx
from creases.tables._model.program import Dot, Interpolate, Program, label_numbers, make_program
from creases.tables._model.schema import RowFunction
from creases.tables._model.sheet import write_sheet
from creases.tables._stages.families import probabilities
from creases.tables._words.rows import table_rows

SUFFIXES = (".sql", ".py", ".xlsx", ".onnx")

#: Rows that an export is compared on at most, and rows of a sheet.
MOST_ROWS, SHEET_ROWS = 2_000, 100

#: A value of a category that no table has, to compare what unknown values become.
UNKNOWN = "a new value"


@dataclass(frozen=True)
class Export:
    """A file that predicts as the model does, and how far it was from it."""

    path: Path
    rows: int  #: compared: rows of the table, and one for every knot
    deviation: float | None  #: largest of a value or probability on these; None if nothing here runs such files
    bound: float  #: what rounding can make of it for any row: of a score
    decided: int  #: rows that are decided otherwise

    def __str__(self) -> str:
        if self.deviation is None:
            return f"{self.path}: not run here; rounding changes a score by at most {self.bound:.1e}"
        what = f"largest deviation {self.deviation:.1e} on {plural(self.rows, 'row')}, knots included"
        others = f"; {plural(self.decided, 'row')} decided otherwise" if self.decided else ""
        return f"{self.path}: {what}; rounding changes a score by at most {self.bound:.1e}{others}"


def export_model(model: RowFunction, path: Path, *, table: str = "rows") -> Export:
    """Write a model to a file by its suffix; see :meth:`RowModel.export`."""
    if path.suffix not in SUFFIXES:
        raise InputError("path", f"end in {', '.join(SUFFIXES)}", repr(path.name))
    cells = comparison_cells(model)
    X = model.schema.encode(cells).X
    program = make_program(model)
    if path.suffix == ".onnx":
        write_onnx(model, path)
        outputs, decisions = run_onnx(model, path, cells)
    elif path.suffix == ".xlsx":
        with write_atomically(path) as temporary:
            write_sheet(program, cells[:SHEET_ROWS], temporary)
        outputs, decisions = None, None
    else:
        text = write_sql(program, table) if path.suffix == ".sql" else write_python(program)
        outputs, decisions = (_run_sql if path.suffix == ".sql" else _run_python)(program, text, cells, table)
        with write_atomically(path) as temporary:
            temporary.write_text(text, encoding="utf-8")
    raw = model._outputs(X)
    expected = raw if model.classes is None else probabilities(raw)
    deviation, decided = None, 0
    if outputs is not None:
        deviation = float(np.abs(outputs - expected).max(initial=0.0))
        decided = 0 if decisions is None else int((np.asarray(decisions) != model.schema.decide(raw)).sum())
    return Export(path, len(X), deviation, _rounding(program, model), decided)


def comparison_cells(model: RowFunction) -> list[dict[str, Any]]:
    """Return rows of the table, evenly chosen, one at every knot of a number, and one for each column without a value.

    Categories have a value there that the table does not have. A model without its table has one row of means.
    """
    X = table_rows(model)
    if X is None or not len(X):
        cells = [_typical_row(model)]
    else:
        cells = decode_cells(model, X[np.linspace(0, len(X) - 1, min(len(X), MOST_ROWS)).astype(np.int64)])
    encoding = model.schema.encoder
    curves: Mapping[str, Any] = getattr(model, "curves", {})
    found = []
    for feature in encoding.features:
        column = next(column for column in encoding.inputs if column.name == feature.column)
        if feature.kind == "number" and feature.name in curves and not label_numbers(column):
            knots = curves[feature.name].knots.tolist()
            for k, knot in enumerate([*knots, knots[0] - 1, knots[-1] + 1]):
                found.append(cells[k % len(cells)] | {column.name: knot})
    for column in encoding.inputs:
        found.append(cells[0] | {column.name: None})
        found += [cells[0] | {column.name: UNKNOWN}] if column.is_category else []
    return cells + found


def _typical_row(model: RowFunction) -> dict[str, Any]:
    """Return a row of means and of the most frequent values."""
    row: dict[str, Any] = {}
    for column in model.schema.encoder.inputs:
        labels = label_numbers(column)
        if column.is_category:
            row[column.name] = column.common or None
        elif column.kind.date is not None:
            row[column.name] = f"{column.kind.date.first} 12:30:00"
        else:
            row[column.name] = next(iter(labels)) if labels else column.means[0]
    return row


def _indicator(encoding: TableEncoding, column: str) -> int | None:
    every = enumerate(encoding.features)
    own = (j for j, feature in every if feature.column == column and feature.is_gap and not feature.is_code)
    return next(own, None)


def decode_cells(model: RowFunction, X: Floats) -> list[dict[str, Any]]:
    """Return encoded rows X (n, d) as cells that exports take: numbers, text, dates as text, None where missing."""
    encoding = model.schema.encoder
    columns: dict[str, list[Any]] = {}
    for column in encoding.inputs:
        inputs = [j for j, feature in enumerate(encoding.features) if feature.column == column.name]
        gone = _indicator(encoding, column.name)
        codes = {j: float(encoding.features[j].level) for j in inputs if encoding.features[j].is_code}
        columns[column.name] = [
            next((code for j, code in codes.items() if x[j]), None)
            if any(x[j] for j in codes)
            else _decode(column, x[inputs], gone is not None and bool(x[gone]))
            for x in X
        ]
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _decode(column: ColumnEncoding, x: Floats, is_missing: bool) -> Any:
    if is_missing:
        return None
    if column.is_category:
        frequent = [level for level in column.levels if level not in column.rare]
        level = [*frequent, *column.rare[:1]][int(x.argmax())] if x.any() else UNKNOWN
        return level or None
    if (date := column.kind.date) is not None:
        days = float(x[date.parts.index("days")])
        moment = np.datetime64(date.first, "us") + np.timedelta64(round(days * 86_400_000_000), "us")
        return str(moment.astype("datetime64[s]")).replace("T", " ")
    texts = {number: text for text, number in reversed(label_numbers(column).items())}
    value = float(x[0])
    return texts.get(value) if texts else value


def _run_sql(
    program: Program, text: str, cells: Sequence[Mapping[str, Any]], table: str
) -> tuple[Floats, list[Any] | None]:
    """Return the numbers (n, k) and decisions (n,) of a SELECT in SQLite."""
    names = list(program.columns)
    quoted = ['"' + name.replace('"', '""') + '"' for name in [table, *names]]
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute(f"CREATE TABLE {quoted[0]} ({', '.join(quoted[1:])})")
        marks = ", ".join("?" * len(names))
        connection.executemany(f"INSERT INTO {quoted[0]} VALUES ({marks})", [[row[n] for n in names] for row in cells])
        found = connection.execute(text).fetchall()
    finally:
        connection.close()
    if program.decision is None:
        return np.array(found, np.float64), None
    return np.array([row[1:] for row in found], np.float64), [row[0] for row in found]


def _run_python(
    program: Program, text: str, cells: Sequence[Mapping[str, Any]], _: str
) -> tuple[Floats, list[Any] | None]:
    """Return the numbers (n, k) and decisions (n,) of a module."""
    names: dict[str, Any] = {}
    exec(compile(text, "export", "exec"), names)  # it was written above
    numbers = np.array([list(names["outputs"](row).values()) for row in cells], np.float64)
    return numbers, None if program.decision is None else [names["predict"](row) for row in cells]


def _rounding(program: Program, model: RowFunction) -> float:
    """Return by how much the rounding of sums can change a score: operations times their size, in float64.

    Every step is a sum of products; one of k terms has an error of at most k + 2 roundings of the sum of their sizes,
    and passes on the errors of what it reads (Higham 2002, section 3.1).
    """
    unit = 2.0**-53
    largest = np.abs(model.schema.ranges).max(axis=1)
    sizes = {f"x{j}": float(value) + 1.0 for j, value in enumerate(largest)}
    errors = {name: 4 * unit * value for name, value in sizes.items()}
    worst = 0.0
    for stage in program.stages:
        for name, node in stage.items():
            if isinstance(node, Interpolate):
                slopes = np.abs(np.diff(node.values) / np.diff(node.knots)).max()
                x = sizes[node.of.name]
                sizes[name] = float(np.abs(node.values).max())
                reach = 2 * len(node.knots) * slopes * (x + np.abs(node.knots).max())
                errors[name] = 4 * unit * (reach + sizes[name]) + slopes * errors[node.of.name]
            elif isinstance(node, Dot):
                weights = np.abs(node.weights)
                own = np.array([sizes[each] for each in node.names])
                sizes[name] = float(weights @ own) + abs(node.constant)
                passed = float(weights @ np.array([errors[each] for each in node.names]))
                errors[name] = passed + (len(own) + 2) * unit * sizes[name]
                worst = max(worst, errors[name]) if name.startswith("score") else worst
    return 2 * worst  # the model rounds too
