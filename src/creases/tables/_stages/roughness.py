"""What curves leave in single columns: values that differ more than by chance, and jumps."""

from __future__ import annotations

import numpy as np

from creases._typing import Bools, Floats, Ints
from creases.tables._stages.rows import Rows

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


def standard_residuals(rows: Rows, scores: Floats) -> Floats:
    """Return what scores (n, m) leave in rows, (n, m), those of classes in standard deviations."""
    means = rows.means(scores)
    residuals = rows.targets - means
    return residuals / np.sqrt((means * (1 - means)).clip(1e-3)) if rows.n_classes else residuals
