"""A model of a table as an ONNX file that takes the columns of the table as they are, dates as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from creases._files import write_atomically
from creases._typing import Floats
from creases.errors import FileError, InputError
from creases.tables._model.program import FIELDS, If, Missing, Name, date_number, label_numbers
from creases.tables._model.schema import RowFunction
from creases.tables._stages.families import log_odds

if TYPE_CHECKING:
    from creases.tables._encoding.columns import ColumnEncoding

#: Versions of the operators, old enough for every runtime in use, and those that split the text of dates.
OPSET, ML_OPSET, IR_VERSION = 13, 2, 8
TEXT_OPSET, TEXT_IR_VERSION = 20, 9


def write_onnx(model: RowFunction, path: Path) -> Path:
    """Write a model to an ``.onnx`` file; see :meth:`RowModel.export`."""
    try:
        import onnx
    except ImportError:
        raise FileError(f"cannot write {path}: this needs the onnx package; pip install creases[onnx]") from None
    if path.suffix != ".onnx":
        raise InputError("path", "end in .onnx", repr(path.name))
    graph = _Graph(onnx)
    outputs = graph.apply_layers(_encode(graph, model), model._layers())
    if model.classes is None:
        if (largest := model._largest) is not None:  # a logarithmic link
            outputs = graph.add("Exp", [graph.add("Min", [outputs, graph.constant(np.array(np.log(largest)))])])
        graph.add_output("prediction", outputs, onnx.TensorProto.DOUBLE, ["batch", len(model.schema.targets)])
    else:
        _decide(graph, model, outputs)
    proto = graph.to_model()
    onnx.checker.check_model(proto)
    with write_atomically(path) as temporary:
        temporary.write_bytes(proto.SerializeToString())
    return path


def run_onnx(
    model: RowFunction, path: Path, cells: Sequence[Mapping[str, Any]]
) -> tuple[Floats, Any] | tuple[None, None]:
    """Return the numbers (n, k) and decisions (n,) of an ONNX file for rows; None without onnxruntime."""
    try:
        import onnxruntime
    except ImportError:
        return None, None
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    inputs = {each.name: each.type for each in session.get_inputs()}
    if model.schema.encoding is None:
        feed = {"X": np.array([list(row.values()) for row in cells], np.float64)}
    else:
        feed = {}
        for name, kind in inputs.items():
            values: Any = [row[name] for row in cells]
            if kind == "tensor(string)":
                feed[name] = np.array(["" if value is None else value for value in values], object)[:, None]
            else:
                feed[name] = np.array([np.nan if value is None else value for value in values], np.float64)[:, None]
    if model.classes is None:
        return session.run(["prediction"], feed)[0], None
    numbers, labels = session.run(["probabilities", "label"], feed)
    return numbers, labels


def _encode(graph: _Graph, model: RowFunction) -> str:
    """Add the inputs and what encodes them; return the name of the encoded rows (batch, d)."""
    if model.schema.encoding is None:
        return graph.add_input("X", graph.onnx.TensorProto.DOUBLE, len(model.schema.features))
    parts = []
    for column in model.schema.encoding.inputs:
        if column.is_category:
            parts.append(_encode_category(graph, column, model.schema.encoding.missing))
        else:
            parts += _encode_numbers(graph, column, model.schema.encoding.missing)
    return graph.add("Concat", parts, axis=1)


def _encode_category(graph: _Graph, column: ColumnEncoding, missing: str) -> str:
    place = column.places(missing)
    text = graph.add_input(column.name, graph.onnx.TensorProto.STRING, 1)
    codes = graph.add(
        "LabelEncoder",
        [text],
        domain="ai.onnx.ml",
        keys_strings=list(place),
        values_int64s=list(place.values()),
        default_int64=column.n_levels,
    )
    flat = graph.add("Reshape", [codes, graph.constant(np.array([-1]))])
    return graph.add("Gather", [graph.constant(np.eye(column.n_levels + 1, column.n_levels)), flat], axis=0)


def _encode_numbers(graph: _Graph, column: ColumnEncoding, missing: str) -> list[str]:
    double = graph.onnx.TensorProto.DOUBLE
    is_indicated = bool(column.n_missing) and missing == "indicate"
    if column.kind.date is not None:
        gone, fields = _date_fields(graph, column)
        steps = fields | {"missing": gone}
        parts = [graph.arithmetic(date_number(column, part, k), steps) for k, part in enumerate(column.kind.date.parts)]
        return [*parts, gone] if is_indicated else parts
    labels = label_numbers(column)
    if labels:
        forms = (str, str.lower, str.upper, str.capitalize)
        code = {form(word): value for word, value in labels.items() for form in forms}
        text = graph.add_input(column.name, graph.onnx.TensorProto.STRING, 1)
        places = graph.add(
            "LabelEncoder",
            [text],
            domain="ai.onnx.ml",
            keys_strings=list(code),
            values_int64s=list(range(len(code))),
            default_int64=len(code),
        )
        raw = graph.add("Gather", [graph.constant(np.array([*code.values(), np.nan])), places], axis=0)
    else:
        raw = graph.add_input(column.name, double, 1)
    gap = graph.add("IsNaN", [raw])
    codes = [graph.add("Equal", [raw, graph.constant(np.array(code))]) for code in column.kind.codes]
    is_filled = gap
    for is_code in codes:
        is_filled = graph.add("Or", [is_filled, is_code])
    filled = graph.add("Where", [is_filled, graph.constant(np.array(column.means[0])), raw])
    flags = [gap, *codes] if is_indicated else codes
    return [filled, *(graph.add("Cast", [flag], to=double) for flag in flags)]


def _date_fields(graph: _Graph, column: ColumnEncoding) -> tuple[str, dict[str, str]]:
    """Add the fields of a date (batch, 1), and whether it is missing, from its text: a day, and a time if it has one.

    What may be absent is put behind the text before it is split, so that each field is there.
    """
    assert column.kind.date is not None
    graph.opset, graph.ir_version = TEXT_OPSET, TEXT_IR_VERSION
    double = graph.onnx.TensorProto.DOUBLE
    cell = graph.add_input(column.name, graph.onnx.TensorProto.STRING, 1)
    text = graph.add("Reshape", [cell, graph.constant(np.array([-1]))])

    def fill(value: str, other: str) -> str:
        return graph.add("Where", [graph.add("Equal", [value, graph.word("")]), other, value])

    def split(value: str, mark: str, more: str) -> str:
        longer = graph.add("StringConcat", [value, graph.word(mark + more)])
        return graph.add("StringSplit", [longer], outputs=2, delimiter=mark)

    def piece(pieces: str, k: int) -> str:
        chosen = graph.add("Gather", [pieces, graph.constant(np.array([k]))], axis=1)
        return graph.add("Reshape", [chosen, graph.constant(np.array([-1]))])

    gone = graph.add("Cast", [graph.add("Equal", [text, graph.word("")])], to=double)
    spaced = split(fill(text, graph.word(column.kind.date.first)), " ", "00:00:00")
    joined = split(piece(spaced, 0), "T", "")
    time = fill(piece(joined, 1), piece(spaced, 1))
    halves = [split(piece(joined, 0), "-", "01"), split(time, ":", "00:00")]
    pieces = [(half, k) for half in halves for k in range(3)]
    shape = graph.constant(np.array([-1, 1]))
    numbers = [graph.add("Cast", [piece(*each)], to=double) for each in pieces]
    columns = [graph.add("Reshape", [number, shape]) for number in numbers]
    names = [f"{column.name} {field}" for field in FIELDS]
    return graph.add("Reshape", [gone, shape]), dict(zip(names, columns, strict=True))


def _decide(graph: _Graph, model: RowFunction, logits: str) -> None:
    """Add the probabilities and the class, as the threshold decides."""
    assert model.classes is not None
    kinds = graph.onnx.TensorProto
    k, threshold = len(model.classes), model.schema.threshold
    shift = np.array([0.0, -log_odds(threshold)]) if k == 2 and threshold != 0.5 else np.zeros(k)
    decided = graph.add("ArgMax", [graph.add("Add", [logits, graph.constant(shift)])], axis=1, keepdims=0)
    labels = model.schema.label_values
    is_text = labels.dtype.kind not in "biuf"
    names = labels.astype(object) if is_text else labels.astype(np.int64 if labels.dtype.kind in "iu" else labels.dtype)
    label = graph.add("Gather", [graph.constant(names), decided], axis=0)
    kind = kinds.STRING if is_text else graph.onnx.helper.np_dtype_to_tensor_dtype(names.dtype)
    graph.add_output("label", label, kind, ["batch"])
    graph.add_output("probabilities", graph.add("Softmax", [logits], axis=1), kinds.DOUBLE, ["batch", k])
    graph.add_output("logits", logits, kinds.DOUBLE, ["batch", k])


class _Graph:
    """The inputs, nodes and outputs of a graph being built."""

    def __init__(self, onnx: Any) -> None:
        self.onnx = onnx
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self.opset, self.ir_version = OPSET, IR_VERSION

    def add_input(self, name: str, kind: int, width: int) -> str:
        self._inputs.append(self.onnx.helper.make_tensor_value_info(name, kind, ["batch", width]))
        return name

    def add_output(self, name: str, value: str, kind: int, shape: list[Any]) -> None:
        self._nodes.append(self.onnx.helper.make_node("Identity", [value], [name]))
        self._outputs.append(self.onnx.helper.make_tensor_value_info(name, kind, shape))

    def constant(self, array: NDArray[Any]) -> str:
        name = f"creases.constant{len(self._constants)}"
        self._constants.append(self.onnx.numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def word(self, text: str) -> str:
        return self.constant(np.array([text], object))

    def add(self, op: str, inputs: list[str], outputs: int = 1, **attributes: Any) -> str:
        name = f"creases.value{len(self._nodes)}"
        names = [name, *(f"{name}.{k}" for k in range(1, outputs))]
        self._nodes.append(self.onnx.helper.make_node(op, inputs, names, **attributes))
        return name

    def arithmetic(self, node: Any, steps: Mapping[str, str]) -> str:
        """Add the arithmetic of a step: of earlier ones by their names."""
        if isinstance(node, int | float):
            return self.constant(np.array(float(node)))
        if isinstance(node, Name):
            return steps[node.name]
        if isinstance(node, Missing):
            return steps["missing"]
        if isinstance(node, If):
            return self.add("Where", [self.arithmetic(each, steps) for each in (node.condition, node.yes, node.no)])
        a, b = self.arithmetic(node.a, steps), self.arithmetic(node.b, steps)
        names = {"+": "Add", "-": "Sub", "*": "Mul", "/": "Div", "<": "Less", "=": "Equal", "and": "And", "or": "Or"}
        return self.add("Mod", [a, b], fmod=1) if node.op == "%" else self.add(names[node.op], [a, b])

    def apply_layers(self, value: str, layers: list[tuple[Floats, Floats]]) -> str:
        for k, (weight, bias) in enumerate(layers):
            value = value if k == 0 else self.add("Relu", [value])
            linear = self.add("MatMul", [value, self.constant(weight.T)])
            value = self.add("Add", [linear, self.constant(bias)])
        return value

    def to_model(self) -> Any:
        helper = self.onnx.helper
        graph = helper.make_graph(self._nodes, "creases", self._inputs, self._outputs, self._constants)
        opsets = [helper.make_opsetid("", self.opset), helper.make_opsetid("ai.onnx.ml", ML_OPSET)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=self.ir_version, producer_name="creases")
