"""Linear bounds carried backwards, as in CROWN [1]_, and bounds of coefficients carried backwards as intervals.

Intervals go forward, each term of a value at its worst. Then each bend that may be on either of its sides is enclosed
between two lines (its chord, and a line that it never falls below), and the bounds of a value become affine functions
of the input, carried back through the transposes of the network's own linear maps. What the paths through a network
have in common cancels; where no unit changes side in the box the bounds are exact up to rounding.

All bounds hold in real arithmetic. Coefficients are what was computed, whatever their rounding errors: what the
rounding of a step may change is a sum of products of coefficients and of the sizes of the step's terms over the box,
which is added to the constant. What coefficients lose by underflow counts as much as the values they belong to are
large. Where a sum overflows there is no bound.

References
----------
.. [1] Zhang, Weng, Chen, Hsieh, Daniel, "Efficient Neural Network Robustness Certification with General Activation
   Functions", NeurIPS 2018, arXiv:1811.00866.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from creases._program import Step
from creases.certify.proofs._rounding import LEAST, TINY, UNIT, gamma
from creases.certify.proofs._spec import is_nearly_open, relu_lines
from creases.certify.propagation._intervals import (
    Interval,
    add_down,
    add_up,
    backward_terms,
    linear_error,
    propagate_boxes,
    underflow,
)
from creases.network import Network

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
    bounds = LinearBounds(net, box[None])
    last = len(net.steps)
    known = bounds.entering_values() | {last: bounds.tighten(last, bounds.output)}
    return {value: Interval(part.low[0], part.high[0]) for value, part in known.items()}


class LinearBounds:
    """Bounds of all values of a network over each of b boxes, computed step by step."""

    def __init__(self, net: Network, boxes: Tensor, known: Mapping[int, Interval] | None = None) -> None:
        """Bound the values over boxes.

        Parameters
        ----------
        net
            In float64, on the CPU.
        boxes
            (b, n_in, 2), finite.
        known
            Bounds of what enters bends that hold already, such as those of larger boxes, by the number of the step.
            With them units that are far from changing side are not bounded backwards, as who checks a proof has it.
        """
        self.net, self.known = net, known
        self.low, self.high = boxes.unbind(2)  # (b, n_in)
        self.center, self.radius = boxes.mean(dim=2), (boxes[:, :, 1] - boxes[:, :, 0]) / 2  # (b, n_in)
        self.entering: dict[int, Interval] = {}  #: (b, *shape) of each bend's input, by the number of the step
        self.values: list[Interval] = []  #: (b, *shape) of every value, by intervals from the last bends
        self.leads: dict[int, Tensor] = {}  # of each choice: by how much any candidate can exceed the reference one
        self._errors: list[Tensor] = []  # (b, size) of each value but the input; see _value_errors
        self._losses: list[Tensor] = []  # (b,) of each value and those before it; see lost
        self._bend_lines: dict[int, tuple[Line, Line]] = {}
        self._uses = Counter(value for step in net.steps for value in step.inputs)
        with torch.no_grad():
            self.output = self._forward(boxes)  #: (b, *shape), by intervals after the last bend

    def entering_values(self) -> dict[int, Interval]:
        """Return the bounds of what enters each bend, by the number of the value: (b, *shape)."""
        return {self.net.steps[i].inputs[0]: interval for i, interval in self.entering.items()}

    def _forward(self, boxes: Tensor) -> Interval:
        low, high = (boxes[:, :, end].reshape(-1, *self.net.input_shape) for end in (0, 1))
        values = self.values
        values.append(Interval(low, high))
        for i, step in enumerate(self.net.steps):
            inputs = [values[value] for value in step.inputs]
            if step.is_bend:
                number, known = step.inputs[0], values[step.inputs[0]]
                known = known if self.known is None or i not in self.known else known.intersect(self.known[i])
                values[number] = self.tighten(number, known)
                if self.known is not None and step.op == "relu":
                    is_open = torch.from_numpy(is_nearly_open(known.low.numpy(), known.high.numpy()))
                    ends = zip(values[number], known, strict=True)
                    values[number] = Interval(*(torch.where(is_open, near, far) for near, far in ends))
                inputs = [values[number]]
                self.entering[i] = inputs[0]
                if step.op == "choice":
                    self.leads[i] = self._leads(step.inputs[0], inputs[0].low)
            values.append(propagate_boxes(step, inputs))
        return values[-1]

    def tighten(self, value: int, known: Interval) -> Interval:
        """Intersect an interval (b, *shape) with the linear bounds of the same value, where these are affordable."""
        if not self.is_affordable(value):
            return known
        eye = torch.eye(prod(self.net.shapes[value]), dtype=torch.float64)
        with torch.no_grad():
            low, high = (sign * self._upper(value, sign * eye).reshape(known.low.shape) for sign in (-1, 1))
        return known.intersect(Interval(low, high))

    def _leads(self, value: int, low: Tensor) -> Tensor:
        """Bound (b, *units) by how much candidates of a choice exceed the one with the largest lower bound.

        Candidates of a window have much in common: their differences can be bounded even where their ranges overlap.
        """
        if not self.is_affordable(value):
            return torch.full(low.shape[:-1], torch.inf, dtype=torch.float64)
        K, size = low.shape[-1], low[0].numel()
        best = low.reshape(len(low), -1, K).argmax(dim=-1)  # (b, units)
        eye = torch.eye(size, dtype=torch.float64)
        rows = eye - eye[torch.arange(best.shape[1]) * K + best].repeat_interleave(K, dim=1)  # (b, size, size)
        return self._upper(value, rows).reshape(low.shape).amax(dim=-1).clamp(min=0)  # the candidate itself leads by 0

    def is_affordable(self, value: int) -> bool:
        """Whether all entries of a value are bounded backwards."""
        size = prod(self.net.shapes[value])
        is_output = value == len(self.net.steps)
        return size > 0 and (is_output or size * sum(self.net.sizes[: value + 1]) <= BACKWARDS)

    def _upper(self, value: int, rows: Tensor) -> Tensor:
        """Bound rows (k, size), or (b, k, size), times a value from above: (b, k)."""
        block = max(1, BACKWARDS // max(1, sum(self.net.sizes[: value + 1]) * len(self.center)))
        parts = [
            self.worst(*self.linear_upper(rows[..., first : first + block, :], value))
            for first in range(0, rows.shape[-2], block)
        ]
        return torch.cat(parts, dim=1)

    def worst(self, G: Tensor, constant: Tensor) -> Tensor:
        """Return no less than the largest value (b, k) of ``G x + constant`` (b, k, n_in) over each box."""
        up, down = G.clamp(min=0), G.clamp(max=0)
        reach = _dot(up, self.high) + _dot(down, self.low)
        size = torch.maximum(self.low.abs(), self.high.abs())
        upper = add_up(constant, reach + gamma(2 * G.shape[2]) * _dot(up - down, size) + TINY)
        return torch.where(upper.isfinite(), upper, torch.inf)

    def linear_upper(self, rows: Tensor, value: int | None = None) -> tuple[Tensor, Tensor]:
        """Return affine functions of the input that rows times a value (by default the output) never exceed.

        Parameters
        ----------
        rows
            (k, size), or (b, k, size) for each box its own.
        value
            Number of the value.

        Returns
        -------
        G (b, k, n_in), constant (b, k)
        """
        value = len(self.net.steps) if value is None else value
        boxes, k = len(self.center), rows.shape[-2]
        return self.carry_back(
            {value: rows.expand(boxes, k, -1).reshape(boxes, k, *self.net.shapes[value])},
            value,
            rows.new_zeros(boxes, k),
        )

    def carry_back(self, coefficients: dict[int, Tensor], last: int, constant: Tensor) -> tuple[Tensor, Tensor]:
        """Return affine functions of the input above combinations of values up to a last one, and constants (b, k).

        Parameters
        ----------
        coefficients
            (b, k, *shape) by the number of the value; what they are combined from is taken out.
        """
        (boxes, k), size, error = constant.shape, constant.abs(), torch.zeros_like(constant)
        errors = self._value_errors(last)
        for i in reversed(range(last)):
            G = coefficients.pop(i + 1, None)
            if G is None:
                continue
            step = self.net.steps[i]
            if i + 1 in errors:
                error = error + _dot(_flat(G, 2).abs(), errors[i + 1])
            back, more, lost = self._bend_terms(i, G) if step.is_bend else self._affine_terms(i, G)
            if more is not None:
                constant, size = constant + more, size + more.abs()
            if lost is not None:
                error = error + lost
            for v, part in zip(step.inputs, back, strict=True):
                coefficients[v] = coefficients[v] + part if v in coefficients else part
        G = _flat(coefficients.get(0, constant.new_zeros(boxes, k, *self.net.input_shape)), 2)
        error = error + self.lost(last)[:, None]
        return G, add_up(constant, (1 + gamma(2 * last + 1)) * error + gamma(last + 1) * size)  # sums over steps

    def _affine_terms(self, i: int, G: Tensor) -> tuple[list[Tensor], Tensor | None, Tensor | None]:
        """Return coefficients of a step's inputs, what is added to the constant, and what rounding adds to that."""
        step = self.net.steps[i]
        back = transpose_step(step, [self.net.shapes[v] for v in step.inputs], G)
        return back, None if step.offset is None else _flat(G, 2) @ step.offset.expand(step.shape).flatten(), None

    def _bend_terms(self, i: int, G: Tensor) -> tuple[list[Tensor], Tensor | None, Tensor | None]:
        """As ``_affine_terms``, for a bend."""
        step, n = self.net.steps[i], prod(self.net.steps[i].shape)
        if step.op == "relu" and (step.leak is None or bool((step.leak <= 1).all())):
            (above, intercept), (below, _) = self._lines(i)
            up = G.clamp(min=0)
            more = _dot(_flat(up, 2), _flat(intercept, 1))
            lines = torch.addcmul(G * below[:, None], up, (above - below)[:, None])
            return [lines], more, gamma(n) * more + TINY
        back, terms = self.bend_back(i, G)
        terms = _flat(terms, 2)
        return back, terms.sum(2), gamma(n) * terms.abs().sum(2) + TINY

    def _lines(self, i: int) -> tuple[Line, Line]:
        """Return the lines above and below a bend of relus over each box."""
        if i not in self._bend_lines:
            (low, high), leak = (end.numpy() for end in self.entering[i]), self.net.steps[i].leak
            a = np.zeros(()) if leak is None else leak.double().numpy()
            parts = (torch.from_numpy(part) for part in relu_lines(low, high, a, low >= 0, (low < 0) & (high <= 0)))
            above, above_at, below, below_at = parts
            self._bend_lines[i] = (above, above_at), (below, below_at)
        return self._bend_lines[i]

    def _value_errors(self, last: int) -> dict[int, Tensor]:
        """Return what rounding adds (b, size) for each unit of a coefficient, by the number of the value up to a last.

        When a coefficient of a value is replaced by those of the inputs of its step, the products of its transpose
        round, the constant does, and so did the bend or the sum that the coefficient came from.
        """
        for v in range(len(self._errors) + 1, last + 1):
            step = self.net.steps[v - 1]
            size = self.values[v].size
            error = 8 * UNIT * size + TINY
            if step.op == "relu":  # the slopes are at most 1, or the leak
                entering = self.entering[v - 1].size
                error = error + 8 * UNIT * (entering if step.leak is None else entering * (1 + step.leak.abs()))
            elif step.op == "choice":
                error = error + 8 * UNIT * self.entering[v - 1].size.amax(-1)
            else:
                shapes = [self.net.shapes[u] for u in step.inputs]
                terms = backward_terms(step, shapes)
                if terms:
                    error = error + linear_error(step, [self.values[u].size for u in step.inputs], terms)
                if step.offset is not None:
                    error = error + gamma(size[0].numel()) * step.offset.abs()
            self._errors.append(_flat(error, 1))
        return self._without_movements(last)

    def lost(self, last: int) -> Tensor:
        """Return what underflow of coefficients of the values before a last one can matter over each box: (b,)."""
        for v in range(len(self._losses), last):
            readers = [step for step in self.net.steps if v in step.inputs]
            terms = sum(8 + backward_terms(step, [self.net.shapes[u] for u in step.inputs]) for step in readers)
            before = self._losses[-1] if self._losses else torch.zeros(len(self.center), dtype=torch.float64)
            self._losses.append(before + LEAST * terms * _flat(self.values[v].size, 1).sum(1))
        return self._losses[last - 1] if last else torch.zeros(len(self.center), dtype=torch.float64)

    def _without_movements(self, last: int) -> dict[int, Tensor]:
        """Return the errors with those of steps that only move coefficients at their inputs: fewer products."""
        errors = {v: self._errors[v - 1] for v in range(1, last + 1)}
        for v in range(last, 0, -1):
            step = self.net.steps[v - 1]
            u = step.inputs[0]
            is_movement = step.op == "reshape" or (step.op == "add" and self.net.shapes[u] == step.shape)
            if is_movement and len(step.inputs) == 1 and u and self._uses[u] == 1:
                errors[u] = errors[u] + errors.pop(v)
        return errors

    def bend_back(self, i: int, G: Tensor) -> tuple[list[Tensor], Tensor]:
        """Return coefficients (b, k, *shape) of a bend's input in place of its output, and the constant terms."""
        step, (low, high) = self.net.steps[i], self.entering[i]
        if step.op == "choice":
            return _choice_back(G, low[:, None], high[:, None], self.leads[i][:, None])
        (above, above_intercept), (below, below_intercept) = (
            [part[:, None] for part in line] for line in self._lines(i)
        )
        up, down = G.clamp(min=0), G.clamp(max=0)
        return [up * above + down * below], up * above_intercept + down * below_intercept


