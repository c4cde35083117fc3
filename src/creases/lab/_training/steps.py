"""One step of all networks of a block along their gradients, as torch.optim takes it."""

from __future__ import annotations

from typing import Any

import numba

from creases.lab._simd._vectors import apart, fill, fma, inverse, load, sqrt, store


@numba.njit
def adam(W: Any, M: Any, V: Any, G: Any, P: Any, rates: Any, numbers: Any) -> None:
    """Adam; rates: vectors of lr / (1 - beta1^t) and 1 / sqrt(1 - beta2^t); numbers: see ``Rules``."""
    apart()
    rate, root = load(rates, 0), load(rates, 1)
    down = fill(0.0, rate) - rate
    b1, a1, b2 = fill(numbers[0], rate), fill(numbers[1], rate), fill(numbers[2], rate)
    a2, eps = fill(numbers[3], rate), fill(numbers[4], rate)
    for p in range(P):
        g = load(G, p)
        m = fma(b1, load(M, p), a1 * g)
        v = fma(b2, load(V, p), a2 * g * g)
        store(M, p, m)
        store(V, p, v)
        store(W, p, fma(down * m, inverse(fma(sqrt(v), root, eps)), load(W, p)))


@numba.njit
def descend(W: Any, M: Any, G: Any, P: Any, rates: Any, momentum: Any) -> None:
    """Gradient descent: M <- momentum M + G, W <- W - lr M; without momentum M stays as it is."""
    apart()
    rate, inertia = load(rates, 0), fill(momentum, load(rates, 0))
    for p in range(P):
        g = load(G, p)
        if momentum > 0:
            g = fma(inertia, load(M, p), g)
            store(M, p, g)
        store(W, p, load(W, p) - rate * g)
