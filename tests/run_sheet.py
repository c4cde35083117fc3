"""Calculate an Excel sheet: a small evaluator of its formulas, which shares nothing with what writes them."""

from __future__ import annotations

import math
import re
import zipfile
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

_NS = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_TOKEN = re.compile(r'\s*("(?:[^"]|"")*"|(?:\w+!)?\$?[A-Z]+\$?\d+(?::\$?[A-Z]+\$?\d+)?|\d+\.?\d*(?:[eE][+-]?\d+)?|'
                    r"[A-Z]+|<=|>=|<>|[-+*/&(),<>=])")  # fmt: skip


class Book:
    """The cells of a file."""

    def __init__(self, path: Path) -> None:
        with zipfile.ZipFile(path) as archive:
            names = [each.attrib["name"] for each in ElementTree.fromstring(archive.read("xl/workbook.xml")).iter(
                f"{_NS}sheet")]  # fmt: skip
            self.cells: dict[tuple[str, str], tuple[str, Any]] = {}
            for k, name in enumerate(names, 1):
                for cell in ElementTree.fromstring(archive.read(f"xl/worksheets/sheet{k}.xml")).iter(f"{_NS}c"):
                    self.cells[name, cell.attrib["r"]] = _content(cell)
        self.known: dict[tuple[str, str], Any] = {}

    def value(self, sheet: str, place: str) -> Any:
        """Return the value of a cell, None of an empty one."""
        key = sheet, place
        if key not in self.known:
            kind, content = self.cells.get(key, ("value", None))
            self.known[key] = _Formula(self, sheet, content).run() if kind == "formula" else content
        return self.known[key]

    def table(self, sheet: str) -> list[dict[str, Any]]:
        """Return the rows of a sheet by the titles in its first line."""
        titles = {}
        for name, place in self.cells:
            if name == sheet and (match := re.fullmatch(r"([A-Z]+)1", place)):
                titles[match[1]] = self.value(sheet, place)
        last = max(int(re.sub(r"\D", "", place)) for name, place in self.cells if name == sheet)
        return [{title: self.value(sheet, f"{column}{k}") for column, title in titles.items()}
                for k in range(2, last + 1)]  # fmt: skip


def _content(cell: Any) -> tuple[str, Any]:
    formula, value, text = (cell.find(f"{_NS}{name}") for name in ("f", "v", "is"))
    if formula is not None:
        return "formula", formula.text
    return "value", float(value.text) if value is not None else text.find(f"{_NS}t").text or ""


