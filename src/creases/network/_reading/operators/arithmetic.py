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
        return builder.shift(input, _times(other, alpha))
    assert not isinstance(input, Value)
    if alpha in (1, -1):
        return builder.shift(other, input, int(alpha))
    return builder.shift(builder.scale(other, alpha), input)


def sub(builder: ProgramBuilder, input: Operand, other: Operand, *, alpha: float = 1) -> Value:
    """Read ``input - alpha other``."""
    return add(builder, input, other, alpha=-alpha)


def rsub(builder: ProgramBuilder, input: Operand, other: Operand, *, alpha: float = 1) -> Value:
    """Read ``other - alpha input``."""
    return add(builder, other, input, alpha=-alpha)


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


def rdiv(builder: ProgramBuilder, input: Operand, other: Operand) -> Value:
    """Refuse ``other / input``, which is never piecewise linear."""
    return div(builder, other, input)


def neg(builder: ProgramBuilder, input: Value) -> Value:
    """Read ``-input``."""
    return builder.scale(input, -1.0)


def power(builder: ProgramBuilder, input: Operand, exponent: Operand) -> Value:
    """Read a power; only the first is piecewise linear."""
    if isinstance(exponent, Tensor | Value) or exponent != 1 or not isinstance(input, Value):
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


def where(builder: ProgramBuilder, condition: Operand, input: Operand, other: Operand) -> Value:
    """Read a selection of entries of ``input`` and ``other`` by a constant mask."""
    if isinstance(condition, Value):
        raise builder.error(
            "its condition depends on the input; write the bend as relu, clamp, abs, maximum or minimum"
        )
    mask = torch.as_tensor(condition).to(torch.float64)
    parts = [
        mul(builder, part, weight) if isinstance(part, Value) else torch.as_tensor(part, dtype=torch.float64) * weight
        for part, weight in ((input, mask), (other, 1 - mask))
    ]
    return add(builder, parts[0], parts[1])


def masked_fill(builder: ProgramBuilder, input: Operand, mask: Operand, value: Operand) -> Value:
    """Read a replacement of entries by ``value`` where a constant mask is true."""
    return where(builder, mask, value, input)


def _times(c: Const, alpha: float) -> Const:
    return c if alpha == 1 else torch.as_tensor(c, dtype=torch.float64) * alpha


def _transpose(builder: ProgramBuilder, x: Value) -> Value:
    axes = list(range(len(x.shape)))
    if len(axes) < 2:
        raise builder.error("contracts the batch axis")
    return builder.permute(x, [*axes[:-2], axes[-1], axes[-2]])


HANDLERS: dict[str, Callable[..., Any]] = {
    "add": add,
    "__add__": add,
    "__radd__": add,
    "sub": sub,
    "subtract": sub,
    "__sub__": sub,
    "__rsub__": rsub,
    "rsub": rsub,
    "mul": mul,
    "multiply": mul,
    "__mul__": mul,
    "__rmul__": mul,
    "div": div,
    "divide": div,
    "true_divide": div,
    "__truediv__": div,
    "__rdiv__": rdiv,
    "__rtruediv__": rdiv,
    "neg": neg,
    "negative": neg,
    "__neg__": neg,
    "pow": power,
    "__pow__": power,
    "linear": linear,
    "matmul": matmul,
    "__matmul__": matmul,
    "__rmatmul__": lambda builder, input, other: matmul(builder, other, input),
    "mm": matmul,
    "bmm": matmul,
    "mv": matmul,
    "where": where,
    "masked_fill": masked_fill,
    "addmm": addmm,
    "baddbmm": addmm,
}
