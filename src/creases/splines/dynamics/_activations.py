"""Other responses than ReLU, in one dimension: step, saturating ReLU, power ReLU (the lecture's last slides).

A wide layer of units ``phi(x - gamma)``, all facing right, is an integral over a density c of outgoing weights,
``f(x) = int c(gamma) phi(x - gamma) dgamma``, so c is what the convolution inverse of phi makes of f:

====================================  =============================  ==============================================
response                              phi(z)                         c, for f = 0 far to the left
====================================  =============================  ==============================================
step (Corollary 5)                    1 where z > 0                  ``f'``
ReLU (Corollary 4)                    ``z_+``                        ``f''``
power ReLU (Lemma 3)                  ``z_+^(lam-1) / Gamma(lam)``   ``D^lam f``, the fractional derivative of order lam
saturating ReLU (Lemma 6)             ``z_+ - (z - Delta)_+``        ``sum_k f''(. - k Delta)``, k = 0, 1, 2, ...
====================================  =============================  ==============================================

All four hold in one dimension and are tested: on functions whose density is known in closed form, and by going from
a density to its function and back. ``D^lam`` is the Riemann-Liouville derivative from the left (its integral runs from
minus infinity to x), which many write ``D_+``; the slide calls it right-sided. The slides label ReLU^2 "lambda = 4"; by
Lemma 3 it is lam = 3. The multivariate forms (Radon transforms) are not verified and not here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import binom, gamma

from creases._typing import Floats
from creases._validation import check_number, check_numbers, check_vector
from creases.errors import InputError
from creases.splines.dynamics._kernel_regime import minimum_norm_weights


@dataclass(frozen=True)
class PowerReLU:
    """``z_+^(lam - 1) / Gamma(lam)``, lam > 0: the step for lam = 1, ReLU for 2, half of ReLU^2 for 3.

    Examples
    --------
    >>> from creases.splines.dynamics import PowerReLU
    >>> PowerReLU(1)([-1.0, 0.5, 2.0]), PowerReLU(2)([-1.0, 0.5, 2.0]), PowerReLU(3)([-1.0, 0.5, 2.0])
    (array([0., 1., 1.]), array([0. , 0.5, 2. ]), array([0.   , 0.125, 2.   ]))
    """

    lam: float = 2.0

    def __post_init__(self) -> None:
        if check_number(self.lam, "lam") <= 0:
            raise InputError(f"lam: expected a positive number, got {self.lam}")

    def __call__(self, z: ArrayLike) -> Floats:
        """Values at z, of z's shape; 0 at 0."""
        points = check_numbers(z, "z")
        return np.where(points > 0, points, 1.0) ** (self.lam - 1) * (points > 0) / gamma(self.lam)

    def density(self, f: ArrayLike, spacing: float) -> Floats:
        """(n,) density of weights, at the same places, of f (n,) at places ``spacing`` apart: ``D^lam f``.

        By Gruenwald and Letnikov's differences ``spacing^-lam sum_k (-1)^k binom(lam, k) f(x - k spacing)``: errors are
        of first order in the spacing. f must be 0 to the left of what is given.
        """
        values, step = _sampled(f, spacing)
        k = np.arange(len(values))
        weights = np.asarray((-1.0) ** k * binom(self.lam, k), np.float64)
        return np.asarray(_convolved(values, weights) / step**self.lam)

    def integral(self, c: ArrayLike, spacing: float) -> Floats:
        """(n,) the function that a density c (n,) gives, exact where c is constant on cells, at their right ends."""
        values, step = _sampled(c, spacing)
        edges = PowerReLU(self.lam + 1)(step * np.arange(len(values) + 1))
        return _convolved(values, np.diff(edges))


@dataclass(frozen=True)
class SaturatingReLU:
    """``z_+ - (z - width)_+``: rises with slope 1 to ``width`` and stays there."""

    width: float = 1.0

    def __post_init__(self) -> None:
        if check_number(self.width, "width") <= 0:
            raise InputError(f"width: expected a positive number, got {self.width}")

    def __call__(self, z: ArrayLike) -> Floats:
        """Values at z, of z's shape."""
        return np.clip(check_numbers(z, "z"), 0.0, self.width)

    def density(self, f: ArrayLike, spacing: float) -> Floats:
        """(n,) density of weights of f (n,) at places ``spacing`` apart: ``sum_k f''(. - k width)``.

        ``width`` must be a multiple of the spacing, and f be 0 to the left of what is given.
        """
        values, step = _sampled(f, spacing)
        shift = round(self.width / step)
        if shift < 1 or abs(shift * step - self.width) > 1e-9 * self.width:
            raise InputError(f"spacing: expected a whole part of the width {self.width}, got {spacing}")
        density = PowerReLU(2.0).density(values, step)
        for n in range(shift, len(density)):
            density[n] += density[n - shift]
        return density

    def integral(self, c: ArrayLike, spacing: float) -> Floats:
        """(n,) the function that a density c (n,) gives, exact where c is constant on cells, at their right ends."""
        values, step = _sampled(c, spacing)
        edges = step * np.arange(len(values) + 1)
        square = PowerReLU(3.0)
        return _convolved(values, np.diff(square(edges) - square(edges - self.width)))


Activation = PowerReLU | SaturatingReLU


def unit_basis(x: ArrayLike, places: ArrayLike, response: Activation) -> Floats:
    """(N, H): the units ``response(x_n - gamma_i)`` of a layer, at data x (N,), with places gamma (H,)."""
    return response(check_vector(x, "x")[:, None] - check_vector(places, "places"))


def minimum_norm_fit(x: ArrayLike, y: ArrayLike, places: ArrayLike, lam: int) -> tuple[Floats, Floats]:
    """The kernel regime of power ReLUs: least weights (H,) that fit data (N,), and a free polynomial of degree < lam.

    With many equally spaced places over the data's range, the fit becomes the natural spline of degree 2 lam - 1: for
    steps (lam = 1) the data joined by straight lines, for ReLU the natural cubic spline, for ReLU^2 the quintic one.
    The polynomial's coefficients (lam,) come highest power first, as ``np.polyval`` takes them.
    """
    points, values = check_vector(x, "x"), check_vector(y, "y")
    if lam < 1 or int(lam) != lam:
        raise InputError(f"lam: expected a positive whole number, got {lam}")
    return minimum_norm_weights(unit_basis(points, places, PowerReLU(lam)), np.vander(points, int(lam)), values)


def _sampled(values: ArrayLike, spacing: float) -> tuple[Floats, float]:
    step = check_number(spacing, "spacing")
    if step <= 0:
        raise InputError(f"spacing: expected a positive number, got {spacing}")
    return check_vector(values, "f"), step


def _convolved(values: Floats, weights: Floats) -> Floats:
    """The first entries of a convolution, as many as there are values."""
    return np.convolve(values, weights)[: len(values)] if len(values) else values
