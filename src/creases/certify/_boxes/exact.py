"""Values of a dense network in exact arithmetic, by integers over powers of two."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.sparse import coo_array

from creases._typing import Floats
from creases.certify._boxes.chain import Stage

Exact = Any  # object arrays of int or Fraction


def exact_outputs(stages: Sequence[Stage], x: Floats) -> list[Fraction]:
    """Return the outputs (m,) at a point (n,) in real arithmetic."""
    values, bits = _integers(x)
    for stage in stages:
        sparse = coo_array(stage.W)
        rows, columns = sparse.row, sparse.col
        W, more = _integers(sparse.data)
        b, own = _integers(stage.b)
        bits += more
        if bits < own:
            values, bits = values << (own - bits), own
        products = W * values[columns]
        values = b << (bits - own)
        np.add.at(values, rows, products)
        bent = stage.leak != 1
        if bent.any():
            leak, more = _integers(np.where(bent, stage.leak, 1.0))
            values, bits = np.where(values > 0, values << more, values * leak), bits + more
    return [Fraction(int(value), 1 << bits) for value in values]


def _integers(values: Floats) -> tuple[Exact, int]:
    """Return integers (object array) and a number of bits: the values are the integers over two to that power."""
    ratios = [value.as_integer_ratio() for value in values.ravel().tolist()]
    bits = max((denominator.bit_length() - 1 for _, denominator in ratios), default=0)
    out = np.empty(len(ratios), object)
    out[:] = [numerator << (bits - denominator.bit_length() + 1) for numerator, denominator in ratios]
    return out.reshape(values.shape), bits


def dot(row: Floats, values: list[Fraction]) -> Fraction:
    """Return the exact product of a row (n,) of floats and fractions (n,)."""
    return sum((Fraction(a) * v for a, v in zip(row.tolist(), values, strict=True) if a), Fraction(0))
