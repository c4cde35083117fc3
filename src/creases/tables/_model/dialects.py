"""The steps of a model in other languages: a Python module that imports nothing but ``math``, and one SELECT of SQL.

Both are built as trees, whose writers quote: a name of a table is a text or a quoted name there, and nothing else.
"""

from __future__ import annotations

import ast
import inspect
import operator
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np

from creases.errors import InputError
from creases.tables._columns import nodes
from creases.tables._columns.nodes import SPACES
from creases.tables._model import program as steps
from creases.tables._model import row_cells
from creases.tables._model.program import Program

# -- Python -----------------------------------------------------------------------------------------------------------


def write_python(program: Program) -> str:
    """Return a module with ``predict(row)`` and ``outputs(row)`` of a row by the names of its columns.

    It is that of :mod:`creases.tables._model.row_cells` with the steps of the program.
    """
    module = ast.parse(inspect.getsource(row_cells))
    constants = {"COLUMNS": {each.name: each.about for each in program.inputs}}
    body: list[ast.stmt] = []
    for node in module.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            body.append(_assign(node.target.id, _value(constants[node.target.id])))
        elif not isinstance(node, ast.ImportFrom):
            body.append(node)
        if isinstance(node, ast.FunctionDef):
            node.returns = None
            for argument in node.args.args:
                argument.annotation = None
            if node.name == "calculate":
                node.body[1:] = _calculate(program)
    return ast.unparse(ast.fix_missing_locations(ast.Module(body, []))) + "\n"


def _calculate(program: Program) -> list[ast.stmt]:
    """Return the statements that calculate the predictions of a row."""
    body: list[ast.stmt] = []
    for k, each in enumerate(program.inputs):
        if f"missing{k}" in program.stages[0]:
            body.append(_assign(f"cell{k}", _fill("read(row[name])", name=_value(each.name))))
    for stage in program.stages:
        body += [_assign(name, _python(node, program.inputs)) for name, node in stage.items()]
        if flags := {program.inputs[k].name: ast.Name(name) for name, k in program.unread.items() if name in stage}:
            body.append(ast.Expr(_fill("refuse(row, flags)", flags=_value(flags))))
    outputs = {title: ast.Name(name) for name, title in program.outputs.items()}
    values = [ast.Name("decision")] if program.labels else [*outputs.values()]
    value = values[0] if len(values) == 1 else ast.List([*values])
    return [*body, ast.Return(ast.Tuple([value, _value(outputs)]))]


def _assign(name: str, value: ast.expr) -> ast.Assign:
    return ast.Assign([ast.Name(name)], value)


def _value(value: Any) -> ast.expr:
    """Return plain data, with trees in it, as a tree."""
    if isinstance(value, ast.expr):
        return value
    if isinstance(value, Mapping):
        return ast.Dict([*map(_value, value)], [*map(_value, value.values())])
    if isinstance(value, list | tuple):
        return ast.Tuple([*map(_value, value)])
    return ast.Constant(value)


def _fill(template: str, **parts: Any) -> Any:
    """Return an expression of ours with trees, or plain data, in place of some of its names."""
    tree = ast.parse(template, mode="eval")
    put = {name: _value(part) for name, part in parts.items()}
    for node in ast.walk(tree):
        for name, value in ast.iter_fields(node):
            values = value if isinstance(value, list) else [value]
            new = [put.get(each.id, each) if isinstance(each, ast.Name) else each for each in values]
            setattr(node, name, new if isinstance(value, list) else new[0])
    return tree.body


_TEMPLATES: dict[Any, str] = {op: f"a {op} b" for op in ("+", "-", "*", "/", "%", "<", "and", "or")}
_TEMPLATES |= {"=": "a == b", "min": "min(a, b)", "max": "max(a, b)"}
_TEMPLATES |= {nodes.If: "yes if condition else no", steps.Exp: "math.exp(value)", nodes.Whole: "math.floor(value)"}


