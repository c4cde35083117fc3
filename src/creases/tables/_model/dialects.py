"""The steps of a model in other languages: one SELECT of SQL, and a Python module without imports but ``math``."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

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

#: Words of text that stand for a missing value in Python.
GAPS = ("", "na", "n/a", "nan", "null", "?")


def number_spellings(text: str) -> list[str]:
    """Return how a text that is a whole number may be written: 3 and 3.0."""
    return [text, f"{text}.0"] if re.fullmatch(r"-?\d+", text) else [text]


# -- SQL --------------------------------------------------------------------------------------------------------------


def write_sql(program: Program, table: str) -> str:
    """Return one SELECT of the predictions for a table's rows: CASE, arithmetic, EXP, SUBSTR and %.

    A count of all rows in every stage keeps databases from writing a step out wherever it is used, which would take
    exponentially long.
    """
    query = f"{_quote(table)} AS t"
    for number, stage in enumerate(program.stages):
        steps = [
            *(f"{_sql(node)} AS {_own(name)}" for name, node in stage.items()),
            f"COUNT(*) OVER () AS {_own(number)}",
        ]
        lines = ",\n  ".join(steps)
        source = f"({query}) AS s" if number else query
        query = f"SELECT {'s' if number else 't'}.*,\n  {lines}\nFROM {source}"
    names = [(name, name) for name in program.numbers]
    names = [("decision", f"predicted {program.target}"), *names] if program.decision else names
    shown = ",\n  ".join(f"{_own(name)} AS {_quote(title)}" for name, title in names)
    about = "".join(f"-- {name}: {text}\n" for name, text in program.columns.items())
    head = f"-- predictions of {program.target}; add columns of the table to the first list to see them too\n"
    return f"{head}{about}SELECT\n  {shown}\nFROM ({query}) AS s\n"


def _own(name: object) -> str:
    """Return the column of a step, which no column of the table is likely to be called."""
    return _quote(f"creases {name}")


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _literal(value: float) -> str:
    """Return a number that is a float in every database."""
    text = repr(float(value))
    return f"({text})" if text.startswith("-") else text


def _sql(node: Any) -> str:
    if isinstance(node, int | float):
        return str(node) if isinstance(node, int) and node >= 0 else _literal(node)
    return _SQL[type(node)](node)


def _sql_missing(node: Missing) -> str:
    cell = _quote(node.column)
    if node.known is not None:
        known = ", ".join(_text(word) for word in node.known)
        return f"CASE WHEN LOWER(TRIM({cell})) IN ({known}) THEN 0 ELSE 1 END"
    gone = f"{cell} IS NULL" + (f" OR CAST({cell} AS VARCHAR(30)) = ''" if node.is_date else "")
    return f"CASE WHEN {gone} THEN 1 ELSE 0 END"


def _sql_field(node: Field) -> str:
    start, length = FIELDS[node.part]
    digits = f"SUBSTR(CAST({_quote(node.column)} AS VARCHAR(30)), {start}, {length})"
    return f"CASE WHEN {digits} > '' THEN CAST({digits} AS INTEGER) ELSE {int(node.missing)} END"


def _sql_choose(node: Choose) -> str:
    cell = _quote(node.column)
    text = f"LOWER(TRIM({cell}))" if node.ignores_case else f"CAST({cell} AS VARCHAR(1000))"
    groups: dict[float, list[str]] = {}
    for word, value in node.values.items():
        if value != node.other:
            groups.setdefault(value, []).extend(map(_text, number_spellings(word)))
    whens = [f"WHEN {text} IN ({', '.join(words)}) THEN {_literal(value)}" for value, words in groups.items()]
    gone = f"WHEN {cell} IS NULL THEN {_literal(node.missing)} " if node.missing != node.other else ""
    if not gone and not whens:
        return _literal(node.other)
    return f"CASE {gone}{' '.join(whens)} ELSE {_literal(node.other)} END"


def _sql_interpolate(node: Interpolate) -> str:
    x = _own(node.of.name)
    whens = [f"WHEN {x} <= {_literal(node.knots[0])} THEN {_literal(node.values[0])}"]
    whens += [f"WHEN {x} < {_literal(b)} THEN {piece}" for b, piece in _pieces(node, x, _literal)]
    end = _open_end(node, x, _literal)
    return f"CASE {' '.join(whens)} ELSE {end} END"


def _pieces(node: Interpolate, x: str, literal: Callable[[float], str]) -> list[tuple[float, str]]:
    """Return the end of each piece, and the piece as a line from its start."""
    knots, values = node.knots.tolist(), node.values.tolist()
    pieces = []
    for a, b, u, v in zip(knots, knots[1:], values, values[1:], strict=False):
        slope = (v - u) / (b - a)
        pieces.append((b, literal(u) if not slope else f"{literal(u)} + {literal(slope)} * ({x} - {literal(a)})"))
    return pieces


def _open_end(node: Interpolate, x: str, literal: Callable[[float], str]) -> str:
    if not node.is_open:
        return literal(node.values[-1])
    slope = (node.values[-1] - node.values[-2]) / (node.knots[-1] - node.knots[-2])
    return f"{literal(node.values[-1])} + {literal(slope)} * ({x} - {literal(node.knots[-1])})"


def _sql_dot(node: Dot) -> str:
    total = _sum(node, _own, _literal)
    return f"CASE WHEN {total} > 0 THEN {total} ELSE 0 END" if node.is_positive else total


def _sum(node: Dot, name: Callable[[str], str], literal: Callable[[float], str]) -> str:
    parts = [
        name(step) if weight == 1 else f"{literal(weight)} * {name(step)}"
        for step, weight in zip(node.names, node.weights.tolist(), strict=True)
    ]
    return " + ".join([literal(node.constant), *parts])


def _sql_operation(node: Operation) -> str:
    a, b = _sql(node.a), _sql(node.b)
    if node.op in ("max", "min"):
        return f"CASE WHEN {a} {'>=' if node.op == 'max' else '<='} {b} THEN {a} ELSE {b} END"
    if node.op == "/":
        return f"(({a}) * 1.0 / ({b}))"
    return f"({a} {node.op.upper()} {b})"


_SQL: Mapping[type, Callable[[Any], str]] = {
    Number: lambda node: f"COALESCE({_quote(node.column)}, {_literal(node.missing)})",
    Missing: _sql_missing,
    Field: _sql_field,
    Choose: _sql_choose,
    Name: lambda node: _own(node.name),
    Operation: _sql_operation,
    If: lambda node: f"CASE WHEN {_sql(node.condition)} THEN {_sql(node.yes)} ELSE {_sql(node.no)} END",
    Exp: lambda node: f"EXP({_sql(node.value)})",
    Interpolate: _sql_interpolate,
    Dot: _sql_dot,
    Word: lambda node: _text(node.label) if isinstance(node.label, str) else str(node.label),
}

# -- Python -----------------------------------------------------------------------------------------------------------

_HELPERS = """