def _flat(values: Tensor, first: int) -> Tensor:
    """Return a tensor with the dimensions from the first on as one; a single number is one entry."""
    return values.reshape(*values.shape[:first], prod(values.shape[first:]))


def _dot(rows: Tensor, x: Tensor) -> Tensor:
    """Return rows (b, k, n) times one x (b, n) for each box: (b, k)."""
    return torch.bmm(rows, x.unsqueeze(2)).squeeze(2)


def _choice_back(G: Tensor, low: Tensor, high: Tensor, lead: Tensor) -> tuple[list[Tensor], Tensor]:
    """As ``bend_back``, for a choice: at least a candidate s, at most a line in z_s above the other candidates."""
    K = low.shape[-1]
    s = low.argmax(dim=-1, keepdim=True)
    s_low, s_high = low.gather(-1, s), high.gather(-1, s)
    others = high.scatter(-1, s, -torch.inf)
    top = others.amax(dim=-1, keepdim=True)  # of the other candidates
    width = (s_high - s_low).clamp(min=1e-300)
    slope = ((s_high - top) / width).clamp(0, 1)
    slope = torch.where(top <= s_low, 1.0, slope)
    ends = [torch.maximum(end, top) - slope * end for end in (s_low, s_high)]
    size = torch.maximum(top.abs(), torch.maximum(s_low.abs(), s_high.abs()))
    intercept = torch.maximum(*ends) + gamma(2) * size + TINY
    intercept = torch.where(top <= s_low, 0.0, intercept)
    # Alternatively it is at most z_s plus the lead of the others: take the line that is lower in the middle.
    middle, lead = (s_low + s_high) / 2, lead.unsqueeze(-1)
    lower = middle + lead < slope * middle + intercept
    slope, intercept = torch.where(lower, 1.0, slope), torch.where(lower, lead, intercept)
    up, down = G.clamp(min=0).unsqueeze(-1), G.clamp(max=0).unsqueeze(-1)
    back = torch.zeros(*G.shape, K, dtype=G.dtype)
    back.scatter_(-1, s.expand(*G.shape, 1), up * slope + down)
    return [back], (up * intercept).squeeze(-1)


