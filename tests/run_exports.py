"""Exported models run as somebody would who has the file only: numbers (n, k) and decisions (n,) of rows."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from creases.tables._model.run_export import Book

Rows = list[dict[str, Any]]


def run_python(path: Path, rows: Rows, _: Any = None) -> tuple[Any, Any]:
    """Return numbers and decisions of a module in a process of its own."""
    code = (
        "import json, runpy, sys; m = runpy.run_path(sys.argv[1]); rows = json.load(sys.stdin); "
        "print(json.dumps([[list(m['outputs'](r).values()) for r in rows], [m['predict'](r) for r in rows]]))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", code, str(path)], input=json.dumps(rows), capture_output=True, text=True
    )
    if done.returncode:
        raise RuntimeError(done.stderr[-500:])
    numbers, decisions = json.loads(done.stdout)
    return np.array(numbers, object), np.array(decisions, object)


def run_sql(path: Path, rows: Rows, names: Mapping[str, str] | None = None) -> tuple[Any, Any]:
    """Return numbers and decisions of a SELECT in SQLite, from a table of texts and numbers without types."""
    columns = [(names or {}).get(name, name).replace('"', '""') for name in rows[0]]
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE rows ({})".format(", ".join(f'"{name}"' for name in columns)))
        marks = ", ".join("?" * len(columns))
        connection.executemany(f"INSERT INTO rows VALUES ({marks})", [list(row.values()) for row in rows])
        cursor = connection.execute(path.read_bytes().decode())
        return split_answers([title for title, *_ in cursor.description], cursor.fetchall())


def split_answers(titles: Sequence[str], answers: Sequence[Sequence[Any]]) -> tuple[Any, Any]:
    """Return numbers and decisions of answers, which begin with the decision if there are probabilities."""
    n_labels = int(any(title.startswith("probability ") for title in titles))
    return np.array([row[n_labels:] for row in answers], object), np.array([row[0] for row in answers], object)


def run_sheet(path: Path, rows: Rows, _: Any = None) -> tuple[Any, Any]:
    """Return numbers and decisions of a sheet whose input cells are replaced by those of rows."""
    book, width = Book(path), len(rows[0])
    titles = {column: title for (sheet, column, row), title in book.cells.items() if (sheet, row) == ("rows", 1)}
    is_output = {c: c >= width and title.startswith(("predicted ", "probability ")) for c, title in titles.items()}
    shown = [column for column in titles if is_output[column]]
    for number, row in enumerate(rows, 2):
        for column, cell in enumerate(row.values()):
            book.cells["rows", column, number] = float(cell) if type(cell) in (int, float) else cell
    answers = [[book.value("rows", column, number) for column in shown] for number in range(2, len(rows) + 2)]
    return split_answers([titles[column] for column in shown], answers)


def run_onnx(path: Path, rows: Rows, _: Any = None) -> tuple[Any, Any]:
    """Return numbers and decisions of an ONNX file, whose inputs are found by their metadata."""
    import onnxruntime

    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    stored = session.get_modelmeta().custom_metadata_map["columns"]
    columns = {each["input"]: each["name"] for each in json.loads(stored)}
    feed = {}
    for each in session.get_inputs():
        cells = [row[columns[each.name]] for row in rows]
        if each.type == "tensor(string)":
            feed[each.name] = np.array(["" if cell is None else cell for cell in cells], object)[:, None]
        else:
            feed[each.name] = np.array([np.nan if cell in (None, "") else cell for cell in cells], float)[:, None]
    outputs = [each.name for each in session.get_outputs()]
    if "label" in outputs:
        numbers, decisions = session.run(["probabilities", "label"], feed)
        return numbers, decisions.astype(object)
    (numbers,) = session.run(["prediction"], feed)
    return numbers, numbers[:, 0].astype(object)


RUNNERS = {".py": run_python, ".sql": run_sql, ".xlsx": run_sheet, ".onnx": run_onnx}
