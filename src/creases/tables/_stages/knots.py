"""Where the curve of a column may bend: at quantiles, frequent values, round numbers; and where it may jump."""

from __future__ import annotations

import math

import numpy as np

from creases._typing import Bools, Floats, Ints
from creases.tables._stages.basis import Circle

#: Fraction of the rows from which on a value is frequent: a curve may jump beside it.
FREQUENT = 0.05

#: Fraction of the rows at each end of a column that may be outliers, and how far from the others, in their range.
OUTERMOST, FAR = 2e-4, 0.5

#: How far from all others, in their range, a single row is an outlier however few rows there are.
ABSURD = 1e3

#: Different values from which on one of them can be absurd.
MANY = 10

#: Fraction of a column's range from which on its outermost piece is a long tail, and the rows beyond each knot in it.
TAIL, TAIL_ROWS = 0.25, 10

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
    the others are at quantiles of the remaining rows. Where an end of the column is a long tail, there are knots at a
    half, a quarter, an eighth of its rows. A column of few values has a knot at each of them.
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
    n_shares = max(n_pieces - len(frequent), 1)
    shares = np.arange(1, n_shares) / n_shares
    tails = 0.5 ** np.arange(1, 30) / n_shares
    tails = tails[tails * cumulative[-1] >= TAIL_ROWS]
    inner = values[np.searchsorted(cumulative, shares * cumulative[-1])]
    reach = TAIL * (values[-1] - values[0])
    if len(inner) and inner[0] - values[0] > reach:
        shares = np.append(shares, tails)
    if len(inner) and values[-1] - inner[-1] > reach:
        shares = np.append(shares, 1.0 - tails)
    places = np.searchsorted(cumulative, shares * cumulative[-1])
    return np.asarray(values[np.unique(np.append(places, beside))])


def close_circle(knots: Floats, circle: Circle) -> Floats:
    """Return knots (k,) with the two ends of a circle; those of other inputs as they are."""
    return knots if circle is None else np.unique([circle[0], *knots.clip(*circle).tolist(), circle[1]])


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


# What curves leave in single columns: values that differ more than by chance, and jumps.

#: Rows of a bin whose mean residual is compared with chance, and bins at most.
BIN_ROWS, MAX_BINS = 10, 200

#: Standard deviations of chance, and fraction of the residuals' variance, by which a column's means must differ to get
#: finer knots.
ROUGH, LEAST_SHARE = 3.0, 0.005

#: Rows on each side of a possible jump that are compared, and the squared standard error by which they must differ.
WINDOW, JUMP = 30, 20.0

#: Jumps of a column at most; a column of so few values may jump between any two of them.
MAX_JUMPS, FEW_VALUES = 10, 200


def is_rough(x: Floats, residuals: Floats, copies: Floats) -> bool:
    """Return whether residuals (n, m) of rows depend on a column x (n,) in any way, however it winds.

    The mean squares of residuals over narrow bins of the column, or over its values, are compared with chance.
    """
    cell = _bins(x, copies)
    rows = np.bincount(cell, copies)
    n_bins = len(rows)
    if n_bins < 2:
        return False
    excess, spread = 0.0, 0.0
    for each in residuals.T:
        variance = float(np.average(each**2, weights=copies))
        if variance <= 0:
            continue
        kurtosis = float(np.average(each**4, weights=copies)) / variance**2
        means = np.bincount(cell, copies * each) / rows
        excess += float((rows * means**2).sum()) / variance - n_bins
        spread += float((2 + (kurtosis - 3) / rows.clip(1.0)).clip(0.1).sum())
    return bool(excess > max(ROUGH * spread**0.5, LEAST_SHARE * copies.sum() * residuals.shape[1]))


def _bins(x: Floats, copies: Floats) -> Ints:
    """Return the bin (n,) of each row: its value, or one of narrow ranges with about as many rows."""
    values, which = np.unique(x, return_inverse=True)
    total = float(copies.sum())
    n_bins = int(min(total // BIN_ROWS, MAX_BINS))
    if len(values) <= n_bins:
        return which.reshape(-1)
    share = np.cumsum(np.bincount(which.reshape(-1), copies)) / total
    edge = np.minimum((share * n_bins).astype(np.int64), n_bins - 1)
    return np.unique(edge, return_inverse=True)[1].reshape(-1)[which.reshape(-1)]


def find_ramps(x: Floats, residuals: Floats, copies: Floats) -> Floats:
    """Return pairs of neighbouring values (r, 2) between which a column x (n,) may jump.

    A column of few values may jump between any two. Of others, the means of residuals (n, m) on both sides, over a
    few rows, must differ by much more than chance.
    """
    values = np.unique(x)
    if len(values) <= min(FEW_VALUES, copies.sum() / BIN_ROWS * 2):
        return np.column_stack([values[:-1], values[1:]])
    order = np.argsort(x, kind="stable")
    sides = _differences(residuals[order], copies[order])
    sides[np.append(False, np.diff(x[order]) > 0) == 0] = 0.0  # a jump lies between two values
    taken: Bools = np.zeros(len(x), bool)
    found: list[tuple[float, float]] = []
    for k in np.argsort(-sides, kind="stable").tolist():
        if sides[k] < JUMP or len(found) == MAX_JUMPS:
            break
        if not taken[k]:
            found.append((x[order[k - 1]], x[order[k]]))
            taken[max(k - WINDOW, 0) : k + WINDOW] = True
    return np.array(sorted(found)).reshape(-1, 2)


def _differences(residuals: Floats, copies: Floats) -> Floats:
    """Return how much the means of residuals (n, m) before and from each row on differ, in squared standard errors."""
    n = len(residuals)
    sums = np.vstack([np.zeros((1, residuals.shape[1])), np.cumsum(copies[:, None] * residuals, axis=0)])
    counts = np.append(0.0, np.cumsum(copies))
    here = np.arange(n)
    before, after = np.maximum(here - WINDOW, 0), np.minimum(here + WINDOW, n)
    left, right = (counts[here] - counts[before]).clip(1e-9), (counts[after] - counts[here]).clip(1e-9)
    gap = (sums[after] - sums[here]) / right[:, None] - (sums[here] - sums[before]) / left[:, None]
    variance = np.average(residuals**2, axis=0, weights=copies).clip(1e-300)
    result: Floats = (gap**2 / variance).sum(axis=1) / (1 / left + 1 / right)
    result[np.minimum(left, right) < WINDOW / 3] = 0.0
    return result