# -- transposes of affine steps ---------------------------------------------------------------------------------------


Shapes = Sequence[tuple[int, ...]]


def transpose_step(step: Step, shapes: Shapes, G: Tensor) -> list[Tensor]:
    """Apply the transpose of an affine step's linear part to rows (b, k, *shape): for each input (b, k, *its shape).

    Steps of perceptrons are products and movements of numbers; for the others torch computes the transpose.
    """
    rows, shape = G.shape[:2], shapes[0]
    if step.op == "linear":
        return [G @ step.tensors["weight"]]
    if step.op == "matmul":
        return [step.tensors["matrix"].T @ G]
    if step.op == "reshape":
        return [G.reshape(*rows, *shape)]
    if step.op == "permute":
        dims = step.options["dims"]
        return [G.permute(0, 1, *(2 + dims.index(d) for d in range(len(dims))))]
    if step.op == "pad":
        return [F.pad(G, [-n for n in step.options["pads"]])]
    if step.op == "scale" and shape == step.shape:
        return [G * step.tensors["factor"]]
    if step.op == "add" and all(part == step.shape for part in shapes):
        return [G if sign == 1 else -G for sign in step.options["signs"]]
    if step.op == "concat":
        dim = step.options["dim"]
        return list(torch.split(G, [part[dim] for part in shapes], dim=dim + 2))
    flat = G.flatten(0, 1)
    with torch.enable_grad():
        xs = [torch.zeros(len(flat), *shape, dtype=G.dtype, requires_grad=True) for shape in shapes]
        parts = torch.autograd.grad(step.linear(xs), xs, flat)
    return [part.reshape(*G.shape[:2], *part.shape[1:]) for part in parts]


