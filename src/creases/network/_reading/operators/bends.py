"""Reading piecewise-linear nonlinearities as relu steps and choices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, prod
from typing import Any

import torch
from torch import Tensor

from creases.network._reading.builder import Const, ProgramBuilder, Value
from creases.network._reading.operators.arithmetic import Operand, neg
from creases.network._reading.operators.shapes import axes


def relu(builder: ProgramBuilder, input: Value, inplace: bool = False) -> Value:
    """Read a ReLU."""
    return builder.relu(input)


def leaky_relu(builder: ProgramBuilder, input: Value, negative_slope: float = 0.01, inplace: bool = False) -> Value:
    """Read a leaky ReLU."""
    return builder.relu(input, negative_slope)


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


def hardtanh(
    builder: ProgramBuilder, input: Value, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Value:
    """Read a hard tanh."""
    return clamp(builder, input, min_val, max_val)


def relu6(builder: ProgramBuilder, input: Value, inplace: bool = False) -> Value:
    """Read a ReLU6."""
    return builder.clamp(input, 0.0, 6.0)


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


def softshrink(builder: ProgramBuilder, input: Value, lambd: float = 0.5) -> Value:
    """Read a soft shrinkage, ``x - clamp(x, -lambd, lambd)``."""
    return builder.add([input, builder.clamp(input, -lambd, lambd)], [1, -1])


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


def amin(builder: ProgramBuilder, input: Value, dim: int | Sequence[int] | None = None, keepdim: bool = False) -> Value:
    """Read a minimum over axes."""
    return neg(builder, amax(builder, neg(builder, input), dim, keepdim))


def largest(builder: ProgramBuilder, input: Value, dim: Any = None, keepdim: bool = False, **other: Any) -> Any:
    """Read ``torch.max``: of two tensors, or along an axis with the positions (which cannot be read)."""
    operand = other.get("other", dim)
    if isinstance(operand, Value | Tensor):
        return maximum(builder, input, operand)
    return amax(builder, input, dim, keepdim), None


def smallest(builder: ProgramBuilder, input: Value, dim: Any = None, keepdim: bool = False, **other: Any) -> Any:
    """Read ``torch.min`` as :func:`largest` does ``torch.max``."""
    operand = other.get("other", dim)
    if isinstance(operand, Value | Tensor):
        return minimum(builder, input, operand)
    return amin(builder, input, dim, keepdim), None


HANDLERS: dict[str, Callable[..., Any]] = {
    "relu": relu,
    "leaky_relu": leaky_relu,
    "prelu": prelu,
    "rrelu": rrelu,
    "clamp": clamp,
    "clip": clamp,
    "clamp_min": lambda builder, input, min: clamp(builder, input, min=min),
    "clamp_max": lambda builder, input, max: clamp(builder, input, max=max),
    "hardtanh": hardtanh,
    "relu6": relu6,
    "hardsigmoid": hardsigmoid,
    "threshold": threshold,
    "_threshold": threshold,
    "softshrink": softshrink,
    "abs": absolute,
    "absolute": absolute,
    "__abs__": absolute,
    "maximum": maximum,
    "minimum": minimum,
    "fmax": maximum,
    "fmin": minimum,
    "amax": amax,
    "amin": amin,
    "max": largest,
    "min": smallest,
}
