"""Training on the CPU: compiled loops over blocks of networks and samples.

One narrow vector holds a number of each of the L networks of a block ("lanes"), one wide vector those of 8 samples
(:mod:`creases.lab.vectors`). A block stays in the processor's cache for all its epochs; a weight is read once for 8
samples. A lane whose network is done is given to a network that waits. No operation mixes lanes, so that a network's
numbers depend on no other's.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np

from creases.lab.losses import slopes
from creases.lab.order import bits_of, places, set_keys
from creases.lab.vectors import (
    SAMPLES,
    add_products,
    add_samples,
    apart,
    filled,
    fma,
    load,
    load_wide,
    spread,
    sqrt,
    store,
    store_wide,
    taken,
    vectors,
    where_less,
)


class Lanes(NamedTuple):
    """The memory of a thread; flat arrays of vectors, each beginning at a multiple of 64 bytes."""

    W: Any  #: P narrow vectors: parameters, and so on
    M: Any
    V: Any
    G: Any
    A: Any  #: a wide vector for each unit of all layers but the inputs: activities
    D: Any  #: slopes of the loss by them
    I: Any  #: d wide vectors of inputs; for each block of samples, where they are kept  # noqa: E741
    T: Any  #: K wide vectors of targets, likewise
    K: Any  #: 4 wide vectors, see _shares
    sums: Any  #: narrow vectors: samples right, sum of losses
    rates: Any  #: narrow vectors, see _adam
    totals: Any  #: (L,) float64 sums of losses
    which: Any  #: (L,) int64 the network in each lane
    alive: Any  #: (L,) whether it is still trained
    epoch: Any  #: (L,) int64 its epochs
    step: Any  #: (L,) int64 its steps
    keys: Any  #: (., L) of its order of samples
    chosen: Any  #: (L,) uint32 sample
    counted: Any  #: (1,) int64 samples for which K stands


class Rules(NamedTuple):
    """What does not change in a training."""

    widths: Any  #: (layers + 1,)
    leak: float
    loss: int
    optimizer: int  #: 0 Adam, 1 gradient descent
    numbers: Any  #: beta1, 1 - beta1, beta2, 1 - beta2, eps, momentum
    table: Any  #: (., 2) of 1 / (1 - beta1^t) and 1 / sqrt(1 - beta2^t) for t = 1, 2, ...; the last row for all later
    epochs: int
    size: int  #: of a minibatch; 0: all samples
    need: int  #: freeze with so many right; 0: never
    limit: float  #: freeze below this loss; -inf: never
    kept: bool  #: all samples stay in the lanes' memory


@numba.njit
def _forward(W: Any, w: Any, m: Any, o: Any, source: Any, s: Any, A: Any, a: Any, bent: Any, leak: Any) -> None:
    """One layer: rows a.. of A from rows s.. of ``source``."""
    apart()
    for u in range(o):
        row = spread(load(W, w + o * m + u))
        for k in range(m):
            row = fma(spread(load(W, w + u * m + k)), load_wide(source, s + k), row)
        if bent:
            row = where_less(filled(0.0, row), row, row, filled(leak, row) * row)
        store_wide(A, a + u, row)


@numba.njit
def _gradients(w: Any, m: Any, o: Any, source: Any, s: Any, D: Any, a: Any, G: Any) -> None:
    """Add a layer's gradients to G, from the slopes by its outputs, rows a.. of D."""
    apart()
    for u in range(o):
        slope = load_wide(D, a + u)
        for k in range(m):
            at = w + u * m + k
            store(G, at, add_products(load(G, at), slope, load_wide(source, s + k)))
        store(G, w + o * m + u, add_samples(load(G, w + o * m + u), slope))


