"""The losses of a block of samples: their values, their slopes by the outputs, and which samples are right.

All work on wide vectors (:mod:`creases.lab.vectors`); rows of an array are wide vectors.
"""

from __future__ import annotations

from typing import Any

import numba

from creases.lab.vectors import (
    add_samples,
    apart,
    exp,
    filled,
    fma,
    load,
    load_wide,
    log1p,
    size,
    store,
    store_wide,
    where_less,
)

#: How the kernel calls the losses.
CODES = {"ce": 0, "bce": 1, "mse": 2}


@numba.njit
def slopes(kind: Any, Z: Any, z: Any, C: Any, T: Any, t: Any, D: Any, K: Any, k: Any, sums: Any, valued: Any) -> None:
    """Write slopes of the loss into D, and add up right samples and, if ``valued``, losses.

    Parameters
    ----------
    kind
        0, 1, 2 for cross-entropy, binary cross-entropy, squared error.
    Z, z, C
        Outputs in rows z to z + C of Z; slopes go into the same rows of D.
    T, t
        Targets in rows from t of T: one of classes or bits, or C of numbers.
    K, k
        Rows k, k + 1 of K: what each sample weighs in the mean, and 1 for samples that count (else 0).
    sums
        Two narrow vectors: samples right, sum of losses.
    """
    if kind == 0:
        _cross_entropy(Z, z, C, T, t, D, K, k, sums, valued)
    elif kind == 1:
        _binary(Z, z, T, t, D, K, k, sums, valued)
    else:
        _squared(Z, z, C, T, t, D, K, k, sums, valued)


@numba.njit(forceinline=True)
def _add(sums: Any, at: Any, wide: Any) -> None:
    store(sums, at, add_samples(load(sums, at), wide))


@numba.njit
def _binary(Z: Any, z: Any, T: Any, t: Any, D: Any, K: Any, k: Any, sums: Any, valued: Any) -> None:
    """log(1 + exp(-|f|)) + max(f, 0) - f y for the output f and y in {0, 1}; right if f > 0 is y = 1."""
    apart()
    f, y, share, counts = load_wide(Z, z), load_wide(T, t), load_wide(K, k), load_wide(K, k + 1)
    one, zero = filled(1.0, f), filled(0.0, f)
    e = exp(zero - size(f))
    r = one / (one + e)
    store_wide(D, z, (where_less(zero, f, r, e * r) - y) * share)
    right = where_less(zero, f, y, one - y)
    _add(sums, 0, where_less(size(f), filled(float("inf"), f), right * counts, zero))
    if valued:
        loss = log1p(e) + (where_less(zero, f, f, zero) - f * y)
        _add(sums, 1, where_less(zero, counts, loss, zero))


@numba.njit
def _cross_entropy(Z: Any, z: Any, C: Any, T: Any, t: Any, D: Any, K: Any, k: Any, sums: Any, valued: Any) -> None:
    """log(sum of exp(f_j)) - f_y for the outputs f and the class y; right if y is the first largest output."""
    apart()
    y, share, counts = load_wide(T, t), load_wide(K, k), load_wide(K, k + 1)
    one, zero, half = filled(1.0, y), filled(0.0, y), filled(0.5, y)
    top, best, own, sizes = load_wide(Z, z), zero, zero, zero
    for j in range(C):
        f, number = load_wide(Z, z + j), filled(float(j), y)
        best = where_less(top, f, number, best)
        top = where_less(top, f, f, top)
        own = where_less(size(y - number), half, f, own)
        sizes = sizes + size(f)
    rest = zero  # of the sum of exp(f_j - top), but for the largest, which is 1
    for j in range(C):
        e = exp(load_wide(Z, z + j) - top)
        store_wide(D, z + j, e)
        rest = rest + where_less(size(best - filled(float(j), y)), half, zero, e)
    r = share / (one + rest)
    for j in range(C):
        expected = where_less(size(y - filled(float(j), y)), half, share, zero)
        store_wide(D, z + j, fma(load_wide(D, z + j), r, zero - expected))
    right = where_less(size(best - y), half, counts, zero)
    _add(sums, 0, where_less(sizes, filled(float("inf"), y), right, zero))
    if valued:
        _add(sums, 1, where_less(zero, counts, (top - own) + log1p(rest), zero))


@numba.njit
def _squared(Z: Any, z: Any, C: Any, T: Any, t: Any, D: Any, K: Any, k: Any, sums: Any, valued: Any) -> None:
    """The mean over the outputs f of (f - y)^2."""
    apart()
    share, counts = load_wide(K, k), load_wide(K, k + 1)
    zero, part = filled(0.0, share), filled(1.0 / C, share)
    pull = share * (part + part)
    for j in range(C):
        gap = load_wide(Z, z + j) - load_wide(T, t + j)
        store_wide(D, z + j, gap * pull)
        if valued:
            _add(sums, 1, where_less(zero, counts, gap * gap * part, zero))
