"""The steps of a model as an Excel sheet that calculates: numbers of the model in one sheet, rows in another."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import numpy as np

from creases.errors import InputError
from creases.tables._model.program import (
    FIELDS,
    Choose,
    Dot,
    Exp,
    Field,
    If,
    Interpolate,
    Missing,
    Name,
    Number,
    Operation,
    Program,
    Word,
)

#: Columns of a sheet, and letters of a formula at most.
MAX_COLUMNS, MAX_LETTERS = 16_384, 8_192

_FUNCTIONS = {"year": "YEAR", "month": "MONTH", "day": "DAY", "hour": "HOUR", "minute": "MINUTE", "second": "SECOND"}


def write_sheet(program: Program, rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Write rows with formulas that predict them; copy the formulas down for more rows."""
    book = _Book(program)
    outputs = [*(["decision"] if program.decision else []), *program.numbers]
    steps = [name for stage in program.stages for name in stage if name not in outputs]
    titles = [*program.columns, *outputs, *steps]
    if len(titles) > MAX_COLUMNS:
        raise InputError("path", "be of a model with fewer steps for a sheet", f"{len(titles)} columns", "export SQL")
    book.place = {name: column_letters(k) for k, name in enumerate(titles)}
    nodes = {name: node for stage in program.stages for name, node in stage.items()}
    formulas = {name: book.formula(nodes[name]) for name in [*outputs, *steps]}
    longest = max(map(len, formulas.values()))
    if longest > MAX_LETTERS:
        raise InputError("path", "be of a smaller model for a sheet", f"a formula of {longest} letters", "export SQL")
    named = {"decision": f"predicted {program.target}"}
    lines = [[_text_cell(named.get(name, name)) for name in titles]]
    for number, row in enumerate(rows, 2):
        cells = [_cell(row[name]) for name in program.columns]
        cells += [_formula_cell(formulas[name].replace("{row}", str(number))) for name in [*outputs, *steps]]
        lines.append(cells)
    _write_book(path, {"rows": lines, "model": book.lines})


def column_letters(k: int) -> str:
    """Return the name of column k, from 0: A, B, ..., Z, AA."""
    letters = ""
    while k >= 0:
        k, rest = divmod(k, 26)
        letters, k = chr(65 + rest) + letters, k - 1
    return letters


class _Book:
    """The numbers of a model in a sheet of their own, where they keep all digits, and formulas that refer to them."""

    def __init__(self, program: Program) -> None:
        self.lines: list[list[str]] = [[_text_cell(f"numbers of the model of {program.target}")]]
        self.place: dict[str, str] = {}

    def store(self, values: Sequence[Any]) -> str:
        """Return the place of values in a new line."""
        self.lines.append([_cell(value) for value in values])
        number = len(self.lines)
        last = column_letters(len(values) - 1)
        return f"model!$A${number}:${last}${number}" if len(values) > 1 else f"model!$A${number}"

    def formula(self, node: Any) -> str:
        if isinstance(node, int | float):
            return str(node) if isinstance(node, int) else self.store([node])
        return _EXCEL[type(node)](self, node)

    def cell(self, name: str) -> str:
        return f"${self.place[name]}{{row}}"

    def number(self, node: Number) -> str:
        cell = self.cell(node.column)
        return f"IF(ISNUMBER({cell}),{cell},{self.store([node.missing])})"

    def missing(self, node: Missing) -> str:
        cell = self.cell(node.column)
        if node.known is not None:
            return f"IF(SUMPRODUCT(EXACT(LOWER(TRIM({cell})),{self.store(node.known)})*1)>0,0,1)"
        return f'IF({cell}="",1,0)' if node.is_date else f"IF(ISNUMBER({cell}),0,1)"

    def field(self, node: Field) -> str:
        cell, (start, length) = self.cell(node.column), FIELDS[node.part]
        digits = f"MID({cell},{start},{length})"
        read = (
            f'IF(ISNUMBER({cell}),{_FUNCTIONS[node.part]}({cell}),IF({digits}="",{int(node.missing)},VALUE({digits})))'
        )
        return f'IF({cell}="",{int(node.missing)},{read})'

    def choose(self, node: Choose) -> str:
        cell = self.cell(node.column)
        text = f"LOWER(TRIM({cell}))" if node.ignores_case else f'{cell}&""'
        words = {word: value - node.other for word, value in node.values.items() if value != node.other}
        other = self.store([node.other])
        chosen = other
        if words:
            changes = f"EXACT({text},{self.store(list(words))})*{self.store(list(words.values()))}"
            chosen = f"{other}+SUMPRODUCT({changes})"
        return f'IF({cell}="",{self.store([node.missing])},{chosen})'

    def interpolate(self, node: Interpolate) -> str:
        slopes = np.diff(node.values) / np.diff(node.knots)
        ends = slopes[-1] if node.is_open else 0.0
        changes = np.diff(np.concatenate([[0.0], slopes, [ends]]))
        used = np.flatnonzero(changes)
        knots, steps = self.store(node.knots[used].tolist()), self.store(changes[used].tolist())
        x = self.cell(node.of.name)
        return f"{self.store([float(node.values[0])])}+SUMPRODUCT(({x}>{knots})*({x}-{knots})*{steps})"

    def dot(self, node: Dot) -> str:
        """Return a sum over the range of columns from the first to the last step."""
        total = self.store([node.constant])
        if node.names:
            columns = list(self.place)
            where = {name: columns.index(name) for name in node.names}
            first, last = min(where.values()), max(where.values())
            weights = np.zeros(last - first + 1)
            for name, weight in zip(node.names, node.weights.tolist(), strict=True):
                weights[where[name] - first] += weight
            cells = f"${column_letters(first)}{{row}}:${column_letters(last)}{{row}}"
            total = f"{total}+SUMPRODUCT({self.store(weights.tolist())},{cells})"
        return f"MAX(0,{total})" if node.is_positive else total

    def operation(self, node: Operation) -> str:
        a, b = self.formula(node.a), self.formula(node.b)
        named = {"max": "MAX", "min": "MIN", "%": "MOD", "and": "AND", "or": "OR"}
        return f"{named[node.op]}({a},{b})" if node.op in named else f"({a}{node.op}{b})"

    def choice(self, node: If) -> str:
        return f"IF({self.formula(node.condition)},{self.formula(node.yes)},{self.formula(node.no)})"


