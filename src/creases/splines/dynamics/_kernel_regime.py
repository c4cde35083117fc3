"""The kernel regime: breakpoints stay, delta-slopes are the smallest ones that fit the data.

Gradient flow on the delta-slopes alone, from 0, ends at the fit with the least ``sum mu_i^2`` (lecture, Theorem 6);
with more and more equally spaced breakpoints that fit becomes the natural cubic spline (Corollary 4), provided that
the linear part is fitted too and costs nothing. Gradient descent takes about 1e9 steps to get there: here it is solved.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import CubicSpline

from creases._typing import Floats
from creases._validation import check_number, check_vector
from creases.errors import InputError
from creases.splines._spline import Spline


def minimum_norm_spline(x: ArrayLike, y: ArrayLike, beta: ArrayLike, *, ridge: float = 0.0) -> Spline:
    """The function with given breakpoints whose delta-slopes are least: ``min sum mu_i^2`` among the best fits.

    The linear part ``o0 + o1 x`` is not penalised. The stationarity conditions are ``[[K + ridge, T], [T', 0]]`` with
    ``K = Phi Phi'`` and ``T = [1, x]``; they are solved by singular values, without squaring Phi's condition. Units
    face right: with a free linear part, orientations make no difference.

    Parameters
    ----------
    x, y
        (N,) data. Where several y at one x cannot all be met, the fit is the least-squares one.
    beta
        (H,) breakpoints.
    ridge
        Minimise ``sum_n (f(x_n) - y_n)^2 + ridge sum_i mu_i^2`` instead. With many equally spaced breakpoints on
        [a, b], the data's range, that is scipy's ``make_smoothing_spline(x, y, lam=ridge (b - a) / H)``.

    Examples
    --------
    >>> import numpy as np
    >>> from creases.splines.dynamics import minimum_norm_spline, natural_cubic_spline
    >>> x = np.linspace(-3, 3, 12)
    >>> f = minimum_norm_spline(x, np.sin(2 * x), np.linspace(-3, 3, 1000))
    >>> t = np.linspace(-3, 3, 1001)
    >>> bool(abs(f(t) - natural_cubic_spline(x, np.sin(2 * x))(t)).max() < 1e-4)
    True
    """
    places, knots = check_vector(x, "x"), check_vector(beta, "beta")
    values = check_vector(y, "y", len(places))
    if not len(places):
        raise InputError("x: expected at least one datum, got none")
    if check_number(ridge, "ridge") < 0:
        raise InputError(f"ridge: expected 0 or more, got {ridge}")
    middle, half = places.mean(), np.ptp(places) / 2 or 1.0
    linear = np.column_stack([np.ones_like(places), (places - middle) / half])  # T
    phi = np.maximum(places[:, None] - knots, 0.0) / half  # (N, H)
    mu, o = minimum_norm_weights(phi, linear, values, ridge / half**2)
    return Spline(float(o[0] - o[1] * middle / half), float(o[1] / half), knots, mu / half, np.ones_like(knots))


def minimum_norm_weights(phi: Floats, free: Floats, y: Floats, ridge: float = 0.0) -> tuple[Floats, Floats]:
    """Weights mu (H,) of phi (N, H), and those of free columns (N, d), that fit y best with the least ``sum mu^2``.

    With a ridge: ``min ||y - phi mu - free o||^2 + ridge ||mu||^2``.
    """
    spanned, size, _ = np.linalg.svd(free)
    rest = spanned[:, int((size > 1e-12 * size[0]).sum()) :].T  # rows: what no free column fits
    left, sigma, right = np.linalg.svd(rest @ phi, full_matrices=False)
    kept = sigma > 1e-13 * sigma.max(initial=0.0)
    shrunk = sigma[kept] / (sigma[kept] ** 2 + ridge)
    mu = right[kept].T @ (shrunk * (left[:, kept].T @ (rest @ y)))
    return mu, np.linalg.lstsq(free, y - phi @ mu, rcond=None)[0]


def natural_cubic_spline(x: ArrayLike, y: ArrayLike) -> CubicSpline:
    """The natural cubic spline through data (N,) in any order: what :func:`minimum_norm_spline` becomes for many breakpoints.

    It goes on in straight lines beyond the data (scipy's would go on as cubics), so it is the function of least
    ``integral of f''^2`` on the whole line.
    """
    places = check_vector(x, "x")
    values = check_vector(y, "y", len(places))
    order = np.argsort(places)
    if len(places) < 2 or not (np.diff(places[order]) > 0).all():
        raise InputError("x: expected at least two numbers, all different; merge data with the same x")
    inside = CubicSpline(places[order], values[order], bc_type="natural")
    ends = inside.x[[0, -1]]
    lines = np.zeros((4, 1, 2))
    lines[2, 0], lines[3, 0] = inside(ends, 1), inside(ends)
    lines[3, 0, 0] -= lines[2, 0, 0]  # from one unit before the first datum
    c = np.concatenate([lines[:, :, 0], inside.c, lines[:, :, 1]], axis=1)
    return CubicSpline.construct_fast(c, np.concatenate([[ends[0] - 1], inside.x, [ends[1] + 1]]), True)
