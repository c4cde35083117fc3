"""Reading selections by the sign of a value, such as ``where(h > 0, h, 0.1 * h)`` or ``h * (h > 0)``, as bends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from creases.network._reading.builder import Const, ProgramBuilder, Value
from creases.network._reading.operators.arithmetic import Operand, add, mul, sub
from creases.network._reading.operators.bends import maximum, minimum
from creases.network._reading.operators.names import refusal


@dataclass(frozen=True, eq=False)
class Mask:
    """Where a value is positive, or where it is not; ties do not matter, as only what has no jump is read."""

    value: Value
    positive: bool
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
        raise builder.error("its condition is not a comparison; write the bend as relu, clamp, abs, maximum or minimum")
    mask = torch.as_tensor(condition).to(torch.float64)
    parts = [
        mul(builder, part, weight) if isinstance(part, Value) else torch.as_tensor(part, dtype=torch.float64) * weight
        for part, weight in ((input, mask), (other, 1 - mask))
    ]
    return add(builder, parts[0], parts[1])


def product(builder: ProgramBuilder, input: Any, other: Any) -> Value:
    """Read a product with a constant, or with a mask: the value where it is true, 0 elsewhere."""
    if isinstance(input, Mask) and isinstance(other, Mask):
        raise builder.error("multiplies two masks, which is not continuous")
    if isinstance(input, Mask):
        return where(builder, input, other, 0.0)
    return where(builder, other, input, 0.0) if isinstance(other, Mask) else mul(builder, input, other)


def _bend(builder: ProgramBuilder, z: Value, above: Operand, below: Operand) -> Value:
    """Add what is ``above`` where z > 0 and ``below`` elsewhere, if both are lines in z that meet at z = 0.

    With above = a z + c and below = b z + c this is ``c + a leaky(z)`` with slope b / a, where a is not 0.
    """
    step = builder.steps[z.number - 1] if z.number else None
    if step and step.op == "add" and step.options["signs"] == [1, -1] and step.offset is None:
        values = [part.number if isinstance(part, Value) else None for part in (above, below)]
        if values == list(step.inputs):
            return maximum(builder, above, below)
        if values == list(step.inputs[::-1]):
            return minimum(builder, above, below)
    (a, c), (b, d) = (_line(builder, part, z) for part in (above, below))
    if not torch.allclose(c, d, rtol=1e-12, atol=0.0):
        raise builder.error("selects between values that differ where its condition changes, which is a jump")
    if not bool((a != 0).all()):
        if not bool((b != 0).all()):
            bent = add(builder, builder.scale(builder.relu(z), a - b), builder.scale(z, b))
            return builder.shift(bent, c)
        z, a, b = builder.scale(z, -1.0), -b, -a
    return builder.shift(builder.scale(builder.relu(z, b / a), a), c)


def _line(builder: ProgramBuilder, part: Operand, z: Value) -> tuple[Tensor, Tensor]:
    """Return slope and constant of a constant or value as a line in z, entry by entry."""
    if not isinstance(part, Value):
        constant = builder.constant(part, z)
        return torch.zeros(z.shape, dtype=torch.float64), constant.expand(z.shape)
    sources = _sources(builder, z)
    for number, (slope, constant) in _sources(builder, part).items():
        if number in sources and bool((sources[number][0] != 0).all()):
            of_z, z_constant = sources[number]
            ratio = slope / of_z
            return ratio.expand(z.shape), (constant - ratio * z_constant).expand(z.shape)
    raise builder.error(
        "selects by the sign of a value between others than its multiples; write the bend as relu, maximum, minimum or "
        "clamp"
    )


def _sources(builder: ProgramBuilder, value: Value) -> dict[int, tuple[Tensor, Tensor]]:
    """Return the values of the same shape of which a value is a line, entry by entry: number -> (slope, constant)."""
    slope, constant = torch.ones(value.shape, dtype=torch.float64), torch.zeros(value.shape, dtype=torch.float64)
    number, lines = value.number, {value.number: (slope, constant)}
    while number:
        step = builder.steps[number - 1]
        is_line = step.op == "scale" or (step.op == "add" and len(step.inputs) == 1)
        number = step.inputs[0]
        shape = builder.steps[number - 1].shape if number else builder.input.shape
        if not is_line or shape != value.shape:
            break
        factor: Const = step.tensors["factor"] if step.op == "scale" else step.options["signs"][0]
        if step.offset is not None:
            constant = constant + slope * step.offset
        slope = slope * factor
        lines[number] = (slope, constant)
    return lines


COMPARISONS: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("gt", "ge", "greater", "greater_equal", "__gt__", "__ge__"), partial(_compare, positive=True)),
    **dict.fromkeys(("lt", "le", "less", "less_equal", "__lt__", "__le__"), partial(_compare, positive=False)),
}

HANDLERS: dict[str, Callable[..., Any]] = {
    **COMPARISONS,
    **dict.fromkeys(("mul", "multiply", "__mul__", "__rmul__"), product),
    **dict.fromkeys(
        ("logical_not", "bitwise_not", "__invert__"),
        lambda builder, input: replace(input, positive=not input.positive),
    ),
    "where": where,
    "masked_fill": lambda builder, input, mask, value: where(builder, mask, value, input),
}

#: Operations that take a mask.
OF_MASKS = HANDLERS.keys() - COMPARISONS.keys()
