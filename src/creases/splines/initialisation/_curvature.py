"""Where a target of one input bends: the density of breakpoints that its curvature asks for."""

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

_GRID = 2001  # points over the range at which the curvature is taken

#: Data closer than the range divided by this are taken together: points nearly on each other make the fit ill-posed.
_CELLS = 200


def curvature_quantiles(x: Floats, y: Any, q: Floats) -> Floats:
    """Quantiles q of the density like ``|f''|^(2/5)`` over the range of x (n,), f smooth through targets y (n,).

    f is a cubic smoothing spline whose smoothness generalised cross-validation chooses; a straight target gives a
    uniform density. The power is de Boor's for piecewise-linear approximation in the mean square.
    """
    targets = check_numbers(y, "y").reshape(-1)
    check_vector(targets, "y", len(x))
    start, width, height = x.min(), np.ptp(x), np.ptp(targets)
    if height == 0 or width == 0:
        return np.asarray(start + width * q)
    # In units of the range, so that huge, tiny and far data do as well; without the straight part, which is large.
    unit, level = (x - start) / width, (targets - targets.min()) / height
    curved = level - np.polyval(np.polyfit(unit, level, 1), unit)
    if np.ptp(curved) < 1e-9:
        return np.asarray(start + width * q)
    places, means, counts = _gathered(unit, curved / np.ptp(curved))
    if len(places) < 5:
        raise InputError(f"x: curvature needs at least 5 points that are apart, got {len(places)}")
    grid = np.linspace(0.0, 1.0, _GRID)
    curvature = np.abs(make_smoothing_spline(places, means, w=counts).derivative(2)(grid))
    if curvature.max() < 1e-6:  # smoothed to a line: no curvature that is not noise
        return np.asarray(start + width * q)
    density: Floats = curvature**_POWER
    mass = cumulative_trapezoid(density, grid, initial=0)
    return np.asarray(start + width * np.interp(q * mass[-1], mass, grid))


def _gathered(x: Floats, y: Floats) -> tuple[Floats, Floats, Floats]:
    """Places in [0, 1], means of y and counts; where some x are close, of equal cells, else of different x."""
    places, which = np.unique(x, return_inverse=True)
    if (np.diff(places) < 1 / _CELLS).any():
        cells, which = np.unique(np.minimum(np.floor(x * _CELLS), _CELLS - 1), return_inverse=True)
        places = (cells + 0.5) / _CELLS
    counts = np.bincount(which).astype(np.float64)
    return places, np.bincount(which, weights=y) / counts, counts
