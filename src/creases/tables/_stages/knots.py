"""Where the curve of a column may bend: at quantiles, beside frequent values, and at round numbers where possible."""

from __future__ import annotations

import math

import numpy as np

from creases._typing import Floats

#: Fraction of the rows from which on a value is frequent: a curve may jump beside it.
FREQUENT = 0.05

#: Fraction of the rows at each end of a column that may be outliers, and how far from the others, in their range.
OUTERMOST, FAR = 2e-4, 0.5

#: How far from all others, in their range, a single row is an outlier however few rows there are.
ABSURD = 1e3

#: Different values from which on one of them can be absurd.
MANY = 10

#: Pieces of the transform that spreads a column evenly for planes and units.
SPREAD_PIECES = 4


def clip_outliers(x: Floats, copies: Floats) -> Floats:
    """Return a column x (n,), its few outermost rows of a large table clipped where they are far from all others.

    A curve is constant beyond its knots. Were there one at a typing error, it would be straight all the way there. In a
    small table the outermost value at each end is clipped if it is absurdly far.
    """
    order = np.argsort(x, kind="stable")
    count = np.cumsum(copies[order])
    allowed = OUTERMOST * count[-1]
    low = x[order[np.searchsorted(count, allowed, side="right")]]
    high = x[order[np.searchsorted(count, count[-1] - allowed)]]
    x = _clip_far(x, low, high, FAR)
    values = np.unique(x)
    return _clip_far(x, values[1], values[-2], ABSURD) if len(values) > MANY else x


def _clip_far(x: Floats, low: float, high: float, far: float) -> Floats:
    """Return x (n,) clipped at low and at high, each only if it goes further than so many of their distances."""
    with np.errstate(over="ignore"):
        reach = (high - low) * far
        return np.clip(x, low if low - x.min() > reach else x.min(), high if x.max() - high > reach else x.max())


def quantile_knots(x: Floats, n_pieces: int, copies: Floats | None = None) -> Floats:
    """Return rising knots of a column x (n,) with copies (n,) of rows, its least and its largest value included.

    Frequent values and their neighbours are knots, so that a curve can jump there (many columns have a spike at zero);
    the others are at quantiles of the remaining rows. A column of few values has a knot at each of them.
    """
    values, inverse = np.unique(x, return_inverse=True)
    counts = np.bincount(inverse, copies)
    last = len(values) - 1
    if last <= n_pieces:
        return values
    frequent = np.flatnonzero(counts > max(FREQUENT, 1 / n_pieces) * counts.sum())
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


def spread_knots(x: Floats, copies: Floats, dense: Floats) -> Floats:
    """Return round knots between which a column x (n,) has about as many rows, given possible knots (k,)."""
    shares = np.linspace(0, 1, SPREAD_PIECES + 1)
    knots = np.unique(np.quantile(x, shares, method="inverted_cdf", weights=copies))
    inner = round_knots(knots[1:-1], np.unique(np.append(dense, knots)))
    return np.unique(np.concatenate([dense[:1], inner, dense[-1:]]))
