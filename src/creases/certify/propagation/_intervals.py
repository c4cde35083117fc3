"""Interval arithmetic: bounds of every value of a network while its input stays in a box, and of rounding errors.

Bounds become valid in real arithmetic for a product of magnitudes more (:mod:`creases.certify.proofs._rounding`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import NamedTuple

import torch
from torch import Tensor

from creases._program import Step
from creases.certify.proofs._rounding import TINY, UNIT, gamma
from creases.errors import InputError
from creases.network import Network


class Interval(NamedTuple):
    """Lower and upper bounds of the entries of a value, (*shape) each, float64; infinite where there is no bound."""

    low: Tensor
    high: Tensor

    @property
    def size(self) -> Tensor:
        """The largest magnitude of each entry."""
        return torch.maximum(self.low.abs(), self.high.abs())

    def without_overflow(self) -> Interval:
        """Return the interval with no bound where a sum overflowed: nan, or an infinity at the wrong end."""
        low = torch.where(self.low < torch.inf, self.low, -torch.inf)
        return Interval(low, torch.where(self.high > -torch.inf, self.high, torch.inf))

    def intersect(self, other: Interval) -> Interval:
        """Return the bounds that both intervals together give."""
        return Interval(torch.maximum(self.low, other.low), torch.minimum(self.high, other.high))


def value_bounds(net: Network, box: Tensor | None, known: Mapping[int, Interval] | None = None) -> list[Interval]:
    """Bound the input and the output of every step by interval arithmetic.

    Exact up to rounding for values that are affine in the input; after the first bend the bounds hold but may be wide.
    They hold in real arithmetic: rounding errors are added to them.

    Parameters
    ----------
    net
        In float64.
    box
        (n_in, 2), or None for an unbounded input.
    known
        Tighter bounds of some values, by their number.

    Returns
    -------
    list of Interval
        Number 0 is the input, number ``i + 1`` the output of step ``i``.
    """
    bounds = [input_interval(net, box)]
    for i, step in enumerate(net.steps):
        out = propagate(step, [bounds[value] for value in step.inputs])
        if known is not None and i + 1 in known:
            out = out.intersect(known[i + 1])
        bounds.append(out)
    return bounds


def input_interval(net: Network, box: Tensor | None) -> Interval:
    """Return the box (n_in, 2) in the input's shape; None is unbounded."""
    if box is None:
        unbounded = torch.full(net.input_shape, torch.inf, dtype=torch.float64)
        return Interval(-unbounded, unbounded)
    low, high = (end.reshape(net.input_shape) for end in box.to(torch.float64).T)
    return Interval(low, high)


def propagate(step: Step, inputs: Sequence[Interval]) -> Interval:
    """Return the bounds of a step's output from the bounds of its inputs."""
    low, high = propagate_boxes(step, [Interval(low[None], high[None]) for low, high in inputs])
    return Interval(low[0], high[0])


def propagate_boxes(step: Step, inputs: Sequence[Interval]) -> Interval:
    """Return the bounds of a step's output over many boxes, (b, *shape) each."""
    return (_propagate_bend(step, inputs[0]) if step.is_bend else _propagate_affine(step, inputs)).without_overflow()


def output_change_bound(net: Network, changes: Mapping[int, Tensor]) -> float:
    """Bound the change of any output when values (by their number) change by at most ``changes``, (*shape) each.

    A bend enlarges a difference at most by its steepest slope (at least 1 is assumed), an affine step by the magnitudes
    of its weights.
    """
    bounds = {0: torch.zeros(1, *net.input_shape, dtype=torch.float64)}
    for i, step in enumerate(net.steps):
        inputs = [bounds[value] for value in step.inputs]
        if not step.is_bend:
            out = step.linear_magnitude(inputs)
        elif step.op == "choice":
            out = inputs[0].amax(-1)
        else:
            slope = torch.ones((), dtype=torch.float64) if step.leak is None else step.leak.abs().clamp(min=1)
            out = inputs[0] * slope
        bounds[i + 1] = out + changes[i + 1] if i + 1 in changes else out
    return float(bounds[len(net.steps)].max())


def _propagate_bend(step: Step, z: Interval) -> Interval:
    if step.op == "choice":
        return Interval(z.low.amax(-1), z.high.amax(-1))
    if step.leak is None:
        return Interval(z.low.clamp(min=0), z.high.clamp(min=0))
    zero = torch.zeros_like(z.low)  # where the leak is 0: 0 * inf would be NaN
    ends = [torch.where(end > 0, end, torch.where(step.leak == 0, zero, step.leak * end)) for end in z]
    inner = torch.where((z.low < 0) & (z.high > 0), zero, ends[0])  # abs has its minimum at 0
    least, most = torch.minimum(torch.minimum(*ends), inner), torch.maximum(torch.maximum(*ends), inner)
    lost = underflow(step, z)
    return Interval(least - gamma(1) * least.abs() - lost, most + gamma(1) * most.abs() + lost)


def _propagate_affine(step: Step, inputs: Sequence[Interval]) -> Interval:
    if step.op == "interpolate" and step.options["mode"] == "bicubic":
        raise InputError(
            "net",
            "have no bicubic interpolation",
            f"one at {step.path}" if step.path else "one",
            "its weights have both signs and no bounds are implemented for it; use mode='bilinear'",
        )
    low, high = _linear_range(step, inputs)
    offset = step.offset
    if offset is None:
        return Interval(low, high)
    return Interval(add_down(low, offset), add_up(high, offset))