class _Formula:
    def __init__(self, book: Book, sheet: str, text: str) -> None:
        self.book, self.sheet, self.tokens = book, sheet, _TOKEN.findall(text)
        assert "".join(self.tokens) == text.replace(" ", "") or '"' in text, text

    def run(self) -> Any:
        value = self._compare()
        assert not self.tokens, self.tokens[:5]
        return value

    def _take(self, *wanted: str) -> str:
        return self.tokens.pop(0) if self.tokens and self.tokens[0] in wanted else ""

    def _compare(self) -> Any:
        a = self._join()
        while op := self._take("=", "<>", "<", ">", "<=", ">="):
            b = self._join()
            if op in ("=", "<>"):
                same = np.vectorize(_same, otypes=[bool])(a, b) if isinstance(a, np.ndarray) else _same(a, b)
                a = same if op == "=" else not same
            else:
                a = {"<": lambda x, y: x < y, ">": lambda x, y: x > y, "<=": lambda x, y: x <= y,
                     ">=": lambda x, y: x >= y}[op](a, b)  # fmt: skip
        return a

    def _join(self) -> Any:
        a = self._add()
        while self._take("&"):
            a = _text(a) + _text(self._add())
        return a

    def _add(self) -> Any:
        a = self._multiply()
        while op := self._take("+", "-"):
            b = self._multiply()
            a = _number(a) + _number(b) if op == "+" else _number(a) - _number(b)
        return a

    def _multiply(self) -> Any:
        a = self._atom()
        while op := self._take("*", "/"):
            b = self._atom()
            a = _number(a) * _number(b) if op == "*" else _number(a) / _number(b)
        return a

    def _atom(self) -> Any:
        token = self.tokens.pop(0)
        if token == "-":
            return -self._atom()
        if token == "(":
            value = self._compare()
            assert self._take(")")
            return value
        if token.startswith('"'):
            return token[1:-1].replace('""', '"')
        if re.fullmatch(r"\d.*", token):
            return float(token)
        if self._take("("):
            return self._call(token)
        if token in ("TRUE", "FALSE"):
            return token == "TRUE"
        return self._reference(token)

    def _call(self, name: str) -> Any:
        if name == "IF":  # the other branch may not be a number
            condition = self._compare()
            assert self._take(",")
            yes = self._compare()
            assert self._take(",")
            no = self._compare()
            assert self._take(")")
            return yes if condition else no
        arguments = []
        while not self._take(")"):
            arguments.append(self._compare())
            self._take(",")
        return _FUNCTIONS[name](*arguments)

    def _reference(self, token: str) -> Any:
        sheet, _, place = token.rpartition("!")
        sheet, place = sheet or self.sheet, place.replace("$", "")
        if ":" not in place:
            return self.book.value(sheet, place)
        (a, i), (b, j) = (re.fullmatch(r"([A-Z]+)(\d+)", end).groups() for end in place.split(":"))
        assert i == j
        values = [self.book.value(sheet, f"{_letters(k)}{i}") for k in range(_column(a), _column(b) + 1)]
        return np.array(values, object)


def _column(letters: str) -> int:
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - 64
    return number


def _letters(number: int) -> str:
    text = ""
    while number:
        number, rest = divmod(number - 1, 26)
        text = chr(65 + rest) + text
    return text


def _number(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return np.array([_number(each) for each in value], float)
    if isinstance(value, str):
        raise TypeError(f"#VALUE! {value!r}")
    return 0.0 if value is None else float(value)


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return str(int(value)) if value == int(value) else repr(value)
    return str(value)


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, str) or isinstance(b, str):
        return _text(a).lower() == _text(b).lower() if (a is None or isinstance(a, str)) else False
    return _number(a) == _number(b)


def _exact(a: Any, b: Any) -> Any:
    return np.array([_text(a) == _text(each) for each in b]) if isinstance(b, np.ndarray) else _text(a) == _text(b)


def _sum_product(*parts: Any) -> float:
    arrays = [np.atleast_1d(np.array([_number(each) for each in np.atleast_1d(part)], float)) for part in parts]
    return float(np.prod(np.broadcast_arrays(*arrays), axis=0).sum())


def _value(text: str) -> Any:
    return float(text) if re.fullmatch(r"[\d.]+", text) else "#VALUE!"


def _date_field(name: str) -> Any:
    """Return a function of the number of a day, counted from 30 December 1899."""

    def read(value: Any) -> Any:
        if not isinstance(value, float):
            return "#VALUE!"
        moment = datetime(1899, 12, 30) + timedelta(seconds=round(value * 86_400))
        return float(getattr(moment, name))

    return read


_FUNCTIONS: dict[str, Any] = {
    "ISNUMBER": lambda value: isinstance(value, float),
    "SUMPRODUCT": _sum_product,
    "EXACT": _exact,
    "LOWER": lambda value: _text(value).lower(),
    "TRIM": lambda value: _text(value).strip(),
    "MID": lambda text, start, length: _text(text)[int(start) - 1 : int(start) - 1 + int(length)],
    "VALUE": _value,
    "MAX": lambda *values: max(map(_number, values)),
    "MIN": lambda *values: min(map(_number, values)),
    "MOD": lambda a, b: _number(a) % _number(b),
    "AND": lambda *values: all(values),
    "OR": lambda *values: any(values),
    **{name.upper(): _date_field(name) for name in ("year", "month", "day", "hour", "minute", "second")},
    "EXP": lambda value: math.exp(_number(value)),
}
