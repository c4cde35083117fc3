"""Confidence intervals of shares and means, and shares of variance."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binomtest, bootstrap


def wilson_interval(successes: int, trials: int) -> tuple[float, float]:
    """Return the 95 % Wilson interval of a share of successes."""
    interval = binomtest(int(successes), int(trials)).proportion_ci(method="wilson")
    return float(interval.low), float(interval.high)


def add_rates(table: pd.DataFrame, successes: str = "successes", trials: str = "trials") -> pd.DataFrame:
    """Add columns ``rate``, ``low`` and ``high``: shares of success and their 95 % Wilson intervals."""
    intervals = [wilson_interval(k, n) for k, n in zip(table[successes], table[trials], strict=True)]
    return table.assign(
        rate=table[successes] / table[trials], low=[low for low, _ in intervals], high=[high for _, high in intervals]
    )


def mean_interval(values: ArrayLike) -> tuple[float, float]:
    """Return the 95 % interval of a mean by the bias-corrected and accelerated bootstrap.

    It is the value itself where all are equal, and NaN where a value is not finite: a network that diverged.
    """
    numbers: NDArray[np.float64] = np.asarray(values, np.float64)
    if not np.isfinite(numbers).all():
        return np.nan, np.nan
    if np.ptp(numbers) == 0:
        return float(numbers[0]), float(numbers[0])
    interval = bootstrap((numbers,), np.mean, n_resamples=2000, rng=np.random.default_rng(0)).confidence_interval
    return float(interval.low), float(interval.high)


def explained_variance(values: ArrayLike, coordinates: ArrayLike, *, bins: int = 20) -> float:
    """Return the share of the variance of values (p,) that a function of one coordinate (p,) explains.

    The function is the mean over bins with equal numbers of samples, adjusted for the number of bins as in the
    adjusted R^2; the share is NaN where values are constant.
    """
    ordered = np.asarray(values, np.float64)[np.argsort(np.asarray(coordinates))]
    p, total = len(ordered), ((ordered - ordered.mean()) ** 2).sum()
    if total == 0:
        return float("nan")
    within = sum(((part - part.mean()) ** 2).sum() for part in np.array_split(ordered, bins))
    return float(1 - within / total * (p - 1) / (p - bins))
