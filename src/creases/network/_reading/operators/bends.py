"""Reading piecewise-linear nonlinearities as relu steps and choices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, prod
from typing import Any

import torch
from torch import Tensor

from creases.network._reading.builder import Const, ProgramBuilder, Value
from creases.network._reading.operators.arithmetic import Operand, neg
from creases.network._reading.operators.names import refusal
from creases.network._reading.operators.shapes import axes, total


def prelu(builder: ProgramBuilder, input: Value, weight: Tensor) -> Value:
    """Read a PReLU: a slope per channel (axis 1), or one for all."""
    if isinstance(weight, Value):
        raise builder.error("its slope depends on the input")
    leak = weight.detach()
    return builder.relu(
        input, leak.reshape(()) if leak.numel() == 1 else leak.reshape(-1, *(1,) * (len(input.shape) - 1))
    )


def rrelu(
    builder: ProgramBuilder,
    input: Value,
    lower: float = 1 / 8,
    upper: float = 1 / 3,
    training: bool = False,
    inplace: bool = False,
) -> Value:
    """Read an RReLU: in eval mode a leaky ReLU with the mean slope."""
    if training:
        raise builder.error("draws its slope at random in train mode; pass training=self.training")
    return builder.relu(input, (lower + upper) / 2)


def clamp(builder: ProgramBuilder, input: Value, min: Const | None = None, max: Const | None = None) -> Value:
    """Read a clamp; an infinite bound counts as none."""
    if isinstance(min, Value) or isinstance(max, Value):
        low = maximum(builder, input, min) if min is not None else input
        return minimum(builder, low, max) if max is not None else low
    low_bound = None if isinstance(min, float) and min == -inf else min
    high_bound = None if isinstance(max, float) and max == inf else max
    return builder.clamp(input, low_bound, high_bound)


def hardsigmoid(builder: ProgramBuilder, input: Value, inplace: bool = False) -> Value:
    """Read a hard sigmoid, ``clamp(x / 6 + 1 / 2, 0, 1)``."""
    half = torch.tensor(0.5, dtype=torch.float64)
    return builder.clamp(builder.scale(input, 1 / 6, half), 0.0, 1.0)


def threshold(builder: ProgramBuilder, input: Value, threshold: float, value: float, inplace: bool = False) -> Value:
    """Read a threshold: ``x`` above it, else ``value``; continuous only if the two are equal."""
    if threshold != value:
        raise builder.error(
            f"jumps from {value} to {threshold} at its threshold; only threshold == value is continuous"
        )
    return builder.above(input, value)


def absolute(builder: ProgramBuilder, input: Value) -> Value:
    """Read an absolute value."""
    return builder.relu(input, -1.0)


def maximum(builder: ProgramBuilder, input: Operand, other: Operand) -> Value:
    """Read an elementwise maximum."""
    if isinstance(input, Value) and isinstance(other, Value):
        return builder.maximum([input, other])
    x, c = (input, other) if isinstance(input, Value) else (other, input)
    return builder.above(x, c)  # type: ignore[arg-type]


def minimum(builder: ProgramBuilder, input: Operand, other: Operand) -> Value:
    """Read an elementwise minimum."""
    if isinstance(input, Value) and isinstance(other, Value):
        return neg(builder, builder.maximum([neg(builder, input), neg(builder, other)]))
    x, c = (input, other) if isinstance(input, Value) else (other, input)
    return builder.below(x, c)  # type: ignore[arg-type]


def amax(builder: ProgramBuilder, input: Value, dim: int | Sequence[int] | None = None, keepdim: bool = False) -> Value:
    """Read a maximum over axes: one choice for each remaining entry."""
    reduced = axes(builder, dim, input)
    others = [i for i in range(len(input.shape)) if i not in reduced]
    last = builder.permute(input, [*others, *reduced])
    windows = builder.reshape(last, [*(input.shape[i] for i in others), prod(input.shape[i] for i in reduced)])
    out = builder.choice(windows)
    return builder.reshape(out, [1 if i in reduced else n for i, n in enumerate(input.shape)]) if keepdim else out


def norm(
    builder: ProgramBuilder, input: Value, p: Any = 2, dim: Any = None, keepdim: bool = False, **other: Any
) -> Value:
    """Read a norm of order 1, the sum of absolute values, or infinity, the largest of them."""
    order = other.get("ord", p)
    if order not in (1, inf):
        raise builder.error(refusal("norm"))
    size = absolute(builder, input)
    return amax(builder, size, dim, keepdim) if order == inf else total(builder, size, dim, keepdim)


def amin(builder: ProgramBuilder, input: Value, dim: int | Sequence[int] | None = None, keepdim: bool = False) -> Value:
    """Read a minimum over axes."""
    return neg(builder, amax(builder, neg(builder, input), dim, keepdim))


def _extreme(of_two: Callable[..., Value], along: Callable[..., Value]) -> Callable[..., Any]:
    """Read ``torch.max`` or ``min``: of two tensors, or along an axis with the positions (which cannot be read)."""

    def read(builder: ProgramBuilder, input: Value, dim: Any = None, keepdim: bool = False, **other: Any) -> Any:
        operand = other.get("other", dim)
        if isinstance(operand, Value | Tensor):
            return of_two(builder, input, operand)
        return along(builder, input, dim, keepdim), None

    return read


HANDLERS: dict[str, Callable[..., Any]] = {
    **{function.__name__: function for function in (prelu, rrelu, hardsigmoid, threshold)},
    **{function.__name__: function for function in (maximum, minimum, amax, amin)},
    "relu": lambda builder, input, inplace=False: builder.relu(input),
    "leaky_relu": lambda builder, input, negative_slope=0.01, inplace=False: builder.relu(input, negative_slope),
    "relu6": lambda builder, input, inplace=False: builder.clamp(input, 0.0, 6.0),
    "hardtanh": lambda builder, input, min_val=-1.0, max_val=1.0, inplace=False: clamp(
        builder, input, min_val, max_val
    ),
    "softshrink": lambda builder, input, lambd=0.5: builder.add(
        [input, builder.clamp(input, -lambd, lambd)], [1, -1]
    ),  # x - clamp(x, -lambd, lambd)
    **dict.fromkeys(("clamp", "clip"), clamp),
    "clamp_min": lambda builder, input, min: clamp(builder, input, min=min),
    "clamp_max": lambda builder, input, max: clamp(builder, input, max=max),
    "_threshold": threshold,
    **dict.fromkeys(("abs", "absolute", "__abs__"), absolute),
    **dict.fromkeys(("norm", "vector_norm", "linalg_norm", "linalg_vector_norm"), norm),
    "fmax": maximum,
    "fmin": minimum,
    "max": _extreme(maximum, amax),
    "min": _extreme(minimum, amin),
}
