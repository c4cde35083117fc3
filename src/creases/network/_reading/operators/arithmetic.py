"""Reading arithmetic: sums, differences, and products with constants."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from creases.network._reading.builder import Const, ProgramBuilder, Value

Operand = Value | Const
_PRODUCT = (
    "multiplies two network values, so the network is not piecewise linear; only products with constants can be read"
)


def add(builder: ProgramBuilder, input: Operand, other: Operand, *, alpha: float = 1) -> Value:
    """Read ``input + alpha other``."""
    if isinstance(input, Value) and isinstance(other, Value):
        if alpha in (1, -1):
            return builder.add([input, other], [1, int(alpha)])
        return builder.add([input, builder.scale(other, alpha)], [1, 1])
    if not isinstance(other, Value):
        assert isinstance(input, Value)
        return builder.shift(input, other if alpha == 1 else torch.as_tensor(other, dtype=torch.float64) * alpha)
    assert not isinstance(input, Value)
    if alpha in (1, -1):
        return builder.shift(other, input, int(alpha))
    return builder.shift(builder.scale(other, alpha), input)


def sub(builder: ProgramBuilder, input: Operand, other: Operand, *, alpha: float = 1) -> Value:
    """Read ``input - alpha other``."""
    return add(builder, input, other, alpha=-alpha)


def mul(builder: ProgramBuilder, input: Operand, other: Operand) -> Value:
    """Read a value times a constant."""
    if isinstance(input, Value) and isinstance(other, Value):
        raise builder.error(_PRODUCT)
    x, c = (input, other) if isinstance(input, Value) else (other, input)
    assert isinstance(x, Value)
    return builder.scale(x, c)  # type: ignore[arg-type]


def div(builder: ProgramBuilder, input: Operand, other: Operand, *, rounding_mode: str | None = None) -> Value:
    """Read a value divided by a constant."""
    if rounding_mode is not None:
        raise builder.error(f"rounding_mode={rounding_mode!r} is not continuous")
    if isinstance(other, Value):
        raise builder.error("divides by a network value, so the network is not piecewise linear")
    assert isinstance(input, Value)
    return builder.scale(input, 1 / torch.as_tensor(other, dtype=torch.float64))


def neg(builder: ProgramBuilder, input: Value) -> Value:
    """Read ``-input``."""
    return builder.scale(input, -1.0)


def power(builder: ProgramBuilder, input: Operand, exponent: Operand) -> Value:
    """Read a power; only the first is piecewise linear."""
    is_one = not isinstance(exponent, Value) and bool((torch.as_tensor(exponent) == 1).all())
    if not is_one or not isinstance(input, Value):
        raise builder.error("powers are not piecewise linear; use abs or relu")
    return input


def linear(builder: ProgramBuilder, input: Operand, weight: Operand, bias: Operand | None = None) -> Value:
    """Read ``input weight^T + bias``."""
    if isinstance(weight, Value) or isinstance(bias, Value) or not isinstance(input, Value):
        raise builder.error(_PRODUCT if isinstance(input, Value) else "its weights depend on the input")
    assert isinstance(weight, Tensor)
    if not input.shape:
        raise builder.error("acts along the batch axis")
    if weight.ndim == 1:  # torch allows a vector: one output without an axis
        out = linear(builder, input, weight[None], bias)
        return builder.reshape(out, out.shape[:-1])
    return builder.linear(input, weight, None if bias is None else torch.as_tensor(bias))


def matmul(builder: ProgramBuilder, input: Operand, other: Operand) -> Value:
    """Read ``input @ other`` if one of them is a constant."""
    if isinstance(input, Value) and isinstance(other, Value):
        raise builder.error(_PRODUCT)
    if isinstance(input, Value):
        assert isinstance(other, Tensor)
        if other.ndim <= 2 and input.shape:
            return linear(builder, input, other.mT if other.ndim == 2 else other)
        transposed = matmul(builder, other.mT, _transpose(builder, input))  # x @ C = (C^T x^T)^T
        return _transpose(builder, transposed)
    assert isinstance(other, Value)
    assert isinstance(input, Tensor)
    if len(other.shape) < 2:
        raise builder.error("contracts the batch axis; put the network value on the left, x @ matrix")
    if input.ndim == 1:
        out = matmul(builder, input[None], other)
        return builder.reshape(out, (*out.shape[:-2], out.shape[-1]))
    return builder.emit("matmul", [other], matrix=builder.constant(input, other))


def addmm(
    builder: ProgramBuilder, input: Operand, mat1: Operand, mat2: Operand, *, beta: float = 1, alpha: float = 1
) -> Value:
    """Read ``beta input + alpha (mat1 @ mat2)``."""
    product = builder.scale(matmul(builder, mat1, mat2), alpha)
    return add(builder, product, input, alpha=beta)


def lerp(builder: ProgramBuilder, input: Operand, end: Operand, weight: Operand) -> Value:
    """Read ``input + weight (end - input)`` with a constant weight."""
    if isinstance(weight, Value):
        raise builder.error(_PRODUCT)
    return add(builder, input, mul(builder, sub(builder, end, input), weight))


def addcmul(builder: ProgramBuilder, input: Operand, tensor1: Operand, tensor2: Operand, *, value: float = 1) -> Value:
    """Read ``input + value tensor1 tensor2``, where one of the factors is a constant."""
    return add(builder, input, mul(builder, tensor1, tensor2), alpha=value)


def _transpose(builder: ProgramBuilder, x: Value) -> Value:
    axes = list(range(len(x.shape)))
    if len(axes) < 2:
        raise builder.error("contracts the batch axis")
    return builder.permute(x, [*axes[:-2], axes[-1], axes[-2]])


HANDLERS: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("add", "__add__", "__radd__"), add),
    **dict.fromkeys(("sub", "subtract", "__sub__"), sub),
    **dict.fromkeys(("rsub", "__rsub__"), lambda builder, input, other, **alpha: sub(builder, other, input, **alpha)),
    **dict.fromkeys(("div", "divide", "true_divide", "__truediv__"), div),
    **dict.fromkeys(("__rdiv__", "__rtruediv__"), lambda builder, input, other: div(builder, other, input)),
    **dict.fromkeys(("neg", "negative", "__neg__"), neg),
    **dict.fromkeys(("pow", "__pow__"), power),
    **dict.fromkeys(("matmul", "__matmul__", "mm", "bmm", "mv"), matmul),
    "__rmatmul__": lambda builder, input, other: matmul(builder, other, input),
    **dict.fromkeys(("addmm", "baddbmm"), addmm),
    "linear": linear,
    "lerp": lerp,
    "addcmul": addcmul,
    **{
        triangle.__name__: lambda builder, input, diagonal=0, triangle=triangle: builder.scale(
            input, triangle(torch.ones(input.example.shape[-2:]), diagonal)
        )
        for triangle in (torch.tril, torch.triu)
    },
}
