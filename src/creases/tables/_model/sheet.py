"""The steps of a model as an Excel sheet that calculates: numbers of the model in one sheet, rows in another.

Cells are found by number. Texts of a table are the contents of cells, and never part of a formula.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import numpy as np

from creases.errors import InputError
from creases.tables._columns import nodes
from creases.tables._model import program as steps
from creases.tables._model.program import Program

#: Columns of a sheet, and letters of a formula at most.
MAX_COLUMNS, MAX_LETTERS = 16_384, 8_192

#: Functions that return the fields of a date, which is a number of days, by the place of their digits in a text.
_DATE_PARTS = {1: "YEAR", 6: "MONTH", 9: "DAY", 12: "HOUR", 15: "MINUTE", 18: "SECOND"}
_TIME_PARTS = {1: "HOUR", 4: "MINUTE", 7: "SECOND"}


def write_sheet(program: Program, rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Write rows with formulas that predict them; copy the formulas down for more rows."""
    outputs = program.titles
    nodes = {name: node for stage in program.stages for name, node in stage.items()}
    texts = {f"text{k}": k for k in range(len(program.inputs)) if f"missing{k}" in nodes}
    steps = [*outputs, *texts, *(name for name in nodes if name not in outputs)]
    if len(program.inputs) + len(steps) > MAX_COLUMNS:
        got = f"{len(program.inputs) + len(steps)} columns"
        raise InputError("path", "be of a model with fewer steps for a sheet", got, "export SQL")
    book = _Book(program, {name: len(program.inputs) + k for k, name in enumerate(steps)})
    formulas = [book.text(texts[name]) if name in texts else book.write(name, nodes[name]) for name in steps]
    longest = max(map(len, formulas))
    if longest > MAX_LETTERS:
        raise InputError("path", "be of a smaller model for a sheet", f"a formula of {longest} letters", "export SQL")
    columns = [each.name for each in program.inputs]
    lines = [[_text_cell(title) for title in [*columns, *(outputs.get(name, name) for name in steps)]]]
    for number, row in enumerate(rows, 2):
        cells = [f"<c><f>{escape(formula.replace('{row}', str(number)))}</f></c>" for formula in formulas]
        lines.append([*(_cell(row[name]) for name in columns), *cells])
    about = [[_text_cell(each.name), _text_cell(each.about)] for each in program.inputs]
    about = [[_text_cell("column"), _text_cell("what its cells are to be")], *about]
    _write_book(path, {"rows": lines, "columns": about, "model": book.lines})


def column_letters(k: int) -> str:
    """Return the name of column k, from 0: A, B, ..., Z, AA."""
    letters = ""
    while k >= 0:
        k, rest = divmod(k, 26)
        letters, k = chr(65 + rest) + letters, k - 1
    return letters


