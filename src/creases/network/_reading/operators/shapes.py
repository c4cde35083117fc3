"""Operations on axes: order, concatenation, sums and means."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from torch import Tensor

from creases.network._reading.builder import Tape, Value


def axis(tape: Tape, dim: int, ndim: int) -> int:
    """An axis without the batch, counted from 0; ``dim`` and ``ndim`` count the batch."""
    dim = int(dim) % ndim
    if dim == 0:
        raise tape.error("acts along the batch axis, so a sample's output depends on the others")
    return dim - 1


def axes(tape: Tape, dims: int | Sequence[int] | None, x: Value) -> list[int]:
    """Axes without the batch; None is all of them, the batch included, and so refused."""
    if dims is None or (not isinstance(dims, int) and not len(dims)):
        raise tape.error("reduces over all axes, the batch too; give the axes, for example dim=1 or x.flatten(1)")
    listed = [dims] if isinstance(dims, int) else list(dims)
    return sorted(axis(tape, dim, x.example.ndim) for dim in listed)


def permute(tape: Tape, input: Value, *dims: Any) -> Value:
    order = list(dims[0]) if len(dims) == 1 and not isinstance(dims[0], int) else list(dims)
    order = [dim % input.example.ndim for dim in order]
    if order[0] != 0:
        raise tape.error(f"moves the batch axis: permute{tuple(order)}; it must stay in front")
    return tape.permute(input, [dim - 1 for dim in order[1:]])


def transpose(tape: Tape, input: Value, dim0: int, dim1: int) -> Value:
    order = list(range(input.example.ndim))
    order[dim0], order[dim1] = order[dim1], order[dim0]
    return permute(tape, input, order)


def cat(tape: Tape, tensors: Sequence[Value | Tensor], dim: int = 0) -> Value:
    values = _values(tape, tensors)
    return tape.emit("concat", values, {"dim": axis(tape, dim, values[0].example.ndim)})


def stack(tape: Tape, tensors: Sequence[Value | Tensor], dim: int = 0) -> Value:
    values = _values(tape, tensors)
    at = axis(tape, dim, values[0].example.ndim + 1)
    last = len(values[0].shape)
    stacked = tape.emit("stack", values)
    order = list(range(last))
    order.insert(at, last)
    return tape.permute(stacked, order)


def total(tape: Tape, input: Value, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Value:
    return tape.emit("sum", [input], {"dims": axes(tape, dim, input), "keepdim": bool(keepdim)})


def mean(tape: Tape, input: Value, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Value:
    count = prod(input.shape[i] for i in axes(tape, dim, input))
    return tape.scale(total(tape, input, dim, keepdim), 1 / count)


def _values(tape: Tape, tensors: Sequence[Value | Tensor]) -> list[Value]:
    """Values and constants together, the constants made values; the batch axis of a constant is taken off."""
    like = next(part for part in tensors if isinstance(part, Value))
    values = []
    for part in tensors:
        if isinstance(part, Value):
            values.append(part)
            continue
        if part.ndim == 1 and not part.numel():
            continue  # torch.cat skips the old empty tensor
        if part.ndim != like.example.ndim or len(part) != tape.batch:
            raise tape.error(f"a constant of shape {tuple(part.shape)} has no batch axis")
        values.append(tape.fill(tape.constant(part, like)))
    if len({len(value.shape) for value in values}) > 1:
        raise tape.error("values with different numbers of axes")
    return values


HANDLERS: dict[str, Callable[..., Any]] = {
    "permute": permute,
    "transpose": transpose,
    "swapaxes": transpose,
    "swapdims": transpose,
    "cat": cat,
    "concat": cat,
    "concatenate": cat,
    "hstack": lambda tape, tensors: cat(tape, tensors, 1),
    "stack": stack,
    "sum": total,
    "mean": mean,
}
