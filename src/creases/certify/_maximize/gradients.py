"""Bounds of a coefficient over nodes: intervals carried backwards, valid in real arithmetic.

Positive and negative terms are added up apart: a sum of terms that are not negative is proved not to be negative.
"""

from __future__ import annotations

import numpy as np

from creases._typing import Floats
from creases.certify._maximize.dense import Affine
from creases.certify._maximize.nodes import Nodes
from creases.certify.proofs._rounding import LEAST, TINY, UNIT, gamma


def coefficient_bounds(nodes: Nodes, row: Floats, column: int) -> tuple[Floats, Floats, Floats]:
    """Bound the coefficient of an input in ``row`` (n_out,) times the output in every region of each node.

    Returns
    -------
    low, high : ndarray (b,)
    influence : ndarray (b, units)
        About how much the interval narrows if a unit's side is known; 0 where it is.
    """
    b, dense = len(nodes.sides), nodes.dense
    rate, tiny = 2 * gamma(dense.n_terms), TINY if _may_underflow(nodes) else 0.0
    starts = np.cumsum([0, *map(len, dense.leaks)])
    sums = [np.zeros((4, b, count)) for count in (*map(len, dense.leaks), 1)]  # positive and negative parts of each end
    _carry(row[None], row[None], dense.output, sums, column)
    open_units, sensitivity = nodes.open_units(), _sensitivity(nodes, column)
    influence = np.zeros((b, dense.n_units))
    for j in reversed(range(len(dense.bends))):
        part = slice(starts[j], starts[j + 1])
        low, high = _finish(sums[j], rate, tiny)
        leak, is_open = dense.leaks[j], open_units[:, part]
        only = np.where(nodes.lines[j].below == nodes.lines[j].above, nodes.lines[j].below, 1.0)
        slope_low = np.where(is_open, np.minimum(leak, 1.0), only)
        slope_high = np.where(is_open, np.maximum(leak, 1.0), only)
        size = np.maximum(np.abs(low), np.abs(high))
        matters = is_open & (size > 0) & (sensitivity[j] > 0)
        influence[:, part] = np.where(matters, np.maximum(size * np.abs(1.0 - leak) * sensitivity[j], LEAST), 0.0)
        pairs = [(end, slope) for end in (low, high) for slope in (slope_low, slope_high)]
        products = np.stack([end * slope for end, slope in pairs])
        signs = np.stack([np.sign(end) * np.sign(slope) for end, slope in pairs])  # what underflows keeps its sign
        least, most = products.min(axis=0), products.max(axis=0)
        below, above = least - 2 * UNIT * np.abs(least) - LEAST, most + 2 * UNIT * np.abs(most) + LEAST
        least = np.where(signs.min(axis=0) >= 0, np.maximum(below, 0.0), below)
        most = np.where(signs.max(axis=0) <= 0, np.minimum(above, 0.0), above)
        _carry(least, most, dense.bends[j], sums, column)
    low, high = _finish(sums[-1], rate, tiny)
    return low[:, 0], high[:, 0], influence


def _carry(low: Floats, high: Floats, function: Affine, sums: list[Floats], column: int) -> None:
    """Add the terms of intervals (b, m) times an affine function's coefficients."""
    ends = np.maximum(low, 0.0), np.maximum(-low, 0.0), np.maximum(high, 0.0), np.maximum(-high, 0.0)
    size = np.maximum(np.abs(low), np.abs(high))
    targets = [
        *zip(sums, function.W, function.W_error, strict=False),
        (sums[-1], function.B[:, [column]], function.B_error[:, [column]]),
    ]
    for sum_, W, error in targets:
        up, down = np.maximum(W, 0.0), np.maximum(-W, 0.0)
        sum_[0] += ends[0] @ up + ends[3] @ down
        sum_[1] += ends[1] @ up + ends[2] @ down
        sum_[2] += ends[2] @ up + ends[1] @ down
        sum_[3] += ends[3] @ up + ends[0] @ down
        if error.any():
            sum_[1] += size @ error
            sum_[2] += size @ error


def _finish(sums: Floats, rate: float, tiny: float) -> tuple[Floats, Floats]:
    low = sums[0] * (1.0 - rate) - sums[1] * (1.0 + rate) - tiny
    high = sums[2] * (1.0 + rate) - sums[3] * (1.0 - rate) + tiny
    low, high = low - 2 * UNIT * np.abs(low), high + 2 * UNIT * np.abs(high)
    return np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)  # nan: overflow


def _sensitivity(nodes: Nodes, column: int) -> list[Floats]:
    """Return about how much (m,) what enters each bend can change with an input."""
    sizes: list[Floats] = []
    for function in nodes.dense.bends:
        size = np.abs(function.B[:, column])
        for W, earlier, leak in zip(function.W, sizes, nodes.dense.leaks, strict=False):
            effect = np.abs(W) @ (earlier * np.maximum(np.abs(leak), 1.0))
            size = size + np.maximum(effect, LEAST * ((W != 0) @ (earlier > 0)))  # none vanishes by underflow
        sizes.append(size)
    return sizes


def _may_underflow(nodes: Nodes) -> bool:
    """Whether products of weights along a path may be smaller than the smallest numbers."""
    dense = nodes.dense
    parts = [part for function in (*dense.bends, dense.output) for part in (function.B, *function.W)]
    least = min((float(np.abs(part[part != 0]).min()) for part in (*parts, *dense.leaks) if part.any()), default=1.0)
    return bool(least < 1e-280 ** (0.5 / (len(dense.bends) + 1)))
