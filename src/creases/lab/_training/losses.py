"""The losses of 8 samples: their values, their slopes by the outputs, and which samples are correct.

Rows are wide vectors (:mod:`creases.lab._simd._vectors`), which are read sample by sample.
"""

from __future__ import annotations

from typing import Any

import numba

from creases.lab._simd._vectors import SAMPLES, apart, exp, fill, fma, inverse, load, log1p, size, store, where_less

#: How the kernel calls the losses.
CODES = {"cross_entropy": 0, "binary_cross_entropy": 1, "squared_error": 2}


@numba.njit
def slopes(kind: Any, Z: Any, z: Any, C: Any, T: Any, K: Any, k: Any, count: Any, sums: Any, valued: Any) -> None:
    """Put the slopes of the loss in the place of the outputs; add up right samples and, if ``valued``, losses.

    Parameters
    ----------
    kind
        0, 1, 2 for cross-entropy, binary cross-entropy, squared error.
    Z, z, C
        Outputs in rows z to z + C of Z.
    T
        Targets: a row of classes or bits, or C rows of numbers.
    K, k
        Rows k, k + 1 of K: what each sample weighs in the mean, and 1 for samples that count (else 0).
    count
        Samples: 8. An argument, so that the compiler does not write the loops over them out.
    sums
        Two narrow vectors: correct samples, sum of losses.
    """
    if kind == 0:
        _cross_entropy(Z, z, C, T, K, k, count, sums, valued)
    elif kind == 1:
        _binary(Z, z, T, K, k, count, sums, valued)
    else:
        _squared_error(Z, z, C, T, K, k, count, sums, valued)


@numba.njit(forceinline=True)
def _add(sums: Any, at: Any, more: Any) -> None:
    store(sums, at, load(sums, at) + more)


@numba.njit
def _binary(Z: Any, z: Any, T: Any, K: Any, k: Any, count: Any, sums: Any, valued: Any) -> None:
    """log(1 + exp(-|f|)) + max(f, 0) - f y for the output f and y in {0, 1}; right if f > 0 is y = 1."""
    apart()
    for s in range(count):
        f, y = load(Z, z * SAMPLES + s), load(T, s)
        share, counts = load(K, k * SAMPLES + s), load(K, (k + 1) * SAMPLES + s)
        one, zero = fill(1.0, f), fill(0.0, f)
        e = exp(zero - size(f))
        r = inverse(one + e)
        store(Z, z * SAMPLES + s, (where_less(zero, f, r, e * r) - y) * share)
        right = where_less(zero, f, y, one - y)
        _add(sums, 0, where_less(size(f), fill(float("inf"), f), right * counts, zero))
        if valued:
            loss = log1p(e) + (where_less(zero, f, f, zero) - f * y)
            _add(sums, 1, where_less(zero, counts, loss, zero))


@numba.njit
def _cross_entropy(Z: Any, z: Any, C: Any, T: Any, K: Any, k: Any, count: Any, sums: Any, valued: Any) -> None:
    """log(sum of exp(f_j)) - f_y for the outputs f and the class y; right if y is the first largest output."""
    apart()
    for s in range(count):
        first = z * SAMPLES + s
        y, share, counts = load(T, s), load(K, k * SAMPLES + s), load(K, (k + 1) * SAMPLES + s)
        one, zero, half = fill(1.0, y), fill(0.0, y), fill(0.5, y)
        top, best, true_output, sizes = load(Z, first), zero, zero, zero
        for j in range(C):
            f, number = load(Z, first + j * SAMPLES), fill(j, y)
            best = where_less(top, f, number, best)
            top = where_less(top, f, f, top)
            true_output = where_less(size(y - number), half, f, true_output)
            sizes = sizes + size(f)
        rest = zero  # of the sum of exp(f_j - top), but for the largest, which is 1
        for j in range(C):
            e = exp(load(Z, first + j * SAMPLES) - top)
            store(Z, first + j * SAMPLES, e)
            rest = rest + where_less(size(best - fill(j, y)), half, zero, e)
        r = share * inverse(one + rest)
        for j in range(C):
            expected = where_less(size(y - fill(j, y)), half, share, zero)
            store(Z, first + j * SAMPLES, fma(load(Z, first + j * SAMPLES), r, zero - expected))
        right = where_less(size(best - y), half, counts, zero)
        _add(sums, 0, where_less(sizes, fill(float("inf"), y), right, zero))
        if valued:
            _add(sums, 1, where_less(zero, counts, (top - true_output) + log1p(rest), zero))


@numba.njit
def _squared_error(Z: Any, z: Any, C: Any, T: Any, K: Any, k: Any, count: Any, sums: Any, valued: Any) -> None:
    """Compute the mean over the outputs f of (f - y)^2."""
    apart()
    part = fill(1.0 / C, load(K, k * SAMPLES))
    for j in range(C):
        for s in range(count):
            row = (z + j) * SAMPLES + s
            share, counts = load(K, k * SAMPLES + s), load(K, (k + 1) * SAMPLES + s)
            gap = load(Z, row) - load(T, j * SAMPLES + s)
            store(Z, row, gap * (share * (part + part)))
            if valued:
                _add(sums, 1, gap * gap * part * counts)
