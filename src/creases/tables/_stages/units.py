"""Hidden units for what curves and planes leave, trained together."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from creases._typing import Floats, Ints
from creases.tables._stages.basis import Basis, CurveBasis, spread_evenly, spread_knots
from creases.tables._stages.inputs import Inputs
from creases.tables._stages.model import Reason
from creases.tables._stages.penalized import Fit
from creases.tables._stages.rows import Rows

# Hidden units that read many columns, as functions beside curves and planes.


@dataclass(frozen=True, eq=False)
class UnitBasis:
    """The functions of another basis, then units ``relu(u @ weights.T + biases)`` with mean 0 and deviation 1."""

    base: Basis
    knots: tuple[Floats, ...]  #: of each input: those of its transform u
    weights: Floats  #: (h, d)
    biases: Floats  #: (h,)
    mean: Floats  #: (h,)
    deviation: Floats  #: (h,)
    reasons: tuple[Reason, ...] = ()  #: of each unit that grew

    @classmethod
    def from_rows(
        cls,
        X: Floats,
        weight: Floats,
        base: Basis,
        knots: tuple[Floats, ...],
        weights: Floats,
        biases: Floats,
        reasons: tuple[Reason, ...] = (),
    ) -> UnitBasis:
        """Return the basis, centred on rows X (n, d) with weights (n,)."""
        hidden = np.maximum(spread_inputs(X, knots) @ weights.T + biases, 0.0)
        share = weight / weight.sum()
        mean = share @ hidden
        deviation = np.sqrt(share @ (hidden - mean) ** 2)
        deviation[deviation < 1e-9] = 1.0
        return cls(base, knots, weights, biases, mean, deviation, reasons)

    @property
    def curves(self) -> CurveBasis:
        """Those of single features."""
        return self.base.curves

    @cached_property
    def blocks(self) -> Ints:
        """(p,) Those of the base, and one for all units."""
        blocks = self.base.blocks
        return np.append(blocks, np.full(len(self.biases), blocks.max() + 1))

    @cached_property
    def penalty(self) -> Floats:
        """(p,) Those of the base, and 1."""
        return np.append(self.base.penalty, np.ones(len(self.biases)))

    def __call__(self, X: Floats) -> Floats:
        """Return all functions (n, p) at rows X (n, d)."""
        hidden = np.maximum(spread_inputs(X, self.knots) @ self.weights.T + self.biases, 0.0)
        return np.hstack([self.base(X), (hidden - self.mean) / self.deviation])

    def select(self, base: Basis, kept: Ints) -> UnitBasis:
        """Return these with another base and only some of the units, by number."""
        weights, biases = self.weights[kept], self.biases[kept]
        reasons = tuple(self.reasons[k] for k in kept.tolist()) if self.reasons else ()
        return UnitBasis(base, self.knots, weights, biases, self.mean[kept], self.deviation[kept], reasons)


def spread_inputs(X: Floats, knots: tuple[Floats, ...]) -> Floats:
    """Return the inputs (n, d) as units take them."""
    return np.stack([spread_evenly(x, each) for x, each in zip(X.T, knots, strict=True)], axis=1)


def unit_knots(X: Floats, copies: Floats, curves: CurveBasis, inputs: Inputs) -> tuple[Floats, ...]:
    """Return the knots of each input's transform: spread evenly by a few pieces if it is a number."""
    return tuple(
        spread_knots(X[:, j], copies, curves.knots[j]) if numeric else np.zeros(1)
        for j, numeric in enumerate(inputs.is_numeric)
    )


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
