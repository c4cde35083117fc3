"""Between what numbers every value of a network lies while its input is in a box, and how far a change can reach."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from creases.errors import InputError
from creases.network import Network
from creases.network.program import AFFINE, Step


class Range(NamedTuple):
    """Bounds of a value's entries, (*shape) each, float64; infinite where there is none."""

    low: Tensor
    high: Tensor

    @property
    def size(self) -> Tensor:
        """The largest magnitude of each entry."""
        return torch.maximum(self.low.abs(), self.high.abs())


def ranges(net: Network, box: Tensor | None, known: dict[int, Range] | None = None) -> list[Range]:
    """Bounds of the input and of every step's output, by interval arithmetic.

    Exact for what is affine in the input; behind the first bends the bounds hold but may be wide. Rounding is not
    counted.

    Parameters
    ----------
    net
        In float64.
    box
        (n_in, 2), or None for all inputs there are.
    known
        Better bounds of some values, by their number.
    """
    found = [_input(net, box)]
    for i, step in enumerate(net.steps):
        parts = [found[value] for value in step.inputs]
        out = _bent(step, parts[0]) if step.is_bend else _affine(step, parts)
        better = (known or {}).get(i + 1)
        if better is not None:
            out = Range(torch.maximum(out.low, better.low), torch.minimum(out.high, better.high))
        found.append(out)
    return found


def reach(net: Network, changes: dict[int, Tensor]) -> float:
    """How much any output can change when values (by their number) change by at most ``changes``, (*shape) each.

    Bends do not enlarge a difference (but for slopes beyond 1), affine steps by the magnitudes of their weights.
    """
    found = {0: torch.zeros(1, *net.input_shape, dtype=torch.float64)}
    for i, step in enumerate(net.steps):
        parts = [found[value] for value in step.inputs]
        if not step.is_bend:
            out = step.linear_magnitude(parts)
        elif step.op == "choice":
            out = parts[0].amax(-1)
        else:
            slope = torch.ones((), dtype=torch.float64) if step.leak is None else step.leak.abs().clamp(min=1)
            out = parts[0] * slope
        found[i + 1] = out + changes[i + 1] if i + 1 in changes else out
    return float(found[len(net.steps)].max())


def _input(net: Network, box: Tensor | None) -> Range:
    if box is None:
        endless = torch.full(net.input_shape, torch.inf, dtype=torch.float64)
        return Range(-endless, endless)
    low, high = (end.reshape(net.input_shape) for end in box.to(torch.float64).T)
    return Range(low, high)


def _bent(step: Step, z: Range) -> Range:
    if step.op == "choice":
        return Range(z.low.amax(-1), z.high.amax(-1))
    if step.leak is None:
        return Range(z.low.clamp(min=0), z.high.clamp(min=0))
    ends = [_leaky(end, step.leak) for end in z]
    through = torch.where((z.low < 0) & (z.high > 0), torch.zeros_like(z.low), ends[0])  # abs turns at 0
    return Range(torch.minimum(torch.minimum(*ends), through), torch.maximum(torch.maximum(*ends), through))


def _leaky(z: Tensor, leak: Tensor) -> Tensor:
    return torch.where(z > 0, z, torch.where(leak == 0, torch.zeros_like(z), leak * z))


def _affine(step: Step, parts: Sequence[Range]) -> Range:
    if step.op == "interpolate" and step.options["mode"] == "bicubic":
        raise InputError(f"model: {step.path} interpolates by cubic curves, whose bounds are not known to creases")
    low, high = _ends(step, parts)
    offset = step.offset
    return Range(low, high) if offset is None else Range(low + offset, high + offset)


def _ends(step: Step, parts: Sequence[Range]) -> tuple[Tensor, Tensor]:
    """Least and largest values of the linear part; entries without bounds count only where their weight is not 0."""
    lows, highs = ([_finite(end) for end in ends] for ends in zip(*parts, strict=True))
    low = _split(step, lows, [-end for end in highs])
    high = _split(step, highs, [-end for end in lows])
    if all(end.isfinite().all() for part in parts for end in part):
        return low, high
    no_low, no_high = ([end.isinf().to(end.dtype) for end in ends] for ends in zip(*parts, strict=True))
    low[_split(step, no_low, no_high) > 0] = -torch.inf
    high[_split(step, no_high, no_low) > 0] = torch.inf
    return low, high


def _finite(end: Tensor) -> Tensor:
    return torch.where(end.isfinite(), end, torch.zeros_like(end))


def _split(step: Step, plus: Sequence[Tensor], minus: Sequence[Tensor]) -> Tensor:
    """Positive weights applied to ``plus`` and the magnitudes of negative ones to ``minus``, without the offset."""
    if step.op == "add":
        signs = step.options["signs"]
        chosen = [a if sign == 1 else b for sign, a, b in zip(signs, plus, minus, strict=True)]
        return _linear(step, chosen, step.options | {"signs": [1] * len(chosen)}, step.tensors)
    weights = {name for name in step.tensors if name in ("weight", "factor", "matrix")}
    if not weights:
        return _linear(step, plus, step.options, step.tensors)
    up = step.tensors | {name: step.tensors[name].clamp(min=0) for name in weights}
    down = step.tensors | {name: (-step.tensors[name]).clamp(min=0) for name in weights}
    return _linear(step, plus, step.options, up) + _linear(step, minus, step.options, down)


def _linear(step: Step, values: Sequence[Tensor], options: dict[str, object], tensors: dict[str, Tensor]) -> Tensor:
    return AFFINE[step.op]([value[None] for value in values], options, tensors)[0]