def _word(_: _Book, node: Word) -> str:
    quoted = str(node.label).replace('"', '""')
    return f'"{quoted}"' if isinstance(node.label, str) else str(node.label).upper()


_EXCEL: Mapping[type, Callable[[_Book, Any], str]] = {
    Number: _Book.number,
    Missing: _Book.missing,
    Field: _Book.field,
    Choose: _Book.choose,
    Name: lambda book, node: book.cell(node.name),
    Operation: _Book.operation,
    If: _Book.choice,
    Exp: lambda book, node: f"EXP({book.formula(node.value)})",
    Interpolate: _Book.interpolate,
    Dot: _Book.dot,
    Word: _word,
}


# -- the file: a few XML files in an archive --------------------------------------------------------------------------

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_SHEET = "application/vnd.openxmlformats-officedocument.spreadsheetml"


def _text_cell(text: str) -> str:
    return f'<c t="inlineStr"><is><t xml:space="preserve">{escape(text)}</t></is></c>'


def _cell(value: Any) -> str:
    if value is None:
        return "<c/>"
    return _text_cell(value) if isinstance(value, str) else f"<c><v>{float(value)!r}</v></c>"


def _formula_cell(formula: str) -> str:
    return f"<c><f>{escape(formula)}</f></c>"


def _write_book(path: Path, sheets: Mapping[str, list[list[str]]]) -> None:
    names = list(sheets)
    kinds = "".join(
        f'<Override PartName="/xl/worksheets/sheet{k}.xml" ContentType="{_SHEET}.worksheet+xml"/>'
        for k in range(1, len(names) + 1)
    )
    xml = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
    files = {
        "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types"><Default Extension="rels" ContentType='
        '"application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType='
        '"application/xml"/><Override PartName="/xl/workbook.xml" '
        f'ContentType="{_SHEET}.sheet.main+xml"/>{kinds}</Types>',
        "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="rId1" '
        f'Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>'
        + "".join(f'<sheet name="{name}" sheetId="{k}" r:id="rId{k}"/>' for k, name in enumerate(names, 1))
        + '</sheets><calcPr calcId="191029" fullCalcOnLoad="1"/></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
        + "".join(
            f'<Relationship Id="rId{k}" Type="{_OFFICE}/worksheet" Target="worksheets/sheet{k}.xml"/>'
            for k in range(1, len(names) + 1)
        )
        + "</Relationships>",
    }
    for k, lines in enumerate(sheets.values(), 1):
        body = "".join(_line(number, cells) for number, cells in enumerate(lines, 1))
        files[f"xl/worksheets/sheet{k}.xml"] = f'<worksheet xmlns="{_MAIN}"><sheetData>{body}</sheetData></worksheet>'
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), xml + text)


def _line(number: int, cells: Sequence[str]) -> str:
    placed = (f'<c r="{column_letters(k)}{number}"{cell[2:]}' for k, cell in enumerate(cells) if cell != "<c/>")
    return f'<row r="{number}">{"".join(placed)}</row>'
