"""Hidden units for what curves and planes leave, trained together."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from creases._typing import Floats
from creases.tables._stages.inputs import Inputs
from creases.tables._stages.penalized import Fit
from creases.tables._stages.rows import Rows
from creases.tables._stages.unit_basis import spread_inputs

Singles = NDArray[Any]  #: float32: training needs no more, and takes half the time

#: Rows for each trained unit, and units at least and at most.
ROWS_PER_UNIT, LEAST_UNITS, MOST_UNITS = 50, 8, 128

#: Epochs of training, steps in all at most, rows in each at most, the first rate, and the decay of weights.
EPOCHS, STEPS, BATCH, RATE, DECAY = 60, 4_000, 256, 5e-3, 1e-2


def train_units(rows: Rows, fit: Fit, knots: tuple[Floats, ...], inputs: Inputs, seed: int) -> tuple[Floats, Floats]:
    """Return weights (h, d) and biases (h,) of units, trained on what a fit leaves in rows.

    They start at random and are trained with their outputs by Adam, with a rate that falls to 0 like a cosine.
    """
    rng = np.random.default_rng(seed)
    U = spread_inputs(rows.X, knots)
    mean, deviation = U.mean(axis=0), U.std(axis=0)
    used = (deviation > 1e-9) & inputs.may_mix
    deviation[~used] = 1.0
    Z = np.where(used, (U - mean) / deviation, 0.0).astype(np.float32)
    offset = fit(rows.X).astype(np.float32)
    n_units = int(np.clip(len(rows) // ROWS_PER_UNIT, LEAST_UNITS, MOST_UNITS))
    d, m = Z.shape[1], offset.shape[1]
    W = rng.normal(size=(d, n_units)) * (2 / max(used.sum(), 1)) ** 0.5
    start = [W, rng.normal(size=n_units) * 0.5, np.zeros((n_units, m)), np.zeros(m)]
    parameters: list[Singles] = [each.astype(np.float32) for each in start]
    optimizer = _Adam(parameters)
    targets, weight = rows.targets.astype(np.float32), rows.weight.astype(np.float32)[:, None]
    batch = min(BATCH, max(len(rows) // 8, 16))
    n_steps = min(EPOCHS * len(rows) // batch, STEPS)
    order, at = rng.permutation(len(rows)), 0
    for step in range(n_steps):
        if at + batch > len(order):
            order, at = rng.permutation(len(rows)), 0
        part = order[at : at + batch]
        at += batch
        optimizer.step(_gradients(parameters, Z[part], offset[part], targets[part], weight[part], rows), step / n_steps)
    weights = (parameters[0].T.astype(np.float64) / deviation) * used
    return weights, parameters[1].astype(np.float64) - weights @ mean


def _gradients(
    parameters: list[Singles], Z: Singles, offset: Singles, targets: Singles, weight: Singles, rows: Rows
) -> list[Singles]:
    W, b, V, c = parameters
    hidden = np.maximum(Z @ W + b, 0.0)
    error = (rows.means(offset + hidden @ V + c) - targets) * weight / len(Z)
    back = (error @ V.T) * (hidden > 0)
    return [Z.T @ back, back.sum(axis=0), hidden.T @ error, error.sum(axis=0)]


class _Adam:
    """Adam with decoupled decay of matrices (Loshchilov, Hutter 2019)."""

    def __init__(self, parameters: list[Singles]) -> None:
        self._parameters = parameters
        self._means = [np.zeros_like(each) for each in parameters]
        self._squares = [np.zeros_like(each) for each in parameters]
        self._count = 0

    def step(self, gradients: list[Singles], progress: float) -> None:
        """Take a step at a fraction of the training."""
        self._count += 1
        rate = RATE * (1 + np.cos(np.pi * progress)) / 2
        scale = rate * (1 - 0.999**self._count) ** 0.5 / (1 - 0.9**self._count)
        for p, g, mean, square in zip(self._parameters, gradients, self._means, self._squares, strict=True):
            mean += 0.1 * (g - mean)
            square += 0.001 * (g * g - square)
            if p.ndim == 2:
                p *= 1 - rate * DECAY
            p -= scale * mean / (np.sqrt(square) + 1e-8)
