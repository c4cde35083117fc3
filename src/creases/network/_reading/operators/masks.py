"""Reading selections by the sign of a value, such as ``where(h > 0, h, 0.1 * h)`` or ``h * (h > 0)``, as bends."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from creases._program._step import Step
from creases.network._reading.builder import ProgramBuilder, Value, are_equal
from creases.network._reading.operators.arithmetic import Operand, add, mul, sub
from creases.network._reading.operators.names import refusal

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

HANDLERS: dict[str, Callable[..., Any]] = {
    **COMPARISONS,
    **dict.fromkeys(("mul", "multiply", "__mul__", "__rmul__"), product),
    **dict.fromkeys(("logical_not", "bitwise_not", "__invert__"), _opposite),
    "where": where,
    "masked_fill": lambda builder, input, mask, value: where(builder, mask, value, input),
}

#: Operations that take a mask.
OF_MASKS = HANDLERS.keys() - COMPARISONS.keys()
