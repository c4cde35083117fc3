"""The distribution of the roughness ``rho = sum_i mu_i^2`` at initialisation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from creases._typing import Floats
from creases._validation import check_numbers
from creases.errors import InputError
from creases_reproduction.splines.theory.initial_distribution import InitialDistribution


@dataclass(frozen=True)
class RoughnessDistribution:
    """Mean and variance of the roughness over random weights."""

    mean: float
    variance: float

    def tail(self, excess: ArrayLike) -> Floats:
        """Return Cantelli's bound on ``P(rho - mean >= excess)``: ``1 / (1 + excess^2 / variance)``."""
        values = check_numbers(excess, "excess")
        if (values < 0).any():
            raise InputError("excess", "be at least 0", str(values.min()))
        return np.asarray(1 / (1 + values**2 / self.variance))


def roughness_distribution(distribution: InitialDistribution) -> RoughnessDistribution:
    """Return mean and variance of the roughness at initialisation (Theorem 2 of the lecture).

    ``mu^2`` has mean ``sw^2 sv^2`` and mean square ``k^2 sw^4 sv^4``, where k is the kurtosis of the weights: 3 for
    normal ones, 9/5 for uniform ones. He: 4 and 128 / H. Glorot: 4 H / (H + 1)^2 and 128 H / (H + 1)^4. torch: 1/9 and
    56 / (2025 H).
    """
    square, H = (distribution.sw * distribution.sv) ** 2, distribution.width
    kurtosis = 9 / 5 if distribution.uniform else 3.0
    return RoughnessDistribution(H * square, H * (kurtosis**2 - 1) * square**2)
