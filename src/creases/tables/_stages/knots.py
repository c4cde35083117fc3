"""Where the curve of a column may bend: at quantiles, beside frequent values, and at round numbers where possible."""

from __future__ import annotations

import math

import numpy as np

from creases._typing import Floats

#: Fraction of the rows from which on a value is frequent: a curve may jump beside it.
FREQUENT = 0.05


def quantile_knots(x: Floats, n_pieces: int) -> Floats:
    """Return rising knots of a column x (n,), its least and its largest value included.

    Frequent values and their neighbours are knots, so that a curve can jump there (many columns have a spike at zero);
    the others are at quantiles of the remaining rows. A column of few values has a knot at each of them.
    """
    values, counts = np.unique(x, return_counts=True)
    last = len(values) - 1
    if last <= n_pieces:
        return values
    frequent = np.flatnonzero(counts > max(FREQUENT, 1 / n_pieces) * len(x))
    beside = np.concatenate([[0, last], frequent, frequent - 1, frequent + 1]).clip(0, last)
    rest = counts.astype(np.float64)
    rest[frequent] = 0.0
    cumulative = np.cumsum(rest)
    shares = np.linspace(0, 1, max(n_pieces + 1 - len(frequent), 2))[1:-1]
    return np.asarray(values[np.unique(np.concatenate([np.searchsorted(cumulative, shares * cumulative[-1]), beside]))])


def round_between(x: float, low: float, high: float) -> float:
    """Return the number between low and high with the fewest digits; of several, the one nearest to x."""
    if not low < high:
        return x
    exponent = math.floor(math.log10(max(abs(low), abs(high), high - low)))
    for digits in range(16):
        for half in (1.0, 0.5):  # 2,750 is rounder than 2,764, if less round than 3,000
            step = half * 10.0 ** (exponent - digits)
            candidate = float(f"{round(x / step) * step:.12g}")
            if low <= candidate <= high:
                return candidate
    return x


def round_knots(kept: Floats, dense: Floats) -> Floats:
    """Return inner knots moved to round numbers, by at most a quarter of the way to the next knot that was possible."""
    places = np.searchsorted(dense, kept)
    low = kept - (kept - dense[np.maximum(places - 1, 0)]) / 4
    high = kept + (dense[np.minimum(places + 1, len(dense) - 1)] - kept) / 4
    return np.array([round_between(*each) for each in zip(kept.tolist(), low.tolist(), high.tolist(), strict=True)])
