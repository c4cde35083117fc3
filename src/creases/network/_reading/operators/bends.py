"""Reading piecewise-linear nonlinearities as relu steps and choices.

Selections by the sign of a value are bends too, such as ``where(h > 0, h, 0.1 * h)`` or ``h * (h > 0)``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf, prod
from typing import Any

import torch
from torch import Tensor

from creases._program._step import Step
from creases.network._reading.builder import Const, ProgramBuilder, Value, are_equal
from creases.network._reading.operators.affine import Operand, add, axes, mul, neg, sub, total
from creases.network._reading.operators.names import refusal


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


# Selections by the sign of a value.

_ADVICE = "write the bend as relu, maximum, minimum or clamp"


@dataclass(frozen=True, eq=False)
class Mask:
    """Where a value is positive, or where it is not; ties do not matter, as only what has no jump is read."""

    value: Value
    positive: bool
    is_sign: bool = False  #: whether it is -1, not 0, where it is not true
    why = f"cannot read the model: its output {refusal('gt')}"


def _compare(builder: ProgramBuilder, input: Operand, other: Operand, *, positive: bool) -> Mask:
    """Read a comparison as the sign of the difference."""
    return Mask(sub(builder, input, other), positive)


def where(builder: ProgramBuilder, condition: Any, input: Operand, other: Operand) -> Value:
    """Read a selection between ``input`` and ``other`` by a constant mask, or by the sign of a value."""
    if isinstance(condition, Mask):
        above, below = (input, other) if condition.positive else (other, input)
        return _bend(builder, condition.value, above, below)
    if isinstance(condition, Value):
        raise builder.error("its condition is not a comparison; " + _ADVICE)
    mask = torch.as_tensor(condition).to(torch.float64)
    parts = [
        mul(builder, part, weight) if isinstance(part, Value) else torch.as_tensor(part, dtype=torch.float64) * weight
        for part, weight in ((input, mask), (other, 1 - mask))
    ]
    return add(builder, parts[0], parts[1])


def product(builder: ProgramBuilder, input: Any, other: Any) -> Value:
    """Read a product with a constant, or with a mask: the value where it is true, 0 (of a sign: minus it) elsewhere."""
    mask, factor = (input, other) if isinstance(input, Mask) else (other, input)
    if not isinstance(mask, Mask):
        return mul(builder, input, other)
    if isinstance(factor, Mask):
        raise builder.error("multiplies two masks, which is not continuous")
    opposite = builder.scale(factor, -1.0) if isinstance(factor, Value) else -factor
    return where(builder, mask, factor, opposite if mask.is_sign else 0.0)


def _opposite(builder: ProgramBuilder, input: Mask) -> Mask:
    """Read a negation of a mask."""
    if input.is_sign:
        raise builder.error(refusal("eq"))
    return replace(input, positive=not input.positive)


def _bend(builder: ProgramBuilder, z: Value, above: Operand, below: Operand) -> Value:
    """Add what is ``above`` where z > 0 and ``below`` elsewhere, if they differ by a multiple of z.

    With above = below + k z this is ``below + k relu(z)``, with below = b z + c also ``c + a leaky(z)``, a = b + k.
    """
    of_z = _terms(builder, z, z.shape)
    fixed = torch.stack([slope == 0 for base, slope in of_z.items() if base != CONSTANT]).all(dim=0)
    if (fixed & (of_z[CONSTANT] != 0)).any():  # entries where z is a number: it selects once and for all
        below = where(builder, fixed & (of_z[CONSTANT] > 0), above, below)
        above = where(builder, fixed & (of_z[CONSTANT] != 0), below, above)
    of_above, of_below = (_terms(builder, part, z.shape) for part in (above, below))
    base = next((base for base, slope in of_z.items() if base >= 0 and bool((fixed | (slope != 0)).all())), None)
    if base is None:
        raise builder.error("selects by a value whose entries come from different values; " + _ADVICE)
    slope = torch.where(fixed, 1.0, of_z[base])
    k, b = ((over[base] - under[base]) / slope for over, under in ((of_above, of_below), (of_below, {base: 0.0})))
    rests = {}
    for number in of_z.keys() | of_above.keys() | of_below.keys():
        terms = torch.stack([of_above[number], -of_below[number], -k * of_z[number]])
        rests[number] = bool((terms.sum(0).abs() > 1e-12 * terms.abs().sum(0)).any())
    if rests.pop(CONSTANT, False) and not any(rests.values()):
        raise builder.error("selects between values that differ where its condition changes, which is a jump")
    if any(rests.values()):
        raise builder.error("selects by the sign of a value between others than its multiples; " + _ADVICE)
    a, c = b + k, of_below[CONSTANT] - b * of_z[CONSTANT]
    is_line = not fixed.any() and all(torch.allclose(of_below[n], b * of_z[n], rtol=1e-12, atol=0.0) for n in rests)
    if is_line and bool((a != 0).all()):
        return builder.shift(builder.scale(builder.relu(z, b / a), a), c)
    if is_line and bool((b != 0).all()):
        return builder.shift(builder.scale(builder.relu(builder.scale(z, -1.0), a / b), -b), c)
    return add(builder, builder.scale(builder.relu(z), k), below)


#: What stands for the constant among the terms of a value.
CONSTANT = -1


def _terms(builder: ProgramBuilder, part: Operand, shape: tuple[int, ...]) -> dict[int, Tensor]:
    """Return the factor of each value that is no sum itself, by its number, and the constant; 0 where not listed."""
    terms: dict[int, Tensor] = defaultdict(lambda: torch.zeros(shape, dtype=torch.float64))
    if not isinstance(part, Value):
        terms[CONSTANT] = builder.constant(part, Value(0, torch.empty(builder.batch, *shape))).expand(shape)
        return terms
    if part.shape != shape:
        raise builder.error("selects by the sign of a value of another shape")
    slopes, originals = {part.number: torch.ones(shape, dtype=torch.float64)}, _originals(builder)
    while slopes:
        number = max(slopes)
        slope, step = slopes.pop(number), builder.steps[number - 1] if number else None
        shapes = [builder.steps[i - 1].shape if i else builder.input.shape for i in step.inputs] if step else []
        if step is None or step.op not in ("scale", "add") or any(each != shape for each in shapes):
            terms[originals[number]] = terms[originals[number]] + slope
            continue
        if step.offset is not None:
            terms[CONSTANT] = terms[CONSTANT] + slope * step.offset
        factors = [step.tensors["factor"]] if step.op == "scale" else step.options["signs"]
        for i, factor in zip(step.inputs, factors, strict=True):
            slopes[i] = slopes.get(i, 0.0) + slope * factor
    return terms


def _originals(builder: ProgramBuilder) -> list[int]:
    """Return for each value the first that equal steps compute, as where a layer is called twice."""
    originals: list[int] = [0]
    readers: dict[tuple[int, ...], list[tuple[int, Step]]] = defaultdict(list)
    for number, step in enumerate(builder.steps, start=1):
        same_inputs = readers[inputs := tuple(originals[i] for i in step.inputs)]
        same_inputs.append((number, replace(step, inputs=inputs)))
        originals.append(next(n for n, other in same_inputs if are_equal(other, same_inputs[-1][1])))
    return originals


COMPARISONS: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("gt", "ge", "greater", "greater_equal", "__gt__", "__ge__"), partial(_compare, positive=True)),
    **dict.fromkeys(("lt", "le", "less", "less_equal", "__lt__", "__le__"), partial(_compare, positive=False)),
    **dict.fromkeys(("sign", "sgn"), lambda builder, input: Mask(input, positive=True, is_sign=True)),
}

#: Operations that take a mask.
OF_MASKS: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("mul", "multiply", "__mul__", "__rmul__"), product),
    **dict.fromkeys(("logical_not", "bitwise_not", "__invert__"), _opposite),
    "where": where,
    "masked_fill": lambda builder, input, mask, value: where(builder, mask, value, input),
}

HANDLERS: dict[str, Callable[..., Any]] = {
    **COMPARISONS,
    **OF_MASKS,
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
