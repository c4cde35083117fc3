"""ONNX operators as torch operations, by name: ``operator(node, *inputs)``.

Inputs are tensors, traced or constant, and None for an omitted optional input. Operations on constants are folded.
Operators that are not piecewise linear are listed as well: the torch operation is then refused with a reason.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from creases.network._reading.onnx.layers import LAYERS
from creases.network._reading.onnx.node import Node
from creases.network._reading.onnx.shapes import SHAPES
from creases.network._reading.traced import TracedTensor

Operator = Callable[..., Any]

#: ONNX element types that are floating point; they are all read as float64.
_FLOATS = (1, 10, 11, 16)
_INTEGERS = {2: torch.uint8, 3: torch.int8, 5: torch.int16, 6: torch.int32, 7: torch.int64, 9: torch.bool}


def _gemm(node: Node, a: Tensor, b: Tensor, c: Tensor | None = None) -> Tensor:
    """Compute ``alpha A' B' + beta C``, A' and B' possibly transposed."""
    a = a.mT if node.get("transA", 0) else a
    b = b.mT if node.get("transB", 0) else b
    alpha, beta = node.number("alpha", 1.0), node.number("beta", 1.0)
    if c is not None and c.ndim == 1 and not isinstance(b, TracedTensor):
        return F.linear(a, (b * alpha).mT, c * beta)  # one step
    out = a @ b * alpha
    return out if c is None else out + c * beta


def _matmul(node: Node, a: Tensor, b: Tensor) -> Tensor:
    """Multiply; a matrix times a vector, in a file without batch axis, acts on the vector of each sample."""
    is_vector = isinstance(b, TracedTensor) and not isinstance(a, TracedTensor) and b.ndim == 2 and len(b) == 1
    if is_vector and a.ndim == 2 and a.shape[1] == b.shape[1]:
        return F.linear(b, a)
    return torch.matmul(a, b)


def _prelu(node: Node, x: Tensor, slope: Tensor) -> Tensor:
    """Apply a leaky ReLU with a slope tensor, by torch's PReLU if there is one slope or one per channel."""
    if slope.numel() == 1:
        return F.prelu(x, slope.reshape(1))
    channels = x.ndim > 1 and slope.numel() == x.shape[1]
    if channels and slope.ndim <= x.ndim and list(slope.shape) in ([x.shape[1]] * (x.ndim == 2), _column(x)):
        return F.prelu(x, slope.reshape(-1))
    return torch.relu(x) - slope * torch.relu(-x)


def _column(x: Tensor) -> list[int]:
    return [x.shape[1], *(1,) * (x.ndim - 2)]


def _clip(node: Node, x: Tensor, low: Tensor | None = None, high: Tensor | None = None) -> Tensor:
    bounds = []
    for name, tensor in (("min", low), ("max", high)):
        value = node.get(name) if tensor is None else float(tensor)
        bounds.append(
            value if value is not None and abs(value) < 3e38 else None
        )  # the old default is float32's largest
    return x if bounds == [None, None] else torch.clamp(x, *bounds)


def _cast(node: Node, x: Tensor) -> Tensor:
    to = node.get("to")
    if to in _FLOATS:
        return x if x.is_floating_point() else x.to(torch.float64)
    if to not in _INTEGERS:
        raise node.error(f"casts to the element type {to}, which cannot be read")
    return x.to(_INTEGERS[to])


def _constant(node: Node) -> Tensor:
    for name in ("value", "value_float", "value_floats", "value_int", "value_ints"):
        value = node.get(name)
        if value is not None:
            return value if isinstance(value, Tensor) else torch.tensor(value, dtype=_dtype(name))
    raise node.error("holds no number; only numeric constants can be read")


def _dtype(name: str) -> torch.dtype:
    return torch.float64 if "float" in name else torch.int64


def _constant_of_shape(node: Node, shape: Tensor) -> Tensor:
    value = node.get("value", torch.zeros(1, dtype=torch.float64))
    return value.reshape(()).expand(node.integers("shape", shape)).clone()  # type: ignore[no-any-return]


def _div(node: Node, a: Tensor, b: Tensor) -> Tensor:
    integers = not (a.is_floating_point() or b.is_floating_point())
    return torch.div(a, b, rounding_mode="trunc") if integers else a / b


def _variadic(function: Callable[[Tensor, Tensor], Tensor]) -> Operator:
    return lambda node, *xs: reduce(function, xs)


def _unary(function: Callable[[Tensor], Any]) -> Operator:
    return lambda node, x: function(x)


def _binary(function: Callable[[Tensor, Tensor], Any]) -> Operator:
    return lambda node, a, b: function(a, b)


def _softmax(function: Callable[..., Tensor]) -> Operator:
    return lambda node, x: function(x, dim=node.get("axis", 1 if node.opset < 13 else -1))


OPERATORS: dict[str, Operator] = {
    **LAYERS,
    **SHAPES,
    "Gemm": _gemm,
    "MatMul": _matmul,
    "Add": _binary(torch.add),
    "Sub": _binary(torch.sub),
    "Mul": _binary(torch.mul),
    "Div": _div,
    "Neg": _unary(torch.neg),
    "Sum": _variadic(torch.add),
    "Mean": lambda node, *xs: reduce(torch.add, xs) / len(xs),
    "Pow": _binary(torch.pow),
    "Identity": _unary(lambda x: x),
    "Dropout": lambda node, x, *_: x,
    "Cast": _cast,
    "Constant": _constant,
    "ConstantOfShape": _constant_of_shape,
    "Range": lambda node, start, limit, delta: torch.arange(start.item(), limit.item(), delta.item()),
    "Relu": _unary(torch.relu),
    "LeakyRelu": lambda node, x: F.leaky_relu(x, node.number("alpha", 0.01)),
    "PRelu": _prelu,
    "Clip": _clip,
    "Max": _variadic(torch.maximum),
    "Min": _variadic(torch.minimum),
    "Abs": _unary(torch.abs),
    "HardSigmoid": lambda node, x: torch.clamp(x * node.number("alpha", 0.2) + node.number("beta", 0.5), 0.0, 1.0),
    "Equal": _binary(torch.eq),
    "Greater": _binary(torch.gt),
    "Less": _binary(torch.lt),
    "Not": _unary(torch.logical_not),
    "Where": lambda node, condition, a, b: torch.where(condition, a, b),
    "Softmax": _softmax(F.softmax),
    "LogSoftmax": _softmax(F.log_softmax),
    "ArgMax": lambda node, x: torch.argmax(x, dim=node.get("axis", 0), keepdim=bool(node.get("keepdims", 1))),
    "Sigmoid": _unary(torch.sigmoid),
    "Tanh": _unary(torch.tanh),
    "Elu": _unary(F.elu),
    "Selu": _unary(F.selu),
    "Celu": _unary(F.celu),
    "Gelu": _unary(F.gelu),
    "Mish": _unary(F.mish),
    "HardSwish": _unary(F.hardswish),
    "Softplus": _unary(F.softplus),
    "Softsign": _unary(F.softsign),
    "Erf": _unary(torch.erf),
    "Exp": _unary(torch.exp),
    "Log": _unary(torch.log),
    "Sqrt": _unary(torch.sqrt),
    "Reciprocal": _unary(torch.reciprocal),
    "Sin": _unary(torch.sin),
    "Cos": _unary(torch.cos),
    "Sign": _unary(torch.sign),
    "Floor": _unary(torch.floor),
    "Ceil": _unary(torch.ceil),
    "Round": _unary(torch.round),
}