# -- gradients --------------------------------------------------------------------------------------------------------


def gradient_bounds(bounds: LinearBounds, rows: Tensor) -> dict[int, Interval]:
    """Bound the derivatives of rows times the output in every value, over each box.

    Parameters
    ----------
    bounds
        Of what enters the bends.
    rows
        (k, n_out)

    Returns
    -------
    dict
        By the number of the value, (b, k, *shape) each; number 0 is the input: the coefficients.
    """
    net, boxes, k = bounds.net, len(bounds.center), len(rows)
    last = len(net.steps)
    start = rows.expand(boxes, k, -1).reshape(boxes, k, *net.shapes[last])
    gradients = {last: Interval(start, start)}
    with torch.no_grad():
        for i in reversed(range(last)):
            if i + 1 not in gradients:
                continue
            step, G = net.steps[i], gradients[i + 1]
            back = [_bend_back(bounds, i, G)] if step.is_bend else _affine_back(bounds, step, G)
            for value, part in zip(step.inputs, back, strict=True):
                known = gradients.get(value)
                if known is not None:
                    part = Interval(add_down(known.low, part.low), add_up(known.high, part.high))
                gradients[value] = part.without_overflow()
    if 0 not in gradients:
        zero = rows.new_zeros(boxes, k, *net.input_shape)
        gradients[0] = Interval(zero, zero)
    return gradients