def _python(node: Any, inputs: Sequence[nodes.Input]) -> Any:
    """Return a step as an expression of Python."""

    def names(names: Iterable[str]) -> list[ast.Name]:
        return [*map(ast.Name, names)]

    match node:
        case int() | float():
            return _value(node)
        case nodes.Name(name):
            return ast.Name(name)
        case nodes.If() | nodes.Operation() | steps.Exp() | nodes.Whole():
            template = _TEMPLATES[node.op if isinstance(node, nodes.Operation) else type(node)]
            return _fill(template, **{name: _python(part, inputs) for name, part in vars(node).items() if name != "op"})
        case nodes.Interpolate(name, knots, values):
            return _fill("interpolate(x, q, v)", x=ast.Name(name), q=knots.tolist(), v=values.tolist())
        case steps.Dot(each, weights, constant, is_positive):
            template = "max(weigh(u, w, c), 0.0)" if is_positive else "weigh(u, w, c)"
            return _fill(template, u=names(each), w=weights.tolist(), c=constant)
        case steps.Largest(each):
            return _fill("max(u)", u=names(each))
        case steps.Decide(each, labels, "", limit):
            return _fill("b if x > c else a", x=ast.Name(each[0]), a=labels[0], b=labels[1], c=limit)
        case steps.Decide(each, labels, largest):
            return _fill("a[u.index(x)]", a=labels, u=names(each), x=ast.Name(largest))
    column = inputs[node.column]
    cell, is_there = ast.Name(f"cell{node.column}"), ast.Name(f"shaped{node.column}")
    match node:
        case nodes.Missing():
            return _fill("int(is_missing(cell, gaps))", cell=cell, gaps=column.gaps)
        case nodes.Number(_, other):
            return _fill("number(cell, is_spelled, other)", cell=cell, is_spelled=column.is_spelled, other=other)
        case nodes.Shaped():
            return _fill("is_shaped(cell, shapes)", cell=cell, shapes=nodes.SHAPES[column.cells])
        case nodes.Field(_, start, length, absent):
            return _fill("date_field(cell, s, a, b, c)", cell=cell, s=is_there, a=start, b=length, c=absent)
        case nodes.Choose(_, texts, numbers, other):
            if column.cells == "number":
                cell = _fill("number(cell, is_spelled, None)", cell=cell, is_spelled=column.is_spelled)
            return _fill("choose(cell, i, t, n, o)", cell=cell, i=column.ignores, t=texts, n=numbers, o=other)
    raise AssertionError(node)


# -- SQL --------------------------------------------------------------------------------------------------------------

#: Terms of a sum that are written without brackets: databases limit how deep expressions are.
_TERMS = 100

#: Letters of a column's name that PostgreSQL tells apart.
_BYTES = 63


def sql_names(program: Program) -> dict[str, str]:
    """Return what columns and predictions are called: one of two that differ in case or late only is numbered."""
    result: dict[str, str] = {}
    for names in ([each.name for each in program.inputs], [f"predicted {program.target}", *program.outputs.values()]):
        taken: set[bytes] = set()
        for name in dict.fromkeys(names):
            alias, count = name, 1
            while (key := alias.casefold().encode("utf-8", "replace")[:_BYTES]) in taken:
                count += 1
                alias = f"{name.encode('utf-8', 'replace')[: _BYTES - 9].decode('utf-8', 'ignore')} ({count})"
            taken.add(key)
            result.setdefault(name, alias)
    return result


def write_sql(program: Program, table: str) -> str:
    """Return one SELECT of the predictions for a table's rows, for SQLite, PostgreSQL and DuckDB.

    A count of all rows in every stage keeps databases from writing a step out wherever it is used, which would take
    exponentially long.
    """
    return _Sql(program, table).select()


_OPERATORS: dict[str, Any] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "%": operator.mod, "<": operator.lt,
    "=": lambda a, b: a.eq(b), "and": lambda a, b: a.and_(b), "or": lambda a, b: a.or_(b),
}  # fmt: skip


