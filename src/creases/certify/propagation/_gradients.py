"""Bounds of a network's coefficients over boxes: intervals carried backwards through the slopes that units may have.

They hold in real arithmetic: what rounding may add is added.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from creases._program import Step
from creases.certify.propagation._intervals import Interval, add_down, add_up
from creases.certify.propagation._linear import LinearBounds
from creases.certify.propagation._rounding import backward_terms, gamma, underflow
from creases.certify.propagation._transposes import transpose_step


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
                gradients[value] = part
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
    radii = [part + gamma(terms) * part + lost for part in transpose_step(_magnitudes(step), shapes, room)]
    return [Interval(add_down(c, -r), add_up(c, r)) for c, r in zip(centers, radii, strict=True)]


def _magnitudes(step: Step) -> Step:
    """Return the step with the magnitudes of its weights."""
    tensors = {key: t.abs() if t.is_floating_point() else t for key, t in step.tensors.items()}
    options = step.options | {"signs": [1] * len(step.inputs)} if step.op == "add" else step.options
    return replace(step, tensors=tensors, options=options)
