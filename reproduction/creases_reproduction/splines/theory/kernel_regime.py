"""The kernel regime: breakpoints are fixed, and delta-slopes are the smallest ones that fit the data.

Gradient flow on the delta-slopes alone, from 0, converges to the fit with the least ``sum mu_i^2`` (Theorem 6 of the
lecture); with more and more equally spaced breakpoints that fit converges to the natural cubic spline (Corollary 4),
provided that the linear part is fitted too and not penalised. Gradient descent would take about 1e9 steps; the fit is
solved for directly here.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import CubicSpline

from creases._typing import Floats
from creases._validation import check_number, check_vector
from creases.errors import InputError
from creases.splines import Spline


def minimum_norm_spline(x: ArrayLike, y: ArrayLike, beta: ArrayLike, *, ridge: float = 0.0) -> Spline:
    """Return the best fit with given breakpoints that has the least ``sum mu_i^2``, as in the lecture.

    The linear part ``o0 + o1 x`` is not penalised. The stationarity conditions are ``[[K + ridge, T], [T', 0]]`` with
    ``K = Phi Phi'`` and ``T = [1, x]``; they are solved by singular values, which does not square the condition number
    of Phi. All units are active on the right: with a free linear part, orientations make no difference.

    Parameters
    ----------
    x, y
        Samples (N,). Several y at the same x are fitted in the least-squares sense.
    beta
        Breakpoints (H,).
    ridge
        Minimise ``sum_n (f(x_n) - y_n)^2 + ridge sum_i mu_i^2`` instead. With many equally spaced breakpoints on
        [a, b], the range of x, that is scipy's ``make_smoothing_spline(x, y, lam=ridge (b - a) / H)``.

    Examples
    --------
    >>> import numpy as np
    >>> from creases_reproduction.splines.theory import minimum_norm_spline, natural_cubic_spline
    >>> x = np.linspace(-3, 3, 12)
    >>> f = minimum_norm_spline(x, np.sin(2 * x), np.linspace(-3, 3, 1000))
    >>> t = np.linspace(-3, 3, 1001)
    >>> bool(abs(f(t) - natural_cubic_spline(x, np.sin(2 * x))(t)).max() < 1e-4)
    True
    """
    places, knots = check_vector(x, "x"), check_vector(beta, "beta")
    values = check_vector(y, "y", len(places))
    if not len(places):
        raise InputError("x", "have at least one sample", "none")
    ridge = check_number(ridge, "ridge", least=0)
    middle, half = places.mean(), np.ptp(places) / 2 or 1.0
    linear = np.column_stack([np.ones_like(places), (places - middle) / half])  # T
    phi = np.maximum(places[:, None] - knots, 0.0) / half  # (N, H)
    mu, o = minimum_norm_weights(phi, linear, values, ridge / half**2)
    return Spline(float(o[0] - o[1] * middle / half), float(o[1] / half), knots, mu / half, np.ones_like(knots))


def minimum_norm_weights(phi: Floats, free: Floats, y: Floats, ridge: float = 0.0) -> tuple[Floats, Floats]:
    """Return weights mu (H,) of phi (N, H), and of free columns (N, d), that fit y best with the least ``sum mu^2``.

    With a ridge they minimise ``||y - phi mu - free o||^2 + ridge ||mu||^2``.
    """
    spanned, size, _ = np.linalg.svd(free)
    rest = spanned[:, int((size > 1e-12 * size[0]).sum()) :].T  # rows: orthogonal to all free columns
    left, sigma, right = np.linalg.svd(rest @ phi, full_matrices=False)
    rank = sigma > 1e-13 * sigma.max(initial=0.0)
    shrunk = sigma[rank] / (sigma[rank] ** 2 + ridge)
    mu = right[rank].T @ (shrunk * (left[:, rank].T @ (rest @ y)))
    return mu, np.linalg.lstsq(free, y - phi @ mu, rcond=None)[0]


def natural_cubic_spline(x: ArrayLike, y: ArrayLike) -> CubicSpline:
    """Return the natural cubic spline through samples (N,), the limit of :func:`minimum_norm_spline`.

    It continues as straight lines beyond the samples (scipy's continues as cubics), so it minimises the integral of
    ``f''^2`` over the line.
    """
    places = check_vector(x, "x")
    values = check_vector(y, "y", len(places))
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
