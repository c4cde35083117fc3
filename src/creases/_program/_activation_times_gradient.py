"""Activation times gradient: the value of each unit times the slope of an output with respect to it."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from creases._program._program import PointsLike, Program


def activation_times_gradient(program: Program, x: PointsLike, weights: NDArray[Any]) -> NDArray[np.float64]:
    """Return the value of every unit times the slope of ``weights . f`` in it, at ``x``: (n_units,).

    Within a region the output is affine in a bend's output h, ``weights . f = g . h + c``, and unit u has ``g_u h_u``.
    If no connection skips the bend, these and c add up to ``weights . f(x)``. Two bends in a row decompose the same sum
    twice, so do not add them.

    Parameters
    ----------
    x
        A single point.
    weights
        Weights of the outputs, (n_out,): 1 and -1 at two classes compare them.
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
