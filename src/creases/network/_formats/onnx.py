"""Programs as ONNX files, with operators that every runtime supports."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from creases._files import write_atomically
from creases._program._program import Program
from creases._program._step import Step
from creases.errors import FileError, InputError

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
    writer = _Writer(onnx)
    for i, step in enumerate(program.steps):
        if step.op not in WRITERS:
            raise InputError(
                "network",
                f"consist of the operations {', '.join(WRITERS)} to be written as ONNX",
                f"{step.op} in step {i} ({step.path or step.op})",
                "save it as .safetensors",
            )
        inputs, output = ["x" if value == 0 else f"value{value}" for value in step.inputs], f"value{i + 1}"
        linear = output if step.offset is None else f"{output}.linear"
        WRITERS[step.op](writer, step, inputs, linear)
        if step.offset is not None:
            writer.node("Add", [linear, writer.tensor(step, "offset", output)], output)
    writer.node("Identity", [f"value{len(program.steps)}" if program.steps else "x"], "y")
    kind = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(str(program.dtype).removeprefix("torch.")))
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
    """The nodes and constants of a graph being built."""

    def __init__(self, onnx: Any) -> None:
        self.onnx = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def node(self, op: str, inputs: list[str], output: str, **attributes: Any) -> None:
        self.nodes.append(self.onnx.helper.make_node(op, inputs, [output], **attributes))

    def constant(self, array: NDArray[Any], name: str) -> str:
        self.constants.append(self.onnx.numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def tensor(self, step: Step, name: str, output: str) -> str:
        return self.constant(step.tensors[name].detach().cpu().numpy(), f"{output}.{name}")


def _linear(writer: _Writer, step: Step, inputs: list[str], output: str) -> None:
    weight = step.tensors["weight"].detach().cpu().numpy().T
    writer.node("MatMul", [inputs[0], writer.constant(weight, f"{output}.weight")], output)


def _add(writer: _Writer, step: Step, inputs: list[str], output: str) -> None:
    total = ""
    for k, (name, sign) in enumerate(zip(inputs, step.options["signs"], strict=True)):
        if not total and sign == 1:
            total = name
            continue
        name_k = f"{output}.{k}"
        if not total:
            writer.node("Neg", [name], name_k)
        else:
            writer.node("Add" if sign == 1 else "Sub", [total, name], name_k)
        total = name_k
    writer.node("Identity", [total], output)


def _reshape(writer: _Writer, step: Step, inputs: list[str], output: str) -> None:
    shape = writer.constant(np.array([-1, *step.options["shape"]], np.int64), f"{output}.shape")
    writer.node("Reshape", [inputs[0], shape], output)


def _conv(writer: _Writer, step: Step, inputs: list[str], output: str) -> None:
    options = step.options
    writer.node(
        "Conv",
        [inputs[0], writer.tensor(step, "weight", output)],
        output,
        strides=list(options["stride"]),
        pads=[*options["padding"], *options["padding"]],
        dilations=list(options["dilation"]),
        group=options["groups"],
    )


def _relu(writer: _Writer, step: Step, inputs: list[str], output: str) -> None:
    if step.leak is None:
        writer.node("Relu", inputs, output)
    else:
        slope = torch.broadcast_to(step.leak.detach().cpu(), step.shape).numpy()
        writer.node("PRelu", [inputs[0], writer.constant(slope, f"{output}.leak")], output)


#: Writer of each operation.
WRITERS: dict[str, Callable[[_Writer, Step, list[str], str], None]] = {
    "linear": _linear,
    "scale": lambda writer, step, inputs, output: writer.node(
        "Mul", [inputs[0], writer.tensor(step, "factor", output)], output
    ),
    "add": _add,
    "concat": lambda writer, step, inputs, output: writer.node("Concat", inputs, output, axis=step.options["dim"] + 1),
    "reshape": _reshape,
    "conv": _conv,
    "relu": _relu,
}
