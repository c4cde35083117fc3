"""Values of a network at points, in fractions and as intervals that hold in real arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from creases._typing import Floats
from creases.certify._case import dot
from creases.certify._exact import exact_outputs
from creases.certify._maximize.dense import DenseForm, round_down, round_up
from creases.certify._maximize.nodes import FREE, Nodes
from creases.network import Network

Vector = list[Fraction]


def as_fractions(x: Floats) -> Vector:
    """Return numbers (n,) as fractions."""
    return [Fraction(value) for value in x.tolist()]


def least_value(net: Network, form: DenseForm, rows: Floats, offsets: Floats, x: Floats) -> float:
    """Return the largest float that the smallest of ``rows y + offsets`` at a point (n,) is proved to reach."""
    outputs = exact_outputs(net, x)
    if outputs is not None:
        return round_down(exact_least(rows, offsets, outputs))
    dense = form.around(x)
    zero = np.zeros((1, len(x)))
    nodes = Nodes(dense, zero, zero, np.full((1, dense.n_units), FREE, np.int8))
    upper, _ = nodes.upper(-rows)
    lower = offsets - upper[0]
    return float((lower - 2.0**-52 * (np.abs(offsets) + np.abs(upper[0]))).min())


def exact_least(rows: Floats, offsets: Floats, y: Vector) -> Fraction:
    """Return the smallest of ``rows y + offsets`` in fractions."""
    return min(dot(row, y) + Fraction(offset) for row, offset in zip(rows.tolist(), offsets.tolist(), strict=True))


def exact_coefficient(form: DenseForm, row: Floats, column: int, x: Floats) -> float | None:
    """Return a coefficient at a point (n,), in fractions and rounded down; None where the point is on a crease.

    A unit at 0 all around the point is on no crease: its slope does not matter.
    """
    if form.fractions is None:
        return None
    sources: list[Vector] = [[Fraction(value) for value in x.tolist()]]
    n = len(x)
    slopes_of: list[list[Vector]] = [[[Fraction(int(i == j)) for j in range(n)] for i in range(n)]]
    for (c, *matrices), leak in zip(form.fractions, (*form.leaks, None), strict=True):
        values = [constant for (constant,) in c]
        slopes = [[Fraction(0)] * n for _ in values]
        for W, h, dh in zip(matrices, sources, slopes_of, strict=True):
            for k, weights in enumerate(W):
                for w, value, slope in zip(weights, h, dh, strict=True):
                    if w:
                        values[k] += w * value
                        slopes[k] = [a + w * b for a, b in zip(slopes[k], slope, strict=True)]
        if leak is None:
            total = sum(
                (Fraction(r) * slope[column] for r, slope in zip(row.tolist(), slopes, strict=True)), Fraction(0)
            )
            return round_down(total)
        factors = [Fraction(1) if z > 0 else Fraction(a) for z, a in zip(values, leak.tolist(), strict=True)]
        if any(z == 0 and any(slope) for z, slope in zip(values, slopes, strict=True)):
            return None
        sources.append([f * z for f, z in zip(factors, values, strict=True)])
        slopes_of.append([[f * s for s in slope] for f, slope in zip(factors, slopes, strict=True)])
    raise AssertionError


def coefficient_above(form: DenseForm, row: Floats, column: int, slopes: Floats) -> float | None:
    """Return a coefficient where units have known slopes (units,), in fractions and rounded up; None if not known."""
    if form.fractions is None:
        return None
    starts = np.cumsum([0, *map(len, form.leaks)])
    *bends, output = form.fractions
    weights = [Fraction(r) for r in row.tolist()]
    totals = [_combine_rows(W, weights) for W in output[1:]]
    for j in reversed(range(len(bends))):
        factors = [Fraction(s) for s in slopes[starts[j] : starts[j + 1]].tolist()]
        back = [f * g for f, g in zip(factors, totals[j + 1], strict=True)]
        for k, W in enumerate(bends[j][1:]):
            totals[k] = [a + b for a, b in zip(totals[k], _combine_rows(W, back), strict=True)]
    return round_up(totals[0][column])


def _combine_rows(W: list[Vector], weights: Vector) -> Vector:
    """Return weights (m,) times a matrix (m, n)."""
    total = [Fraction(0)] * (len(W[0]) if W else 0)
    for row, factor in zip(W, weights, strict=True):
        if factor:
            total = [a + factor * b if b else a for a, b in zip(total, row, strict=True)]
    return total


def exact_sign_sum(form: DenseForm, box: Floats, factors: dict[int, Fraction]) -> bool:
    """Whether a sum of multiples of what enters units, of one bend, is at most 0 in a box whatever earlier units do.

    True in particular where it cancels: units of a bend whose creases are the same, or meet in one.
    """
    if form.fractions is None or not factors:
        return False
    starts = np.cumsum([0, *map(len, form.leaks)])
    bends = {int(np.searchsorted(starts, unit, side="right")) - 1 for unit in factors}
    if len(bends) != 1:
        return False
    bend = bends.pop()
    c, B, *rest = form.fractions[bend]
    weights = [factors.get(unit, Fraction(0)) for unit in range(int(starts[bend]), int(starts[bend + 1]))]
    if any(any(_combine_rows(W, weights)) for W in rest):
        return False
    ends = [[Fraction(end) for end in pair] for pair in box.tolist()]
    slopes = _combine_rows(B, weights)
    return _combine_rows(c, weights)[0] + sum(max(s * a, s * b) for s, (a, b) in zip(slopes, ends, strict=True)) <= 0
