"""Activations other than ReLU, in one dimension: step, saturating ReLU, power ReLU.

A wide layer of units ``phi(x - gamma)``, all active on the right, is an integral over a density c of outgoing weights,
``f(x) = int c(gamma) phi(x - gamma) dgamma``, so c is f convolved with the inverse of
phi. In the lecture's numbering:

====================================  =============================  ==============================================
activation                            phi(z)                         c, for f = 0 far to the left
====================================  =============================  ==============================================
step (Corollary 5)                    1 where z > 0                  ``f'``
ReLU (Corollary 4)                    ``z_+``                        ``f''``
power ReLU (Lemma 3)                  ``z_+^(lam-1) / Gamma(lam)``   ``D^lam f``, the fractional derivative of order lam
saturating ReLU (Lemma 6)             ``z_+ - (z - Delta)_+``        ``sum_k f''(. - k Delta)``, k = 0, 1, 2, ...
====================================  =============================  ==============================================

All four are tested, on functions whose density is known in closed form and by converting a density to its function and
back. ``D^lam`` is the Riemann-Liouville derivative from the left (its integral runs from
minus infinity to x), often written ``D_+``; the slide calls it right-sided. The slides label ReLU^2 "lambda = 4"; by
Lemma 3 it is lam = 3. The multivariate forms (Radon transforms) are not implemented.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import null_space
from scipy.special import binom, gamma

from creases._typing import Floats
from creases._validation import check_count, check_number, check_numbers, check_vector
from creases.errors import InputError


@dataclass(frozen=True)
class PowerReLU:
    """The activation ``z_+^(lam - 1) / Gamma(lam)``, lam > 0: a step for lam = 1, ReLU for 2, half of ReLU^2 for 3.

    Examples
    --------
    >>> from creases_reproduction.splines.theory import PowerReLU
    >>> PowerReLU(1)([-1.0, 0.5, 2.0]), PowerReLU(2)([-1.0, 0.5, 2.0]), PowerReLU(3)([-1.0, 0.5, 2.0])
    (array([0., 1., 1.]), array([0. , 0.5, 2. ]), array([0.   , 0.125, 2.   ]))
    """

    lam: float = 2.0

    def __post_init__(self) -> None:
        check_number(self.lam, "lam", above=0)

    def __call__(self, z: ArrayLike) -> Floats:
        """Return the values at z, in the shape of z; 0 at 0."""
        points = check_numbers(z, "z")
        return np.where(points > 0, points, 1.0) ** (self.lam - 1) * (points > 0) / gamma(self.lam)

    def density(self, f: ArrayLike, spacing: float) -> Floats:
        """Return the density of weights (n,) of a function f (n,), sampled ``spacing`` apart: ``D^lam f``.

        Computed by Gruenwald-Letnikov differences ``spacing^-lam sum_k (-1)^k binom(lam, k) f(x - k spacing)``, with
        errors of first order in the spacing. f must be 0 to the left of the samples.
        """
        values, step = _check_function(f, spacing)
        k = np.arange(len(values))
        weights = np.asarray((-1.0) ** k * binom(self.lam, k), np.float64)
        return np.asarray(_convolve(values, weights) / step**self.lam)

    def integral(self, c: ArrayLike, spacing: float) -> Floats:
        """Return the function (n,) of a density c (n,), at the right ends of cells; exact if c is constant on each."""
        values, step = _check_function(c, spacing)
        edges = PowerReLU(self.lam + 1)(step * np.arange(len(values) + 1))
        return _convolve(values, np.diff(edges))


@dataclass(frozen=True)
class SaturatingReLU:
    """The activation ``z_+ - (z - width)_+``, which rises with slope 1 up to ``width``."""

    width: float = 1.0

    def __post_init__(self) -> None:
        check_number(self.width, "width", above=0)

    def __call__(self, z: ArrayLike) -> Floats:
        """Return the values at z, in the shape of z."""
        return np.clip(check_numbers(z, "z"), 0.0, self.width)

    def density(self, f: ArrayLike, spacing: float) -> Floats:
        """Return the density of weights (n,) of a function f (n,), sampled ``spacing`` apart.

        It is ``sum_k f''(. - k width)``. ``width`` must be a multiple of the spacing, and f must be 0 left of the
        samples.
        """
        values, step = _check_function(f, spacing)
        shift = round(self.width / step)
        if shift < 1 or abs(shift * step - self.width) > 1e-9 * self.width:
            raise InputError("spacing", f"divide the width {self.width} evenly", str(spacing))
        density = PowerReLU(2.0).density(values, step)
        for n in range(shift, len(density)):
            density[n] += density[n - shift]
        return density

    def integral(self, c: ArrayLike, spacing: float) -> Floats:
        """Return the function (n,) of a density c (n,), at the right ends of cells; exact if c is constant on each."""
        values, step = _check_function(c, spacing)
        edges = step * np.arange(len(values) + 1)
        square = PowerReLU(3.0)
        return _convolve(values, np.diff(square(edges) - square(edges - self.width)))


#: An activation function that may take the place of ReLU.
Activation = PowerReLU | SaturatingReLU


def unit_basis(x: ArrayLike, places: ArrayLike, activation: Activation) -> Floats:
    """Return the units ``activation(x_n - gamma_i)`` (N, H) of a layer at x (N,), with places gamma (H,)."""
    return activation(check_vector(x, "x")[:, None] - check_vector(places, "places"))


def minimum_norm_fit(x: ArrayLike, y: ArrayLike, places: ArrayLike, lam: int) -> tuple[Floats, Floats]:
    """Return the smallest weights (H,) of power ReLUs that fit samples (N,), with a free polynomial of degree < lam.

    With many equally spaced places over the range of x, the fit converges to the natural spline of degree 2 lam - 1:
    for steps (lam = 1) the samples joined by straight lines, for ReLU the natural cubic spline, for ReLU^2 the quintic
    one. The coefficients (lam,) of the polynomial come highest power first, as in ``np.polyval``.
    """
    points, values = check_vector(x, "x"), check_vector(y, "y")
    lam = check_count(lam, "lam")
    phi, free = unit_basis(points, places, PowerReLU(lam)), np.vander(points, lam)
    rest = null_space(free.T).T  # rows: orthogonal to all polynomials
    mu = np.asarray(np.linalg.pinv(rest @ phi, rcond=1e-13) @ (rest @ values), np.float64)
    return mu, np.asarray(np.linalg.lstsq(free, values - phi @ mu, rcond=None)[0], np.float64)


def _check_function(values: ArrayLike, spacing: float) -> tuple[Floats, float]:
    return check_vector(values, "f"), check_number(spacing, "spacing", above=0)


def _convolve(values: Floats, weights: Floats) -> Floats:
    """Return the first entries of a convolution, as many as there are values."""
    return np.convolve(values, weights)[: len(values)] if len(values) else values
