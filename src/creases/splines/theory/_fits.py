"""The kernel regime: breakpoints are fixed, and delta-slopes are the smallest ones that fit the data."""

from __future__ import annotations

from typing import overload

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import CubicSpline

from creases._typing import Floats
from creases._validation import check_number, check_vector
from creases.errors import InputError
from creases.splines._spline import Spline


@overload
def minimum_norm_fit(x: ArrayLike, y: ArrayLike, beta: None = None) -> CubicSpline: ...
@overload
def minimum_norm_fit(x: ArrayLike, y: ArrayLike, beta: ArrayLike, *, ridge: float = 0.0) -> Spline: ...
def minimum_norm_fit(
    x: ArrayLike, y: ArrayLike, beta: ArrayLike | None = None, *, ridge: float = 0.0
) -> Spline | CubicSpline:
    """Return the best fit with given breakpoints that has the least ``sum mu_i^2``, or its limit, the cubic spline.

    Gradient flow on the delta-slopes alone, from 0, ends there (Theorem 6). The linear part ``o0 + o1 x`` is fitted
    too and not penalised, without which Corollary 4 fails: with more and more equally spaced breakpoints the fit
    becomes the natural cubic spline. All units are active on the right: with a free linear part, orientations make no
    difference. Singular values are taken of the units themselves, which does not square their condition number.

    Parameters
    ----------
    x, y
        Samples (N,). Several y at the same x are fitted in the least-squares sense.
    beta
        Breakpoints (H,), or None for the limit: scipy's natural cubic spline, continued by straight lines.
    ridge
        Minimise ``sum_n (f(x_n) - y_n)^2 + ridge sum_i mu_i^2`` instead. With many equally spaced breakpoints on
        [a, b], the range of x, that is scipy's ``make_smoothing_spline(x, y, lam=ridge (b - a) / H)``.

    Examples
    --------
    >>> import numpy as np
    >>> from creases.splines import theory
    >>> x, t = np.linspace(-3, 3, 12), np.linspace(-3, 3, 1001)
    >>> f = theory.minimum_norm_fit(x, np.sin(2 * x), np.linspace(-3, 3, 1000))
    >>> bool(abs(f(t) - theory.minimum_norm_fit(x, np.sin(2 * x))(t)).max() < 1e-4)
    True
    """
    places = check_vector(x, "x")
    values = check_vector(y, "y", len(places))
    if beta is None:
        return _natural_cubic_spline(places, values)
    knots, ridge = check_vector(beta, "beta"), check_number(ridge, "ridge", least=0)
    if not len(places):
        raise InputError("x", "have at least one sample", "none")
    middle, half = places.mean(), np.ptp(places) / 2 or 1.0
    linear = np.column_stack([np.ones_like(places), (places - middle) / half])
    phi = np.maximum(places[:, None] - knots, 0.0) / half  # (N, H)
    spanned, size, _ = np.linalg.svd(linear)
    rest = spanned[:, int((size > 1e-12 * size[0]).sum()) :].T  # rows: orthogonal to all lines
    left, sigma, right = np.linalg.svd(rest @ phi, full_matrices=False)
    rank = sigma > 1e-13 * sigma.max(initial=0.0)
    shrunk = sigma[rank] / (sigma[rank] ** 2 + ridge / half**2)
    mu = right[rank].T @ (shrunk * (left[:, rank].T @ (rest @ values)))
    o = np.linalg.lstsq(linear, values - phi @ mu, rcond=None)[0]
    return Spline(float(o[0] - o[1] * middle / half), float(o[1] / half), knots, mu / half, np.ones_like(knots))


def _natural_cubic_spline(places: Floats, values: Floats) -> CubicSpline:
    """Return the natural cubic spline through samples (N,), which continues as straight lines (scipy's as cubics)."""
    order = np.argsort(places)
    if len(places) < 2 or not (np.diff(places[order]) > 0).all():
        raise InputError("x", "have at least two values, all different", hint="merge samples with the same x")
    inside = CubicSpline(places[order], values[order], bc_type="natural")
    ends = inside.x[[0, -1]]
    lines = np.zeros((4, 1, 2))
    lines[2, 0], lines[3, 0] = inside(ends, 1), inside(ends)
    lines[3, 0, 0] -= lines[2, 0, 0]  # from one unit before the first sample
    c = np.concatenate([lines[:, :, 0], inside.c, lines[:, :, 1]], axis=1)
    return CubicSpline.construct_fast(c, np.concatenate([[ends[0] - 1], inside.x, [ends[1] + 1]]), True)
