"""Gradients of units along patterns: of outputs, of activations times gradients; weights into and out of a unit."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from creases._program._forward_pass import propagate
from creases._program._pieces import memory_limit, split_sides, unpack_sides
from creases._program._program import PointsLike, Program
from creases._program._step import apply_sides
from creases._typing import Floats


def pattern_gradients(program: Program, patterns: NDArray[np.uint8], weights: NDArray[Any]) -> NDArray[np.float64]:
    """Return the gradient of ``weights . f`` in the region of each pattern: (r, n_in), in float64.

    One backward pass for each region, whatever the number of inputs. The sides are those of the patterns, so that the
    gradient is right also in regions too thin to hold a point that rounding leaves inside. Patterns are (r, n_bytes),
    weights (n_out,).
    """
    program = program.to(torch.float64)
    weighting = torch.as_tensor(weights, dtype=torch.float64, device=program.device)
    gradients = np.empty((len(patterns), program.n_in))
    block = max(1, memory_limit() // (4 * 8 * sum(program.sizes)))
    for first in range(0, len(patterns), block):
        rows = slice(first, first + block)
        sides = dict(zip(program.bends, split_sides(program, unpack_sides(program, patterns[rows])), strict=True))

        def apply_step(i: int, inputs: list[Tensor], sides: dict[int, Tensor] = sides) -> Tensor:
            step = program.steps[i]
            return apply_sides(step.op, inputs[0], sides[i], step.leak) if step.is_bend else step.apply(inputs)

        with torch.enable_grad():
            start = weighting.new_zeros(len(patterns[rows]), *program.input_shape).requires_grad_()
            output = propagate(program, {0: start}, apply_step)[len(program.steps)]
            total = (output.reshape(len(start), -1) @ weighting).sum()
            (gradient,) = torch.autograd.grad(total, start, allow_unused=True)
        gradients[rows] = 0.0 if gradient is None else gradient.flatten(1).cpu().numpy()
    return gradients


def activation_times_gradient(program: Program, x: PointsLike, weights: NDArray[Any]) -> NDArray[np.float64]:
    """Return the value of every unit times the slope of ``weights . f`` in it, at ``x``: (n_units,).

    Within a region the output is affine in a bend's output h, ``weights . f = g . h + c``, and unit u has ``g_u h_u``.
    If no connection skips the bend, these and c add up to ``weights . f(x)``. Two bends in a row decompose the same sum
    twice, so do not add them. ``x`` is a single point, weights (n_out,): 1 and -1 at two classes compare them.
    """
    program = program.to(torch.float64)
    batch, _ = program.as_batch(x)
    with torch.enable_grad():
        values = [batch.detach().requires_grad_()]
        for step in program.steps:
            values.append(step.apply([values[i] for i in step.inputs]))
        bend_outputs = [values[i + 1] for i in program.bends]
        target = values[-1].flatten() @ torch.as_tensor(weights, dtype=torch.float64, device=program.device)
        slopes = torch.autograd.grad(target, bend_outputs, allow_unused=True) if bend_outputs else ()
    parts = [
        np.zeros(h.numel()) if slope is None else (slope * h).detach().flatten().cpu().numpy()
        for slope, h in zip(slopes, bend_outputs, strict=True)
    ]
    return np.concatenate([np.zeros(0), *parts])


def incoming_weights(program: Program, bend: int) -> Floats | None:
    """Return the weights and biases (units, inputs + 1) of a ReLU layer; None unless a dense layer precedes it."""
    step = program.steps[program.bends[bend]]
    before = step.inputs[0] - 1
    if step.op != "relu" or before < 0 or len(step.shape) != 1:
        return None
    layer = program.steps[before]
    if layer.op != "linear" or layer.shape != step.shape:
        return None
    weight = layer.tensors["weight"].detach().cpu().double().numpy()
    bias = np.zeros(len(weight)) if layer.offset is None else layer.offset.detach().cpu().double().numpy()
    return np.column_stack([weight, np.broadcast_to(bias, len(weight))])


def outgoing_weights(program: Program, bend: int) -> Floats | None:
    """Return the weights (units, outputs) of the dense layers that read a bend; None if anything else reads it."""
    at = program.bends[bend]
    if len(program.steps[at].shape) != 1:
        return None
    readers = [step for step in program.steps if at + 1 in step.inputs]
    if not readers or any(step.op != "linear" for step in readers):
        return None
    return np.concatenate([step.tensors["weight"].detach().cpu().double().numpy().T for step in readers], axis=1)
