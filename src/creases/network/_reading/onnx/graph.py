"""Reading ONNX files: the graph is run node by node with torch operations, and so read as a torch model is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from creases.errors import FileError, InputError, ReadError
from creases.network._network import Network
from creases.network._reading.functions import read_function
from creases.network._reading.onnx.node import Node
from creases.network._reading.onnx.operators import OPERATORS
from creases.network._reading.traced import Recorder, Traced

#: Files whose steps have at most this many entries in all are checked against ONNX's own evaluator when read.
_CHECKED = 20_000


def read_onnx(model: Any, input_shape: Sequence[int] | None = None) -> Network:
    """An ONNX file (path) or ``onnx.ModelProto`` as a network.

    The first axis of the graph's input is the batch, free or of a fixed size; ``input_shape`` (without it) is needed
    only when the file leaves other sizes free.
    """
    onnx = _onnx()
    source = str(model) if isinstance(model, str | Path) else "model"
    if isinstance(model, str | Path):
        try:
            model = onnx.load(model)
        except Exception as problem:
            raise FileError(f"{source}: is not a readable ONNX file: {problem}") from problem
    if model.functions:
        model = onnx.inliner.inline_local_functions(model)
    graph = Graph(model, source)
    shape, batch = graph.input_shape(input_shape)
    net = read_function(graph, shape, removal=graph.removal, batches=(batch, batch) if batch else (2, 3))
    _compare(model, net, graph, batch or 2)
    return net


def _onnx() -> Any:
    try:
        import onnx
        import onnx.inliner
    except ImportError:
        raise FileError("cannot read ONNX models: this needs the onnx package; pip install creases[onnx]") from None
    return onnx


class Graph:
    """An ONNX graph as a function of one tensor."""

    def __init__(self, model: Any, source: str) -> None:
        onnx = _onnx()
        graph = model.graph
        self.source = source
        self.opset = max((s.version for s in model.opset_import if s.domain in ("", "ai.onnx")), default=1)
        self.constants: dict[str, Tensor] = {}
        for tensor in graph.initializer:
            self.constants[tensor.name] = constant(onnx.numpy_helper.to_array(tensor), f"initializer {tensor.name!r}")
        if len(graph.sparse_initializer):
            raise ReadError(f"{source}: sparse initializers cannot be read; export the model with dense weights")
        inputs = [
            value for value in graph.input if value.name not in self.constants
        ]  # old files list weights as inputs
        if len(inputs) != 1:
            names = ", ".join(value.name for value in inputs) or "none"
            raise ReadError(f"{source}: expected a graph with one input, got {len(inputs)} ({names})")
        if len(graph.output) != 1:
            names = ", ".join(value.name for value in graph.output)
            raise ReadError(f"{source}: expected a graph with one output, got {len(graph.output)} ({names})")
        self.input, self.output = inputs[0], graph.output[0].name
        self.nodes = [self._node(node, i) for i, node in enumerate(graph.node)]

    def _node(self, node: Any, i: int) -> Node:
        onnx = _onnx()
        name = node.name or f"{node.op_type}_{i}"
        if node.domain not in ("", "ai.onnx") or node.op_type not in OPERATORS:
            domain = f" of domain {node.domain!r}" if node.domain not in ("", "ai.onnx") else ""
            raise ReadError(
                f"{self.source}, node {name} ({node.op_type}): this operator{domain} cannot be read as affine steps "
                "and bends"
            )
        attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        for key, value in attributes.items():
            if isinstance(value, bytes):
                attributes[key] = value.decode()
            elif isinstance(value, onnx.TensorProto):
                attributes[key] = constant(onnx.numpy_helper.to_array(value), f"node {name}")
        return Node(node.op_type, name, tuple(node.input), tuple(node.output), attributes, self.opset)

    # -- shapes -------------------------------------------------------------------------------------------------------

    def input_shape(self, given: Sequence[int] | None) -> tuple[tuple[int, ...], int]:
        """Shape of one input and the size of the batch, 0 if that is free."""
        tensor = self.input.type.tensor_type
        dims = [d.dim_value if d.HasField("dim_value") and d.dim_value > 0 else 0 for d in tensor.shape.dim]
        if given is None and not (tensor.HasField("shape") and dims):
            raise InputError(f"input_shape: {self.source} does not say it; give it without the batch axis")
        if given is not None and (not dims or tuple(given) == tuple(dims)):
            return tuple(int(n) for n in given), 1 if dims else 0  # a file without batch axis: its one sample gets one
        if len(dims) == 1 and dims[0]:
            return (dims[0],), 1
        shape = tuple(dims[1:])
        if given is not None:
            given = tuple(int(n) for n in given)
            if len(given) != len(shape) or any(n and n != g for n, g in zip(shape, given, strict=True)):
                raise InputError(f"input_shape: the file's own is {shape} (0: free), got {given}")
            shape = given
        if 0 in shape:
            raise InputError(f"input_shape: {self.source} leaves sizes free, {shape} (0: free); give all of them")
        return shape, dims[0]

    # -- running ------------------------------------------------------------------------------------------------------

    def __call__(self, x: Tensor) -> Any:
        """The graph's output for a batch (b, *input_shape)."""
        values: dict[str, Any] = {"": None, self.input.name: x, **self.constants}
        recorder = x.recorder if isinstance(x, Traced) else None
        for node in self.nodes:
            if recorder is not None:
                _stand(recorder, node)
            missing = [name for name in node.inputs if name not in values]
            if missing:
                raise FileError(
                    f"{self.source}, node {node.name}: its input {missing[0]!r} is not made by any node before it"
                )
            out = OPERATORS[node.op](node, *(values[name] for name in node.inputs))
            outs = out if isinstance(out, tuple | list) else (out,)
            values.update(zip(node.outputs, outs, strict=False))
        if self.output not in values:
            raise FileError(f"{self.source}: its output {self.output!r} is not made by any node")
        return values[self.output]

    def removal(self, path: str) -> str:
        """How to read the file without its last node."""
        before = next((node.inputs[0] for node in self.nodes if node.name == path), "")
        return (
            "Cut the file before it: onnx.utils.extract_model(path, new_path, "
            f"[{self.input.name!r}], [{before!r}]), and read the new file."
        )