@numba.njit
def _backward(W: Any, w: Any, m: Any, o: Any, A: Any, s: Any, D: Any, a: Any, leak: Any) -> None:
    """Slopes by a layer's inputs, rows s.. of D (before the bend that made rows s.. of A), from rows a.. of D."""
    apart()
    for k in range(m):
        row = filled(0.0, load_wide(D, a))
        for u in range(o):
            row = fma(spread(load(W, w + u * m + k)), load_wide(D, a + u), row)
        store_wide(D, s + k, where_less(filled(0.0, row), load_wide(A, s + k), row, filled(leak, row) * row))


@numba.njit
def _shares(K: Any, lanes: Any, m: Any) -> None:
    """Rows of K for blocks of m samples: 0, 1 of a whole block (weight in the mean, count), 2, 3 of the last one."""
    last = (m - 1) % SAMPLES + 1
    for s in range(SAMPLES):
        for lane in range(lanes):
            at = s * lanes + lane
            counts = s < last
            K[at] = 1 / m
            K[SAMPLES * lanes + at] = 1
            K[2 * SAMPLES * lanes + at] = 1 / m if counts else 0
            K[3 * SAMPLES * lanes + at] = 1 if counts else 0


@numba.njit
def _same(I: Any, at: Any, X: Any, first: Any) -> None:  # noqa: E741
    """Rows at.. of I: 8 samples from ``first`` on that all networks share (the last one again where there are less)."""
    for s in range(SAMPLES):
        i = min(first + s, X.shape[1] - 1)
        for k in range(X.shape[2]):
            store(vectors(I), (at + k) * SAMPLES + s, filled(X[0, i, k], load(vectors(I), 0)))


@numba.njit
def _own(I: Any, at: Any, X: Any, s: Any, which: Any, chosen: Any) -> None:  # noqa: E741
    """Sample s of rows at.. of I: in each lane sample ``chosen`` of those of network ``which``."""
    L = len(which)
    for lane in range(L):
        for k in range(X.shape[2]):
            I[((at + k) * SAMPLES + s) * L + lane] = X[which[lane], chosen[lane], k]


@numba.njit
def _adam(W: Any, M: Any, V: Any, G: Any, P: Any, rates: Any, numbers: Any) -> None:
    """One step of Adam; rates: narrow vectors of lr / (1 - beta1^t) and 1 / sqrt(1 - beta2^t)."""
    apart()
    rate, root = load(rates, 0), load(rates, 1)
    b1, a1, b2 = filled(numbers[0], rate), filled(numbers[1], rate), filled(numbers[2], rate)
    a2, eps = filled(numbers[3], rate), filled(numbers[4], rate)
    for p in range(P):
        g = load(G, p)
        m = fma(b1, load(M, p), a1 * g)
        v = fma(b2, load(V, p), a2 * g * g)
        store(M, p, m)
        store(V, p, v)
        store(W, p, load(W, p) - rate * m / fma(sqrt(v), root, eps))


@numba.njit
def _sgd(W: Any, M: Any, G: Any, P: Any, rates: Any, momentum: Any) -> None:
    """One step of gradient descent: M <- momentum M + G, W <- W - lr M."""
    apart()
    rate = load(rates, 0)
    for p in range(P):
        g = load(G, p)
        if momentum > 0:
            g = fma(filled(momentum, rate), load(M, p), g)
            store(M, p, g)
        store(W, p, load(W, p) - rate * g)


@numba.njit
def _take(I: Any, at: Any, X: Any, first: Any, end: Any, lanes: Any, ordered: Any) -> None:  # noqa: E741
    """Rows at.. of I: samples first, ..., end - 1, at most 8, as they stand or in each network's order."""
    n = X.shape[1]
    if X.shape[0] == 1 and not ordered:
        _same(I, at, X, first)
        return
    for s in range(SAMPLES):
        position = min(first + s, end - 1)
        if ordered:
            places(position, n, bits_of(n), lanes.keys, lanes.chosen)
        else:
            lanes.chosen[:] = position
        _own(I, at, X, s, lanes.which, lanes.chosen)


