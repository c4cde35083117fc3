"""Standard errors and p-values of the slopes of a piecewise-linear fit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from creases._typing import Floats
from creases._validation import check_vector
from creases.splines._spline import Pieces


@dataclass(frozen=True, eq=False)
class SlopeStatistics:
    """What the data say about the slopes of a fit, for independent errors of one variance.

    NaN stands for what the data do not determine: the slope of a piece with a single sample, or anything if there are
    no more samples than parameters.
    """

    slopes: Floats  #: (k,)
    standard_errors: Floats  #: (k,)
    t_values: Floats  #: (k,) slopes over their standard errors
    p_values: Floats  #: (k,) two-sided, of the hypothesis that a slope is 0
    knot_standard_errors: Floats  #: (k - 1,)
    degrees_of_freedom: int  #: samples minus parameters
    residual_variance: float  #: of a sample with weight 1

    def interval(self, confidence: float = 0.95) -> Floats:
        """Return a confidence interval (k, 2) for each slope."""
        from scipy.stats import t

        if self.degrees_of_freedom < 1:
            return np.full((len(self.slopes), 2), np.nan)
        reach = t.ppf((1 + confidence) / 2, self.degrees_of_freedom) * self.standard_errors
        return np.stack([self.slopes - reach, self.slopes + reach], axis=1)


def slope_statistics(
    function: Pieces, x: ArrayLike, y: ArrayLike, weights: ArrayLike | None, *, are_joined: bool
) -> SlopeStatistics:
    """Return the statistics of the slopes and knots of a function that was fitted to samples.

    Knots are parameters as well: the function is linearised in all of them (the delta method).
    """
    from scipy.stats import t

    inputs = check_vector(x, "x")
    w = np.ones(len(inputs)) if weights is None else check_vector(weights, "weights", len(inputs))
    residual = function(inputs) - check_vector(y, "y", len(inputs))
    k = function.count
    design, to_slopes = (_joined if are_joined else _separate)(function, inputs)
    freedom = int((w > 0).sum()) - design.shape[1]
    variance = float(w @ residual**2 / freedom) if freedom > 0 else np.nan
    covariance, is_known = _covariance(design * np.sqrt(w)[:, None])
    deviations = np.sqrt(np.maximum(np.einsum("ki,ij,kj->k", to_slopes, covariance, to_slopes), 0) * variance)
    deviations[(np.abs(to_slopes) @ ~is_known) > 0] = np.nan
    knots = np.sqrt(np.maximum(np.diag(covariance), 0) * variance)
    knots[~is_known] = np.nan
    knots = knots[k + 1 :] if are_joined else np.full(k - 1, np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = function.slopes / deviations
    p_values = 2 * t.sf(np.abs(ratios), max(freedom, 1))
    return SlopeStatistics(function.slopes, deviations, ratios, p_values, knots, freedom, variance)


def _joined(function: Pieces, x: Floats) -> tuple[Floats, Floats]:
    """Return the derivatives (n, 2 k) by value, first slope, slope changes and knots, and slopes as sums of these."""
    center = x.mean()
    past = x[:, None] > function.knots
    ramps = np.where(past, x[:, None] - function.knots, 0.0)
    k = function.count
    design = np.column_stack([np.ones_like(x), x - center, ramps, -function.jumps * past])
    return design, np.column_stack([np.zeros(k), np.tri(k), np.zeros((k, k - 1))])


def _separate(function: Pieces, x: Floats) -> tuple[Floats, Floats]:
    """Return the derivatives (n, 2 k) by the values and slopes of separate lines, and slopes as sums of these."""
    which = np.searchsorted(function.knots, x)
    member = which[:, None] == np.arange(function.count)
    k = function.count
    return np.column_stack([member, member * (x - x.mean())[:, None]]), np.column_stack([np.zeros((k, k)), np.eye(k)])


def _covariance(design: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the inverse of ``design' design``, and which parameters the data determine."""
    scale = np.linalg.norm(design, axis=0)
    scale[scale == 0] = 1.0
    _, values, rows = np.linalg.svd(design / scale, full_matrices=True)
    values = np.concatenate([values, np.zeros(len(rows) - len(values))])
    good = values > 1e-10 * values.max(initial=1e-300)
    is_known: NDArray[np.bool_] = (np.abs(rows[~good]) < 1e-6).all(axis=0)
    inverse = (rows[good].T / values[good] ** 2) @ rows[good]
    return inverse / np.outer(scale, scale), is_known
