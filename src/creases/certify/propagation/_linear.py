"""Linear bounds carried backwards, as in CROWN [1]_.

Intervals go forward, each term of a value at its worst. Then each bend that may be on either of its sides is enclosed
between two lines (its chord, and a line that it never falls below), and the bounds of a value become affine functions
of the input, carried back through the transposes of the network's own linear maps. What the paths through a network
have in common cancels; where no unit changes side in the box the bounds are exact.

References
----------
.. [1] Zhang, Weng, Chen, Hsieh, Daniel, "Efficient Neural Network Robustness Certification with General Activation
   Functions", NeurIPS 2018, arXiv:1811.00866.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import torch
from torch import Tensor

from creases.certify.propagation._intervals import Interval, input_interval, propagate
from creases.network import Network
from creases.network.program import Step

Line = tuple[Tensor, Tensor]  # slope and intercept

#: The inputs of bends are bounded backwards too, not by intervals alone, where that takes at most this many numbers.
BACKWARDS = 2**24


def linear_value_bounds(net: Network, box: Tensor) -> dict[int, Interval]:
    """Bound the inputs of all bends, and the output, by linear functions of the input.

    Parameters
    ----------
    net
        In float64, on the CPU.
    box
        (n_in, 2), finite.

    Returns
    -------
    dict
        By the number of the value: those that enter bends, and the output.
    """
    bounds = _LinearBounds(net, box)
    with torch.no_grad():
        return bounds.run()


class _LinearBounds:
    """Bounds of all values of a network over a box, computed step by step."""

    def __init__(self, net: Network, box: Tensor) -> None:
        self.net = net
        self.start = input_interval(net, box)
        self.center, self.radius = (part.flatten() for part in (box.mean(dim=1), (box[:, 1] - box[:, 0]) / 2))
        self.entering: dict[int, Interval] = {}  # of each bend's input, by the number of the step
        self.leads: dict[int, Tensor] = {}  # of each choice: by how much any candidate can exceed the reference one

    def run(self) -> dict[int, Interval]:
        steps, values = self.net.steps, [self.start]
        for i, step in enumerate(steps):
            inputs = [values[value] for value in step.inputs]
            if step.is_bend:
                inputs = [self.tighten(step.inputs[0], inputs[0])]
                self.entering[i] = inputs[0]
                if step.op == "choice":
                    self.leads[i] = self._leads(step.inputs[0], inputs[0].low)
            values.append(propagate(step, inputs))
        bounds = {steps[i].inputs[0]: interval for i, interval in self.entering.items()}
        return bounds | {len(steps): self.tighten(len(steps), values[-1])}

    def tighten(self, value: int, known: Interval) -> Interval:
        """Intersect an interval with the linear bounds of the same value, where these are affordable."""
        if not self._is_affordable(value):
            return known
        eye = torch.eye(prod(self.net.shapes[value]), dtype=torch.float64)
        shape = known.low.shape
        return known.intersect(Interval(-self._upper(value, -eye, shape), self._upper(value, eye, shape)))

    def _leads(self, value: int, low: Tensor) -> Tensor:
        """Bound (*units) by how much candidates of a choice exceed the one with the largest lower bound.

        Candidates of a window have much in common: their differences can be bounded even where their ranges overlap.
        """
        if not self._is_affordable(value):
            return torch.full(low.shape[:-1], torch.inf, dtype=torch.float64)
        K, size = low.shape[-1], low.numel()
        best = low.reshape(-1, K).argmax(dim=-1)
        eye = torch.eye(size, dtype=torch.float64)
        rows = eye - eye[torch.arange(len(best)) * K + best].repeat_interleave(K, dim=0)
        return self._upper(value, rows, low.shape).amax(dim=-1).clamp(min=0)  # the candidate itself leads by 0

    def _is_affordable(self, value: int) -> bool:
        size = prod(self.net.shapes[value])
        is_output = value == len(self.net.steps)
        return size > 0 and (is_output or size * sum(self.net.sizes[: value + 1]) <= BACKWARDS)

    def _upper(self, value: int, rows: Tensor, shape: torch.Size) -> Tensor:
        """Bound rows (k, size) times a value from above, a block of rows at a time."""
        block = max(1, BACKWARDS // max(1, sum(self.net.sizes[: value + 1])))
        parts = [self._block_upper(value, rows[start : start + block]) for start in range(0, len(rows), block)]
        return torch.cat(parts).reshape(shape)

    def _block_upper(self, value: int, rows: Tensor) -> Tensor:
        """Bound rows (k, size) times a value from above, (k,): affine functions of the input at their worst."""
        coefficients = {value: rows.reshape(len(rows), *self.net.shapes[value])}
        constant = rows.new_zeros(len(rows))
        for i in reversed(range(value)):
            G = coefficients.pop(i + 1, None)
            if G is None:
                continue
            step = self.net.steps[i]
            if step.is_bend:
                back, terms = self._bend_back(i, G)
            else:
                terms = G * step.offset if step.offset is not None else G.new_zeros(len(G), 1)
                back = _transpose(step, [self.net.shapes[v] for v in step.inputs], G)
            constant += terms.flatten(1).sum(1)
            for v, part in zip(step.inputs, back, strict=True):
                coefficients[v] = coefficients[v] + part if v in coefficients else part
        G = coefficients.get(0, rows.new_zeros(len(rows), *self.net.input_shape)).flatten(1)
        return constant + G @ self.center + G.abs() @ self.radius

    def _bend_back(self, i: int, G: Tensor) -> tuple[list[Tensor], Tensor]:
        """Return coefficients (k, *shape) of a bend's input in place of its output, and the constant terms."""
        step, (low, high) = self.net.steps[i], self.entering[i]
        if step.op == "choice":
            return _choice_back(G, low, high, self.leads[i])
        (above, above_intercept), (below, below_intercept) = _relu_lines(low, high, step.leak)
        up, down = G.clamp(min=0), G.clamp(max=0)
        return [up * above + down * below], up * above_intercept + down * below_intercept


