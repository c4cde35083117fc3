"""One layer of a block of networks, for 8 samples: forwards, backwards, and its gradients.

Rows are wide vectors (:mod:`creases.lab._simd`); parameters, from ``w`` on, are narrow ones: the weights of the first
unit, of the second, ..., then the biases.
"""

from __future__ import annotations

from typing import Any

import numba

from creases.lab._simd._vectors import (
    add_products,
    add_samples,
    apart,
    fill,
    fma,
    load,
    load_wide,
    spread,
    store,
    store_wide,
    where_less,
)


@numba.njit(forceinline=True)
def _bend(row: Any, bent: Any, leak: Any) -> Any:
    return where_less(fill(0.0, row), row, row, fill(leak, row) * row) if bent else row


@numba.njit
def forward(W: Any, w: Any, m: Any, o: Any, source: Any, s: Any, A: Any, a: Any, bent: Any, leak: Any) -> None:
    """Rows a.. of A, for o units, from rows s.. of ``source``, of m units.

    Units are taken by twos, here and below: each row that is read serves both.
    """
    apart()
    for u in range(0, o - 1, 2):
        first, second = spread(load(W, w + o * m + u)), spread(load(W, w + o * m + u + 1))
        for k in range(m):
            row = load_wide(source, s + k)
            first = fma(spread(load(W, w + u * m + k)), row, first)
            second = fma(spread(load(W, w + u * m + m + k)), row, second)
        store_wide(A, a + u, _bend(first, bent, leak))
        store_wide(A, a + u + 1, _bend(second, bent, leak))
    if o % 2:
        first = spread(load(W, w + o * m + o - 1))
        for k in range(m):
            first = fma(spread(load(W, w + (o - 1) * m + k)), load_wide(source, s + k), first)
        store_wide(A, a + o - 1, _bend(first, bent, leak))


@numba.njit
def gradients(w: Any, m: Any, o: Any, source: Any, s: Any, A: Any, a: Any, G: Any) -> None:
    """Add a layer's gradients to G, from the slopes by its outputs, rows a.. of A."""
    apart()
    for u in range(0, o - 1, 2):
        first, second, at = load_wide(A, a + u), load_wide(A, a + u + 1), w + u * m
        for k in range(m):
            row = load_wide(source, s + k)
            store(G, at + k, add_products(load(G, at + k), first, row))
            store(G, at + m + k, add_products(load(G, at + m + k), second, row))
        store(G, w + o * m + u, add_samples(load(G, w + o * m + u), first))
        store(G, w + o * m + u + 1, add_samples(load(G, w + o * m + u + 1), second))
    if o % 2:
        first, at = load_wide(A, a + o - 1), w + (o - 1) * m
        for k in range(m):
            store(G, at + k, add_products(load(G, at + k), first, load_wide(source, s + k)))
        store(G, w + o * m + o - 1, add_samples(load(G, w + o * m + o - 1), first))


@numba.njit
def backward(W: Any, w: Any, m: Any, o: Any, A: Any, s: Any, a: Any, leak: Any) -> None:
    """Slopes by a layer's inputs before their bend, in the place of the inputs, rows s.. of A; from rows a.. of A."""
    apart()
    nothing = fill(0.0, load_wide(A, a))
    for k in range(0, m - 1, 2):
        first, second = nothing, nothing
        for u in range(o):
            row = load_wide(A, a + u)
            first = fma(spread(load(W, w + u * m + k)), row, first)
            second = fma(spread(load(W, w + u * m + k + 1)), row, second)
        store_wide(A, s + k, _gate(first, load_wide(A, s + k), leak))
        store_wide(A, s + k + 1, _gate(second, load_wide(A, s + k + 1), leak))
    if m % 2:
        first = nothing
        for u in range(o):
            first = fma(spread(load(W, w + u * m + m - 1)), load_wide(A, a + u), first)
        store_wide(A, s + m - 1, _gate(first, load_wide(A, s + m - 1), leak))


@numba.njit(forceinline=True)
def _gate(row: Any, activity: Any, leak: Any) -> Any:
    return where_less(fill(0.0, row), activity, row, fill(leak, row) * row)