def _is_missing(cell):
    return cell is None or cell != cell or (isinstance(cell, str) and cell.strip().lower() in {gaps})


def _text(cell):
    if isinstance(cell, float) and cell == int(cell):
        cell = int(cell)
    return str(cell).strip()


def _number(cell, missing):
    return missing if _is_missing(cell) else float(cell)


def _field(cell, start, length, missing):
    digits = "" if _is_missing(cell) else str(cell).strip()[start - 1 : start - 1 + length]
    return int(digits) if digits else missing


def _choose(cell, values, other, missing, ignores_case):
    if _is_missing(cell):
        return missing
    return values.get(_text(cell).lower() if ignores_case else _text(cell), other)


def _interpolate(x, knots, values, is_open):
    if x <= knots[0]:
        return values[0]
    for k in range(1, len(knots)):
        if x < knots[k] or (is_open and k == len(knots) - 1):
            slope = (values[k] - values[k - 1]) / (knots[k] - knots[k - 1])
            return values[k - 1] + slope * (x - knots[k - 1])
    return values[-1]
"""


def write_python(program: Program) -> str:
    """Return a module with ``predict(row)`` and ``outputs(row)`` of a row by the names of its columns."""
    about = "\n".join(f"    {name!r}: {text}" for name, text in program.columns.items())
    lines = []
    for stage in program.stages:
        lines += [f"    s[{name!r}] = {_python(node)}" for name, node in stage.items()]
    named = ", ".join(f"{name!r}: s[{name!r}]" for name in program.numbers)
    decision = "s['decision']" if program.decision else f"s[{program.numbers[0]!r}]"
    if program.decision is None and len(program.numbers) > 1:
        decision = "[" + ", ".join(f"s[{name!r}]" for name in program.numbers) + "]"
    return (
        f'"""Predictions of {program.target}.\n\nA row is a mapping from the names of columns to cells, None where '
        f'they are missing:\n\n{about}\n"""\n\nimport math\n{_HELPERS.replace("{gaps}", repr(GAPS))}\n\n'
        f"def _steps(row):\n    s = {{}}\n" + "\n".join(lines) + "\n    return s\n\n\n"
        'def predict(row):\n    """Return the predicted class or value of a row."""\n'
        f"    s = _steps(row)\n    return {decision}\n\n\n"
        'def outputs(row):\n    """Return the predicted values or the probabilities of a row by their names."""\n'
        f"    s = _steps(row)\n    return {{{named}}}\n"
    )


