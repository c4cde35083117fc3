"""Values of a network at points, as intervals that hold in real arithmetic, and in fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from creases._typing import Floats
from creases.certify._maximize.dense import DenseForm, round_down
from creases.certify._maximize.nodes import FREE, Nodes

Vector = list[Fraction]


def as_fractions(x: Floats) -> Vector:
    """Return floats as fractions."""
    return [Fraction(value) for value in x.tolist()]


def exact_values(form: DenseForm, x: Floats) -> tuple[list[Vector], Vector] | None:
    """Return what enters each bend and the output at a point (n,), in fractions; None if matrices were rounded."""
    if not form.is_exact:
        return None
    sources: list[Vector] = [as_fractions(x)]
    entering: list[Vector] = []
    for function, leak in zip(form.functions, (*form.leaks, None), strict=True):
        z = as_fractions(function[0])
        for W, h in zip(function[2::2], sources, strict=True):
            for k, row in enumerate(W.tolist()):
                z[k] += sum((Fraction(w) * value for w, value in zip(row, h, strict=True) if w and value), Fraction(0))
        if leak is None:
            return entering, z
        entering.append(z)
        sources.append([v if v > 0 else Fraction(a) * v for v, a in zip(z, leak.tolist(), strict=True)])
    raise AssertionError


def least_value(form: DenseForm, rows: Floats, offsets: Floats, x: Floats) -> float:
    """Return the largest float that the smallest of ``rows y + offsets`` at a point (n,) is proved to reach."""
    exact = exact_values(form, x)
    if exact is not None:
        return round_down(exact_least(rows, offsets, exact[1]))
    dense = form.around(x)
    zero = np.zeros((1, len(x)))
    nodes = Nodes(dense, zero, zero, np.full((1, dense.n_units), FREE, np.int8))
    upper, _ = nodes.upper(-rows)
    lower = offsets - upper[0]
    return float((lower - 2.0**-52 * (np.abs(offsets) + np.abs(upper[0]))).min())


def exact_least(rows: Floats, offsets: Floats, y: Vector) -> Fraction:
    """Return the smallest of ``rows y + offsets`` in fractions."""
    terms = [
        sum((Fraction(w) * value for w, value in zip(row, y, strict=True) if w), Fraction(offset))
        for row, offset in zip(rows.tolist(), offsets.tolist(), strict=True)
    ]
    return min(terms)


def exact_gradients(form: DenseForm, row: Floats, column: int, x: Floats) -> float | None:
    """Return a coefficient at a point (n,), in fractions and rounded down; None where the point is on a crease.

    A unit at 0 all around the point is on no crease: its slope does not matter.
    """
    if not form.is_exact:
        return None
    sources: list[Vector] = [as_fractions(x)]
    n = len(x)
    slopes_of: list[list[Vector]] = [[[Fraction(int(i == j)) for j in range(n)] for i in range(n)]]
    for function, leak in zip(form.functions, (*form.leaks, None), strict=True):
        values = as_fractions(function[0])
        slopes = [[Fraction(0)] * n for _ in values]
        for W, h, dh in zip(function[2::2], sources, slopes_of, strict=True):
            for k, weights in enumerate(W.tolist()):
                for w, value, slope in zip(weights, h, dh, strict=True):
                    if w:
                        exact = Fraction(w)
                        values[k] += exact * value
                        slopes[k] = [a + exact * b for a, b in zip(slopes[k], slope, strict=True)]
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


def exact_sign_sum(form: DenseForm, box: Floats, factors: dict[int, Fraction]) -> bool:
    """Whether a sum of multiples of what enters units, of one bend, is at most 0 in a box whatever earlier units do.

    True in particular where it cancels: units of a bend whose creases are the same, or meet in one.
    """
    if not form.is_exact or not factors:
        return False
    starts = np.cumsum([0, *map(len, form.leaks)])
    bends = {int(np.searchsorted(starts, unit, side="right")) - 1 for unit in factors}
    if len(bends) != 1:
        return False
    bend = bends.pop()
    c, _, B, _, *rest = form.functions[bend]
    weights = {unit - int(starts[bend]): factor for unit, factor in factors.items()}
    for W in rest[::2]:
        if any(_combine(W[:, j], weights) != 0 for j in range(W.shape[1])):
            return False
    total = _combine(c, weights)
    for j in range(B.shape[1]):
        slope = _combine(B[:, j], weights)
        total += max(slope * Fraction(float(box[j, 0])), slope * Fraction(float(box[j, 1])))
    return total <= 0


def _combine(column: Floats, weights: dict[int, Fraction]) -> Fraction:
    return sum((factor * Fraction(float(column[unit])) for unit, factor in weights.items()), Fraction(0))