class _Sql:
    """Writes steps as expressions of SQL; those of sqlglot take operators of Python, and put brackets."""

    def __init__(self, program: Program, table: str) -> None:
        import sqlglot.expressions as exp

        self.exp, self.program, self.table = exp, program, table
        names = [each.name for each in program.inputs]
        for text in [table, *names, *program.outputs.values(), *map(str, program.labels)]:
            if any(letter == "\0" or "\ud800" <= letter < "\ue000" for letter in text):
                raise InputError("path", "be of a model whose names are text in SQL", repr(text), "export Python")
        self.names = sql_names(program)
        self.prefix = "creases"
        while any(name.casefold().startswith(self.prefix) for name in (table, *names)):
            self.prefix += "_"

    def select(self) -> str:
        exp, program = self.exp, self.program
        read = [k for k in range(len(program.inputs)) if f"missing{k}" in program.stages[0]]
        stages = [{f"text{k}": self.cell_text(k) for k in read}]
        stages += [{name: self.write(node) for name, node in stage.items()} for stage in program.stages]
        stages[1] |= {f"cell{k}": self.cell_number(k) for k in read if program.inputs[k].cells == "number"}
        about = exp.values([(self.names[each.name], each.about) for each in program.inputs], alias="listed")
        sources = [(f'"{self.prefix} columns"(name, cells)', exp.select("*").from_(about))]
        source = self.table
        for number, stage in enumerate(stages):
            steps = [exp.alias_(each, f"{self.prefix} {name}", quoted=True) for name, each in stage.items()]
            barrier = exp.Window(this=exp.Count(this=exp.Star()))
            steps.append(exp.alias_(barrier, f"{self.prefix} {number}", quoted=True))
            query = exp.select(exp.Column(this=exp.Star(), table=exp.to_identifier("rows")), *steps)
            sources.append((f'"{self.prefix} stage {number}"', query.from_(self.rows(source))))
            source = f"{self.prefix} stage {number}"
        is_read = self.total([exp.convert(0), *map(self.step, program.unread)]).eq(0)
        shown = [
            exp.alias_(self.case([(is_read, self.step(name))], exp.null()), self.names[title], quoted=True)
            for name, title in program.titles.items()
        ]
        query = exp.select(*shown).from_(self.rows(source))
        for name, stage_query in sources:
            query = query.with_(name, as_=stage_query, copy=False)
        query.add_comments([_SQL_ABOUT])
        texts = [*self.names.values(), self.table]
        is_pretty = all(text.isprintable() and "SQLGLOT" not in text for text in texts)  # its layout breaks lines
        return str(query.sql(dialect="postgres", pretty=is_pretty)) + "\n"

    def rows(self, table: str) -> Any:
        name = self.exp.Table(this=self.exp.to_identifier(table, quoted=True))
        return self.exp.alias_(name, "rows", table=True)

    def step(self, name: str) -> Any:
        return self.exp.column(f"{self.prefix} {name}", quoted=True)

    def raw(self, k: int) -> Any:
        name = self.exp.to_identifier(self.names[self.program.inputs[k].name], quoted=True)
        return self.exp.Column(this=name, table=self.exp.to_identifier("rows"))

    def call(self, function: str, *arguments: Any) -> Any:
        return self.exp.Anonymous(this=function, expressions=[*map(self.exp.convert, arguments)])

    def cell_text(self, k: int) -> Any:
        """Return the text of a column's cells, without white space around it."""
        column = self.program.inputs[k]
        text = self.call("TRIM", self.exp.cast(self.raw(k), "text"), SPACES)
        if column.ignores == "marks":
            for letter in "_-\t\n\r\xa0":
                text = self.call("REPLACE", text, letter, " ")
            for pair in ((" ", " \x01"), ("\x01 ", ""), ("\x01", "")):  # of many spaces one
                text = self.call("REPLACE", text, *pair)
            text = self.call("TRIM", text)
        if column.cells == "date":  # some programs write fractions of seconds that are none
            text = self.call("REPLACE", text, ".000000", "")
        if column.cells == "time":
            longer = self.exp.DPipe(this=self.exp.convert("0"), expression=text)
            text = self.case([(self.call("SUBSTR", text, 2, 1).eq(":"), longer)], text)
        return text

    def cell_number(self, k: int) -> Any:
        """Return the number of a column's cells; NULL where there is none."""
        raw = self.raw(k)
        number = self.exp.cast(raw, "double precision", dialect="postgres")
        # in SQLite a text equals its number, but for one behind COALESCE, which has lost the type of its column
        read = self.call("COALESCE", raw, raw).eq(raw + 0)
        if self.program.inputs[k].is_spelled:
            read = number.eq(raw).or_(read)
        return self.exp.case().when(read.and_((number - number).eq(0)), number)

    def write(self, node: Any) -> Any:
        exp, write = self.exp, self.write
        match node:
            case int() | float():
                return exp.convert(node)
            case nodes.Name(name):
                return self.step(name)
            case nodes.If(condition, yes, no):
                return self.case([(write(condition), write(yes))], write(no))
            case nodes.Operation("/", a, b):
                quotient = write(a) * exp.Literal.number("1.0") / write(b)
                quotient.set("typed", True)  # without a cast: in PostgreSQL % takes no floats
                return quotient
            case nodes.Operation("min" | "max" as op, a, b):
                pair = [write(a), write(b)]
                return self.case([(pair[0] <= pair[1], pair[op == "max"])], pair[op == "min"])
            case nodes.Operation(op, a, b):
                return _OPERATORS[op](write(a), write(b))
            case steps.Exp(value):
                return self.call("EXP", write(value))
            case nodes.Whole(value):  # in PostgreSQL % takes no floats
                return exp.cast(self.call("FLOOR", write(value)), "bigint")
            case nodes.Interpolate(name, knots, values):
                x, first = self.step(name), values[0].item()
                pairs = [(x <= knots[0].item(), first)]
                for q, end, v, slope in zip(knots, knots[1:], values, np.diff(values) / np.diff(knots), strict=False):
                    rise = exp.convert(slope.item()) * (x - q.item())
                    pairs.append((x < end.item(), rise + v.item() if slope else v.item()))
                return self.case(pairs, values[-1].item())
            case steps.Dot(names, weights, constant, is_positive):
                weighted = zip(map(self.step, names), weights.tolist(), strict=True)
                terms = [step if w == 1 else exp.convert(w) * step for step, w in weighted]
                total = self.total([exp.convert(constant), *terms])
                return self.case([(total > 0, total)], 0) if is_positive else total
            case steps.Largest(names):
                scores = [*map(self.step, names)]
                return self.case([(exp.and_(*(a >= b for b in scores)), a) for a in scores[:-1]], scores[-1])
            case steps.Decide(names, labels, "", limit):
                return self.case([(self.step(names[0]) > limit, labels[1])], labels[0])
            case steps.Decide(names, labels, largest):
                is_largest = [self.step(name).eq(self.step(largest)) for name in names]
                return self.case(zip(is_largest, labels[:-1], strict=False), labels[-1])
        return self.cell(node, self.step(f"text{node.column}"), self.program.inputs[node.column])

    def cell(self, node: Any, text: Any, column: nodes.Input) -> Any:
        exp, number = self.exp, self.step(f"cell{node.column}")
        match node:
            case nodes.Missing():
                return self.case([(text.is_(exp.null()).or_(text.isin(*column.gaps)), 1)], 0)
            case nodes.Number(_, other):
                return self.call("COALESCE", number, other)
            case nodes.Shaped():
                for digit in "123456789":
                    text = self.call("REPLACE", text, digit, "0")
                return self.case([(text.isin(*nodes.SHAPES[column.cells]), 1)], 0)
            case nodes.Field(k, start, length, absent):
                digits = self.call("SUBSTR", text, start, length)
                is_there = self.step(f"shaped{k}").eq(1).and_(digits > "")
                return self.case([(is_there, exp.cast(digits, "int"))], absent)
            case nodes.Choose(_, texts, numbers, other):
                is_number = column.cells == "number"
                groups: dict[float, list[Any]] = {}
                for key, value in numbers.items() if is_number else texts.items():
                    groups.setdefault(value, []).append(key)
                key = number if is_number else self.plain(text, column.ignores, texts)
                return self.case([(key.isin(*each), value) for value, each in groups.items() if value != other], other)
        raise AssertionError(node)

    def plain(self, text: Any, ignores: str, words: Iterable[str]) -> Any:
        """Return what counts of a text, where it may be one of some words: without case, also of letters not ASCII."""
        if ignores == "nothing":
            return text
        for letter in sorted({letter for word in words for letter in word if not letter.isascii()}):
            if letter.upper().lower() == letter != letter.upper():
                text = self.call("REPLACE", text, letter.upper(), letter)
        return self.call("LOWER", text)

    def case(self, pairs: Iterable[tuple[Any, Any]], other: Any) -> Any:
        cases = self.exp.case()
        for condition, value in pairs:
            cases = cases.when(condition, self.exp.convert(value), copy=False)
        return cases.else_(self.exp.convert(other)) if cases.args["ifs"] else self.exp.convert(other)

    def total(self, terms: Sequence[Any]) -> Any:
        """Return the sum of terms, in brackets where they are many."""
        while len(terms) > _TERMS:
            terms = [self.exp.paren(self.total(terms[k : k + _TERMS])) for k in range(0, len(terms), _TERMS)]
        return reduce(lambda total, term: self.exp.Add(this=total, expression=term), terms)


_SQL_ABOUT = (
    "Predictions for the rows of a table in SQLite, PostgreSQL or DuckDB. What its cells are to be is listed first; "
    "a row with another cell has no prediction. Columns of the table can be added to this list."
)
