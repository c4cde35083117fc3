"""Bounds of derivatives over nodes: intervals carried backwards, valid in real arithmetic.

Positive and negative terms are added up apart: a sum of terms that are not negative is proved not to be negative.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from creases._typing import Floats, Ints
from creases.certify._form import Form, Layer
from creases.certify._nodes import Nodes
from creases.certify.proofs._norms import Norm
from creases.certify.proofs._rounding import LEAST, TINY, UNIT, gamma


def jacobian_bounds(
    nodes: Nodes, rows: Floats, columns: Ints, norm: Norm | None = None
) -> tuple[Floats, Floats, Floats]:
    """Bound derivatives of ``rows`` (k, n_out) times the output in every region of each node.

    Parameters
    ----------
    columns
        (c,) inputs.
    norm
        What the influence is on: the norm of the matrix (k, c), or its only entry.

    Returns
    -------
    low, high : ndarray (b, k, c)
    influence : ndarray (b, units)
        About how much what is asked for narrows if a unit's side is known; 0 where it is.
    """
    (b, units), form, (k, c) = nodes.sides.shape, nodes.form, (len(rows), len(columns))
    rate, tiny = 2 * gamma(form.n_terms), TINY if _may_underflow(form) else 0.0
    sums = np.zeros((4, b * k, c + units))  # positive and negative parts of each end, for inputs and what leaves units
    start = np.tile(rows, (b, 1))
    _carry(start, start, form.output, sums, form.n_in, columns)
    open_units, lines = (np.repeat(part, k, axis=0) for part in (nodes.open_units(), nodes.lines.below))
    above_lines, sizes = np.repeat(nodes.lines.above, k, axis=0), np.zeros((b * k, units))
    for layer in reversed(range(len(form.layers))):
        part, leak = form.units(layer), form.layers[layer].leak
        low, high = _finish(sums[:, :, c:][:, :, part], rate, tiny)
        is_open, below = open_units[:, part], lines[:, part]
        only = np.where(below == above_lines[:, part], below, 1.0)
        slope_low = np.where(is_open, np.minimum(leak, 1.0), only)
        slope_high = np.where(is_open, np.maximum(leak, 1.0), only)
        sizes[:, part] = np.where(is_open, np.maximum(np.abs(low), np.abs(high)), 0.0)
        pairs = [(end, slope) for end in (low, high) for slope in (slope_low, slope_high)]
        products = np.stack([end * slope for end, slope in pairs])
        signs = np.stack([np.sign(end) * np.sign(slope) for end, slope in pairs])  # what underflows keeps its sign
        least, most = products.min(axis=0), products.max(axis=0)
        below, above = least - 2 * UNIT * np.abs(least) - LEAST, most + 2 * UNIT * np.abs(most) + LEAST
        least = np.where(signs.min(axis=0) >= 0, np.maximum(below, 0.0), below)
        most = np.where(signs.max(axis=0) <= 0, np.minimum(above, 0.0), above)
        _carry(least, most, form.layers[layer], sums, form.n_in, columns)
    low, high = (end.reshape(b, k, c) for end in _finish(sums[:, :, :c], rate, tiny))
    return low, high, _influence(form, sizes.reshape(b, k, units), columns, np.maximum(np.abs(low), np.abs(high)), norm)


def _influence(form: Form, sizes: Floats, columns: Ints, entries: Floats, norm: Norm | None) -> Floats:
    """Return how much units (b, units) matter by the intervals (b, k, units) of what leaves them.

    Of the column with the largest sum for the 1-norm, of the row with the largest sum for the infinity norm.
    """
    sensitivity = _sensitivity(form, columns)  # (units, c)
    nodes = np.arange(len(sizes))
    if norm == "linf":
        sizes = sizes[nodes, entries.sum(axis=2).argmax(axis=1)][:, None]
    chosen = sensitivity[None]
    if norm == "l1":
        chosen = sensitivity.T[entries.sum(axis=1).argmax(axis=1)][:, :, None]
    matters = (sizes > 0).any(axis=1) & (chosen > 0).any(axis=2)
    effect = sizes.sum(axis=1) * np.abs(1.0 - form.leak) * chosen.sum(axis=2)
    return np.where(matters, np.maximum(effect, LEAST), 0.0)


def _carry(low: Floats, high: Floats, layer: Layer, sums: Floats, n: int, inputs: Ints) -> None:
    """Add the terms of intervals (b, m) times a layer's coefficients of some inputs and of the units before it."""
    ends = np.maximum(low, 0.0), np.maximum(-low, 0.0), np.maximum(high, 0.0), np.maximum(-high, 0.0)
    count = len(inputs)
    parts: Any = ((inputs, sums[:, :, :count]), (slice(n, None), sums[:, :, count : count + layer.first - n]))
    for columns, (a, b, c, d) in parts:
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


def _sensitivity(form: Form, columns: Ints) -> Floats:
    """Return about how much (units, c) what enters each unit can change with inputs; none is lost by rounding."""
    n, steep, sizes = form.n_in, np.maximum(np.abs(form.leak), 1.0)[:, None], np.zeros((form.n_units, len(columns)))
    for k, layer in enumerate(form.layers):
        W, before = np.abs(layer.W[:, n:]), slice(0, layer.first - n)
        effect = np.maximum(W @ (sizes * steep)[before], LEAST * ((W > 0) @ (sizes[before] > 0)))
        total = np.abs(layer.W[:, columns]) + effect
        sizes[form.units(k)] = np.where(np.isnan(total), np.inf, total)
    return sizes


def _may_underflow(form: Form) -> bool:
    """Whether products of weights along a path may be smaller than the smallest numbers."""
    parts = [form.leak, form.output.W, *(layer.W for layer in form.layers)]
    least = min((float(np.abs(part[part != 0]).min()) for part in parts if part.any()), default=1.0)
    return bool(least < 1e-280 ** (0.5 / (len(form.layers) + 1)))
