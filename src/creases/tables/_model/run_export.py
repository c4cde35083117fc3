"""Run an exported model on cells in a process of its own, which has nothing of creases: its file is all that is known.

    python run_export.py FILE < cells.json > answers.json

The cells have ``columns`` (their names), ``rows`` (lists of cells), ``table`` (its name), ``labeled`` (whether there
are classes) and ``count`` (how many answers a row has).
"""

import contextlib
import json
import re
import runpy
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import partial
from math import exp, floor
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

Answers = list[list[Any]]  #: of each row the decision, if there are classes, and the numbers; None where there is none


def run_python(path: Path, columns: Sequence[str], rows: Sequence[Sequence[Any]], labeled: bool) -> tuple[str, Answers]:
    """Return what a module answers."""
    module, answers = runpy.run_path(str(path)), []
    for cells in rows:
        row = dict(zip(columns, cells, strict=True))
        try:
            decision = [module["predict"](row)] if labeled else []
            answers.append([*decision, *module["outputs"](row).values()])
        except ValueError:
            answers.append([])
    return "Python", answers


def run_sql(path: Path, columns: Sequence[str], rows: Sequence[Sequence[Any]], table: str) -> tuple[str, Answers]:
    """Return what a SELECT answers, from a table without types."""
    quoted = ['"' + name.replace('"', '""') + '"' for name in [table, *columns]]
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(f"CREATE TABLE {quoted[0]} ({', '.join(quoted[1:])})")
        marks = ", ".join("?" * len(columns))
        connection.executemany(f"INSERT INTO {quoted[0]} VALUES ({marks})", rows)
        answers = connection.execute(path.read_bytes().decode()).fetchall()
    return "SQLite", [list(row) for row in answers]


def run_onnx(path: Path, rows: Sequence[Sequence[Any]], labeled: bool) -> tuple[str, Answers]:
    """Return what a graph answers: in onnxruntime, or where it is not installed in the reference of ONNX."""
    try:
        import onnxruntime

        session: Any = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        inputs = [(each.name, each.type == "tensor(string)") for each in session.get_inputs()]
    except ImportError:
        from onnx import TensorProto
        from onnx.reference import ReferenceEvaluator

        session = ReferenceEvaluator(str(path))
        kinds = [(each.name, each.type.tensor_type.elem_type) for each in session.proto_.graph.input]
        inputs = [(name, kind == TensorProto.STRING) for name, kind in kinds]
    columns = [["" if cell is None else cell for cell in column] for column in zip(*rows, strict=True)]
    if inputs[0][0] == "X":
        feed = {"X": np.array([[np.nan if cell is None else cell for cell in row] for row in rows], np.float64)}
    else:
        feed = {
            name: np.array(cells, object)[:, None]
            if is_text
            else np.array([np.nan if cell == "" else cell for cell in cells], np.float64)[:, None]
            for (name, is_text), cells in zip(inputs, columns, strict=True)
        }
    by = type(session).__module__.split(".")[0]
    if not labeled:
        return by, session.run(["prediction"], feed)[0].tolist()
    labels, numbers = session.run(["label", "probabilities"], feed)
    return by, [[label, *row] for label, row in zip(labels.tolist(), numbers.tolist(), strict=True)]


def run_sheet(path: Path, first: int, count: int) -> tuple[str, Answers]:
    """Return what the rows of a sheet are calculated as: by LibreOffice, or without it by this module."""
    office, by, options = shutil.which("soffice") or shutil.which("libreoffice"), "the built-in calculator", {}
    with tempfile.TemporaryDirectory() as folder:
        source = path
        if office:
            command = [office, f"-env:UserInstallation=file://{folder}/profile", "--headless", "--convert-to"]
            command += ["xlsx:Calc MS Excel 2007 XML", "--outdir", folder, str(path)]
            if not subprocess.run(command, capture_output=True).returncode:
                source, by, options = Path(folder, path.name), "LibreOffice", {"is_calculated": True}
        book = Book(source, **options)
    last = max(row for name, _, row in book.cells if name == "rows")
    answers = [[book.value("rows", first + k, row) for k in range(count)] for row in range(2, last + 1)]
    return by, answers


# -- sheets -----------------------------------------------------------------------------------------------------------

_NS = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_PLACE = re.compile(r"([A-Z]+)([0-9]+)")

#: All that a formula may consist of: places, texts without quotes in them, numbers, functions, operators.
_TOKEN = re.compile(
    r"(?P<sheet>model!)?\$(?P<column>[A-Z]+)(?P<fixed>\$?)(?P<row>[0-9]+)(?::\$(?P<last>[A-Z]+)\$?[0-9]+)?"
    r'|(?P<plain>"[^"\\]*"|[0-9.]+|[A-Z]+(?=\()|[-+*/(),<>])|(?P<equal>=)'
)


