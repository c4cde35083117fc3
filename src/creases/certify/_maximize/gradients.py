"""Bounds of a coefficient over nodes: intervals carried backwards, valid in real arithmetic.

Positive and negative terms are added up apart: a sum of terms that are not negative is proved not to be negative.
"""

from __future__ import annotations

import numpy as np

from creases._typing import Floats
from creases.certify._form import Form, Layer
from creases.certify._nodes import Nodes
from creases.certify.proofs._rounding import LEAST, TINY, UNIT, gamma


def coefficient_bounds(nodes: Nodes, row: Floats, column: int) -> tuple[Floats, Floats, Floats]:
    """Bound the coefficient of an input in ``row`` (n_out,) times the output in every region of each node.

    Returns
    -------
    low, high : ndarray (b,)
    influence : ndarray (b, units)
        About how much the interval narrows if a unit's side is known; 0 where it is.
    """
    (b, units), form = nodes.sides.shape, nodes.form
    rate, tiny = 2 * gamma(form.n_terms), TINY if _may_underflow(form) else 0.0
    sums = np.zeros((4, b, 1 + units))  # positive and negative parts of each end, for the input and what leaves units
    _carry(row[None], row[None], form.output, sums, form.n_in, column)
    open_units, sensitivity = nodes.open_units(), _sensitivity(form, column)
    influence = np.zeros((b, units))
    for k in reversed(range(len(form.layers))):
        part, leak = form.units(k), form.layers[k].leak
        low, high = _finish(sums[:, :, 1:][:, :, part], rate, tiny)
        is_open, below = open_units[:, part], nodes.lines.below[:, part]
        only = np.where(below == nodes.lines.above[:, part], below, 1.0)
        slope_low = np.where(is_open, np.minimum(leak, 1.0), only)
        slope_high = np.where(is_open, np.maximum(leak, 1.0), only)
        size = np.maximum(np.abs(low), np.abs(high))
        matters = is_open & (size > 0) & (sensitivity[part] > 0)
        influence[:, part] = np.where(matters, np.maximum(size * np.abs(1.0 - leak) * sensitivity[part], LEAST), 0.0)
        pairs = [(end, slope) for end in (low, high) for slope in (slope_low, slope_high)]
        products = np.stack([end * slope for end, slope in pairs])
        signs = np.stack([np.sign(end) * np.sign(slope) for end, slope in pairs])  # what underflows keeps its sign
        least, most = products.min(axis=0), products.max(axis=0)
        below, above = least - 2 * UNIT * np.abs(least) - LEAST, most + 2 * UNIT * np.abs(most) + LEAST
        least = np.where(signs.min(axis=0) >= 0, np.maximum(below, 0.0), below)
        most = np.where(signs.max(axis=0) <= 0, np.minimum(above, 0.0), above)
        _carry(least, most, form.layers[k], sums, form.n_in, column)
    low, high = _finish(sums[:, :, :1], rate, tiny)
    return low[:, 0], high[:, 0], influence


def _carry(low: Floats, high: Floats, layer: Layer, sums: Floats, n: int, column: int) -> None:
    """Add the terms of intervals (b, m) times a layer's coefficients of a column and of the units before it."""
    ends = np.maximum(low, 0.0), np.maximum(-low, 0.0), np.maximum(high, 0.0), np.maximum(-high, 0.0)
    for columns, (a, b, c, d) in (([column], sums[:, :, :1]), (slice(n, None), sums[:, :, 1 : 1 + layer.first - n])):
        up, down = (np.abs(part[:, columns]) for part in layer.signed)
        a += ends[0] @ up + ends[3] @ down
        b += ends[1] @ up + ends[2] @ down
        c += ends[2] @ up + ends[1] @ down
        d += ends[3] @ up + ends[0] @ down
        if layer.W_error is not None:
            error = np.maximum(np.abs(low), np.abs(high)) @ layer.W_error[:, columns]
            b += error
            c += error


def _finish(sums: Floats, rate: float, tiny: float) -> tuple[Floats, Floats]:
    low = sums[0] * (1.0 - rate) - sums[1] * (1.0 + rate) - tiny
    high = sums[2] * (1.0 + rate) - sums[3] * (1.0 - rate) + tiny
    low, high = low - 2 * UNIT * np.abs(low), high + 2 * UNIT * np.abs(high)
    return np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)  # nan: overflow


def _sensitivity(form: Form, column: int) -> Floats:
    """Return about how much (units,) what enters each unit can change with an input; none is lost by rounding."""
    n, steep, sizes = form.n_in, np.maximum(np.abs(form.leak), 1.0), np.zeros(form.n_units)
    for k, layer in enumerate(form.layers):
        W, before = np.abs(layer.W[:, n:]), slice(0, layer.first - n)
        effect = np.maximum(W @ (sizes * steep)[before], LEAST * ((W > 0) @ (sizes[before] > 0)))
        total = np.abs(layer.W[:, column]) + effect
        sizes[form.units(k)] = np.where(np.isnan(total), np.inf, total)
    return sizes


def _may_underflow(form: Form) -> bool:
    """Whether products of weights along a path may be smaller than the smallest numbers."""
    parts = [form.leak, form.output.W, *(layer.W for layer in form.layers)]
    least = min((float(np.abs(part[part != 0]).min()) for part in parts if part.any()), default=1.0)
    return bool(least < 1e-280 ** (0.5 / (len(form.layers) + 1)))
