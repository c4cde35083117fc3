"""Values and coefficients of a network at points, in fractions."""

from __future__ import annotations

from fractions import Fraction
from math import lcm

import numpy as np

from creases._typing import Floats
from creases.certify._case import dot
from creases.certify._form import Form
from creases.certify.proofs._checker.parts import Dyadic, to_fractions
from creases.certify.proofs._spec import Array


def exact_least(rows: Floats, offsets: Floats, y: list[Fraction]) -> Fraction:
    """Return the smallest of ``rows y + offsets`` in fractions."""
    return min(dot(row, y) + Fraction(offset) for row, offset in zip(rows.tolist(), offsets.tolist(), strict=True))


def exact_jacobian(form: Form, rows: Floats, x: Floats) -> Array | None:
    """Return derivatives (k, n) of rows of the outputs at a point (n,) in fractions; None where it is on a crease.

    A unit at 0 all around the point is on no crease: its slope does not matter.
    """
    if form.exact_functions is None:
        return None
    entering = form.entering(Dyadic.of(x))[:-1]
    slopes = [np.where(z.whole > 0, 1.0, layer.leak) for z, layer in zip(entering, form.layers, strict=True)]
    for j, z in enumerate(entering):
        for unit in np.flatnonzero(z.whole == 0):
            if form.gradient(Dyadic.of(np.eye(1, len(z.whole), int(unit))), slopes, j).whole.any():
                return None
    return form.gradient(Dyadic.of(rows), slopes).fractions()


def exact_sign_sum(form: Form, box: Floats, factors: dict[int, Fraction]) -> bool:
    """Whether a sum of multiples of what enters units, of one bend, is at most 0 in a box whatever earlier units do.

    True in particular where it cancels: units of a bend whose creases are the same, or meet in one.
    """
    bends = {int(form.layer_of[unit]) for unit in factors}
    if form.exact_functions is None or len(bends) != 1:
        return False
    bend = bends.pop()
    c, B, *rest = form.exact_functions[bend]
    one = lcm(*(factor.denominator for factor in factors.values()))
    units = np.flatnonzero(form.layer_of == bend).tolist()
    weights = Dyadic(np.array([[int(factors.get(unit, Fraction(0)) * one) for unit in units]], dtype=object), 0)
    if any((weights @ W).whole.any() for W in rest):
        return False
    ends = to_fractions(box)
    slopes, constant = (weights @ B).fractions()[0], (weights @ c).fractions()[0]
    return bool(constant + sum(max(s * a, s * b) for s, (a, b) in zip(slopes, ends, strict=True)) <= 0)
