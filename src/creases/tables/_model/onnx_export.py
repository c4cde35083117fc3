"""A model of a table as an ONNX file that takes the columns of the table as they are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from creases._files import write_atomically
from creases._typing import Floats
from creases.errors import FileError, InputError
from creases.tables._model.row_model import log_odds

if TYPE_CHECKING:
    from creases.tables._encoding.encoding import ColumnEncoding
    from creases.tables._model.row_model import RowModel
from creases.tables._reading.scales import ScaleFormat

#: Versions of the operators, old enough for every runtime in use.
OPSET, ML_OPSET, IR_VERSION = 13, 2, 8


def write_onnx(model: RowModel, path: Path) -> Path:
    """Write a model to an ``.onnx`` file; see :meth:`RowModel.to_onnx`."""
    try:
        import onnx
    except ImportError:
        raise FileError(f"cannot write {path}: this needs the onnx package; pip install creases[onnx]") from None
    if path.suffix != ".onnx":
        raise InputError("path", "end in .onnx", repr(path.name))
    graph = _Graph(onnx)
    outputs = graph.apply_layers(_encode(graph, model), model.layers())
    if model.classes is None:
        if (largest := model.largest) is not None:  # a logarithmic link
            outputs = graph.add("Exp", [graph.add("Min", [outputs, graph.constant(np.array(np.log(largest)))])])
        graph.add_output("prediction", outputs, onnx.TensorProto.DOUBLE, ["batch", len(model.targets)])
    else:
        _decide(graph, model, outputs)
    proto = graph.to_model()
    onnx.checker.check_model(proto)
    with write_atomically(path) as temporary:
        temporary.write_bytes(proto.SerializeToString())
    return path


def _encode(graph: _Graph, model: RowModel) -> str:
    """Add the inputs and what encodes them; return the name of the encoded rows (batch, d)."""
    if model.encoding is None:
        return graph.add_input("X", graph.onnx.TensorProto.DOUBLE, len(model.features))
    parts = []
    for column in model.encoding.inputs:
        if column.is_category:
            parts.append(_encode_category(graph, column, model.encoding.missing))
        else:
            parts += _encode_numbers(graph, column, model.encoding.missing)
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
    notation = column.kind.notation
    words: Any = notation.levels if isinstance(notation, ScaleFormat) else [[word] for word in column.kind.words or ()]
    if words:
        forms = (str, str.lower, str.upper, str.capitalize)
        code = {form(word): float(k) for k, level in enumerate(words) for word in level for form in forms}
        text = graph.add_input(column.name, graph.onnx.TensorProto.STRING, 1)
        number = graph.add(
            "LabelEncoder",
            [text],
            domain="ai.onnx.ml",
            keys_strings=list(code),
            values_floats=list(code.values()),
            default_float=float("nan"),
        )
        raw = [graph.add("Cast", [number], to=double)]
    elif column.kind.date is not None:
        raw = [graph.add_input(name, double, 1) for name in column.kind.date.names(column.name)]
    else:
        raw = [graph.add_input(column.name, double, 1)]
    gaps = [graph.add("IsNaN", [name]) for name in raw]
    is_gap, codes = gaps[0], []
    for code in column.kind.codes:
        codes.append(graph.add("Equal", [raw[0], graph.constant(np.array(code))]))
        gaps[0] = graph.add("Or", [gaps[0], codes[-1]])
    filled = [
        graph.add("Where", [gap, graph.constant(np.array(mean)), name])
        for gap, mean, name in zip(gaps, column.means, raw, strict=True)
    ]
    is_indicated = bool(column.n_missing) and missing == "indicate"
    flags = [is_gap, *codes] if is_indicated else codes
    return [*filled, *(graph.add("Cast", [flag], to=double) for flag in flags)]


def _decide(graph: _Graph, model: RowModel, logits: str) -> None:
    """Add the probabilities and the class, as the threshold decides."""
    assert model.classes is not None
    kinds = graph.onnx.TensorProto
    k = len(model.classes)
    shift = np.array([0.0, -log_odds(model.threshold)]) if k == 2 and model.threshold != 0.5 else np.zeros(k)
    decided = graph.add("ArgMax", [graph.add("Add", [logits, graph.constant(shift)])], axis=1, keepdims=0)
    labels = model.label_values
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

    def add(self, op: str, inputs: list[str], **attributes: Any) -> str:
        name = f"creases.value{len(self._nodes)}"
        self._nodes.append(self.onnx.helper.make_node(op, inputs, [name], **attributes))
        return name

    def apply_layers(self, value: str, layers: list[tuple[Floats, Floats]]) -> str:
        for k, (weight, bias) in enumerate(layers):
            value = value if k == 0 else self.add("Relu", [value])
            linear = self.add("MatMul", [value, self.constant(weight.T)])
            value = self.add("Add", [linear, self.constant(bias)])
        return value

    def to_model(self) -> Any:
        helper = self.onnx.helper
        graph = helper.make_graph(self._nodes, "creases", self._inputs, self._outputs, self._constants)
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", ML_OPSET)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="creases")
