"""Compiled lower bounds on the error of continuous piecewise-linear fits (numba; imported only when first used).

Dropping some of the conditions that neighbouring lines meet can only lower the error. With all of them dropped, the fit
is a set of separate lines; with every second one, a set of separate pairs of lines that meet.
"""

from __future__ import annotations

import numpy as np

from creases._compiled import jit, jit_internal
from creases._typing import Floats

INF = np.inf


@jit
def interval_moments(x: Floats, y: Floats, w: Floats) -> Floats:
    """Return the sums of w times 1, d, d^2, y, d y, y^2 over samples i to j, (n, n, 6), with ``d = x_j - x``."""
    size = len(x)
    moments = np.zeros((size, size, 6))
    for j in range(size):
        for i in range(j, -1, -1):
            d = x[j] - x[i]
            if i < j:
                for column in range(6):
                    moments[i, j, column] = moments[i + 1, j, column]
            moments[i, j, 0] += w[i]
            moments[i, j, 1] += w[i] * d
            moments[i, j, 2] += w[i] * d * d
            moments[i, j, 3] += w[i] * y[i]
            moments[i, j, 4] += w[i] * d * y[i]
            moments[i, j, 5] += w[i] * y[i] * y[i]
    return moments


@jit
def interval_lines(moments: Floats) -> Floats:
    """Return the best line of samples i to j, (n, n, 5): its error, value at x_j, slope, and two variances.

    These are of its value at x_j and of its slope, for samples with variance 1 / weight; infinite for a single sample.
    """
    size = len(moments)
    lines = np.zeros((size, size, 5))
    for i in range(size):
        for j in range(i, size):
            n, d, dd = moments[i, j, 0], moments[i, j, 1], moments[i, j, 2]
            y, dy, yy = moments[i, j, 3], moments[i, j, 4], moments[i, j, 5]
            spread, cross, rest = dd - d * d / n, dy - d * y / n, yy - y * y / n
            lines[i, j, 1], lines[i, j, 3], lines[i, j, 4] = y / n, INF, INF
            if spread > 1e-13 * dd:
                slope = -cross / spread
                rest -= cross * cross / spread
                lines[i, j, 1] = y / n + slope * d / n
                lines[i, j, 2], lines[i, j, 3], lines[i, j, 4] = slope, dd / (n * spread), 1 / spread
            lines[i, j, 0] = max(rest, 0.0)
    return lines


@jit_internal
def _pair_error(x: Floats, moments: Floats, lines: Floats, i: int, j: int) -> float:
    """Return the least error of two lines that meet, on samples i to j."""
    best: float = lines[i, j, 0]
    for m in range(i, j):
        error = lines[i, m, 0] + lines[m + 1, j, 0]
        if error >= best:
            continue
        if m > i and m + 1 < j and lines[i, m, 3] < INF and lines[m + 1, j, 3] < INF:
            gap, far = x[m + 1] - x[m], x[j] - x[m]
            at_left = lines[i, m, 1] - (lines[m + 1, j, 1] - lines[m + 1, j, 2] * far)
            at_right = at_left + (lines[i, m, 2] - lines[m + 1, j, 2]) * gap
            if (at_left < 0) == (at_right < 0):  # they do not cross between the samples; joined at x_m:
                n, d, dd = moments[m + 1, j, 0], moments[m + 1, j, 1], moments[m + 1, j, 2]
                variance = (dd - 2 * far * d + far * far * n) / n * lines[m + 1, j, 4]
                error += at_left * at_left / (lines[i, m, 3] + variance)
        best = min(best, error)
    return best


@jit
def pair_errors(x: Floats, moments: Floats, lines: Floats) -> Floats:
    """Return the least error of two lines that meet, on samples i to j, (n, n).

    Lines that do not cross between the last sample of one and the first of the other are joined at a sample.
    """
    size = len(x)
    errors = np.zeros((size, size))
    for i in range(size):
        for j in range(i, size):
            errors[i, j] = _pair_error(x, moments, lines, i, j)
    return errors


@jit
def rest_of_pairs(lines: Floats, pairs: Floats, pieces: int) -> Floats:
    """Return bounds on the error of samples j, j + 1, ... with at most r pieces, (pieces + 1, n + 1)."""
    size = len(pairs)
    rest = np.full((pieces + 1, size + 1), INF)
    rest[0, size] = 0.0
    for r in range(1, pieces + 1):
        rest[r, size] = 0.0
        for j in range(size):
            single, double = INF, INF if r > 1 else 0.0
            for end in range(j, size):
                single = min(single, lines[j, end, 0] + rest[r - 1, end + 1])
                if r > 1:
                    double = min(double, pairs[j, end] + rest[r - 2, end + 1])
            rest[r, j] = max(single, double)
    return rest


@jit
def separate_lines(sums: Floats, pieces: int, dropped: int) -> float:
    """Return the least error of at most ``pieces`` separate lines on groups of samples.

    ``sums`` (G + 1, 6) are cumulative sums over the groups of w times 1, x, x^2, y, x y, y^2. If ``dropped`` is 0,
    lines begin and end between groups; if it is 1, they may do so inside a group, whose samples then do not count.
    """
    size = len(sums) - 1
    rest = np.full((pieces + 1, size + 2), INF)
    for r in range(pieces + 1):
        rest[r, size] = rest[r, size + 1] = 0.0
    for begin in range(size - 1, -1, -1):
        for end in range(begin + 1 - dropped, size + 1):
            error = 0.0
            if end > begin:
                n, x, xx = sums[end, 0] - sums[begin, 0], sums[end, 1] - sums[begin, 1], sums[end, 2] - sums[begin, 2]
                y, xy, yy = sums[end, 3] - sums[begin, 3], sums[end, 4] - sums[begin, 4], sums[end, 5] - sums[begin, 5]
                spread, cross, error = xx - x * x / n, xy - x * y / n, yy - y * y / n
                if spread > 1e-12 * xx:
                    error -= cross * cross / spread
                error = max(error, 0.0)
            after = min(end + dropped, size) if end < size else size
            for r in range(1, pieces + 1):
                rest[r, begin] = min(rest[r, begin], error + rest[r - 1, after])
    return float(rest[pieces, 0])