def _relu_lines(low: Tensor, high: Tensor, leak: Tensor | None) -> tuple[Line, Line]:
    """Return lines above and below a relu over an interval: its chord, and one through 0 along one of its sides."""
    a = torch.zeros_like(low) if leak is None else leak.expand_as(low)
    at_low, at_high = torch.where(low > 0, low, a * low), torch.where(high > 0, high, a * high)
    bent = (low < 0) & (high > 0)
    only = torch.where(low >= 0, 1.0, a)
    slope = torch.where(bent, (at_high - at_low) / (high - low).clamp(min=1e-300), only)
    intercept = torch.where(bent, at_low - slope * low, 0.0)
    tangent = torch.where(bent, torch.where(high > -low, 1.0, a), only)
    convex = a <= 1  # else it is steeper below 0, concave, and its chord is below it
    zero = torch.zeros_like(intercept)
    above = torch.where(convex, slope, tangent), torch.where(convex, intercept, zero)
    below = torch.where(convex, tangent, slope), torch.where(convex, zero, intercept)
    return above, below


def _choice_back(G: Tensor, low: Tensor, high: Tensor, lead: Tensor) -> tuple[list[Tensor], Tensor]:
    """As ``_bend_back``, for a choice: at least a candidate s, at most a line in z_s above the other candidates."""
    K = low.shape[-1]
    s = low.argmax(dim=-1, keepdim=True)
    s_low, s_high = low.gather(-1, s), high.gather(-1, s)
    others = high.scatter(-1, s, -torch.inf)
    top = others.amax(dim=-1, keepdim=True)  # of the other candidates
    width = (s_high - s_low).clamp(min=1e-300)
    slope = ((s_high - top) / width).clamp(0, 1)
    slope = torch.where(top <= s_low, 1.0, slope)
    intercept = torch.where(top <= s_low, 0.0, torch.where(top >= s_high, top, s_high - slope * s_high))
    # Alternatively it is at most z_s plus the lead of the others: take the line that is lower in the middle.
    middle, lead = (s_low + s_high) / 2, lead.unsqueeze(-1)
    lower = middle + lead < slope * middle + intercept
    slope, intercept = torch.where(lower, 1.0, slope), torch.where(lower, lead, intercept)
    up, down = G.clamp(min=0).unsqueeze(-1), G.clamp(max=0).unsqueeze(-1)
    back = torch.zeros(*G.shape, K, dtype=G.dtype)
    back.scatter_(-1, s.expand(*G.shape, 1), up * slope + down)
    return [back], (up * intercept).squeeze(-1)


def _transpose(step: Step, shapes: Sequence[tuple[int, ...]], G: Tensor) -> list[Tensor]:
    """Apply the transpose of an affine step's linear part to rows (k, *shape): for each input (k, *its shape)."""
    with torch.enable_grad():
        xs = [torch.zeros(len(G), *shape, dtype=G.dtype, requires_grad=True) for shape in shapes]
        return list(torch.autograd.grad(step.linear(xs), xs, G))
