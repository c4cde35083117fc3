"""Bounds of the difference of two networks of one architecture, carried through both at once.

With h and h + dh the values in a and in b, an affine step makes ``dz = W_b dh + (W_b - W_a) h + (c_b - c_a)``, and a
bend makes ``dh`` at most its steepest slope times ``dz``, exactly the slope where the unit is on the same side in both.
So a copy with slightly other weights has a slightly other output, by proof, however wide the range of each output is:
ReluDiff [1]_ and, with linear bounds carried backwards, NeuroDiff [2]_.

References
----------
.. [1] Paulsen, Wang, Wang, "ReluDiff: Differential Verification of Deep Neural Networks", ICSE 2020, arXiv:2001.03662.
.. [2] Paulsen, Wang, Wang, Wang, "NeuroDiff: Scalable Differential Verification of Neural Networks using Fine-Grained
   Approximation", ASE 2020, arXiv:2009.09943.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

import torch
from torch import Tensor

from creases._program import Step
from creases.certify.propagation import Interval
from creases.certify.propagation._intervals import propagate_boxes
from creases.certify.propagation._linear import BACKWARDS, LinearBounds, transpose_step
from creases.network import Network

_WEIGHTS = ("weight", "factor", "matrix")


def has_same_architecture(a: Network, b: Network) -> bool:
    """Whether two networks differ in their weights only."""
    return a.input_shape == b.input_shape and len(a.steps) == len(b.steps) and all(map(_same_step, a.steps, b.steps))


def _same_step(p: Step, q: Step) -> bool:
    if (p.op, p.inputs, p.shape, p.options) != (q.op, q.inputs, q.shape, q.options):
        return False
    keys = (set(p.tensors) | set(q.tensors)) - {"offset"}
    if p.is_bend:
        keys -= {"leak"}
    elif not all(key in p.tensors and key in q.tensors for key in keys):
        return False
    pairs = [(p.tensors[key], q.tensors[key]) for key in keys]
    return all(s.shape == t.shape and (s.is_floating_point() or bool(torch.equal(s, t))) for s, t in pairs)


def rounding_error(a: Network, b: Network, boxes: Tensor) -> Tensor:
    """Bound the rounding errors of :class:`DifferenceBounds` over each of k boxes (k, n_in, 2): (k, m).

    All that it computes are sums over paths through weights of a, of b and their differences. With both weights at
    their magnitudes, and three times as much after a bend (slope times value, and an intercept), the sum of all paths
    bounds each of these sums; its rounding is at most the number of operations along a path times the roundoff.
    """
    sizes = [boxes.abs().amax(dim=2).reshape(-1, *a.input_shape)]
    with torch.no_grad():
        for p, q in zip(a.steps, b.steps, strict=True):
            inputs = [sizes[value] for value in p.inputs]
            if p.op == "choice":
                sizes.append(3 * inputs[0].amax(-1))
            elif p.is_bend:
                steep = [torch.ones(()) if step.leak is None else step.leak.abs().double() for step in (p, q)]
                sizes.append(3 * torch.maximum(*steep).clamp(min=1.0) * inputs[0])
            else:
                sizes.append(p.magnitude(inputs) + q.magnitude(inputs))
    count = sum(4 * size + 64 for size in a.sizes)
    return 2.0 * count * 2.0**-53 * 1.01 * sizes[-1].flatten(1) + 1e-300


class DifferenceBounds:
    """Bounds of ``b - a`` over k boxes, for two networks of one architecture, from the bounds of each of them."""

    def __init__(self, of_a: LinearBounds, of_b: LinearBounds) -> None:
        self.a, self.b, self.of_a, self.of_b = of_a.net, of_b.net, of_a, of_b
        self.entering: dict[int, Interval] = {}  # of the difference of what enters each bend, by the number of the step
        with torch.no_grad():
            self.output = self._forward()  #: (k, *shape)

    def _forward(self) -> Interval:
        zero = torch.zeros_like(self.of_a.values[0].low)
        values = [Interval(zero, zero)]
        for i, (p, q) in enumerate(zip(self.a.steps, self.b.steps, strict=True)):
            inputs = [values[value] for value in p.inputs]
            if p.is_bend:
                self.entering[i] = self._tighten(p.inputs[0], inputs[0])
                values.append(self._bend_range(i).without_overflow())
            else:
                values.append(self._affine_range(p, q, inputs).without_overflow())
        return self._tighten(len(self.a.steps), values[-1])

    # -- intervals, forward -------------------------------------------------------------------------------------------

    def _affine_range(self, p: Step, q: Step, inputs: list[Interval]) -> Interval:
        linear = replace(q, tensors={key: t for key, t in q.tensors.items() if key != "offset"})
        low, high = propagate_boxes(linear, inputs)
        change = _weight_change(p, q)
        if change is not None:
            more = propagate_boxes(change, [self.of_a.values[value] for value in p.inputs])
            low, high = low + more.low, high + more.high
        offset = _offset_change(p, q)
        return Interval(low, high) if offset is None else Interval(low + offset, high + offset)

    def _bend_range(self, i: int) -> Interval:
        before, after = (part.values[i + 1] for part in (self.of_a, self.of_b))
        apart = Interval(after.low - before.high, after.high - before.low)
        low, high = self.entering[i]
        if self.a.steps[i].op == "choice":
            return Interval(low.amin(-1), high.amax(-1)).intersect(apart)
        slopes, shift = self._slopes(i)
        ends = torch.stack([slope * end for slope in slopes for end in (low, high)])
        return Interval(ends.amin(0) + shift.low, ends.amax(0) + shift.high).intersect(apart)

    def _slopes(self, i: int) -> tuple[Interval, Interval]:
        """Return the range of b's mean slope between both pre-activations, and of what another leak adds."""
        (low, high), (low_b, high_b) = self.of_a.entering[i], self.of_b.entering[i]
        leak_a, leak = (
            torch.zeros_like(low) if step.leak is None else step.leak.expand_as(low).double()
            for step in (self.a.steps[i], self.b.steps[i])
        )
        on, off = (low >= 0) & (low_b >= 0), (high <= 0) & (high_b <= 0)
        side = torch.where(on, 1.0, leak)
        slopes = Interval(
            torch.where(on | off, side, leak.clamp(max=1.0)), torch.where(on | off, side, leak.clamp(min=1.0))
        )
        ends = [(leak - leak_a) * end.clamp(max=0) for end in (low, high)]
        return slopes, Interval(torch.minimum(*ends), torch.maximum(*ends))

    # -- linear bounds, backwards -------------------------------------------------------------------------------------

    def _tighten(self, value: int, known: Interval) -> Interval:
        if value in self.of_a.entering_values():
            before, after = (part.entering_values()[value] for part in (self.of_a, self.of_b))
            known = known.intersect(Interval(after.low - before.high, after.high - before.low))
        if not self.of_a.is_affordable(value):
            return known
        eye = torch.eye(prod(self.a.shapes[value]), dtype=torch.float64)
        low, high = (sign * self.upper(sign * eye, value).reshape(known.low.shape) for sign in (-1, 1))
        return known.intersect(Interval(low, high))

    def upper(self, rows: Tensor, value: int | None = None) -> Tensor:
        """Bound rows (r, size) times the difference of a value, by default of the output, from above: (k, r)."""
        value = len(self.a.steps) if value is None else value
        block = max(1, BACKWARDS // max(1, sum(self.a.sizes[: value + 1]) * len(self.of_a.center)))
        return torch.cat([self._upper(rows[i : i + block], value) for i in range(0, len(rows), block)], dim=1)

    def _upper(self, rows: Tensor, value: int) -> Tensor:
        boxes, r = len(self.of_a.center), len(rows)
        of_change = {value: rows.expand(boxes, r, -1).reshape(boxes, r, *self.a.shapes[value])}
        of_a: dict[int, Tensor] = {}
        constant = rows.new_zeros(boxes, r)
        for i in reversed(range(value)):
            if i + 1 in of_change:
                constant += self._change_back(i, of_change, of_a)
        lost = self.of_a.lost(value) + self.of_b.lost(value)  # differences are no larger than both values together
        return self.of_a.worst(*self.of_a.carry_back(of_a, value, constant + 4 * lost[:, None]))

    def _change_back(self, i: int, of_change: dict[int, Tensor], of_a: dict[int, Tensor]) -> Tensor:
        """Replace the difference of a step's output by those of its inputs and by a's values; return the constants."""
        p, q = self.a.steps[i], self.b.steps[i]
        G = of_change.pop(i + 1)
        if p.is_bend:
            back, terms = self._bend_back(i, G)
            _add(of_change, p.inputs, [back])
            return terms.flatten(2).sum(2)
        shapes = [self.a.shapes[value] for value in p.inputs]
        _add(of_change, p.inputs, transpose_step(q, shapes, G))
        change, offset = _weight_change(p, q), _offset_change(p, q)
        if change is not None:
            _add(of_a, p.inputs, transpose_step(change, shapes, G))
        return G.new_zeros(G.shape[:2]) if offset is None else (G * offset).flatten(2).sum(2)

    def _bend_back(self, i: int, G: Tensor) -> tuple[Tensor, Tensor]:
        """Return coefficients of the difference of what enters a bend, and constants: lines around slope times it."""
        low, high = (end[:, None] for end in self.entering[i])
        up, down = G.clamp(min=0), G.clamp(max=0)
        if self.a.steps[i].op == "choice":
            nothing = G.new_zeros(*G.shape, low.shape[-1])
            return nothing, up * high.amax(-1) + down * low.amin(-1)
        (least, most), shift = ((part.low[:, None], part.high[:, None]) for part in self._slopes(i))
        above, above_constant = _chord(low, high, least, most)  # of the larger of both lines through 0
        below, below_constant = _chord(low, high, most, least)
        constant = up * (above_constant + shift[1]) + down * (below_constant + shift[0])
        return up * above + down * below, constant


def _chord(low: Tensor, high: Tensor, left: Tensor, right: Tensor) -> tuple[Tensor, Tensor]:
    """Return the chord over an interval of the function with slope ``left`` below 0 and ``right`` above."""
    at_low, at_high = (torch.where(end > 0, right * end, left * end) for end in (low, high))
    width = high - low
    bent = (low < 0) & (high > 0)
    slope = torch.where(bent, (at_high - at_low) / width.clamp(min=1e-300), torch.where(low >= 0, right, left))
    return slope, torch.where(bent, at_low - slope * low, 0.0)


def _add(coefficients: dict[int, Tensor], values: tuple[int, ...], parts: list[Tensor]) -> None:
    for value, part in zip(values, parts, strict=True):
        coefficients[value] = coefficients[value] + part if value in coefficients else part


def _weight_change(p: Step, q: Step) -> Step | None:
    """Return the linear step with the difference of both weights; None if there is none."""
    changes = {key: q.tensors[key] - p.tensors[key] for key in _WEIGHTS if key in p.tensors}
    if not any(bool(change.any()) for change in changes.values()):
        return None
    others = {key: t for key, t in q.tensors.items() if key not in (*_WEIGHTS, "offset")}
    return replace(q, tensors=others | changes)


def _offset_change(p: Step, q: Step) -> Tensor | None:
    if p.offset is None and q.offset is None:
        return None
    if p.offset is None or q.offset is None:
        return q.offset if p.offset is None else -p.offset
    return q.offset - p.offset