class _Book:
    """The numbers and texts of a model in a sheet of their own, and formulas that refer to them."""

    def __init__(self, program: Program, place: Mapping[str, int]) -> None:
        self.program, self.place = program, place  #: the number of each step's column
        self.lines: list[list[str]] = [[_text_cell("numbers and texts of the model")]]
        spaces = nodes.SPACES.replace(" ", "")
        self.store(spaces)
        self.spaces = [f"model!${column_letters(k)}$2" for k in range(len(spaces))]

    def store(self, values: Sequence[Any]) -> str:
        """Return the place of values in a new line."""
        self.lines.append([_cell(value) for value in values])
        number = len(self.lines)
        last = column_letters(len(values) - 1)
        return f"model!$A${number}:${last}${number}" if len(values) > 1 else f"model!$A${number}"

    def step(self, name: str) -> str:
        return f"${column_letters(self.place[name])}{{row}}"

    def write(self, name: str, node: Any) -> str:
        """Return the formula of a step; a prediction has none where a cell is not read."""
        formula = self.formula(node)
        if self.program.unread and name in self.program.titles:
            return f"IF(SUM({self.range(list(self.program.unread))})=0,{formula},NA())"
        return formula

    def text(self, k: int) -> str:
        """Return the formula of the text of a cell with one space in place of all white space, and none around it."""
        column, text = self.program.inputs[k], self.blank(f"${column_letters(k)}{{row}}")
        if column.ignores == "marks":
            text = f'SUBSTITUTE(SUBSTITUTE({text},"_"," "),"-"," ")'
        if column.cells == "time":
            return f'CONCATENATE(IF(MID(TRIM({text}),2,1)=":","0",""),TRIM({text}))'
        return f"TRIM({text})"

    def blank(self, text: str) -> str:
        """Return the formula of a text with a space in place of each white space."""
        for place in self.spaces:
            text = f'SUBSTITUTE({text},{place}," ")'
        return text

    def formula(self, node: Any) -> str:
        match node:
            case int():
                return str(node)
            case float():
                return self.store([node])
            case nodes.Name(name):
                return self.step(name)
            case nodes.If(condition, yes, no):
                return f"IF({self.formula(condition)},{self.formula(yes)},{self.formula(no)})"
            case nodes.Operation("+" | "-" | "*" | "/" | "<" | "=" as op, a, b):
                return f"({self.formula(a)}{op}{self.formula(b)})"
            case nodes.Operation(op, a, b):
                return f"{'MOD' if op == '%' else op.upper()}({self.formula(a)},{self.formula(b)})"
            case steps.Exp(value):
                return f"EXP({self.formula(value)})"
            case nodes.Whole(value):
                return f"INT({self.formula(value)})"
            case nodes.Interpolate(name, knots, values):
                changes = np.diff(np.diff(values) / np.diff(knots), prepend=0.0, append=0.0)
                bends, x = self.store(knots.tolist()), f"MIN({self.step(name)},{self.store([float(knots[-1])])})"
                rise = f"SUMPRODUCT(({x}>{bends})*({x}-{bends})*{self.store(changes.tolist())})"
                return f"{self.store([float(values[0])])}+{rise}"
            case steps.Dot(names, weights, constant, is_positive):
                places = [self.place[name] - min(map(self.place.__getitem__, names)) for name in names]
                total = self.store([constant])
                if names:
                    line = np.zeros(max(places) + 1)
                    np.add.at(line, places, weights)
                    total += f"+SUMPRODUCT({self.store(line.tolist())},{self.range(names)})"
                return f"MAX(0,{total})" if is_positive else total
            case steps.Largest(names):
                return f"MAX({self.range(names)})"
            case steps.Decide(names, (first, second), "", limit):
                is_above = f"{self.step(names[0])}>{self.store([limit])}"
                return f"IF({is_above},{self.store([second])},{self.store([first])})"
            case steps.Decide(names, labels, largest):
                return f"INDEX({self.store(labels)},1,MATCH({self.step(largest)},{self.range(names)},0))"
        return self.cell(node, f"${column_letters(node.column)}{{row}}")

    def range(self, names: Sequence[str]) -> str:
        """Return the columns from the first to the last of some steps."""
        places = [self.place[name] for name in names]
        return f"${column_letters(min(places))}{{row}}:${column_letters(max(places))}{{row}}"

    def cell(self, node: Any, cell: str) -> str:
        k = node.column
        column, text = self.program.inputs[k], self.step(f"text{k}")
        match node:
            case nodes.Missing():
                marks = f"SUMPRODUCT(EXACT({text},{self.store(column.gaps[1:])})*1)" if column.gaps[1:] else "0"
                return f'IF({text}="",1,IF({marks}>0,1,0))'
            case nodes.Number(_, other):
                return f"IF(ISNUMBER({cell}),{cell},{self.store([other])})"
            case nodes.Shaped():
                for digit in "123456789":
                    text = f'SUBSTITUTE({text},"{digit}","0")'
                typed = "1" if column.cells == "date" else f"IF(N({cell})<1,1,0)"
                shapes = self.store(nodes.SHAPES[column.cells])
                return f"IF(ISNUMBER({cell}),{typed},IF(SUMPRODUCT(EXACT({text},{shapes})*1)>0,1,0))"
            case nodes.Field(_, start, length, absent):
                part = (_DATE_PARTS if column.cells == "date" else _TIME_PARTS)[start]
                digits = f"MID({text},{start},{length})"
                spelled = f'IF({self.step(f"shaped{k}")}=0,{absent},IF({digits}="",{absent},VALUE({digits})))'
                return f"IF(ISNUMBER({cell}),{part}({cell}),{spelled})"
            case nodes.Choose(_, texts, numbers, other):
                typed = self.pick(numbers, other, f"(N({cell})={{keys}})")
                match = f"EXACT(LOWER({text}),{{keys}})"
                if column.ignores == "nothing":  # where a text is taken out, white space is left
                    word = f'IF(ISLOGICAL({cell}),IF({cell},"True","False"),{cell})'  # as tables write truth values
                    rest = self.blank(f'SUBSTITUTE({word},{{keys}},"",1)')
                    match = f'(TRIM({rest})="")'
                spelled = self.pick({} if column.cells == "number" else texts, other, match)
                return f"IF(ISNUMBER({cell}),{typed},{spelled})"
        raise AssertionError(node)

    def pick(self, table: Mapping[Any, float], other: float, match: str) -> str:
        """Return the formula of the number whose key matches; the first of several."""
        table = {key: value - other for key, value in table.items() if value != other}
        base = self.store([other])
        if not table:
            return base
        keys, changes = self.store(list(table)), self.store(list(table.values()))
        return f"{base}+SUMPRODUCT({match.replace('{keys}', keys)}*{changes})"