def add_up(a: Tensor, b: Tensor) -> Tensor:
    """Return a number that is not less than the sum."""
    total = a + b  # rounded relative to itself, without underflow, and not at all where one of the two is 0
    return torch.where((a == 0) | (b == 0), total, total + 2 * UNIT * total.abs())


def add_down(a: Tensor, b: Tensor) -> Tensor:
    """Return a number that is not larger than the sum."""
    return -add_up(-a, -b)


def _linear_range(step: Step, inputs: Sequence[Interval]) -> tuple[Tensor, Tensor]:
    """Return the range of the linear part; an entry without a bound counts only where its weight is not 0.

    Errors are relative to the terms at each end: a sum of numbers that are not negative stays so.
    """
    lows, highs = ([torch.where(end.isfinite(), end, 0.0) for end in ends] for ends in zip(*inputs, strict=True))
    low = _apply_by_sign(step, lows, [-end for end in highs])
    high = _apply_by_sign(step, highs, [-end for end in lows])
    terms = forward_terms(step, [end.shape[1:] for end in lows])
    if terms:
        low_sizes, high_sizes = ([end.abs() for end in ends] for ends in (lows, highs))
        low = low - _end_error(step, low_sizes, high_sizes, terms)
        high = high + _end_error(step, high_sizes, low_sizes, terms)
    if all(end.isfinite().all() for part in inputs for end in part):
        return low, high
    no_low, no_high = ([end.isinf().to(end.dtype) for end in ends] for ends in zip(*inputs, strict=True))
    low[_apply_by_sign(step, no_low, no_high) > 0] = -torch.inf
    high[_apply_by_sign(step, no_high, no_low) > 0] = torch.inf
    return low, high


def _end_error(step: Step, plus: Sequence[Tensor], minus: Sequence[Tensor], terms: int) -> Tensor:
    """Bound the rounding error of ``_apply_by_sign`` from the sizes of its arguments."""
    if step.op == "interpolate":
        return linear_error(step, [torch.maximum(*pair) for pair in zip(plus, minus, strict=True)], terms)
    return gamma(terms) * _apply_by_sign(step, plus, minus) + underflow(step, [*plus, *minus])


def _apply_by_sign(step: Step, plus: Sequence[Tensor], minus: Sequence[Tensor]) -> Tensor:
    """Apply positive weights to ``plus`` and the magnitudes of negative ones to ``minus``, without the offset."""
    if step.op == "add":
        signs = step.options["signs"]
        terms = [a if sign == 1 else b for sign, a, b in zip(signs, plus, minus, strict=True)]
        return _linear(step, terms, step.options | {"signs": [1] * len(terms)}, step.tensors)
    weights = {name for name in step.tensors if name in ("weight", "factor", "matrix")}
    if not weights:
        return _linear(step, plus, step.options, step.tensors)
    up = step.tensors | {name: step.tensors[name].clamp(min=0) for name in weights}
    down = step.tensors | {name: (-step.tensors[name]).clamp(min=0) for name in weights}
    return _linear(step, plus, step.options, up) + _linear(step, minus, step.options, down)


def _linear(step: Step, values: Sequence[Tensor], options: dict[str, object], tensors: dict[str, Tensor]) -> Tensor:
    return step.operation.linear(list(values), options, tensors)


# -- rounding errors, a priori ----------------------------------------------------------------------------------------


#: Magnitudes whose products are far from underflow.
SAFE = 1e-140


def forward_terms(step: Step, shapes: Sequence[tuple[int, ...]]) -> int:
    """Return the most products that an entry of an affine step's linear part adds up; 0 for steps that move numbers.

    Parameters
    ----------
    shapes
        Of the step's inputs.
    """
    if step.operation.entries == "moves":
        return 0
    if step.op == "linear":
        return int(step.tensors["weight"].shape[1])
    if step.op == "conv":
        return prod(step.tensors["weight"].shape[1:])
    if step.op == "scale":
        return 1
    if step.op == "add":
        return len(shapes)
    return sum(map(prod, shapes))


def backward_terms(step: Step, shapes: Sequence[tuple[int, ...]]) -> int:
    """Return the most products that an entry of the transposed linear part adds up."""
    if step.op == "linear":
        return len(step.tensors["weight"])
    if step.op == "conv":
        weight = step.tensors["weight"]
        return prod(weight.shape[2:]) * len(weight) // int(step.options["groups"])
    if step.op in ("reshape", "permute", "pad", "concat"):
        return 0
    if step.op in ("add", "scale") and all(shape == step.shape for shape in shapes):
        return 0 if step.op == "add" else 1
    return prod(step.shape)


def underflow(step: Step, values: Sequence[Tensor]) -> float:
    """Return what products of a step's weights and values can lose by underflow: 0 unless some of them are tiny."""
    if not step.is_bend and (step.op == "add" or step.operation.entries == "moves"):
        return 0.0
    weights = [step.tensors[name] for name in ("weight", "factor", "matrix", "leak") if name in step.tensors]
    sizes = (part.abs() for part in (*weights, *values))
    return TINY if any(bool(((size > 0) & (size < SAFE)).any()) for size in sizes) else 0.0


def linear_error(step: Step, sizes: Sequence[Tensor], terms: int) -> Tensor:
    """Bound the rounding error (b, *shape) of a linear part that adds up so many products of inputs of some sizes."""
    total = step.linear_magnitude(sizes)
    if step.op == "interpolate":  # torch rounds its weights: an absolute error, whatever they are
        peak = sum((size.reshape(len(size), -1).amax(1) for size in sizes), total.new_zeros(()))
        total = total + prod(step.shape) * peak.reshape(-1, *[1] * (total.ndim - 1))
    return gamma(terms) * total + underflow(step, sizes)