class Book:
    """The cells of a file; formulas are calculated, or as they were by another program."""

    def __init__(self, path: Path, *, is_calculated: bool = False) -> None:
        self.cells: dict[tuple[str, int, int], Any] = {}  #: a value or a formula, by sheet, column and row
        self._known: dict[tuple[str, int, int], Any] = {}
        self._compiled: dict[str, Any] = {}
        with zipfile.ZipFile(path) as archive:
            parts = {name: ElementTree.fromstring(archive.read(name)) for name in archive.namelist() if "/" in name}
        shared = [_text_of(each) for each in parts.get("xl/sharedStrings.xml", ())]
        for k, sheet in enumerate(parts["xl/workbook.xml"].iter(f"{_NS}sheet"), 1):
            for cell in parts[f"xl/worksheets/sheet{k}.xml"].iter(f"{_NS}c"):
                letters, row = _PLACE.findall(cell.attrib["r"])[0]
                key = sheet.attrib["name"], column_number(letters), int(row)
                formula = None if is_calculated else cell.find(f"{_NS}f")
                kind, text = cell.attrib.get("t", "n"), _text_of(cell)
                if formula is not None:
                    self.cells[key] = Formula(formula.text or "")
                elif kind in ("inlineStr", "str") or not text or kind == "e":
                    self.cells[key] = text if kind in ("inlineStr", "str") else None
                else:
                    self.cells[key] = shared[int(text)] if kind == "s" else text == "1" if kind == "b" else float(text)

    def value(self, sheet: str, column: int, row: int) -> Any:
        """Return the value of a cell, None of an empty one or of an error."""
        value = self.calculate(sheet, row, column)
        return None if value != value else value

    def calculate(self, sheet: str, row: int, first: int, last: int | None = None) -> Any:
        """Return the value of a cell, NaN of an error, or the values of cells side by side."""
        if last is not None:
            return np.array([self.calculate(sheet, row, k) for k in range(first, last + 1)], object)
        key = sheet, first, row
        if key not in self._known:
            content = self.cells.get(key)
            self._known[key] = self._run(content, row) if isinstance(content, Formula) else content
        return self._known[key]

    def _run(self, formula: "Formula", row: int) -> Any:
        text = re.sub(rf"(\$[A-Z]+){row}(?![0-9])", r"\g<1>0", formula)  # the same in every row
        if text not in self._compiled:
            matches = [*_TOKEN.finditer(text)]
            assert "".join(match[0] for match in matches) == text, text
            self._compiled[text] = compile("".join(map(_translate, matches)), "formula", "eval")
        return eval(self._compiled[text], {"CELL": self.calculate, **_FUNCTIONS}, {"ROW": row})


class Formula(str):
    """The text of a formula."""


def _translate(match: re.Match[str]) -> str:
    """Return a part of a formula as Python has it."""
    if match["plain"] is not None:
        return match["plain"]
    if match["equal"]:
        return "=="
    columns = [str(column_number(letters)) for letters in (match["column"], match["last"]) if letters]
    place = match["row"] if match["fixed"] else "ROW"
    return f"CELL({'model' if match['sheet'] else 'rows'!r}, {place}, {', '.join(columns)})"


def _text_of(node: Any) -> str:
    text = "".join(each.text or "" for each in node.iter() if each.tag in (f"{_NS}t", f"{_NS}v"))
    return re.sub("_x([0-9A-Fa-f]{4})_", lambda match: chr(int(match[1], 16)), text)


def column_number(letters: str) -> int:
    """Return the number of a column, from 0."""
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - 64
    return number - 1


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).upper()
    return value if isinstance(value, str) else "" if value is None else f"{value:.15g}"


def _each(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of texts that takes arrays of them too."""

    def call(*values: Any) -> Any:
        if not any(isinstance(value, np.ndarray) for value in values):
            return function(*values)
        arrays = (np.array(value, object) for value in values)
        return np.array([function(*each) for each in np.broadcast(*arrays)], object)

    return call


def _sum_product(*parts: Any) -> float:
    numbers = [[0.0 if isinstance(x, str) else float(x or 0) for x in np.atleast_1d(part)] for part in parts]
    return float(np.prod(numbers, axis=0).sum())


def _date_part(part: str, days: Any) -> float:
    """Return a field of a date, which is a number of days since 1899 in a sheet; NaN of other cells."""
    if not isinstance(days, float) or not 0.0 <= days < 2_958_466.0:
        return float("nan")
    return float(getattr(datetime(1899, 12, 30) + timedelta(seconds=round(days * 86_400)), part.lower()))


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "IF": lambda condition, yes, no: yes if condition else no,
    "ISNUMBER": lambda value: isinstance(value, float),
    "ISLOGICAL": lambda value: isinstance(value, bool),
    "N": lambda value: float(value) if isinstance(value, float | bool) else 0.0,
    "NA": lambda: np.nan,
    "SUMPRODUCT": _sum_product,
    "SUM": _sum_product,
    "EXACT": _each(lambda a, b: _text(a) == _text(b)),
    "LOWER": _each(lambda text: _text(text).lower()),
    "TRIM": _each(lambda text: re.sub(" +", " ", _text(text)).strip(" ")),
    "SUBSTITUTE": _each(lambda text, old, new, count=-1: _text(text).replace(_text(old), new, int(count))),
    "CONCATENATE": lambda *texts: "".join(map(_text, texts)),
    "MID": lambda text, start, length: text[start - 1 : start - 1 + length],
    "VALUE": lambda text: float(text) if text.isdigit() else np.nan,
    "MAX": lambda *values: float(np.max(np.hstack(values).astype(float))),
    "MIN": lambda *values: float(np.min(values)),
    "INT": floor,
    "MOD": lambda a, b: a % b,
    "AND": lambda *values: all(values),
    "OR": lambda *values: any(values),
    "EXP": exp,
    "MATCH": lambda value, values, _: list(values).index(value) + 1,
    "INDEX": lambda values, _, place: values[place - 1],
    **{part: partial(_date_part, part) for part in ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND")},
}


def main() -> None:
    """Run the file that is named, and print its answers."""
    path, given = Path(sys.argv[1]), json.load(sys.stdin)
    columns, rows, labeled = given["columns"], given["rows"], given["labeled"]
    by, answers = {
        ".py": lambda: run_python(path, columns, rows, labeled),
        ".sql": lambda: run_sql(path, columns, rows, given["table"]),
        ".onnx": lambda: run_onnx(path, rows, labeled),
        ".xlsx": lambda: run_sheet(path, len(columns), given["count"]),
    }[path.suffix]()
    json.dump({"by": by, "answers": answers}, sys.stdout)


if __name__ == "__main__":
    main()
