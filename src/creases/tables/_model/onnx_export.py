"""The steps of a model as an ONNX file in float64; inputs and outputs have names of ours, the table's are metadata."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from creases.errors import FileError, InputError
from creases.tables._columns import nodes
from creases.tables._model import program as steps
from creases.tables._model.program import Program

#: Versions of operators that match and split texts, and of files that have them.
OPSET, IR_VERSION = 20, 9

#: Texts that one pattern matches at most: the memory of its automaton is limited.
WORDS = 100

_OPERATORS = {"+": "Add", "-": "Sub", "*": "Mul", "/": "Div", "%": "Mod", "<": "Less", "=": "Equal", "and": "And",
              "or": "Or", "min": "Min", "max": "Max"}  # fmt: skip

_SPACE = "[\\x09-\\x0d\\x1c-\\x20\\x85\\xa0" + "\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"


def write_onnx(program: Program, path: Path) -> None:
    """Write a program to an ``.onnx`` file; see :meth:`RowModel.export`."""
    try:
        import onnx
    except ImportError:
        raise FileError(f"cannot write {path}: this needs the onnx package; pip install creases[onnx]") from None
    try:
        proto = _Graph(onnx, program).to_model()
    except UnicodeEncodeError as error:
        got = repr(error.object)[:80]
        raise InputError("path", "be of a model whose texts are Unicode in ONNX", got, "export Python") from None
    onnx.checker.check_model(proto)
    path.write_bytes(proto.SerializeToString())


def _pattern(words: Sequence[str], ignores: str) -> str:
    """Return a pattern of texts: letters and digits, and all else as a number or as it is."""
    between = f"(?:{_SPACE}|[_\\x2d])"
    gaps = {"nothing": (_SPACE, "\\x20"), "case": (_SPACE, "\\x20"), "marks": (between, f"{between}+")}
    around, space = gaps[ignores]

    def letter(text: str) -> str:
        if text == " ":
            return space
        cases = {text} if ignores == "nothing" else {text, text.upper()}
        letters = sorted(case for case in cases if case == text or case.lower() == text)
        safe = [each if each.isalnum() or not each.isascii() else f"\\x{ord(each):02x}" for each in letters]
        return safe[0] if len(safe) == 1 else f"[{''.join(safe)}]"

    texts = "|".join("".join(map(letter, word)) for word in words)
    return f"{around}*(?:{texts}){around}*"


class _Graph:
    """The inputs, nodes and outputs of a graph being built; every step is a column (batch, 1)."""

    def __init__(self, onnx: Any, program: Program) -> None:
        self.onnx, self.program = onnx, program
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._columns: dict[str, str] = {}  #: the value of each step
        self._matrices: dict[tuple[str, ...], str] = {}  #: of steps that were computed together
        self._pieces: dict[int, list[str]] = {}  #: the parts of the texts of dates and times, by column
        self._cells = self._read()
        for stage in program.stages:
            self._stage(stage)
        self._finish()

    def add(self, op: str, inputs: Sequence[str], **attributes: Any) -> str:
        names = [f"value{len(self._nodes)}"] + ([f"count{len(self._nodes)}"] if op == "StringSplit" else [])
        self._nodes.append(self.onnx.helper.make_node(op, list(inputs), names, **attributes))
        return names[0]

    def constant(self, value: Any) -> str:
        array: NDArray[Any] = np.asarray(value)
        if array.dtype.kind in "OU":
            for text in array.ravel():
                str(text).encode()
            array = array.astype(object)
        name = f"constant{len(self._constants)}"
        self._constants.append(self.onnx.numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def number(self, value: float) -> str:
        return self.constant(np.float64(value))

    def to_double(self, flag: str) -> str:
        return self.add("Cast", [flag], to=self.onnx.TensorProto.DOUBLE)

    def pick(self, matrix: str, j: int) -> str:
        return self.add("Gather", [matrix, self.constant(np.array([j]))], axis=1)

    def stack(self, names: Sequence[str]) -> str:
        """Return steps side by side, (batch, k)."""
        return self._matrices.get(tuple(names)) or self.add("Concat", [self._columns[name] for name in names], axis=1)

    def _read(self) -> list[str]:
        """Add the inputs and return the cells (batch, 1) of each column."""
        kinds, inputs = self.onnx.TensorProto, self.program.inputs
        info = self.onnx.helper.make_tensor_value_info
        if self.program.is_array:
            self._inputs.append(info("X", kinds.DOUBLE, ["batch", len(inputs)]))
            return [self.pick("X", k) for k in range(len(inputs))]
        for k, each in enumerate(inputs):
            kind = kinds.DOUBLE if each.cells == "number" else kinds.STRING
            self._inputs.append(info(f"column{k}", kind, ["batch", 1]))
        return [f"column{k}" for k in range(len(inputs))]

    def _stage(self, stage: Mapping[str, Any]) -> None:
        """Add the steps of a stage; its sums of earlier steps are one product of matrices."""
        for is_positive in (False, True):
            sums = [(name, node) for name, node in stage.items() if isinstance(node, steps.Dot)]
            dots = {name: each for name, each in sums if each.is_positive == is_positive}
            names = tuple(dict.fromkeys(name for each in dots.values() for name in each.names))
            whole = next((each for each in self._matrices if set(names) <= set(each)), names)
            weights = np.zeros((len(whole), len(dots)))
            for k, each in enumerate(dots.values()):
                for name, weight in zip(each.names, each.weights.tolist(), strict=True):
                    weights[whole.index(name), k] += weight
            if dots and whole:
                product = self.add("MatMul", [self.stack(whole), self.constant(weights)])
                matrix = self.add("Add", [product, self.constant(np.array([each.constant for each in dots.values()]))])
                matrix = self.add("Relu", [matrix]) if is_positive else matrix
                self._matrices[tuple(dots)] = matrix
                self._columns |= {name: self.pick(matrix, k) for k, name in enumerate(dots)}
            elif dots:
                some = next(iter(self._columns.values()))  # of finite numbers
                some = self.add("Sub", [some, some])
                self._columns |= {n: self.add("Add", [some, self.number(d.constant)]) for n, d in dots.items()}
        for name, node in stage.items():
            if not isinstance(node, steps.Dot):
                self._columns[name] = self.write(node)

    def write(self, node: Any) -> str:
        """Add an expression; a condition is a truth value."""
        match node:
            case int() | float():
                return self.number(node)
            case nodes.Name(name):
                return self._columns[name]
            case nodes.If(condition, yes, no):
                return self.add("Where", [*map(self.write, (condition, yes, no))])
            case nodes.Operation(op, a, b):
                options = {"fmod": 1} if op == "%" else {}
                return self.add(_OPERATORS[op], [self.write(a), self.write(b)], **options)
            case steps.Exp(value):
                return self.add("Exp", [self.write(value)])
            case nodes.Whole(value):
                return self.add("Floor", [self.write(value)])
            case nodes.Interpolate(name, knots, values):
                changes = np.diff(np.diff(values) / np.diff(knots), prepend=0.0, append=0.0)
                x = self.add("Min", [self._columns[name], self.number(knots[-1])])
                beyond = self.add("Relu", [self.add("Sub", [x, self.constant(knots[None])])])
                rise = self.add("MatMul", [beyond, self.constant(changes[:, None])])
                return self.add("Add", [rise, self.number(values[0])])
            case steps.Largest(names):
                return self.add("ReduceMax", [self.stack(names), self.constant(np.array([1]))], keepdims=1)
            case steps.Decide(names, labels, "", limit):
                above = self.add("Greater", [self._columns[names[0]], self.number(limit)])
                place = self.add("Cast", [above], to=self.onnx.TensorProto.INT64)
                return self.add("Gather", [self.constant(np.array(labels)), self.flat(place)], axis=0)
            case steps.Decide(names, labels):
                place = self.add("ArgMax", [self.stack(names)], axis=1, keepdims=0)
                return self.add("Gather", [self.constant(np.array(labels)), place], axis=0)
        is_number = self.program.inputs[node.column].cells == "number"
        return (self._number if is_number else self._text)(node, self._cells[node.column])

    def _number(self, node: Any, cell: str) -> str:
        gap, infinite = self.add("IsNaN", [cell]), self.add("IsInf", [cell])
        match node:
            case nodes.Missing():
                return self.to_double(gap)
            case nodes.Number(_, other):
                return self.add("Where", [self.add("Or", [gap, infinite]), self.number(other), cell])
            case nodes.Choose(_, _, numbers, other):
                found = self.to_double(self.add("Equal", [cell, self.constant(np.array([[*numbers]]))]))
                changes = np.array([[value - other] for value in numbers.values()])
                return self.add("Add", [self.add("MatMul", [found, self.constant(changes)]), self.number(other)])
        raise AssertionError(node)

    def _text(self, node: Any, cell: str) -> str:
        column = self.program.inputs[node.column]
        match node:
            case nodes.Missing():
                return self._match(cell, [_pattern(column.gaps, "nothing")])
            case nodes.Shaped():
                starts = (0,) if column.cells == "date" else (0, 1)  # an hour may have one digit
                shapes = [shape[k:] for shape in nodes.SHAPES[column.cells] for k in starts]
                forms = "|".join(shape.replace("0", "[0-9]") for shape in shapes)
                return self._match(cell, [f"\\x20*(?:{forms})\\x20*"])
            case nodes.Field():
                return self._field(node, cell)
            case nodes.Choose(_, texts, _, other):
                groups: dict[float, list[str]] = {}
                for word, value in texts.items():
                    groups.setdefault(value - other, []).append(word)
                total = self.number(other)
                for change, words in groups.items():
                    parts = [words[k : k + WORDS] for k in range(0, len(words), WORDS)]
                    found = self._match(cell, [_pattern(part, column.ignores) for part in parts])
                    total = self.add("Add", [total, self.add("Mul", [found, self.number(change)])])
                return total
        raise AssertionError(node)

    def _match(self, text: str, patterns: Sequence[str]) -> str:
        """Return 1 where a text is what one of some patterns says, else 0."""
        for pattern in patterns:
            pattern.encode()
        flags = [self.add("RegexFullMatch", [text], pattern=pattern) for pattern in patterns]
        while len(flags) > 1:
            pairs = [flags[k : k + 2] for k in range(0, len(flags), 2)]
            flags = [self.add("Or", pair) if len(pair) > 1 else pair[0] for pair in pairs]
        return self.to_double(flags[0])

    def _field(self, node: nodes.Field, cell: str) -> str:
        """Return digits of a date or time, whose pieces are all there: what may be absent is put behind the text."""
        is_date = self.program.inputs[node.column].cells == "date"
        if node.column not in self._pieces:
            shaped = self.add("Equal", [self._columns[f"shaped{node.column}"], self.number(1)])
            text = self.add("Where", [shaped, cell, self.word("2000-01-01" if is_date else "00:00")])
            text = self.flat(text)
            if is_date:
                halves = self._split(text, "T", "T")
                text = self.add("StringConcat", [self._piece(halves, 0), self.word(" ")])
                text = self.add("StringConcat", [text, self._piece(halves, 1)])
            tokens = self._split(text, " 00:00:00", "")
            clock = self._split(self._piece(tokens, 1 if is_date else 0), ":00:00", ":")
            days = self._split(self._piece(tokens, 0), "-01", "-") if is_date else clock
            self._pieces[node.column] = [*([days] * 3 if is_date else []), *[clock] * 3]
        places = nodes.FIELDS[self.program.inputs[node.column].cells].values()
        k = [start for start, *_ in places].index(node.start)
        number = self.to_double(self._piece(self._pieces[node.column][k], k % 3))
        return self.add("Reshape", [number, self.constant(np.array([-1, 1]))])

    def _split(self, text: str, more: str, mark: str) -> str:
        return self.add("StringSplit", [self.add("StringConcat", [text, self.word(more)])], delimiter=mark)

    def _piece(self, pieces: str, k: int) -> str:
        return self.flat(self.pick(pieces, k))

    def flat(self, value: str) -> str:
        return self.add("Reshape", [value, self.constant(np.array([-1]))])

    def word(self, text: str) -> str:
        return self.constant(np.array([text], object))

    def _finish(self) -> None:
        """Add the outputs; numbers are NaN where a cell cannot be read."""
        kinds, program = self.onnx.TensorProto, self.program
        numbers = self.stack(list(program.outputs))
        if program.unread:
            flags = self.add("ReduceMax", [self.stack(list(program.unread)), self.constant(np.array([1]))], keepdims=1)
            numbers = self.add("Where", [self.add("Less", [flags, self.number(0.5)]), numbers, self.number(np.nan)])
        shape = ["batch", len(program.outputs)]
        if not program.labels:
            self._output("prediction", numbers, kinds.DOUBLE, shape)
            return
        labels = np.array(program.labels)
        kind = kinds.STRING if labels.dtype.kind in "OU" else self.onnx.helper.np_dtype_to_tensor_dtype(labels.dtype)
        self._output("label", self._columns["decision"], kind, ["batch"])
        self._output("probabilities", numbers, kinds.DOUBLE, shape)

    def _output(self, name: str, value: str, kind: int, shape: list[Any]) -> None:
        self._nodes.append(self.onnx.helper.make_node("Identity", [value], [name]))
        self._outputs.append(self.onnx.helper.make_tensor_value_info(name, kind, shape))

    def to_model(self) -> Any:
        helper, program = self.onnx.helper, self.program
        graph = helper.make_graph(self._nodes, "creases", self._inputs, self._outputs, self._constants)
        opsets = [helper.make_opsetid("", OPSET)]
        proto = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="creases")
        columns = []
        for k, each in enumerate(program.inputs):
            missing = "NaN" if each.cells == "number" else '""'
            cells = f"{each.about}; {missing} where it is missing"
            columns.append({"input": f"column{k}", "name": each.name, "cells": cells})
        about = {"columns": columns, "target": program.target, "outputs": list(program.outputs.values())}
        helper.set_model_props(proto, {name: json.dumps(value) for name, value in about.items()})
        return proto