def _stand(recorder: Recorder, node: Node) -> None:
    recorder.module, recorder.place, recorder.inside = node.name, f"{node.name} ({node.op})", True
    recorder.tape.path = recorder.name(node.name)


def constant(array: Any, what: str) -> Tensor:
    """An array of the file as a tensor; floating point as float64."""
    array = np.array(array)
    if array.dtype.kind == "f" or str(array.dtype) in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
        array = array.astype(np.float64)
        if not np.isfinite(array).all() and array.size > 1:
            raise InputError(f"model: {what} has NaN or infinite entries; a partition needs finite weights")
    return torch.from_numpy(array)


def _compare(model: Any, net: Network, graph: Graph, batch: int) -> None:
    """Check a small network against ONNX's own evaluator, in the file's own precision.

    Not with batch normalisation before opset 14: the evaluator then mixes the batch's statistics in.
    """
    old_norm = graph.opset < 14 and any(node.op == "BatchNormalization" for node in graph.nodes)
    if old_norm or sum(int(np.prod(step.shape)) for step in net.steps) > _CHECKED:
        return
    onnx = _onnx()
    from onnx.reference import ReferenceEvaluator

    dtype = onnx.helper.tensor_dtype_to_np_dtype(graph.input.type.tensor_type.elem_type)
    dims = len(graph.input.type.tensor_type.shape.dim)
    x = np.random.default_rng(0).normal(size=(batch, *net.input_shape)).astype(dtype)
    try:
        inputs = {graph.input.name: x[0] if dims == len(net.input_shape) else x}
        expected: Any = np.asarray(next(iter(ReferenceEvaluator(model).run(None, inputs))))
    except (NotImplementedError, RuntimeError, TypeError, ValueError):
        return  # the evaluator does not run every file; the steps were checked one by one
    value = net(x.astype(np.float64)).reshape(np.shape(expected))
    scale = max(1.0, float(np.abs(expected).max(initial=0)))
    precision = float(np.finfo(dtype).eps) ** 0.5
    if not np.abs(value - expected).max(initial=0) <= precision * scale:
        raise ReadError(
            f"{graph.source}: the network read gives other values than ONNX's evaluator; please report this file"
        )
