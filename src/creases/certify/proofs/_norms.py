"""Operator norms of matrices whose entries lie between bounds, from above and from below, for search and checker alike.

The norm of J is the largest ``|J v| / |v|``: of the 1-norm the largest sum of magnitudes in a column, of the infinity
norm that in a row, of the 2-norm the largest singular value. Singular vectors are proposals: what is proved of the
2-norm follows from a product with them, whose rounding is counted, or from one vector in fractions.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

import numpy as np

from creases.certify.proofs._rounding import TINY, UNIT, gamma, root_below, round_down
from creases.certify.proofs._spec import Array, is_infinite

Norm = Literal["l1", "l2", "linf"]


def norm_above(low: Array, high: Array, norm: Norm | None) -> Array:
    """Return an upper bound (...) of the norms of matrices between floats (..., m, n); without a norm: of one entry."""
    if norm is None:
        return np.asarray(high[..., 0, 0])
    with np.errstate(all="ignore"):  # of numbers beyond floats, which give no bound
        size = np.maximum(np.abs(low), np.abs(high))
        if norm != "l2":
            axis = -2 if norm == "l1" else -1
            sums = size.sum(axis=axis).max(axis=-1, initial=0.0)
            top = sums * (1 + gamma(size.shape[axis]))
        else:
            middle = low / 2 + high / 2
            radius = np.maximum(high - middle, middle - low) * (1 + 4 * UNIT)
            top = _singular_above(middle)
            if radius.any():
                top = np.minimum((top + _singular_above(radius)) * (1 + 4 * UNIT), _singular_above(size))
    return np.where(np.isnan(top), np.inf, top)


def _singular_above(M: Array) -> Array:
    """Return upper bounds (...) of the largest singular values of floats (..., m, n).

    From ``M = U S V + R`` follows ``|M| <= |U| |S| |V| + |R|``, whatever U, S and V are; ``|U|^2 <= 1 + |U^T U - I|``.
    """
    size = np.abs(M).max(axis=(-2, -1), initial=0.0)
    is_finite = np.isfinite(size)
    power = np.frexp(np.where(is_finite, size, 0.0))[1]
    scaled = np.ldexp(np.where(is_finite[..., None, None], M, 0.0), -power[..., None, None])
    try:
        U, s, V = np.linalg.svd(scaled, full_matrices=False)
    except np.linalg.LinAlgError:
        return np.full(size.shape, np.inf)
    (m, n), d = M.shape[-2:], s.shape[-1]
    spread = _frobenius(U) * s.max(axis=-1, initial=0.0) * _frobenius(V)
    rest = _frobenius(scaled - (U * s[..., None, :]) @ V) + gamma(d + 4) * (spread + _frobenius(scaled))
    turn = [
        1 + _frobenius(Q.swapaxes(-2, -1) @ Q - np.eye(d)) + gamma(count + 4) * (_frobenius(Q) ** 2 + d)
        for Q, count in ((U, m), (V.swapaxes(-2, -1), n))
    ]
    top = s.max(axis=-1, initial=0.0) * np.sqrt(turn[0] * turn[1]) + rest
    top = np.nextafter(np.ldexp(top * (1 + 32 * UNIT) + TINY, power), np.inf)
    return np.where(is_finite, np.where(size > 0, top, 0.0), np.inf)


def _frobenius(M: Array) -> Array:
    """Return a number above the square root of the sum of squares (...) of floats (..., m, n)."""
    total = (M * M).sum(axis=(-2, -1))
    return np.asarray(np.sqrt(total) * (1 + gamma(M.shape[-2] * M.shape[-1])) + TINY)


def norm_below(low: Array, high: Array, norm: Norm | None) -> float:
    """Return a float that the norms of all matrices between fractions (m, n) reach; ends may be infinite.

    Of the 2-norm it is what one vector shows, a proposal for the largest: less than the norm by next to nothing.
    """
    if norm is None:
        return round_down(low[0, 0])
    size = np.maximum(np.abs(low), np.abs(high))
    if not low.size or is_infinite(size).any() or not size.any():
        return 0.0
    if norm != "l2":
        sums = _least(low, high).sum(axis=0 if norm == "l1" else 1)
        return round_down(max(sums))
    if 1 in low.shape:
        squares = (_least(low, high) ** 2).sum()
    else:
        scaled = ((low + high) / (2 * size.max())).astype(float)
        vector = np.array([Fraction(value) for value in np.linalg.svd(scaled)[2][0].tolist()], dtype=object)
        ends = low * vector, high * vector
        image = _least(np.minimum(*ends).sum(axis=1), np.maximum(*ends).sum(axis=1))
        squares = (image**2).sum() / (vector**2).sum()
    return round_down(root_below(squares))


def _least(low: Array, high: Array) -> Array:
    """Return the smallest magnitudes between numbers."""
    return np.where(low > 0, low, np.where(high < 0, -high, 0))