# -- the file: a few XML files in an archive --------------------------------------------------------------------------

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_SHEET = "application/vnd.openxmlformats-officedocument.spreadsheetml"


#: Letters that XML cannot hold as they are, and what looks as if it stood for one.
_ESCAPED = re.compile("[\\x00-\\x08\\x0b-\\x1f\\ud800-\\udfff\\ufffe\\uffff]|_(?=x[0-9A-Fa-f]{4}_)")


def _text_cell(text: str) -> str:
    text = _ESCAPED.sub(lambda match: f"_x{ord(match[0]):04X}_", text)
    return f'<c t="inlineStr"><is><t xml:space="preserve">{escape(text)}</t></is></c>'


def _cell(value: Any) -> str:
    if value is None:
        return "<c/>"
    if isinstance(value, bool):
        return f'<c t="b"><v>{int(value)}</v></c>'
    return _text_cell(value) if isinstance(value, str) else f"<c><v>{float(value)!r}</v></c>"


def _write_book(path: Path, sheets: Mapping[str, list[list[str]]]) -> None:
    xml = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
    numbers, names = range(1, len(sheets) + 1), list(sheets)
    kinds = [
        f'<Override PartName="/xl/worksheets/sheet{k}.xml" ContentType="{_SHEET}.worksheet+xml"/>' for k in numbers
    ]
    listed = [f'<sheet name="{names[k - 1]}" sheetId="{k}" r:id="rId{k}"/>' for k in numbers]
    targets = {f"worksheets/sheet{k}.xml": "worksheet" for k in numbers}
    files = {
        "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types"><Default Extension="rels" ContentType='
        '"application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType='
        f'"application/xml"/><Override PartName="/xl/workbook.xml" ContentType="{_SHEET}.sheet.main+xml"/>'
        f"{''.join(kinds)}</Types>",
        "_rels/.rels": _relationships({"xl/workbook.xml": "officeDocument"}),
        "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>{"".join(listed)}</sheets>'
        '<calcPr calcId="191029" fullCalcOnLoad="1"/></workbook>',
        "xl/_rels/workbook.xml.rels": _relationships(targets),
    }
    for k, lines in enumerate(sheets.values(), 1):
        rows = "".join(
            f'<row r="{number}">'
            + "".join(f'<c r="{column_letters(j)}{number}"{cell[2:]}' for j, cell in enumerate(cells) if cell != "<c/>")
            + "</row>"
            for number, cells in enumerate(lines, 1)
        )
        files[f"xl/worksheets/sheet{k}.xml"] = f'<worksheet xmlns="{_MAIN}"><sheetData>{rows}</sheetData></worksheet>'
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), xml + text)


def _relationships(kinds: Mapping[str, str]) -> str:
    """Return the part of a file that says what its other parts are, by their places."""
    entries = [
        f'<Relationship Id="rId{k}" Type="{_OFFICE}/{kind}" Target="{target}"/>'
        for k, (target, kind) in enumerate(kinds.items(), 1)
    ]
    return f'<Relationships xmlns="{_PACKAGE}/relationships">{"".join(entries)}</Relationships>'
