"""What a network's outputs can be over a box: bounds that hold, by intervals and by linear bounds carried backwards.

Intervals go forward, a value's terms each at its worst. Then each bend between two of its sides is put between two
lines (its chord, and a line that it is never below), and the outputs' bounds become affine functions of the input,
carried back through the transposes of the network's own linear maps (CROWN; Zhang et al. 2018, arXiv:1811.00866): what
the ways through a network have in common cancels, and where no unit of the box changes side the bounds are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
import torch
from torch import Tensor

from creases._typing import Floats
from creases.network import Network
from creases.network.program import carry
from creases.regions import check_network
from creases.regions.geometry import check_box

Range = tuple[Tensor, Tensor]  # least and greatest values, (1, *shape)
Line = tuple[Tensor, Tensor]  # slope and level

#: Bends are bounded backwards too, not by intervals alone, where that takes no more numbers than this.
BACKWARDS = 2**24


def ranges(net: Network, box: Any) -> tuple[Floats, Floats]:
    """Bounds of every output over a box: least (n_out,) and greatest (n_out,), never too narrow but for rounding.

    Parameters
    ----------
    net
        Any network; computed in float64.
    box
        ``[(lo, hi)] * n_in``, or (n_in, 2).

    Examples
    --------
    >>> import creases
    >>> net = creases.read([([[1.0], [-1.0]], [0.0, 0.0]), ([[1.0, 1.0]], [0.0])])  # |x|
    >>> [bound.tolist() for bound in ranges(net, [(-1, 1)])]
    [[0.0], [1.0]]
    """
    ends = check_box(box, check_network(net).n_in)
    work = net.to("cpu").to(torch.float64)
    walk = _Ranges(work, ends)
    with torch.no_grad():
        low, high = carry(work, {0: walk.start}, walk.through)[len(work.steps)]
    low, high = walk.narrowed(len(work.steps), (low, high))
    return np.asarray(low.flatten().numpy()), np.asarray(high.flatten().numpy())


def bend_ranges(net: Network, box: Any) -> list[tuple[Floats, Floats]]:
    """Bounds over a box of what enters each bend: least and greatest, (units,) each; of a choice (units * K,).

    Arguments as of :func:`ranges`. A ReLU with a greatest of at most 0 is never on in the box, one with a least of at
    least 0 always.
    """
    ends = check_box(box, check_network(net).n_in)
    work = net.to("cpu").to(torch.float64)
    walk = _Ranges(work, ends)
    with torch.no_grad():
        carry(work, {0: walk.start}, walk.through)
    found = [walk.inputs[i] for i in work.bends]
    return [(np.asarray(low.flatten().numpy()), np.asarray(high.flatten().numpy())) for low, high in found]


class _Ranges:
    """Ranges of all values of a network over a box, made step by step."""

    def __init__(self, net: Network, box: Floats) -> None:
        self.net = net
        self.centre, self.radius = (
            torch.from_numpy(part).reshape(1, *net.input_shape) for part in (box.mean(axis=1), np.ptp(box, axis=1) / 2)
        )
        self.start: Range = (self.centre - self.radius, self.centre + self.radius)
        self.inputs: dict[int, Range] = {}  # of each bend's input, by the step's number
        self.leads: dict[int, Tensor] = {}  # of each choice: how far any candidate can lead the one of highest floor

    def through(self, i: int, inputs: list[Range]) -> Range:
        """The range of what step i gives."""
        step = self.net.steps[i]
        if not step.is_bend:
            centre = step.apply([(low + high) / 2 for low, high in inputs])
            radius = step.linear_magnitude([(high - low) / 2 for low, high in inputs])
            return centre - radius, centre + radius
        low, high = self.inputs[i] = self.narrowed(step.inputs[0], inputs[0])
        if step.op == "choice":
            self.leads[i] = self._leads(step.inputs[0], low)
        a, b = step.apply([low]), step.apply([high])
        if step.op == "choice":
            return a, b
        least = torch.minimum(a, b)
        bent = (low < 0) & (high > 0)  # then a relu of negative leak is least at 0
        return torch.where(bent, least.clamp(max=0), least), torch.maximum(a, b)

    def narrowed(self, value: int, known: Range) -> Range:
        """A range and what linear bounds say of the same value, where these are affordable."""
        if not self._affordable(value):
            return known
        low, high = known
        eye = torch.eye(prod(self.net.shapes[value]), dtype=torch.float64)
        return torch.maximum(low, -self._tops(value, -eye, low)), torch.minimum(high, self._tops(value, eye, high))

    def _leads(self, value: int, low: Tensor) -> Tensor:
        """Upper bounds (1, *units) of what other candidates of a choice are above the one with the highest floor.

        Candidates of a window have much in common; their differences can be bounded where their ranges overlap.
        """
        if not self._affordable(value):
            return torch.full(low.shape[:-1], torch.inf, dtype=torch.float64)
        K, size = low.shape[-1], low.numel()
        best = low.reshape(-1, K).argmax(dim=-1)
        eye = torch.eye(size, dtype=torch.float64)
        rows = eye - eye[torch.arange(len(best)) * K + best].repeat_interleave(K, dim=0)
        return self._tops(value, rows, low).amax(dim=-1).clamp(min=0)  # the candidate itself leads by 0

    def _affordable(self, value: int) -> bool:
        size = prod(self.net.shapes[value])
        ended = value == len(self.net.steps)
        return size > 0 and (ended or size * sum(self.net.sizes[: value + 1]) <= BACKWARDS)

    def _tops(self, value: int, rows: Tensor, like: Tensor) -> Tensor:
        """Upper bounds of rows (k, size) times a value, in the shape of one; some rows at a time."""
        block = max(1, BACKWARDS // max(1, sum(self.net.sizes[: value + 1])))
        parts = [self._upper(value, rows[start : start + block]) for start in range(0, len(rows), block)]
        return torch.cat(parts).reshape(like.shape)

    def _upper(self, value: int, rows: Tensor) -> Tensor:
        """Upper bounds (k,) of rows times a value: affine functions of the input at their worst."""
        found = {value: rows.reshape(len(rows), *self.net.shapes[value])}
        constant = rows.new_zeros(len(rows))
        for i in reversed(range(value)):
            G = found.pop(i + 1, None)
            if G is None:
                continue
            step = self.net.steps[i]
            if step.is_bend:
                back, terms = self._bend_back(i, G)
            else:
                terms = G * step.offset if step.offset is not None else G.new_zeros(len(G), 1)
                back = _transposed(step, [self.net.shapes[v] for v in step.inputs], G)
            constant += terms.flatten(1).sum(1)
            for v, part in zip(step.inputs, back, strict=True):
                found[v] = found[v] + part if v in found else part
        G = found.get(0, rows.new_zeros(len(rows), *self.net.input_shape)).flatten(1)
        return constant + G @ self.centre.flatten() + G.abs() @ self.radius.flatten()

    def _bend_back(self, i: int, G: Tensor) -> tuple[list[Tensor], Tensor]:
        """Coefficients (k, *shape) of a bend's input instead of its output, and the constants' terms."""
        step, (low, high) = self.net.steps[i], self.inputs[i]
        if step.op == "choice":
            return _choice_back(G, low, high, self.leads[i])
        (above, level_above), (below, level_below) = _relu_lines(low, high, step.leak)
        up, down = G.clamp(min=0), G.clamp(max=0)
        return [up * above + down * below], up * level_above + down * level_below


def _relu_lines(low: Tensor, high: Tensor, leak: Tensor | None) -> tuple[Line, Line]:
    """Lines over a range above and below a relu: its chord, and one through 0 with the slope of one of its sides."""
    a = torch.zeros_like(low) if leak is None else leak.expand_as(low)
    at_low, at_high = torch.where(low > 0, low, a * low), torch.where(high > 0, high, a * high)
    bent = (low < 0) & (high > 0)
    only = torch.where(low >= 0, 1.0, a)
    slope = torch.where(bent, (at_high - at_low) / (high - low).clamp(min=1e-300), only)
    level = torch.where(bent, at_low - slope * low, 0.0)
    tangent = torch.where(bent, torch.where(high > -low, 1.0, a), only)
    hollow = a <= 1  # else it is steeper below 0, and its chord is below it
    zero = torch.zeros_like(level)
    above = torch.where(hollow, slope, tangent), torch.where(hollow, level, zero)
    below = torch.where(hollow, tangent, slope), torch.where(hollow, zero, level)
    return above, below


def _choice_back(G: Tensor, low: Tensor, high: Tensor, lead: Tensor) -> tuple[list[Tensor], Tensor]:
    """As ``_bend_back``, of a choice: at least a candidate s, at most a line in z_s over the others' top."""
    K = low.shape[-1]
    s = low.argmax(dim=-1, keepdim=True)
    own_low, own_high = low.gather(-1, s), high.gather(-1, s)
    others = high.scatter(-1, s, -torch.inf)
    top = others.amax(dim=-1, keepdim=True)  # of the other candidates
    width = (own_high - own_low).clamp(min=1e-300)
    slope = ((own_high - top) / width).clamp(0, 1)
    slope = torch.where(top <= own_low, 1.0, slope)
    level = torch.where(top <= own_low, 0.0, torch.where(top >= own_high, top, own_high - slope * own_high))
    # Or it is at most z_s and what the others lead by: take the line that is lower in the middle.
    middle, lead = (own_low + own_high) / 2, lead.unsqueeze(-1)
    lower = middle + lead < slope * middle + level
    slope, level = torch.where(lower, 1.0, slope), torch.where(lower, lead, level)
    up, down = G.clamp(min=0).unsqueeze(-1), G.clamp(max=0).unsqueeze(-1)
    back = torch.zeros(*G.shape, K, dtype=G.dtype)
    back.scatter_(-1, s.expand(*G.shape, 1), up * slope + down)
    return [back], (up * level).squeeze(-1)


def _transposed(step: Any, shapes: Sequence[tuple[int, ...]], G: Tensor) -> list[Tensor]:
    """The transpose of an affine step's linear part applied to rows (k, *shape): for each input (k, *its shape)."""
    with torch.enable_grad():
        xs = [torch.zeros(len(G), *shape, dtype=G.dtype, requires_grad=True) for shape in shapes]
        return list(torch.autograd.grad(step.linear(xs), xs, G))
