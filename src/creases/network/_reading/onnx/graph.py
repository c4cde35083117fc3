"""Reading ONNX files: the graph runs node by node with torch operations and is traced like a torch model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache, partial
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from creases.errors import FileError, InputError, ReadError
from creases.network._network import Network
from creases.network._reading.allocation import AllocationLimit
from creases.network._reading.functions import read_function
from creases.network._reading.onnx.operators import OPERATORS, Node
from creases.network._reading.traced import TracedTensor

# Functions that an ONNX file defines: how many nodes it has once their calls are replaced by their nodes.

#: Nodes of a graph. Forty functions that call each other twice make a file of a kilobyte grow to a trillion nodes.
MAX_NODES = 1_000_000


def check_inlining(model: Any, source: str) -> None:
    """Refuse a model whose functions have too many nodes in all, or call themselves, before they are inlined."""
    functions = {(each.domain, each.name): each.node for each in model.functions}

    @cache
    def size(key: tuple[str, str]) -> int:
        return sum(size((node.domain, node.op_type)) for node in functions[key]) if key in functions else 1

    try:
        total = sum(size((node.domain, node.op_type)) for node in model.graph.node)
    except RecursionError:
        raise ReadError(f"cannot read {source}: its functions call themselves, or are nested too deeply") from None
    if total > MAX_NODES:
        raise ReadError(f"cannot read {source}: its functions unfold to {total:,} nodes, more than {MAX_NODES:,}")


#: Bytes that a file's operations may take by default: these, and as many for each byte of the file.
_MEMORY, _MEMORY_OF_BYTE = 5e8, 16

#: ONNX's reference evaluator, which knows no limit and writes out padding and the gaps of kernels, is asked where no
#: operation takes more bytes, all values together have at most so many entries, convolutions multiply at most so often
#: for one input, and windows have at most so much padding and so wide gaps.
_COMPARED_BYTES, _COMPARED_ENTRIES, _COMPARED_PRODUCTS, _COMPARED_REACH = 1e7, 20_000, 1e7, 8


def read_onnx(model: Any, input_shape: Sequence[int] | None = None, *, max_memory: float | None = None) -> Network:
    """Read an ONNX file (path) or ``onnx.ModelProto``.

    The first axis of the graph's input is the batch, of variable or fixed size; ``input_shape`` (without it) is needed
    only if other sizes are variable. Operations may take ``max_memory`` bytes, by default half a gigabyte and sixteen
    times the file.
    """
    onnx = _onnx()
    source = str(model) if isinstance(model, str | Path) else "model"
    if isinstance(model, str | Path):
        if not Path(model).is_file():  # nor a pipe, which would be waited for
            raise FileError(f"cannot read {source}: there is no such file")
        try:
            model = onnx.load(model)
        except Exception as problem:
            raise FileError(f"cannot read {source} as an ONNX file: {problem}") from problem
    if model.functions:
        check_inlining(model, source)
        model = onnx.inliner.inline_local_functions(model)
    graph = Graph(model, source)
    shape, batch = graph.input_shape(input_shape)
    default = _MEMORY + _MEMORY_OF_BYTE * model.ByteSize()
    with AllocationLimit(default if max_memory is None else max_memory) as taken:
        net = read_function(graph, shape, removal=graph.removal, batches=(batch, batch) if batch else (2, 3))
    if taken.most_bytes <= _COMPARED_BYTES:
        _compare_with_reference(model, net, graph, batch or 2)
    return net


def _onnx() -> Any:
    try:
        import onnx
        import onnx.inliner
    except ImportError:
        raise FileError("cannot read ONNX models: this needs the onnx package; pip install creases[onnx]") from None
    return onnx


class Graph:
    """An ONNX graph as a function of a tensor."""

    def __init__(self, model: Any, source: str) -> None:
        graph = model.graph
        self.source = source
        self.opset = max((s.version for s in model.opset_import if s.domain in ("", "ai.onnx")), default=1)
        self.constants = {each.name: self._constant(each, f"initializer {each.name!r}") for each in graph.initializer}
        if len(graph.sparse_initializer):
            raise ReadError(f"cannot read {source}: it has sparse initializers; export the model with dense weights")
        # Old files list weights as inputs.
        inputs = [value for value in graph.input if value.name not in self.constants]
        for what, ends in (("input", inputs), ("output", graph.output)):
            if len(ends) != 1:
                names = ", ".join(value.name for value in ends) or "none"
                raise ReadError(f"cannot read {source}: the graph must have one {what}, got {len(ends)} ({names})")
        self.input, self.output = inputs[0], graph.output[0].name
        self.nodes = [self._node(node, i) for i, node in enumerate(graph.node)]
        outputs = [output for node in self.nodes for output in node.outputs if output]
        counts = Counter([tensor.name for tensor in graph.initializer] + [self.input.name] + outputs)
        repeated = next((name for name, count in counts.items() if count > 1), None)
        if repeated is not None:
            raise FileError(f"{source}: it is damaged: two weights, nodes or inputs are called {repeated!r}")
        self._join_soft_shrinks()

    def _join_soft_shrinks(self) -> None:
        """Write ``where(|x| > c, x - c sign(x), 0 x)``, torch's newest softshrink, as Shrink: its sign alone jumps."""
        made = {output: (i, node) for i, node in enumerate(self.nodes) for output in node.outputs}
        reads = Counter([self.output, *(name for node in self.nodes for name in node.inputs)])

        def inputs(name: str, op: str) -> tuple[str, ...]:
            return made[name][1].inputs if name in made and made[name][1].op == op else ("", "")

        for i, node in enumerate(self.nodes):
            if node.op != "Where" or any(other.op == "If" for other in self.nodes):  # whose branches read values, too
                continue
            (size, bound), (x, part) = inputs(node.inputs[0], "Greater"), inputs(node.inputs[1], "Sub")
            (sign, amount), (rest, zero) = inputs(part, "Mul"), inputs(node.inputs[2], "Mul")
            c, none = (self.constants.get(name, torch.ones(2)) for name in (amount, zero))
            is_soft = (x,) == (rest,) == inputs(size, "Abs")[:1] == inputs(sign, "Sign") and bound == amount
            if is_soft and c.numel() == none.numel() == reads[node.inputs[1]] == 1 and not none.any():
                at, shrunk = made[node.inputs[1]]
                both = dict.fromkeys(("lambd", "bias"), float(c))
                self.nodes[at] = Node("Shrink", shrunk.name, (x,), shrunk.outputs, both, self.opset)
                self.nodes[i] = Node("Identity", node.name, shrunk.outputs, node.outputs, {}, self.opset)

    def _node(self, node: Any, i: int) -> Node:
        onnx = _onnx()
        name = node.name or f"{node.op_type}_{i}"
        if node.domain not in ("", "ai.onnx") or node.op_type not in (*OPERATORS, "If"):
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
                attributes[key] = self._constant(value, f"node {name}")
        return Node(node.op_type, name, tuple(node.input), tuple(node.output), attributes, self.opset)

    def _constant(self, tensor: Any, what: str) -> Tensor:
        """Return a tensor of the file; floating point as float64."""
        try:
            array = np.array(_onnx().numpy_helper.to_array(tensor))
        except (TypeError, ValueError, KeyError, IndexError, OverflowError, MemoryError) as problem:
            raise FileError(f"{self.source}, {what}: it is damaged: {problem}") from None
        if array.dtype.kind == "f" or str(array.dtype) in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
            array = array.astype(np.float64)
            if not np.isfinite(array).all() and array.size > 1:
                raise InputError("model", "have finite weights", f"NaN or infinite entries in {what}")
        try:
            return torch.from_numpy(array)
        except TypeError:  # such as the four-bit integers of quantized weights
            raise ReadError(f"cannot read {what}: its type is {array.dtype}; export the model in float32") from None

    # -- shapes -------------------------------------------------------------------------------------------------------

    def input_shape(self, shape: Sequence[int] | None) -> tuple[tuple[int, ...], int]:
        """Return the shape of one input and the size of the batch, 0 if that is variable."""
        tensor = self.input.type.tensor_type
        dims = [d.dim_value if d.HasField("dim_value") and d.dim_value > 0 else 0 for d in tensor.shape.dim]
        if shape is None and not (tensor.HasField("shape") and dims):
            raise InputError(
                "input_shape", f"be given for {self.source}, which lacks it", hint="pass it without the batch axis"
            )
        if shape is not None and (not dims or tuple(shape) == tuple(dims)):
            return tuple(int(n) for n in shape), 1 if dims else 0  # a file without batch axis: its sample gets one
        if len(dims) == 1 and dims[0]:
            return (dims[0],), 1
        sizes = tuple(dims[1:])  # 0: variable
        if shape is not None:
            shape = tuple(int(n) for n in shape)
            if len(shape) != len(sizes) or any(n and n != given for n, given in zip(sizes, shape, strict=True)):
                raise InputError("input_shape", f"agree with the file's, {sizes} (0: variable)", f"{shape}")
            sizes = shape
        if 0 in sizes:
            raise InputError("input_shape", f"be given, as {self.source} has variable sizes, {sizes} (0: variable)")
        return sizes, dims[0]

    # -- running ------------------------------------------------------------------------------------------------------

    def __call__(self, x: Tensor) -> Any:
        """Return the graph's output for a batch (b, *input_shape)."""
        values: dict[str, Any] = {"": None, self.input.name: x, **self.constants}
        recorder = x.recorder if isinstance(x, TracedTensor) else None
        nodes = self.nodes[::-1]
        while nodes:
            node = nodes.pop()
            if recorder is not None:
                recorder.module, recorder.place, recorder.inside = node.name, f"{node.name} ({node.op})", True
                recorder.builder.path = recorder.name(node.name)
            missing = [name for name in node.inputs if name not in values]
            if missing:
                raise FileError(f"{self.source}, node {node.name}: no earlier node computes its input {missing[0]!r}")
            if node.op == "If":  # on sizes, which this run knows: torch exports squeeze so
                branch = node.get("then_branch" if values[node.inputs[0]] else "else_branch")
                values |= {each.name: self._constant(each, f"node {node.name}") for each in branch.initializer}
                for output, inner in zip(node.outputs, branch.output, strict=True):
                    nodes.append(Node("Identity", node.name, (inner.name,), (output,), {}, self.opset))
                nodes += [self._node(each, i) for i, each in enumerate(branch.node)][::-1]
                continue
            out = OPERATORS[node.op](node, *(values[name] for name in node.inputs))
            outs = out if isinstance(out, tuple | list) else (out,)
            values.update(zip(node.outputs, outs, strict=False))
        if self.output not in values:
            raise FileError(f"{self.source}: no node computes its output {self.output!r}")
        return values[self.output]

    def removal(self, path: str) -> str:
        """Return advice on how to read the file without its last node."""
        before = next((node.inputs[0] for node in self.nodes if node.name == path), "")
        return (
            "Cut the file before it: onnx.utils.extract_model(path, new_path, "
            f"[{self.input.name!r}], [{before!r}]), and read the new file."
        )


