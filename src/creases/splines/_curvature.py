"""The best density of breakpoints for a target of one input, by its curvature."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.integrate import cumulative_trapezoid
from scipy.interpolate import make_smoothing_spline

from creases._typing import Floats
from creases._validation import check_numbers, check_vector
from creases.errors import InputError

#: The best density of many knots for squared error is like ``|f''|^(1 / (2 + 1/2))``.
_POWER = 2 / 5

_GRID = 2001  # points at which the curvature is evaluated

#: Samples closer than the range divided by this are averaged: nearly equal inputs make the fit ill-posed.
_CELLS = 200


def curvature_quantiles(x: Floats, y: Any, q: Floats) -> Floats:
    """Return quantiles q of the density proportional to ``|f''|^(2/5)`` over the range of x (n,).

    f is a cubic smoothing spline through the targets y (n,), smoothed by generalised cross-validation; a straight
    target gives a uniform density. The power is de Boor's for piecewise-linear approximation in the mean square.
    """
    targets = check_numbers(y, "y").reshape(-1)
    check_vector(targets, "y", len(x))
    start, width, height = x.min(), np.ptp(x), np.ptp(targets)
    if height == 0 or width == 0:
        return np.asarray(start + width * q)
    # Scaled to the range, for data of any magnitude, and without the linear part, which may dominate.
    unit, level = (x - start) / width, (targets - targets.min()) / height
    curved = level - np.polyval(np.polyfit(unit, level, 1), unit)
    # The digits that x and y were rounded to, as a share of their ranges: a line is no straighter than these.
    digits = np.finfo(np.float64).eps * (np.abs(x).max() / width + np.abs(targets).max() / height)
    if np.ptp(curved) < max(1e-9, 16 * digits):
        return np.asarray(start + width * q)
    places, means, counts = _average_close(unit, curved / np.ptp(curved))
    if len(places) < 5:
        raise InputError("x", "have at least 5 different values for 'curvature'", str(len(places)))
    grid = np.linspace(0.0, 1.0, _GRID)
    curvature = np.abs(make_smoothing_spline(places, means, w=counts).derivative(2)(grid))
    if curvature.max() < 1e-6:  # smoothed to a line: the curvature is noise
        return np.asarray(start + width * q)
    density: Floats = curvature**_POWER
    mass = cumulative_trapezoid(density, grid, initial=0)
    return np.asarray(start + width * np.interp(q * mass[-1], mass, grid))


def _average_close(x: Floats, y: Floats) -> tuple[Floats, Floats, Floats]:
    """Return inputs in [0, 1], means of y and counts: of equal cells if some x are close, else of distinct x."""
    places, which = np.unique(x, return_inverse=True)
    if (np.diff(places) < 1 / _CELLS).any():
        cells, which = np.unique(np.minimum(np.floor(x * _CELLS), _CELLS - 1), return_inverse=True)
        places = (cells + 0.5) / _CELLS
    counts = np.bincount(which).astype(np.float64)
    return places, np.bincount(which, weights=y) / counts, counts
