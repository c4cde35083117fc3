"""Distributions of breakpoints and delta-slopes of random networks, as scipy distributions.

For ``beta = -b / w`` and ``mu = w v``: with independent normal weights beta is Cauchy, mu a product of normals (density
``K0``), and mu given beta Laplace; with uniform weights they are a ratio and a product of uniforms, and mu given beta
is triangular. Those that scipy lacks are defined here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special, stats

from creases._typing import Floats

# scipy reads shape parameters off these methods' signatures, so they cannot have those of its type stubs.
_Continuous: Any = stats.rv_continuous


class _ProductNormal(_Continuous):  # type: ignore[misc]
    """Product of two independent standard normals: density ``K0(|x|) / pi`` (infinite at 0); cdf to about 4e-12."""

    def _pdf(self, x: Floats) -> Any:
        return special.k0(np.abs(x)) / np.pi

    def _cdf(self, x: Floats) -> Any:
        return 0.5 + np.sign(x) * special.iti0k0(np.abs(x))[1] / np.pi

    def _sf(self, x: Floats) -> Any:
        return self._cdf(-x)

    def _rvs(self, size: Any = None, random_state: Any = None) -> Any:
        return random_state.standard_normal(size) * random_state.standard_normal(size)

    def _stats(self) -> tuple[float, float, float, float]:
        return 0.0, 1.0, 0.0, 6.0  # E x^4 = 3 * 3


class _RatioUniform(_Continuous):  # type: ignore[misc]
    """Ratio of two independent uniforms on [-1, 1]: density 1/4 up to 1, then ``1 / (4 x^2)``; no mean."""

    def _pdf(self, x: Floats) -> Any:
        return 0.25 / np.maximum(1.0, np.abs(x)) ** 2

    def _cdf(self, x: Floats) -> Any:
        beyond = 0.25 / np.maximum(1.0, np.abs(x))  # probability of more than |x| on one side, for |x| >= 1
        return np.where(np.abs(x) <= 1, 0.5 + x / 4, np.where(x < 0, beyond, 1 - beyond))

    def _ppf(self, q: Floats) -> Any:
        tail = np.minimum(q, 1 - q)
        with np.errstate(divide="ignore"):
            return np.where(tail >= 0.25, 4 * q - 2, np.sign(q - 0.5) * 0.25 / tail)

    def _stats(self) -> tuple[float, float, float, float]:
        return np.nan, np.nan, np.nan, np.nan


class _ProductUniform(_Continuous):  # type: ignore[misc]
    """Product of two independent uniforms on [-1, 1]: density ``-log|x| / 2`` (infinite at 0)."""

    def _pdf(self, x: Floats) -> Any:
        with np.errstate(divide="ignore"):
            return -np.log(np.abs(x)) / 2

    def _cdf(self, x: Floats) -> Any:
        size = np.abs(x)
        return 0.5 + np.sign(x) * (size - special.xlogy(size, size)) / 2

    def _rvs(self, size: Any = None, random_state: Any = None) -> Any:
        return random_state.uniform(-1, 1, size) * random_state.uniform(-1, 1, size)

    def _stats(self) -> tuple[float, float, float, float]:
        return 0.0, 1 / 9, 0.0, 81 / 25 - 3


#: Product of two independent standard normals; ``scale`` is the product of their standard deviations.
product_normal = _ProductNormal(name="product_normal")

#: Ratio of two independent uniforms on [-1, 1].
ratio_uniform = _RatioUniform(name="ratio_uniform")

#: Product of two independent uniforms on [-1, 1].
product_uniform = _ProductUniform(a=-1.0, b=1.0, name="product_uniform")