def _compare_with_reference(model: Any, net: Network, graph: Graph, batch: int) -> None:
    """Compare a small network with ONNX's reference evaluator, in the file's precision.

    Networks with operators that the evaluator computes otherwise than runtimes do are skipped.
    """
    for node in graph.nodes:
        reach = [*node.get("pads", []), *node.get("dilations", [])] if node.op != "Pad" else []
        differs = {
            "BatchNormalization": graph.opset < 14,  # by the batch's statistics
            "ConvTranspose": node.get("group", 1) > 1,  # without the biases of groups
            "GlobalMaxPool": len(net.input_shape) != 3,  # over other axes
            "MaxPool": node.get("ceil_mode", 0),  # of another size
        }
        if differs.get(node.op) or node.get("mode") == "cubic" or max(reach, default=0) > _COMPARED_REACH:
            return
    convolutions = [step for step in net.steps if step.op.startswith("conv")]
    products = sum(step.tensors["weight"].numel() * prod(step.shape[1:]) for step in convolutions)
    if products > _COMPARED_PRODUCTS or sum(prod(step.shape) for step in net.steps) > _COMPARED_ENTRIES:
        return
    onnx = _onnx()
    from onnx.reference import ReferenceEvaluator

    dtype = onnx.helper.tensor_dtype_to_np_dtype(graph.input.type.tensor_type.elem_type)
    dims = len(graph.input.type.tensor_type.shape.dim)
    x = np.random.default_rng(0).normal(size=(batch, *net.input_shape)).astype(dtype)
    try:
        inputs = {graph.input.name: x[0] if dims == len(net.input_shape) else x}
        expected: Any = np.asarray(next(iter(ReferenceEvaluator(model).run(None, inputs))))
    except Exception:  # the evaluator does not run every file; each step was verified on its own
        return
    scores = net(torch.from_numpy(x.astype(np.float64)))
    apply_link: dict[str, Any] = {"": torch.clone, "log_sigmoid": F.logsigmoid, "sigmoid": torch.sigmoid}
    link = apply_link.get(net.link) or partial(getattr(torch, net.link), dim=1)
    value, expected = link(scores).numpy().ravel(), expected.ravel()
    scale = max(1.0, float(np.abs(expected).max(initial=0)))
    precision = float(np.finfo(dtype).eps) ** 0.5
    if value.shape != expected.shape or not np.abs(value - expected).max(initial=0) <= precision * scale:
        raise ReadError(
            f"{graph.source}: the network's values differ from those of ONNX's evaluator; please report this file"
        )
