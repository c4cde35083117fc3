"""Programs as ONNX files, with operators that every runtime supports."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from creases._files import write_atomically
from creases._program._program import Program
from creases._program._step import Step
from creases.errors import FileError

#: Version of the operators, old enough for every runtime in use.
OPSET = 13
IR_VERSION = 8


def write_onnx(program: Program, path: str | Path) -> Path:
    """Write a program to an ``.onnx`` file atomically; the graph maps ``x`` (batch, *input_shape) to ``y``."""
    try:
        import onnx
    except ImportError:
        raise FileError(f"cannot write {path}: this needs the onnx package; pip install creases[onnx]") from None
    model = _model(program, onnx)
    onnx.checker.check_model(model)
    with write_atomically(path) as temporary:
        temporary.write_bytes(model.SerializeToString())
    return Path(path)


def _model(program: Program, onnx: Any) -> Any:
    dtype = np.dtype(str(program.dtype).removeprefix("torch."))
    writer = _Writer(onnx, dtype)
    for i, step in enumerate(program.steps):
        inputs = ["x" if value == 0 else f"value{value}" for value in step.inputs]
        output = f"value{i + 1}"
        writer.step, writer.options, writer.shape = step, step.options, program.shapes[step.inputs[0]]
        writer.inputs, writer.output = inputs, output if step.offset is None else f"{output}.linear"
        WRITERS[step.op](writer)
        if step.offset is not None:
            writer.node("Add", [writer.output, writer.weight("offset")], output)
    writer.node("Identity", [f"value{len(program.steps)}" if program.steps else "x"], "y")
    kind = onnx.helper.np_dtype_to_tensor_dtype(dtype)
    graph = onnx.helper.make_graph(
        writer.nodes,
        "creases",
        [onnx.helper.make_tensor_value_info("x", kind, ["batch", *program.input_shape])],
        [onnx.helper.make_tensor_value_info("y", kind, ["batch", *program.output_shape])],
        writer.constants,
    )
    opset = [onnx.helper.make_opsetid("", OPSET)]
    return onnx.helper.make_model(graph, opset_imports=opset, ir_version=IR_VERSION, producer_name="creases")


class _Writer:
    """The nodes and constants of a graph being built, and the step that is written."""

    step: Step
    options: dict[str, Any]  #: of the step
    inputs: list[str]
    output: str  #: of the step's linear part
    shape: tuple[int, ...]  #: of its first input, without batch axis

    def __init__(self, onnx: Any, dtype: np.dtype[Any]) -> None:
        self.onnx, self.dtype = onnx, dtype
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def node(self, op: str, inputs: Sequence[str], output: str = "", **attributes: Any) -> str:
        output = output or self.output
        self.nodes.append(self.onnx.helper.make_node(op, inputs, [output], **attributes))
        return output

    def constant(self, numbers: Any, name: str) -> str:
        array = np.asarray(numbers)
        array = np.ascontiguousarray(array, self.dtype if array.dtype.kind == "f" else np.int64)
        self.constants.append(self.onnx.numpy_helper.from_array(array, f"{self.output}.{name}"))
        return f"{self.output}.{name}"

    def weight(self, name: str) -> str:
        return self.constant(self.step.tensors[name].detach().cpu().numpy(), name)


def _add(w: _Writer) -> None:
    signs = w.options["signs"]
    total = w.inputs[0] if signs[0] == 1 else w.node("Neg", w.inputs[:1], f"{w.output}.0")
    for k, (name, sign) in enumerate(zip(w.inputs[1:], signs[1:], strict=True), start=1):
        total = w.node("Add" if sign == 1 else "Sub", [total, name], f"{w.output}.{k}")
    w.node("Identity", [total])


def _stack(w: _Writer) -> None:
    axis = len(w.step.shape)
    place, sizes = w.constant([axis], "axis"), w.constant([1, *w.step.shape[:-1], 1], "sizes")
    parts = []
    for k, name in enumerate(w.inputs):
        long = w.node("Unsqueeze", [name, place], f"{w.output}.{k}.long")
        parts.append(w.node("Expand", [long, sizes], f"{w.output}.{k}"))
    w.node("Concat", parts, axis=axis)


def _pad(w: _Writer) -> None:
    before, after = w.options["pads"][::2][::-1], w.options["pads"][1::2][::-1]  # the last axis comes first
    rest = [0] * (1 + len(w.step.shape) - len(before))
    w.node("Pad", [*w.inputs, w.constant([*rest, *before, *rest, *after], "pads")])


def _conv(w: _Writer) -> None:
    names = {"strides": "stride", "dilations": "dilation", "output_padding": "output_padding"}
    sizes: dict[str, Any] = {name: list(w.options[ours]) for name, ours in names.items() if ours in w.options}
    w.node(
        "Conv" if w.step.op == "conv" else "ConvTranspose",
        [*w.inputs, w.weight("weight")],
        pads=2 * list(w.options["padding"]),
        group=w.options["groups"],
        **sizes,
    )


def _average(w: _Writer) -> None:
    """Write means along the axes behind the channels, by whatever rule, as a product with a matrix for each axis."""
    axes = len(w.shape) - 1
    for k, matrix in enumerate(reversed(_axis_matrices(w.step, w.shape[1:]))):
        product = w.node("MatMul", [*w.inputs, w.constant(matrix, f"{k}.matrix")], f"{w.output}.{k}.product")
        turn = [0, 1, axes + 1, *range(2, axes + 1)]  # the axis before comes last
        w.inputs = [w.node("Transpose", [product], w.output if k == axes - 1 else f"{w.output}.{k}", perm=turn)]


def _axis_matrices(step: Step, sizes: tuple[int, ...]) -> list[NDArray[np.float64]]:
    """Return matrices (in, out) along each axis whose product is a step that treats axes one after another.

    A unit vector along an axis, 1 along all others, becomes a row of its matrix along the axis, times a number.
    """
    total = step.linear([torch.ones(1, 1, *sizes, dtype=torch.float64)])[0, 0]
    peak = np.unravel_index(int(total.abs().argmax()), total.shape)
    matrices = []
    for axis, n in enumerate(sizes):
        along = [n if i == axis else 1 for i in range(len(sizes))]
        units = torch.eye(n, dtype=torch.float64).reshape(n, 1, *along).expand(n, 1, *sizes)
        row: Any = (slice(None), 0, *peak[:axis], slice(None), *peak[axis + 1 :])
        rows = step.linear([units])[row]
        matrices.append((rows / total[peak] if axis else rows).numpy())
    return matrices


def _relu(w: _Writer) -> None:
    if w.step.leak is None:
        w.node("Relu", w.inputs)
    else:
        slope = torch.broadcast_to(w.step.leak.detach().cpu(), w.step.shape).numpy()
        w.node("PRelu", [*w.inputs, w.constant(slope, "leak")])


#: Writer of each operation's linear part, or of a bend.
WRITERS: dict[str, Callable[[_Writer], Any]] = {
    "linear": lambda w: w.node("MatMul", [*w.inputs, w.constant(w.step.tensors["weight"].detach().cpu().T, "weight")]),
    "conv": _conv,
    "conv_transpose": _conv,
    "scale": lambda w: w.node("Mul", [*w.inputs, w.weight("factor")]),
    "add": _add,
    "concat": lambda w: w.node("Concat", w.inputs, axis=w.options["dim"] + 1),
    "stack": _stack,
    "reshape": lambda w: w.node("Reshape", [*w.inputs, w.constant([-1, *w.options["shape"]], "shape")]),
    "permute": lambda w: w.node("Transpose", w.inputs, perm=[0, *(dim + 1 for dim in w.options["dims"])]),
    "gather": lambda w: w.node("Gather", [w.node("Flatten", w.inputs, f"{w.output}.flat"), w.weight("index")], axis=1),
    "pad": _pad,
    **dict.fromkeys(("avg_pool", "adaptive_avg_pool", "interpolate"), _average),
    "sum": lambda w: w.node(
        "ReduceSum",
        [*w.inputs, w.constant([dim + 1 for dim in w.options["dims"]], "axes")],
        keepdims=int(w.options["keepdim"]),
    ),
    "matmul": lambda w: w.node("MatMul", [w.weight("matrix"), *w.inputs]),
    "relu": _relu,
    "choice": lambda w: w.node("ReduceMax", w.inputs, axes=[-1], keepdims=0),
}