def _python(node: Any) -> str:
    if isinstance(node, int | float):
        return repr(node) if node >= 0 else f"({node!r})"
    return _PYTHON[type(node)](node)


def _python_missing(node: Missing) -> str:
    cell = f"row[{node.column!r}]"
    if node.known is not None:
        return f"0.0 if not _is_missing({cell}) and _text({cell}).lower() in {node.known!r} else 1.0"
    return f"1.0 if _is_missing({cell}) else 0.0"


def _python_choose(node: Choose) -> str:
    values = {word: value for word, value in node.values.items() if value != node.other}
    return f"_choose(row[{node.column!r}], {values!r}, {node.other!r}, {node.missing!r}, {node.ignores_case})"


def _python_operation(node: Operation) -> str:
    a, b = _python(node.a), _python(node.b)
    if node.op in ("max", "min"):
        return f"{node.op}({a}, {b})"
    return f"({a} {'==' if node.op == '=' else node.op} {b})"


def _python_dot(node: Dot) -> str:
    total = _sum(node, lambda step: f"s[{step!r}]", lambda value: _python(float(value)))
    return f"max({total}, 0.0)" if node.is_positive else total


def _floats(values: Any) -> str:
    return repr(tuple(values.tolist()))


_PYTHON: Mapping[type, Callable[[Any], str]] = {
    Number: lambda node: f"_number(row[{node.column!r}], {node.missing!r})",
    Missing: _python_missing,
    Field: lambda node: (
        f"_field(row[{node.column!r}], {FIELDS[node.part][0]}, {FIELDS[node.part][1]}, {int(node.missing)})"
    ),
    Choose: _python_choose,
    Name: lambda node: f"s[{node.name!r}]",
    Operation: _python_operation,
    If: lambda node: f"({_python(node.yes)} if {_python(node.condition)} else {_python(node.no)})",
    Exp: lambda node: f"math.exp({_python(node.value)})",
    Interpolate: lambda node: (
        f"_interpolate(s[{node.of.name!r}], {_floats(node.knots)}, {_floats(node.values)}, {node.is_open})"
    ),
    Dot: _python_dot,
    Word: lambda node: repr(node.label),
}
