"""Roughness ``rho = sum_i mu_i^2``, its mean and variance at initialisation, and how rarely it is large."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from creases._typing import Floats
from creases._validation import check_numbers
from creases.errors import InputError
from creases.splines._spline import Shallow, Spline
from creases.splines.initialisation._initial_distribution import InitialDistribution


@dataclass(frozen=True)
class RoughnessDistribution:
    """Mean and variance of rho over random weights (Theorem 2 of the lecture)."""

    mean: float
    variance: float

    def tail(self, excess: ArrayLike) -> Floats:
        """Cantelli's bound on ``P(rho - mean >= excess)``: ``1 / (1 + excess^2 / variance)``."""
        by = check_numbers(excess, "excess")
        if (by < 0).any():
            raise InputError(f"excess: the bound is for at least 0, got {by.min()}")
        return np.asarray(1 / (1 + by**2 / self.variance))


def roughness(function: Spline | Shallow) -> float:
    """``rho = sum_i mu_i^2`` over the units, coinciding ones apart."""
    if isinstance(function, Shallow):
        bent = function.w != 0
        mu = ((1 - function.leak) * function.w * function.v)[bent]
    elif isinstance(function, Spline):
        mu = function.mu
    else:
        raise InputError(f"function: expected a Spline or Shallow, got {type(function).__name__}")
    return float((mu**2).sum())


def roughness_distribution(law: InitialDistribution) -> RoughnessDistribution:
    """Mean and variance of rho when the weights have a law.

    ``mu^2`` has mean ``sw^2 sv^2`` and mean square ``k^2 sw^4 sv^4``, k the kurtosis of the weights: 3 for normal ones,
    9/5 for uniform ones. He: 4 and 128 / H. Glorot: 4 H / (H + 1)^2 and 128 H / (H + 1)^4. torch: 1/9, 56 / (2025 H).
    """
    square = (law.sw * law.sv) ** 2
    kurtosis = 9 / 5 if law.uniform else 3.0
    return RoughnessDistribution(law.width * square, law.width * (kurtosis**2 - 1) * square**2)
