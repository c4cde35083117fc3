"""Sums, differences, scalings and products with constants."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from creases.network._reading.builder import Const, Tape, Value

Operand = Value | Const
_PRODUCT = (
    "multiplies two network values, so the network is not piecewise linear; only products with constants can be read"
)


def add(tape: Tape, input: Operand, other: Operand, *, alpha: float = 1) -> Value:
    """``input + alpha other``."""
    if isinstance(input, Value) and isinstance(other, Value):
        if alpha in (1, -1):
            return tape.add([input, other], [1, int(alpha)])
        return tape.add([input, tape.scale(other, alpha)], [1, 1])
    if not isinstance(other, Value):
        assert isinstance(input, Value)
        return tape.shift(input, _times(other, alpha))
    assert not isinstance(input, Value)
    if alpha in (1, -1):
        return tape.shift(other, input, int(alpha))
    return tape.shift(tape.scale(other, alpha), input)


def sub(tape: Tape, input: Operand, other: Operand, *, alpha: float = 1) -> Value:
    """``input - alpha other``."""
    return add(tape, input, other, alpha=-alpha)


def rsub(tape: Tape, input: Operand, other: Operand, *, alpha: float = 1) -> Value:
    """``other - alpha input``."""
    return add(tape, other, input, alpha=-alpha)


def mul(tape: Tape, input: Operand, other: Operand) -> Value:
    """A value times a constant."""
    if isinstance(input, Value) and isinstance(other, Value):
        raise tape.error(_PRODUCT)
    x, c = (input, other) if isinstance(input, Value) else (other, input)
    assert isinstance(x, Value)
    return tape.scale(x, c)  # type: ignore[arg-type]


def div(tape: Tape, input: Operand, other: Operand, *, rounding_mode: str | None = None) -> Value:
    """A value divided by a constant."""
    if rounding_mode is not None:
        raise tape.error(f"rounding_mode={rounding_mode!r} is not continuous")
    if isinstance(other, Value):
        raise tape.error("divides by a network value, so the network is not piecewise linear")
    assert isinstance(input, Value)
    return tape.scale(input, 1 / torch.as_tensor(other, dtype=torch.float64))


def rdiv(tape: Tape, input: Operand, other: Operand) -> Value:
    """``other / input``: never piecewise linear."""
    return div(tape, other, input)


def neg(tape: Tape, input: Value) -> Value:
    return tape.scale(input, -1.0)


def power(tape: Tape, input: Operand, exponent: Operand) -> Value:
    """Only the first power is piecewise linear."""
    if isinstance(exponent, Tensor | Value) or exponent != 1 or not isinstance(input, Value):
        raise tape.error("powers are not piecewise linear; use abs or relu")
    return input


def linear(tape: Tape, input: Operand, weight: Operand, bias: Operand | None = None) -> Value:
    """``input weight^T + bias``."""
    if isinstance(weight, Value) or isinstance(bias, Value) or not isinstance(input, Value):
        raise tape.error(_PRODUCT if isinstance(input, Value) else "its weights depend on the input")
    assert isinstance(weight, Tensor)
    if not input.shape:
        raise tape.error("acts along the batch axis")
    if weight.ndim == 1:  # torch allows a vector: one output without an axis
        out = linear(tape, input, weight[None], bias)
        return tape.reshape(out, out.shape[:-1])
    return tape.linear(input, weight, None if bias is None else torch.as_tensor(bias))


def matmul(tape: Tape, input: Operand, other: Operand) -> Value:
    """``input @ other`` where one of them is a constant."""
    if isinstance(input, Value) and isinstance(other, Value):
        raise tape.error(_PRODUCT)
    if isinstance(input, Value):
        assert isinstance(other, Tensor)
        if other.ndim <= 2 and input.shape:
            return linear(tape, input, other.mT if other.ndim == 2 else other)
        flipped = matmul(tape, other.mT, _swapped(tape, input))  # x @ C = (C^T x^T)^T
        return _swapped(tape, flipped)
    assert isinstance(other, Value)
    assert isinstance(input, Tensor)
    if len(other.shape) < 2:
        raise tape.error("contracts the batch axis; put the network value on the left, x @ matrix")
    if input.ndim == 1:
        out = matmul(tape, input[None], other)
        return tape.reshape(out, (*out.shape[:-2], out.shape[-1]))
    return tape.emit("matmul", [other], matrix=tape.constant(input, other))


def addmm(tape: Tape, input: Operand, mat1: Operand, mat2: Operand, *, beta: float = 1, alpha: float = 1) -> Value:
    """``beta input + alpha (mat1 @ mat2)``."""
    product = tape.scale(matmul(tape, mat1, mat2), alpha)
    return add(tape, product, input, alpha=beta)


def where(tape: Tape, condition: Operand, input: Operand, other: Operand) -> Value:
    """Entries of ``input`` where a constant mask says so, of ``other`` elsewhere."""
    if isinstance(condition, Value):
        raise tape.error("its condition depends on the input; write the bend as relu, clamp, abs, maximum or minimum")
    mask = torch.as_tensor(condition).to(torch.float64)
    parts = [
        mul(tape, part, weight) if isinstance(part, Value) else torch.as_tensor(part, dtype=torch.float64) * weight
        for part, weight in ((input, mask), (other, 1 - mask))
    ]
    return add(tape, parts[0], parts[1])


def masked_fill(tape: Tape, input: Operand, mask: Operand, value: Operand) -> Value:
    """``value`` where a constant mask says so."""
    return where(tape, mask, value, input)


def _times(c: Const, alpha: float) -> Const:
    return c if alpha == 1 else torch.as_tensor(c, dtype=torch.float64) * alpha


def _swapped(tape: Tape, x: Value) -> Value:
    axes = list(range(len(x.shape)))
    if len(axes) < 2:
        raise tape.error("contracts the batch axis")
    return tape.permute(x, [*axes[:-2], axes[-1], axes[-2]])


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
    "__rmatmul__": lambda tape, input, other: matmul(tape, other, input),
    "mm": matmul,
    "bmm": matmul,
    "mv": matmul,
    "where": where,
    "masked_fill": masked_fill,
    "addmm": addmm,
    "baddbmm": addmm,
}
