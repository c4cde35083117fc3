"""A model in a file that others run: SQL, Python, Excel or ONNX, compared with the model before it is handed out."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from creases._files import write_atomically
from creases._text import in_one_line, plural
from creases._typing import Bools, Floats
from creases.errors import InputError, RequestError
from creases.tables._columns.codec import UNKNOWN
from creases.tables._columns.levels import Levels
from creases.tables._columns.nodes import Input, Interpolate
from creases.tables._encoding.columns import ColumnEncoding
from creases.tables._model import run_export
from creases.tables._model.dialects import sql_names, write_python, write_sql
from creases.tables._model.onnx_export import write_onnx
from creases.tables._model.program import Dot, Program, make_program
from creases.tables._model.schema import RowFunction
from creases.tables._model.sheet import write_sheet
from creases.tables._reading.columns import from_texts
from creases.tables._stages.families import log_odds, probabilities
from creases.tables._words.rows import table_rows

SUFFIXES = (".sql", ".py", ".xlsx", ".onnx")

#: Rows of a table that an export is compared on at most, such rows of a sheet, and rows of a sheet that is handed out.
MOST_ROWS, MOST_SHEET_ROWS, SHEET_ROWS = 2_000, 200, 100


@dataclass(frozen=True)
class Export:
    """A file that predicts as the model does, and how far it was from it."""

    path: Path
    rows: int  #: compared: of the table, at every knot, and with cells that are padded, missing, unknown or no numbers
    unread: int  #: of these, rows that the file refuses, all with a cell that is not what it takes
    deviation: float  #: largest of a value or probability
    bound: float  #: what rounding can make of a score in these rows
    decided: int  #: rows that rounding decides otherwise: two classes are as likely
    by: str  #: what ran the file
    names: Mapping[str, str] = field(default_factory=dict)  #: columns that have another name in the file, with it

    def __str__(self) -> str:
        parts = [
            f"{self.path}: largest deviation {self.deviation:.1e} on {plural(self.rows, 'row')}, run by {self.by}",
            f"{self.unread} of them refused" if self.unread else "",
            f"{plural(self.decided, 'row')} decided otherwise" if self.decided else "",
            f"rounding changes a score by at most {self.bound:.1e}",
            *(f"column {name!r} is called {alias!r} there" for name, alias in self.names.items()),
        ]
        return "; ".join(filter(None, parts))


def export_model(model: RowFunction, path: Path, *, table: str = "rows") -> Export:
    """Write a model to a file by its suffix; see :meth:`RowModel.export`."""
    if path.suffix not in SUFFIXES:
        raise InputError("path", f"end in {', '.join(SUFFIXES)}", repr(path.name))
    program = make_program(model)
    rows, X, is_strict = check_rows(model, program, path.suffix)
    names = sql_names(program) if path.suffix == ".sql" else {}
    given = {
        "columns": [names.get(each.name, each.name) for each in program.inputs],
        "rows": [list(row.values()) for row in rows],
        "table": table,
        "labeled": bool(program.labels),
        "count": len(program.titles),
    }
    with write_atomically(path) as temporary:
        if path.suffix == ".onnx":
            write_onnx(program, temporary)
        elif path.suffix == ".xlsx":
            write_sheet(program, rows, temporary)
        else:
            text = write_sql(program, table) if path.suffix == ".sql" else write_python(program)
            temporary.write_text(text, encoding="utf-8")
        command = [sys.executable, "-P", run_export.__file__, str(temporary)]
        done = subprocess.run(command, input=json.dumps(given), capture_output=True, text=True, encoding="utf-8")
        if done.returncode:
            why = in_one_line(done.stderr.strip().rpartition("\n")[2])
            raise RequestError(f"cannot write {path}: what would be in it does not run ({why})")
        result = json.loads(done.stdout)
        try:
            numbers = _compare(model, program, X, is_strict, result["answers"])
        except _Difference as difference:
            i, what = difference.args
            row = "" if i is None else f", such as {rows[i]!r}"
            raise RequestError(
                f"cannot write {path}: it would predict otherwise than the model: {in_one_line(what + row)}"
            ) from None
        if path.suffix == ".xlsx":
            write_sheet(program, rows[:SHEET_ROWS], temporary)
    renamed = {name: alias for name, alias in names.items() if alias != name}
    return Export(path, len(rows), *numbers, result["by"], renamed)


class _Difference(Exception):
    """A row, by number, and how it is predicted otherwise."""


# -- the rows that are compared ---------------------------------------------------------------------------------------


def check_rows(model: RowFunction, program: Program, suffix: str) -> tuple[list[dict[str, Any]], Floats, Bools]:
    """Return rows as users have them, encoded as the table reads them (n, d), and which a file must answer (n,).

    These are rows of the table, evenly chosen, or one of means, rows at every knot, and rows with one odd cell, to some
    of which a file has the model's answer or none.
    """
    encoding, X = model.schema.encoder, table_rows(model)
    X = model.schema.center[None] if X is None or not len(X) else X
    X = X[np.linspace(0, len(X) - 1, min(len(X), SHEET_ROWS if suffix == ".xlsx" else MOST_ROWS)).astype(np.int64)]
    pairs = list(zip(encoding.inputs, program.inputs, strict=True))
    places = {
        each.name: [j for j, f in enumerate(encoding.features) if f.column == each.name] for each in program.inputs
    }
    columns = []
    for column, each in pairs:
        gaps = {j: encoding.features[j] for j in places[each.name] if encoding.features[j].is_gap}
        codec, cells = column.kind.codec, list[Any]()
        for x in X:
            gap = next((feature for j, feature in gaps.items() if x[j]), None)
            code = float(gap.level) if gap is not None and gap.is_code else None
            cells.append(codec.exported_cell(column, x[places[each.name]]) if gap is None else code)
        columns.append(cells)
    rows = [dict(zip(places, row, strict=True)) for row in zip(*columns, strict=True)]
    for j, curve in enumerate(getattr(getattr(model, "function", None), "curves", ())):
        name = encoding.features[j].column
        if places[name][0] == j and next(each.cells for each in program.inputs if each.name == name) == "number":
            knots = curve.knots.tolist() if curve.is_number else []
            far = [knots[0] - 1, knots[-1] + 1, -1e15, 1e15] if knots else []
            rows += [rows[(j + k) % len(X)] | {name: q} for k, q in enumerate([*knots, *far])]
    rows = rows[: MOST_SHEET_ROWS if suffix == ".xlsx" else None]
    n_plain = len(rows)
    encoded, is_strict = [*model.schema.encode(rows).X], [True] * len(rows)
    for column, each in pairs:
        odd = _odd_cells(column, each)
        if each.cells == "number" and suffix == ".onnx":  # it takes nothing else
            odd = {cell: strict for cell, strict in odd.items() if not cell}
        texts = [[cell] for cell in odd] if each.cells == "number" else [[*odd]]  # numbers are read by themselves
        cells = [column.kind.read(from_texts(each.name, several)) for several in texts]
        read = [column.kind.codec.encode(column, several, encoding.missing) for several in cells]
        for k, (cell, values) in enumerate(zip(odd, np.concatenate(read), strict=True)):
            x = encoded[k % len(X)].copy()
            x[places[each.name]] = values
            rows.append(rows[k % len(X)] | {each.name: cell})
            encoded.append(x)
            is_strict.append(odd[cell])
    most = n_plain + (MOST_SHEET_ROWS if suffix == ".xlsx" else MOST_ROWS)  # of a wide table, odd cells of some columns
    chosen = np.r_[:n_plain, np.linspace(n_plain, len(rows) - 1, min(len(rows), most) - n_plain).astype(np.int64)]
    return [rows[i] for i in chosen], np.array(encoded)[chosen], np.array(is_strict)[chosen]


def _odd_cells(column: ColumnEncoding, each: Input) -> dict[str | None, bool]:
    """Return cells as people write them, and whether a file must read them."""
    cells: dict[str | None, bool] = dict.fromkeys((None, "", " \t", *each.gaps[-3:]), True)
    cells |= dict.fromkeys(("NULL", " n/a", "None", "nan"), column.kind.marks is None)
    if each.cells == "number":
        return cells | dict.fromkeys(
            ("12", " 1.5 ", "1e3", "007", "1,234.5", "1.234,5", "1-2", "2021-03-05", "x"), False
        )
    if each.cells == "text":
        codec = column.kind.codec
        words = [*codec.labels()] or [level for level in column.levels if level]
        for word in words[:3]:
            cells |= dict.fromkeys((word.upper(), word.lower()), each.ignores != "nothing" or isinstance(codec, Levels))
            cells |= dict.fromkeys((word, f" {word}", f"{word}\u00a0\t "), True)
        return dict.fromkeys(("1", "true", "10-20", "_x0041_"), False) | cells | {UNKNOWN: isinstance(codec, Levels)}
    days = "2020-02-29" if each.cells == "date" else ""
    cells |= {f"{days} {clock}".strip(): True for clock in ("23:59:59", "00:00")}
    cells |= {f"{days} {clock}".strip(): False for clock in ("24:00", "7:05", "25:00", "12:60")}
    others = ("2021-02-29", "2020-13-01", "2020-02-29T10:11:12", "2020-02", "29.2.2020", "x")
    return cells | dict.fromkeys(others, False) | {f"  {days} 23:59:59 ": True}


def _compare(
    model: RowFunction, program: Program, X: Floats, is_strict: Bools, answers: list[list[Any]]
) -> tuple[int, float, float, int]:
    """Return rows without an answer, the largest deviation, the bound of scores, and rows decided otherwise.

    A difference that rounding cannot explain is raised as an error.
    """
    raw = model._outputs(X)
    expected = raw if model.classes is None else probabilities(raw)
    bound = _rounding(program, model, X)
    tolerance = bound + 1e-14 * np.abs(expected)  # LibreOffice stores 15 digits
    if model._largest is not None:  # a logarithm was rounded
        tolerance = np.expm1(bound + 1e-14) * np.abs(expected)
    if len(answers) != len(raw):
        raise _Difference(None, f"{plural(len(answers), 'prediction')} for {plural(len(raw), 'row')}")
    is_read = np.array([bool(row) and row[-1] is not None and row[-1] == row[-1] for row in answers])
    k = expected.shape[1]
    numbers = np.array([row[-k:] if ok else [np.nan] * k for ok, row in zip(is_read, answers, strict=True)], np.float64)
    apart = np.abs(numbers - expected)
    is_wrong = (is_read[:, None] & ~(apart <= tolerance)).any(axis=1) | (is_strict & ~is_read)
    decided = np.zeros(len(raw), bool)
    if program.labels:
        labels = model.schema.decide(raw).tolist()
        decided = np.array([ok and row[0] != label for ok, row, label in zip(is_read, answers, labels, strict=True)])
        limits = [0.0, log_odds(model.schema.threshold)] if raw.shape[1] == 2 else 0.0
        second, first = np.sort(raw - limits, axis=1)[:, -2:].T
        is_wrong |= decided & (first - second > bound + 1e-14 * np.abs(first))  # else it is a tie
    if is_wrong.any():
        i = int(is_wrong.argmax())
        got = answers[i] if is_read[i] else "nothing"
        raise _Difference(
            i, f"{got} instead of {expected[i].tolist()} in {is_wrong.sum()} of {plural(len(raw), 'row')}"
        )
    return int((~is_read).sum()), float(apart[is_read].max(initial=0.0)), bound, int(decided.sum())


def _rounding(program: Program, model: RowFunction, X: Floats) -> float:
    """Return by how much the rounding of sums can change a score: operations times their size, in float64.

    Every step is a sum of products; one of k terms has an error of at most k + 2 roundings of the sum of their sizes,
    and passes on the errors of what it reads (Higham 2002, section 3.1).
    """
    unit = 2.0**-53
    largest = np.maximum(np.abs(model.schema.ranges).max(axis=1), np.abs(X).max(axis=0))
    sizes = {f"x{j}": float(value) + 1.0 for j, value in enumerate(largest)}
    errors = {name: 4 * unit * value for name, value in sizes.items()}
    worst = 0.0
    for stage in program.stages:
        for name, node in stage.items():
            if name.startswith("near"):
                sizes[name] = max(abs(node.b), abs(node.a.b))
                errors[name] = 4 * unit * (sizes[name] + 1.0)
            elif isinstance(node, Interpolate):
                slopes = np.abs(np.diff(node.values) / np.diff(node.knots)).max()
                end = float(np.abs(node.knots).max())
                sizes[name] = float(np.abs(node.values).max())
                reach = 2 * len(node.knots) * slopes * (2 * end + 1)
                errors[name] = 4 * unit * (reach + sizes[name] + slopes * (end + 1))
            elif isinstance(node, Dot) and sizes.keys() >= set(node.names):
                weights = np.abs(node.weights)
                terms = np.array([sizes[each] for each in node.names])
                sizes[name] = float(weights @ terms) + abs(node.constant)
                passed = float(weights @ np.array([errors[each] for each in node.names]))
                errors[name] = passed + (len(terms) + 2) * unit * sizes[name]
                worst = max(worst, errors[name]) if name.startswith("score") else worst
    return 16 * worst  # the model rounds too, and sums in another order
