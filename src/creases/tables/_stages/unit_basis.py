"""Hidden units that read many columns, as functions beside curves and planes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from creases._typing import Floats, Ints
from creases.tables._stages.basis import Basis, CurveBasis
from creases.tables._stages.inputs import Inputs
from creases.tables._stages.knots import spread_knots
from creases.tables._stages.parts import Reason
from creases.tables._stages.piecewise import spread_evenly


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