@numba.njit
def _pass(
    rules: Any, lanes: Any, X: Any, y: Any, start: Any, end: Any, ordered: Any, learning: Any, valued: Any
) -> None:
    """Samples start to end - 1 through all networks: counts of right ones, losses, gradients of their mean loss."""
    widths, leak = rules.widths, rules.leak
    W, G, A, D = vectors(lanes.W), vectors(lanes.G), vectors(lanes.A), vectors(lanes.D)
    inputs, targets, shares, sums = vectors(lanes.I), vectors(lanes.T), vectors(lanes.K), vectors(lanes.sums)
    d, C, depth, L = widths[0], widths[-1], len(widths) - 1, len(lanes.which)
    if lanes.counted[0] != end - start:
        lanes.counted[0] = end - start
        _shares(lanes.K, L, end - start)
    lanes.sums[:] = 0
    lanes.totals[:] = 0
    if learning:
        lanes.G[:] = 0
    for first in range(start, end, SAMPLES):
        i = t = 0
        if rules.kept:
            i, t = (first // SAMPLES) * d, (first // SAMPLES) * y.shape[2]
        else:
            _take(lanes.I, 0, X, first, end, lanes, ordered)
            _take(lanes.T, 0, y, first, end, lanes, ordered)
        w, a = 0, 0
        _forward(W, 0, d, widths[1], inputs, i, A, 0, depth > 1, leak)
        for layer in range(1, depth):
            m, o = widths[layer], widths[layer + 1]
            w += widths[layer - 1] * m + m
            _forward(W, w, m, o, A, a, A, a + m, layer < depth - 1, leak)
            a += m
        k = 2 if first + SAMPLES >= end else 0
        slopes(rules.loss, A, a, C, targets, t, D, shares, k, sums, valued)
        if valued:
            for lane in range(L):
                lanes.totals[lane] += lanes.sums[L + lane]
                lanes.sums[L + lane] = 0
        if learning:
            for layer in range(depth - 1, 0, -1):
                m, o = widths[layer], widths[layer + 1]
                _gradients(w, m, o, A, a - m, D, a, G)
                _backward(W, w, m, o, A, a - m, D, a, leak)
                a -= m
                w -= widths[layer - 1] * m + m
            _gradients(0, d, widths[1], inputs, i, D, 0, G)


@numba.njit
def _step(rules: Any, lanes: Any, lr: Any) -> None:
    """One step of all networks along the gradients."""
    L, last = len(lanes.which), len(rules.table) - 1
    for lane in range(L):
        t = min(lanes.step[lane], last)
        lanes.step[lane] += 1
        lanes.rates[lane] = lr[lanes.which[lane]] * rules.table[t, 0]
        lanes.rates[L + lane] = rules.table[t, 1]
    P = len(lanes.W) // L
    W, M, G, rates = vectors(lanes.W), vectors(lanes.M), vectors(lanes.G), vectors(lanes.rates)
    if rules.optimizer == 0:
        _adam(W, M, vectors(lanes.V), G, P, rates, rules.numbers)
    else:
        _sgd(W, M, G, P, rates, rules.numbers[5])


@numba.njit
def _enter(lane: Any, net: Any, lanes: Any, W: Any, M: Any, V: Any, steps: Any) -> None:
    """Give a lane to a network."""
    L = len(lanes.which)
    lanes.which[lane], lanes.alive[lane], lanes.epoch[lane], lanes.step[lane] = net, True, 0, steps[net]
    for p in range(len(W)):
        lanes.W[p * L + lane] = W[p, net]
        lanes.M[p * L + lane] = M[p, net]
        lanes.V[p * L + lane] = V[p, net]


@numba.njit
def _leave(lane: Any, lanes: Any, W: Any, M: Any, V: Any, steps: Any, epochs: Any) -> None:
    """Write down a lane's network, which is done."""
    L, net = len(lanes.which), lanes.which[lane]
    lanes.alive[lane] = False
    epochs[net], steps[net] = lanes.epoch[lane], lanes.step[lane]
    for p in range(len(W)):
        W[p, net] = lanes.W[p * L + lane]
        M[p, net] = lanes.M[p * L + lane]
        V[p, net] = lanes.V[p * L + lane]


@numba.njit
def _keep(lanes: Any, X: Any, y: Any, own: Any) -> None:
    """All samples into the lanes' memory; if ``own`` only those that are not shared."""
    n = X.shape[1]
    for first in range(0, n, SAMPLES):
        if not own or X.shape[0] > 1:
            _take(lanes.I, (first // SAMPLES) * X.shape[2], X, first, n, lanes, False)
        if not own or y.shape[0] > 1:
            _take(lanes.T, (first // SAMPLES) * y.shape[2], y, first, n, lanes, False)


@numba.njit(nogil=True, cache=True, error_model="numpy")
def work(
    queue: Any,
    rules: Any,
    lanes: Any,
    W: Any,
    M: Any,
    V: Any,
    steps: Any,
    X: Any,
    y: Any,
    lr: Any,
    seeds: Any,
    epochs: Any,
) -> None:
    """Train networks that wait in a queue until there are none.

    queue: (2,) the next network, for all threads; not 0: stop at once. Others: see ``Task`` and ``Ends``.
    """
    L, n, B = len(lanes.which), X.shape[1], W.shape[1]
    watched, valued = rules.need > 0 or rules.limit > -np.inf, rules.limit > -np.inf
    size = n if rules.size == 0 else rules.size
    if rules.kept:
        _keep(lanes, X, y, False)
    while queue[1] == 0:
        entered = False
        for lane in range(L):
            if lanes.alive[lane] and lanes.epoch[lane] == rules.epochs:
                _leave(lane, lanes, W, M, V, steps, epochs)
            if not lanes.alive[lane] and queue[0] < B:
                net = taken(queue)
                if net < B:
                    _enter(lane, net, lanes, W, M, V, steps)
                    entered = True
        if not lanes.alive.any():
            return
        if entered and rules.kept:
            _keep(lanes, X, y, True)
        if rules.size == 0 or watched:
            _pass(rules, lanes, X, y, 0, n, False, rules.size == 0, valued)
        if watched:
            for lane in range(L):
                good = rules.need > 0 and lanes.sums[lane] >= rules.need
                if lanes.alive[lane] and (good or lanes.totals[lane] < rules.limit * n):
                    _leave(lane, lanes, W, M, V, steps, epochs)
        if rules.size == 0:
            _step(rules, lanes, lr)
        elif lanes.alive.any():
            for lane in range(L):
                set_keys(seeds[lanes.which[lane]], lanes.epoch[lane], lanes.keys, lane)
            for start in range(0, n, size):
                _pass(rules, lanes, X, y, start, min(start + size, n), True, True, False)
                _step(rules, lanes, lr)
        for lane in range(L):
            lanes.epoch[lane] += 1


@numba.njit(nogil=True, cache=True, error_model="numpy")
def judge(queue: Any, rules: Any, lanes: Any, W: Any, X: Any, y: Any, losses: Any, right: Any) -> None:
    """Losses and numbers of right samples of networks that wait in a queue, a block of lanes at a time."""
    L, n, B = len(lanes.which), X.shape[1], W.shape[1]
    while queue[1] == 0:
        first = taken(queue) * L
        if first >= B:
            return
        for lane in range(L):
            lanes.which[lane] = min(first + lane, B - 1)
            for p in range(len(W)):
                lanes.W[p * L + lane] = W[p, lanes.which[lane]]
        if rules.kept:
            _keep(lanes, X, y, False)
        _pass(rules, lanes, X, y, 0, n, False, False, True)
        for lane in range(min(L, B - first)):
            losses[first + lane] = lanes.totals[lane] / n
            right[first + lane] = np.int64(lanes.sums[lane])
