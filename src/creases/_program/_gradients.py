"""Gradients of a weighted sum of outputs in the regions that patterns select."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from creases._program._bends import apply_sides
from creases._program._patterns import split_sides, unpack_sides
from creases._program._pieces import memory_limit
from creases._program._program import Program
from creases._program._propagation import propagate


def pattern_gradients(program: Program, patterns: NDArray[np.uint8], weights: NDArray[Any]) -> NDArray[np.float64]:
    """Return the gradient of ``weights . f`` in the region of each pattern: (r, n_in), in float64.

    One backward pass for each region, whatever the number of inputs. The sides are those of the patterns, so that the
    gradient is right also in regions too thin to hold a point that rounding leaves inside.

    Parameters
    ----------
    patterns
        (r, n_bytes), packed as in :attr:`creases.regions.LinePartition.patterns`.
    weights
        Weights of the outputs, (n_out,).
    """
    program = program.to(torch.float64)
    weighting = torch.as_tensor(weights, dtype=torch.float64, device=program.device)
    gradients = np.empty((len(patterns), program.n_in))
    block = max(1, memory_limit() // (4 * 8 * sum(program.sizes)))
    for first in range(0, len(patterns), block):
        rows = slice(first, first + block)
        sides = split_sides(program, unpack_sides(program, patterns[rows]))
        gradients[rows] = _backward(program, sides, weighting, len(patterns[rows]))
    return gradients


def _backward(program: Program, sides: list[Tensor], weights: Tensor, regions: int) -> NDArray[np.float64]:
    remaining = iter(sides)

    def apply_step(i: int, inputs: list[Tensor]) -> Tensor:
        step = program.steps[i]
        if step.is_bend:
            return apply_sides(step.op, inputs[0], next(remaining), step.leak)
        return step.apply(inputs)

    with torch.enable_grad():
        start = torch.zeros(regions, *program.input_shape, dtype=torch.float64, device=program.device)
        start.requires_grad_()
        output = propagate(program, {0: start}, apply_step)[len(program.steps)]
        total = (output.reshape(regions, -1) @ weights).sum()
        (gradient,) = torch.autograd.grad(total, start, allow_unused=True)
    slopes = torch.zeros_like(start) if gradient is None else gradient
    return np.asarray(slopes.flatten(1).detach().cpu().numpy())
