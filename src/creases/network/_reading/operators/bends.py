"""Bends: every piecewise-linear nonlinearity as relu steps and choices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, prod
from typing import Any

import torch
from torch import Tensor

from creases.network._reading.builder import Const, Tape, Value
from creases.network._reading.operators.arithmetic import Operand, neg
from creases.network._reading.operators.shapes import axes


def relu(tape: Tape, input: Value, inplace: bool = False) -> Value:
    return tape.relu(input)


def leaky_relu(tape: Tape, input: Value, negative_slope: float = 0.01, inplace: bool = False) -> Value:
    return tape.relu(input, negative_slope)


def prelu(tape: Tape, input: Value, weight: Tensor) -> Value:
    """A learned leak for each channel (axis 1), or one for all."""
    if isinstance(weight, Value):
        raise tape.error("its slope depends on the input")
    leak = weight.detach()
    return tape.relu(input, leak.reshape(()) if leak.numel() == 1 else leak.reshape(-1, *(1,) * (len(input.shape) - 1)))


def rrelu(
    tape: Tape, input: Value, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, inplace: bool = False
) -> Value:
    """In eval mode a leaky ReLU with the mean slope."""
    if training:
        raise tape.error("draws its slope at random in train mode; pass training=self.training")
    return tape.relu(input, (lower + upper) / 2)


def clamp(tape: Tape, input: Value, min: Const | None = None, max: Const | None = None) -> Value:
    """Clamp; an infinite bound is none."""
    if isinstance(min, Value) or isinstance(max, Value):
        low = maximum(tape, input, min) if min is not None else input
        return minimum(tape, low, max) if max is not None else low
    low_bound = None if isinstance(min, float) and min == -inf else min
    high_bound = None if isinstance(max, float) and max == inf else max
    return tape.clamp(input, low_bound, high_bound)


def hardtanh(tape: Tape, input: Value, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Value:
    return clamp(tape, input, min_val, max_val)


def relu6(tape: Tape, input: Value, inplace: bool = False) -> Value:
    return tape.clamp(input, 0.0, 6.0)


def hardsigmoid(tape: Tape, input: Value, inplace: bool = False) -> Value:
    """``clamp(x / 6 + 1 / 2, 0, 1)``."""
    half = torch.tensor(0.5, dtype=torch.float64)
    return tape.clamp(tape.scale(input, 1 / 6, half), 0.0, 1.0)


def threshold(tape: Tape, input: Value, threshold: float, value: float, inplace: bool = False) -> Value:
    """``x`` where it exceeds the threshold, else ``value``: continuous only if they are the same."""
    if threshold != value:
        raise tape.error(f"jumps from {value} to {threshold} at its threshold; only threshold == value is continuous")
    return tape.above(input, value)


def softshrink(tape: Tape, input: Value, lambd: float = 0.5) -> Value:
    """``x - clamp(x, -lambd, lambd)``."""
    return tape.add([input, tape.clamp(input, -lambd, lambd)], [1, -1])


def absolute(tape: Tape, input: Value) -> Value:
    return tape.relu(input, -1.0)


def maximum(tape: Tape, input: Operand, other: Operand) -> Value:
    if isinstance(input, Value) and isinstance(other, Value):
        return tape.maximum([input, other])
    x, c = (input, other) if isinstance(input, Value) else (other, input)
    return tape.above(x, c)  # type: ignore[arg-type]


def minimum(tape: Tape, input: Operand, other: Operand) -> Value:
    if isinstance(input, Value) and isinstance(other, Value):
        return neg(tape, tape.maximum([neg(tape, input), neg(tape, other)]))
    x, c = (input, other) if isinstance(input, Value) else (other, input)
    return tape.below(x, c)  # type: ignore[arg-type]


def amax(tape: Tape, input: Value, dim: int | Sequence[int] | None = None, keepdim: bool = False) -> Value:
    """Maximum over axes: one choice for each remaining entry."""
    gone = axes(tape, dim, input)
    kept = [i for i in range(len(input.shape)) if i not in gone]
    last = tape.permute(input, [*kept, *gone])
    windows = tape.reshape(last, [*(input.shape[i] for i in kept), prod(input.shape[i] for i in gone)])
    out = tape.choice(windows)
    return tape.reshape(out, [1 if i in gone else n for i, n in enumerate(input.shape)]) if keepdim else out


def amin(tape: Tape, input: Value, dim: int | Sequence[int] | None = None, keepdim: bool = False) -> Value:
    return neg(tape, amax(tape, neg(tape, input), dim, keepdim))


def largest(tape: Tape, input: Value, dim: Any = None, keepdim: bool = False, **other: Any) -> Any:
    """``torch.max``: of two tensors, or along an axis with the positions (which cannot be read)."""
    operand = other.get("other", dim)
    if isinstance(operand, Value | Tensor):
        return maximum(tape, input, operand)
    return amax(tape, input, dim, keepdim), None


def smallest(tape: Tape, input: Value, dim: Any = None, keepdim: bool = False, **other: Any) -> Any:
    """``torch.min``, as :func:`largest`."""
    operand = other.get("other", dim)
    if isinstance(operand, Value | Tensor):
        return minimum(tape, input, operand)
    return amin(tape, input, dim, keepdim), None


HANDLERS: dict[str, Callable[..., Any]] = {
    "relu": relu,
    "leaky_relu": leaky_relu,
    "prelu": prelu,
    "rrelu": rrelu,
    "clamp": clamp,
    "clip": clamp,
    "clamp_min": lambda tape, input, min: clamp(tape, input, min=min),
    "clamp_max": lambda tape, input, max: clamp(tape, input, max=max),
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
