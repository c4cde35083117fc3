"""Reading operations on axes: order, concatenation, sums and means."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from torch import Tensor

from creases.network._reading.builder import ProgramBuilder, Value


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
    "permute": permute,
    **dict.fromkeys(("transpose", "swapaxes", "swapdims"), transpose),
    **dict.fromkeys(("cat", "concat", "concatenate"), cat),
    "hstack": lambda builder, tensors: cat(builder, tensors, 1),
    "stack": stack,
    "sum": total,
    "mean": mean,
}
