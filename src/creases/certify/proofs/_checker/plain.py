"""A network as the checker reads it: steps with weights as numpy arrays in float64.

Perceptrons in ONNX files are read with numpy alone: a proof about one is checked without importing PyTorch.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from creases.certify.proofs._spec import Array

if TYPE_CHECKING:
    from creases.network import Network


@dataclass(frozen=True, eq=False)
class PlainStep:
    """A step, as :class:`creases._program.Step` describes it."""

    op: str
    inputs: tuple[int, ...]  #: 0 is the network's input, ``i + 1`` the output of step ``i``
    shape: tuple[int, ...]  #: of its output
    options: dict[str, Any]
    arrays: dict[str, Array]  #: its weights
    path: str  #: where it comes from, for messages


@dataclass(frozen=True, eq=False)
class PlainNetwork:
    """A network as a list of steps."""

    steps: tuple[PlainStep, ...]
    input_shape: tuple[int, ...]
    link: str = ""  #: what the model applies to these outputs, such as "softmax"

    @cached_property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Shapes of the input and of each step's output."""
        return (self.input_shape, *(step.shape for step in self.steps))

    @property
    def n_in(self) -> int:
        """Number of inputs."""
        return prod(self.input_shape)

    @property
    def n_out(self) -> int:
        """Number of outputs."""
        return prod(self.shapes[-1])

    @property
    def entries(self) -> int:
        """Entries of all steps' matrices, if each were written as one."""
        sizes = [prod(shape) for shape in self.shapes]
        return sum(sizes[k + 1] * sum(sizes[i] for i in step.inputs) for k, step in enumerate(self.steps))


def to_plain(net: Network | PlainNetwork) -> PlainNetwork:
    """Return a network as the checker reads it."""
    if isinstance(net, PlainNetwork):
        return net
    import torch

    work = net.to("cpu").to(torch.float64)
    steps = [
        PlainStep(
            step.op,
            step.inputs,
            step.shape,
            step.options,
            {name: tensor.detach().numpy() for name, tensor in step.tensors.items()},
            step.path,
        )
        for step in work.steps
    ]
    return PlainNetwork(tuple(steps), work.input_shape, work.link)


# -- perceptrons in ONNX files ----------------------------------------------------------------------------------------


OTHER = "no perceptron"


def read_perceptron(path: Path) -> PlainNetwork | None:
    """Return the network of a file of products, sums with constants and (leaky) ReLUs in a row; None for any other."""
    try:
        import onnx

        return _read(onnx.load(path), onnx)
    except Exception:  # damaged, or not as simple as that: the reader of all files says what is wrong
        return None


def _read(model: Any, onnx: Any) -> PlainNetwork:
    graph = model.graph
    constants = {each.name: _constant(onnx.numpy_helper.to_array(each)) for each in graph.initializer}
    (start,) = (each for each in graph.input if each.name not in constants)
    (end,) = graph.output
    dims = [each.dim_value for each in start.type.tensor_type.shape.dim]
    if len(dims) < 2 or min(dims[1:]) < 1 or graph.sparse_initializer or model.functions:
        raise ValueError(OTHER)
    shape = input_shape = tuple(dims[1:])
    current, steps = start.name, list[PlainStep]()
    for node in graph.node:
        options = {each.name: onnx.helper.get_attribute_value(each) for each in node.attribute}
        (first, *rest), (name,) = node.input, node.output
        if node.domain not in ("", "ai.onnx") or first != current or name in (*constants, start.name):
            raise ValueError(OTHER)
        values = [constants[name] for name in rest]
        op, shape, arrays = _step(node.op_type, shape, values, options)
        signs = {"signs": [1]} if op == "add" else {"shape": list(shape)} if op == "reshape" else {}
        steps.append(PlainStep(op, (len(steps),), shape, signs, arrays, node.name))
        current = name
    if current != end.name or not steps:
        raise ValueError(OTHER)
    return PlainNetwork(tuple(steps), input_shape)


def _constant(array: Array) -> Array:
    if array.dtype not in (np.float32, np.float64):
        raise ValueError(OTHER)
    return np.asarray(array, np.float64)


def _step(
    op: str, shape: tuple[int, ...], values: list[Array], options: dict[str, Any]
) -> tuple[str, tuple[int, ...], dict[str, Array]]:
    """Return the kind of a node's step, its shape and its weights, for an input (batch, *shape)."""
    match op, values:
        case "Relu", [] if not options:
            return "relu", shape, {}
        case "LeakyRelu", [] if options.get("alpha", 0.01) != 1:  # else it is no bend
            return "relu", shape, {"leak": np.asarray(np.float32(options.get("alpha", 0.01)), np.float64)}
        case "Flatten", [] if options.get("axis", 1) == 1:
            return "reshape", (prod(shape),), {}
        case "Identity", [] if not options:
            return "reshape", shape, {}
        case "MatMul", [weight] if weight.ndim == 2 and shape == weight.shape[:1]:
            return "linear", weight.shape[1:], {"weight": np.ascontiguousarray(weight.T)}
        case "Gemm", [weight, *bias] if len(shape) == 1 and set(options) <= {"transB", "alpha", "beta"}:
            if options.get("alpha", 1.0) != 1 or options.get("beta", 1.0) != 1 or weight.ndim != 2:
                raise ValueError(OTHER)
            weight = weight if options.get("transB", 0) else np.ascontiguousarray(weight.T)
            if shape != weight.shape[1:] or any(each.shape != weight.shape[:1] for each in bias):
                raise ValueError(OTHER)
            return "linear", weight.shape[:1], {"weight": weight} | ({"offset": bias[0]} if bias else {})
        case "Add" | "Sub", [value] if not options and np.broadcast_shapes(value.shape, (2, *shape)) == (2, *shape):
            if value.ndim > len(shape):
                raise ValueError(OTHER)  # it may differ between samples
            return "add", shape, {"offset": value if op == "Add" else -value}
    raise ValueError(OTHER)
