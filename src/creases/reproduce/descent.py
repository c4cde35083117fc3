"""Plain full-batch gradient descent on many networks of one shape, as one torch program."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import ArrayLike

from creases.errors import InputError
from creases.lab import Batch


def descend(batch: Batch, x: ArrayLike, y: ArrayLike, *, steps: int, lr: ArrayLike) -> Batch:
    """Train every network of a batch by gradient descent on its mean squared error.

    Gradients are written out (chain rule, one batched matrix product for each layer and direction): at this size
    autograd's bookkeeping would cost more than the arithmetic.

    Parameters
    ----------
    batch
        B networks with one output; trained in their own precision.
    x, y
        Inputs (n,) and targets (n,) for all networks, or (B, n) for each its own.
    steps, lr
        Number of steps, and the length of each, or (B,) of each network's: ``theta -= lr d(mean of (f - y)^2) / d
        theta``.
    """
    if batch.widths[0] != 1 or batch.widths[-1] != 1:
        raise InputError(f"batch: expected one input and one output, got widths {batch.widths}")
    weights, biases = ([torch.from_numpy(np.array(a)) for a in stack] for stack in (batch.weights, batch.biases))
    inputs, targets = (torch.as_tensor(np.asarray(a), dtype=weights[0].dtype) for a in (x, y))
    shape = (batch.count, 1, inputs.shape[-1])
    inputs, targets = (a.expand(shape[0], shape[2]).reshape(shape) for a in (inputs, targets))
    on, off = (torch.tensor(slope, dtype=inputs.dtype) for slope in (1.0, batch.leak))
    rates = torch.as_tensor(np.asarray(lr, np.float64), dtype=weights[0].dtype).expand(batch.count)
    last, pull = len(weights) - 1, (2 * rates / shape[2]).reshape(-1, 1, 1)
    with torch.no_grad():
        for _ in range(steps):
            values, gates = [inputs], []  # (B, units, n): what enters each layer; derivatives of the bends
            for W, b in zip(weights[:-1], biases, strict=False):
                z = torch.baddbmm(b.unsqueeze(2), W, values[-1])
                gates.append(torch.where(z > 0, on, off))
                values.append(z.mul_(gates[-1]))
            out = torch.baddbmm(biases[-1].unsqueeze(2), weights[-1], values[-1])
            slope = (out - targets).mul_(pull)  # lr times the loss's derivative by what layer k gives
            for k in range(last, -1, -1):
                back = torch.bmm(weights[k].transpose(1, 2), slope).mul_(gates[k - 1]) if k else slope
                weights[k].baddbmm_(slope, values[k].transpose(1, 2), alpha=-1)
                biases[k].sub_(slope.sum(2))
                slope = back
    return Batch(tuple(W.numpy() for W in weights), tuple(b.numpy() for b in biases), batch.leak)
