"""Reading affine operations: sums, products with constants, the order of axes, concatenation, sums and means."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
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
    if not isinstance(other, Value):
        assert isinstance(input, Value)
        return builder.shift(input, torch.as_tensor(other, dtype=torch.float64) * alpha)
    if alpha not in (1, -1):
        other, alpha = builder.scale(other, alpha), 1
    if not isinstance(input, Value):
        return builder.shift(other, input, int(alpha))
    return builder.add([input, other], [1, int(alpha)])


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
        transposed = matmul(builder, other.mT, transpose(builder, input, -2, -1))  # x @ C = (C^T x^T)^T
        return transpose(builder, transposed, -2, -1)
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


def axis(builder: ProgramBuilder, dim: int, ndim: int) -> int:
    """Return an axis counted without the batch; ``dim`` and ``ndim`` count the batch."""
    dim = int(dim) % ndim
    if dim == 0:
        raise builder.error("acts along the batch axis, so a sample's output depends on the others")
    return dim - 1


def axes(builder: ProgramBuilder, dims: int | Sequence[int] | None, x: Value) -> list[int]:
    """Return axes counted without the batch; None means all axes including the batch, which is refused."""
    if dims is None or (not isinstance(dims, int) and not len(dims)):
        raise builder.error(
            "reduces over all axes, including the batch; pass the axes, for example dim=1 or x.flatten(1)"
        )
    listed = [dims] if isinstance(dims, int) else list(dims)
    return sorted(axis(builder, dim, x.example.ndim) for dim in listed)


def permute(builder: ProgramBuilder, input: Value, *dims: Any) -> Value:
    """Read a permutation of axes."""
    order = list(dims[0]) if len(dims) == 1 and not isinstance(dims[0], int) else list(dims)
    order = [dim % input.example.ndim for dim in order]
    if order[0] != 0:
        raise builder.error(f"moves the batch axis: permute{tuple(order)}; it must remain first")
    return builder.permute(input, [dim - 1 for dim in order[1:]])


def transpose(builder: ProgramBuilder, input: Value, dim0: int, dim1: int) -> Value:
    """Read an exchange of two axes."""
    order = list(range(input.example.ndim))
    order[dim0], order[dim1] = order[dim1], order[dim0]
    return permute(builder, input, order)


def cat(builder: ProgramBuilder, tensors: Sequence[Value | Tensor], dim: int = 0) -> Value:
    """Read a concatenation."""
    values = _values(builder, tensors)
    values = [value for value in values if value.size] or values  # of an empty part nothing remains
    return builder.emit("concat", values, {"dim": axis(builder, dim, values[0].example.ndim)})


def stack(builder: ProgramBuilder, tensors: Sequence[Value | Tensor], dim: int = 0) -> Value:
    """Read a stack of tensors along a new axis."""
    values = _values(builder, tensors)
    last = len(values[0].shape)
    at = dim % (last + 2) - 1
    if at < 0:
        raise builder.error("puts a list before the batch axis, which must remain first")
    stacked = builder.emit("stack", values)
    order = list(range(last))
    order.insert(at, last)
    return builder.permute(stacked, order)


def total(builder: ProgramBuilder, input: Value, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Value:
    """Read a sum over axes."""
    return builder.emit("sum", [input], {"dims": axes(builder, dim, input), "keepdim": bool(keepdim)})


def mean(builder: ProgramBuilder, input: Value, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Value:
    """Read a mean over axes."""
    count = prod(input.shape[i] for i in axes(builder, dim, input))
    return builder.scale(total(builder, input, dim, keepdim), 1 / count)


def _values(builder: ProgramBuilder, tensors: Sequence[Value | Tensor]) -> list[Value]:
    """Return values and constants as values; constants lose their batch axis."""
    like = next(part for part in tensors if isinstance(part, Value))
    values = []
    for part in tensors:
        if isinstance(part, Value):
            values.append(part)
            continue
        if part.ndim == 1 and not part.numel():
            continue  # torch.cat skips the old empty tensor
        if part.ndim != like.example.ndim or len(part) != builder.batch:
            raise builder.error(f"a constant of shape {tuple(part.shape)} has no batch axis")
        values.append(builder.fill(builder.constant(part, like)))
    return values


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
    "permute": permute,
    **dict.fromkeys(("transpose", "swapaxes", "swapdims"), transpose),
    **dict.fromkeys(("cat", "concat", "concatenate"), cat),
    "hstack": lambda builder, tensors: cat(builder, tensors, 1),
    "stack": stack,
    "sum": total,
    "mean": mean,
}
