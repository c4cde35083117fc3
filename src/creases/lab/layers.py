"""One layer of a block of networks, for 8 samples: forwards, backwards, and its gradients.

Rows are wide vectors (:mod:`creases.lab.vectors`); parameters, from ``w`` on, are narrow ones: the weights of the first
unit, of the second, ..., then the biases.
"""

from __future__ import annotations

from typing import Any

import numba

from creases.lab.vectors import (
    add_products,
    add_samples,
    apart,
    filled,
    fma,
    load,
    load_wide,
    spread,
    store,
    store_wide,
    where_less,
)


@numba.njit
def forward(W: Any, w: Any, m: Any, o: Any, source: Any, s: Any, A: Any, a: Any, bent: Any, leak: Any) -> None:
    """Rows a.. of A, for o units, from rows s.. of ``source``, of m units."""
    apart()
    for u in range(o):
        row = spread(load(W, w + o * m + u))
        for k in range(m):
            row = fma(spread(load(W, w + u * m + k)), load_wide(source, s + k), row)
        if bent:
            row = where_less(filled(0.0, row), row, row, filled(leak, row) * row)
        store_wide(A, a + u, row)


@numba.njit
def gradients(w: Any, m: Any, o: Any, source: Any, s: Any, D: Any, a: Any, G: Any) -> None:
    """Add a layer's gradients to G, from the slopes by its outputs, rows a.. of D."""
    apart()
    for u in range(o):
        slope = load_wide(D, a + u)
        for k in range(m):
            at = w + u * m + k
            store(G, at, add_products(load(G, at), slope, load_wide(source, s + k)))
        store(G, w + o * m + u, add_samples(load(G, w + o * m + u), slope))


@numba.njit
def backward(W: Any, w: Any, m: Any, o: Any, A: Any, s: Any, D: Any, a: Any, leak: Any) -> None:
    """Slopes by a layer's inputs, rows s.. of D (before the bend that made rows s.. of A), from rows a.. of D."""
    apart()
    for k in range(m):
        row = filled(0.0, load_wide(D, a))
        for u in range(o):
            row = fma(spread(load(W, w + u * m + k)), load_wide(D, a + u), row)
        store_wide(D, s + k, where_less(filled(0.0, row), load_wide(A, s + k), row, filled(leak, row) * row))