def slope_bounds(bounds: LinearBounds, i: int) -> Interval:
    """Bound the slopes of a bend's units over each box: (b, *shape of its input)."""
    step, (low, high) = bounds.net.steps[i], bounds.entering[i]
    if step.op == "choice":
        can_win = high >= low.amax(dim=-1, keepdim=True)
        alone = can_win & (can_win.sum(dim=-1, keepdim=True) == 1)
        return Interval(alone.double(), can_win.double())
    leak = torch.zeros_like(low) if step.leak is None else step.leak.expand_as(low)
    on, off = low >= 0, high <= 0  # a unit that touches 0 only at the rim of the box has one slope inside
    least, most = leak.clamp(max=1.0), leak.clamp(min=1.0)
    one_side = torch.where(on, 1.0, leak)
    return Interval(torch.where(on | off, one_side, least), torch.where(on | off, one_side, most))


def _bend_back(bounds: LinearBounds, i: int, G: Interval) -> Interval:
    step, slopes = bounds.net.steps[i], [end[:, None] for end in slope_bounds(bounds, i)]
    low, high = G
    if step.op == "choice":
        low, high = low.unsqueeze(-1), high.unsqueeze(-1)
    products = torch.stack([end * slope for end in (low, high) for slope in slopes])
    least, most = products.amin(0), products.amax(0)
    if step.op == "choice" or step.leak is None:
        return Interval(least, most)  # slopes of 0 and 1: no rounding
    lost = underflow(step, G)
    return Interval(least - gamma(1) * least.abs() - lost, most + gamma(1) * most.abs() + lost)


def _affine_back(bounds: LinearBounds, step: Step, G: Interval) -> list[Interval]:
    shapes = [bounds.net.shapes[value] for value in step.inputs]
    terms = backward_terms(step, shapes)
    if not terms:
        lows, highs = (transpose_step(step, shapes, end) for end in G)
        return [Interval(low, high) for low, high in zip(lows, highs, strict=True)]
    center = (G.low + G.high) / 2
    radius = torch.maximum(G.high - center, center - G.low)
    room = (1 + 2 * gamma(terms)) * radius + gamma(terms) * center.abs()  # rounding as a further radius
    centers = transpose_step(step, shapes, center)
    lost = underflow(step, [center, radius])
    tensors = {key: t.abs() if t.is_floating_point() else t for key, t in step.tensors.items()}
    options = step.options | {"signs": [1] * len(step.inputs)} if step.op == "add" else step.options
    magnitudes = replace(step, tensors=tensors, options=options)
    radii = [part + gamma(terms) * part + lost for part in transpose_step(magnitudes, shapes, room)]
    return [Interval(add_down(c, -r), add_up(c, r)) for c, r in zip(centers, radii, strict=True)]
