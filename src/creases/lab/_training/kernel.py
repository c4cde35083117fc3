"""Training on the CPU: compiled loops over blocks of networks and samples.

One narrow vector holds a number of each of the L networks of a block ("lanes"), one wide vector those of 8 samples
(:mod:`creases.lab._simd`). A block stays in the processor's cache for all its epochs; a weight is read once for 8
samples. A lane whose network is finished is given to a waiting one. No operation mixes lanes, so that a network's
numbers do not depend on the others.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np

from creases._compiled import jit
from creases.lab._simd import (
    SAMPLES,
    add_products,
    add_samples,
    apart,
    exp,
    fetch_and_increment,
    fill,
    fma,
    inverse,
    load,
    load_wide,
    log1p,
    size,
    spread,
    sqrt,
    store,
    store_wide,
    vectors,
    where_less,
)

# The order in which a network sees its samples: a permutation for each seed and epoch, place by place.

#: Rounds of the bijection.
ROUNDS = 4

_MASK = np.uint64(2**32 - 1)


@numba.njit
def _mix(z: Any) -> Any:
    """Apply the finaliser of splitmix64, which turns any 64 bits into random-looking ones."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@numba.njit
def bits_of(n: Any) -> Any:
    """Return the number of bits, at least 1, that n different numbers need."""
    bits = 1
    while (1 << bits) < n:
        bits += 1
    return bits


@numba.njit
def set_keys(seed: Any, epoch: Any, keys: Any, lane: Any) -> None:
    """Write the numbers of the rounds, m and c alternating, into a column of ``keys`` (2 ROUNDS, lanes), uint32."""
    state = _mix(np.uint64(seed) + np.uint64(0x9E3779B97F4A7C15)) ^ _mix(np.uint64(epoch))
    for k in range(ROUNDS):
        state = state + np.uint64(0x9E3779B97F4A7C15)
        word = _mix(state)
        keys[2 * k, lane] = np.uint32(word & _MASK) | np.uint32(1)
        keys[2 * k + 1, lane] = np.uint32(word >> np.uint64(32))


@numba.njit
def places(position: Any, n: Any, bits: Any, keys: Any, samples: Any) -> None:
    """Write the sample at a position of each lane's order into ``samples`` (lanes,), uint32."""
    mask, half = np.uint32((1 << bits) - 1), np.uint32((bits + 1) // 2)
    for lane in range(len(samples)):
        samples[lane] = _round(np.uint32(position), lane, keys, mask, half)
    outside = n < (1 << bits)
    while outside:
        count = 0
        for lane in range(len(samples)):  # without branches: one instruction for many lanes
            x = samples[lane]
            further = _round(x, lane, keys, mask, half)
            samples[lane] = further if x >= n else x
            count += samples[lane] >= n
        outside = count > 0


@numba.njit(forceinline=True)
def _round(x: Any, lane: Any, keys: Any, mask: Any, half: Any) -> Any:
    for k in range(ROUNDS):
        x = np.uint32(x * keys[2 * k, lane] + keys[2 * k + 1, lane]) & mask
        x ^= x >> half
    return x


def order(seed: int, epoch: int, n: int) -> Any:
    """Return the order (n,) of n samples in an epoch, counted from 0."""
    keys, sample = np.empty((2 * ROUNDS, 1), np.uint32), np.empty(1, np.uint32)
    set_keys(seed, epoch, keys, 0)
    result = np.empty(n, np.int64)
    for position in range(n):
        places(position, n, bits_of(n), keys, sample)
        result[position] = sample[0]
    return result


# One layer of a block of networks, for 8 samples: forwards, backwards, and its gradients.


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


# The losses of 8 samples: their values, their slopes by the outputs, and which samples are correct.

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


class Layout(NamedTuple):
    """Where in a thread's memory things begin, in narrow vectors."""

    W: int  #: P parameters; as many first and second moments, and gradients
    M: int
    V: int
    G: int
    A: int  #: activities: a wide vector for each unit of all layers but the inputs; then slopes of the loss by them
    inputs: int  #: d wide vectors; for each 8 samples, where they are kept
    targets: int  #: K wide vectors, likewise
    shares: int  #: 4 wide vectors, see _shares
    sums: int  #: 2 vectors: samples right, sum of losses
    rates: int  #: 2 vectors, see adam
    end: int


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
    resident: bool  #: all samples stay in the thread's memory
    at: Layout


class Lanes(NamedTuple):
    """What a thread works with."""

    memory: Any  #: see Layout
    state: Any  #: (6, L) int64, see WHICH, ...
    order: Any  #: (., L) uint32 keys of each network's order of samples
    samples: Any  #: (8, L) uint32 samples of each network
    origin: Any  #: (L,) int64 where a sample of each network begins
    totals: Any  #: (L,) float64 sums of losses


#: Rows of a thread's state: the network in each lane, whether it is in work, and done, its epochs, its steps; the
#: samples for which the shares stand.
WHICH, ALIVE, DONE, EPOCH, STEP, COUNTED = 0, 1, 2, 3, 4, 5


@numba.njit
def _shares(K: Any, m: Any) -> None:
    """Of m samples in eights: rows 0, 1 each one's weight in the mean, and its count; 2, 3 those of the last eight."""
    last = (m - 1) % SAMPLES + 1
    for s in range(SAMPLES):
        share, counts = fill(1 / m, load(K, 0)), fill(1.0, load(K, 0))
        store(K, s, share)
        store(K, SAMPLES + s, counts)
        store(K, 2 * SAMPLES + s, share if s < last else share - share)
        store(K, 3 * SAMPLES + s, counts if s < last else counts - counts)


@numba.njit
def _choose(lanes: Any, first: Any, end: Any, n: Any) -> None:
    """Copy samples first, ..., end - 1 of each network's order, at most 8, into ``chosen``."""
    apart()
    bits = bits_of(n)
    for s in range(SAMPLES):
        places(min(first + s, end - 1), n, bits, lanes.order, lanes.samples[s])


@numba.njit
def _take(lanes: Any, at: Any, X: Any, first: Any, end: Any, ordered: Any) -> None:
    """Copy samples first, ..., end - 1 into memory, by eights: as they stand, or (at most 8) those chosen.

    Where there are less than 8, the last one is there again.
    """
    apart()
    n, d, L = X.shape[1], X.shape[2], len(lanes.totals)
    flat, start = X.reshape(X.size), lanes.origin
    for position in range(first, first + -(-(end - first) // SAMPLES) * SAMPLES):
        i = min(position, end - 1)
        block, s = divmod(position - first, SAMPLES)
        row = at + block * d * SAMPLES + s
        if len(X) == 1 and not ordered:
            rows = vectors(lanes.memory, row)
            for k in range(d):
                store(rows, k * SAMPLES, fill(X[0, i, k], load(rows, 0)))
            continue
        for lane in range(L):
            net = lanes.state[WHICH, lane] if len(X) > 1 else 0
            start[lane] = (net * n + (np.int64(lanes.samples[s, lane]) if ordered else i)) * d
        for k in range(d):
            for lane in range(L):
                lanes.memory[(row + k * SAMPLES) * L + lane] = flat[start[lane] + k]


@numba.njit
def _pass(
    rules: Any, lanes: Any, X: Any, y: Any, start: Any, end: Any, ordered: Any, learning: Any, valued: Any
) -> None:
    """Run samples start to end - 1 through all networks: counts, losses, gradients of their mean loss."""
    apart()
    widths, leak, at, memory = rules.widths, rules.leak, rules.at, lanes.memory
    d, C, depth, L = widths[0], widths[-1], len(widths) - 1, len(lanes.totals)
    W, G, A = vectors(memory, at.W), vectors(memory, at.G), vectors(memory, at.A)
    shares, sums = vectors(memory, at.shares), vectors(memory, at.sums)
    zero = fill(0.0, load(W, 0))
    if lanes.state[COUNTED, 0] != end - start:
        lanes.state[COUNTED, 0] = end - start
        _shares(shares, end - start)
    store(sums, 0, zero)
    store(sums, 1, zero)
    for lane in range(L):
        lanes.totals[lane] = 0
    for p in range(at.A - at.G if learning else 0):
        store(G, p, zero)
    for first in range(start, end, SAMPLES):
        i, t = at.inputs, at.targets
        if rules.resident:
            i, t = i + first * d, t + first * y.shape[2]
        else:
            last = min(first + SAMPLES, end)
            if ordered:
                _choose(lanes, first, last, X.shape[1])
            _take(lanes, i, X, first, last, ordered)
            _take(lanes, t, y, first, last, ordered)
        inputs = vectors(memory, i)
        w = a = 0
        forward(W, w, d, widths[1], inputs, a, A, a, depth > 1, leak)
        for layer in range(1, depth):
            m, o = widths[layer], widths[layer + 1]
            w += widths[layer - 1] * m + m
            forward(W, w, m, o, A, a, A, a + m, layer < depth - 1, leak)
            a += m
        k = 2 if first + SAMPLES >= end else 0
        slopes(rules.loss, A, a, C, vectors(memory, t), shares, k, SAMPLES, sums, valued)
        if valued:
            for lane in range(L):
                lanes.totals[lane] += memory[(at.sums + 1) * L + lane]
            store(sums, 1, zero)
        if learning:
            for layer in range(depth - 1, 0, -1):
                m, o = widths[layer], widths[layer + 1]
                gradients(w, m, o, A, a - m, A, a, G)
                backward(W, w, m, o, A, a - m, a, leak)
                a -= m
                w -= widths[layer - 1] * m + m
            gradients(w, d, widths[1], inputs, a, A, a, G)


@numba.njit
def _step(rules: Any, lanes: Any, lr: Any) -> None:
    """One step of all networks along the gradients."""
    apart()
    L, last, memory, at = len(lanes.totals), len(rules.table) - 1, lanes.memory, rules.at
    for lane in range(L):
        t = min(lanes.state[STEP, lane], last)
        lanes.state[STEP, lane] += 1
        memory[at.rates * L + lane] = lr[lanes.state[WHICH, lane]] * rules.table[t, 0]
        memory[(at.rates + 1) * L + lane] = rules.table[t, 1]
    W, M, G, rates = vectors(memory, at.W), vectors(memory, at.M), vectors(memory, at.G), vectors(memory, at.rates)
    if rules.optimizer == 0:
        adam(W, M, vectors(memory, at.V), G, at.M, rates, rules.numbers)
    else:
        descend(W, M, G, at.M, rates, rules.numbers[5])


@numba.njit
def _enter(lane: Any, net: Any, lanes: Any, W: Any, M: Any, V: Any, steps: Any) -> None:
    """Give a lane to a network."""
    apart()
    P, L, state = len(W), len(lanes.totals), lanes.state
    state[WHICH, lane], state[ALIVE, lane], state[EPOCH, lane], state[STEP, lane] = net, 1, 0, steps[net]
    for p in range(P):
        lanes.memory[p * L + lane] = W[p, net]
        lanes.memory[(P + p) * L + lane] = M[p, net]
        lanes.memory[(2 * P + p) * L + lane] = V[p, net]


@numba.njit
def _leave(
    lane: Any, lanes: Any, at: Any, W: Any, M: Any, V: Any, steps: Any, epochs: Any, losses: Any, right: Any
) -> None:
    """Write down a lane's network, which is done."""
    apart()
    P, L, state = len(W), len(lanes.totals), lanes.state
    net = state[WHICH, lane]
    state[ALIVE, lane] = 0
    epochs[net], steps[net] = state[EPOCH, lane], state[STEP, lane]
    losses[net], right[net] = lanes.totals[lane], lanes.memory[at.sums * L + lane]
    for p in range(P):
        W[p, net] = lanes.memory[p * L + lane]
        M[p, net] = lanes.memory[(P + p) * L + lane]
        V[p, net] = lanes.memory[(2 * P + p) * L + lane]


@jit
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
    losses: Any,
    right: Any,
) -> None:
    """Train networks that wait in a queue until there are none.

    queue: (2,) the next network, for all threads; not 0: stop at once. W, M, V: (P, B) parameters and Adam's moments.
    steps, lr, seeds, epochs, losses, right: (B,); the losses are sums over samples.
    """
    L, n, B, state, at = len(lanes.totals), X.shape[1], W.shape[1], lanes.state, rules.at
    full, valued = rules.size == 0, rules.limit > -np.inf
    start, no, yes = n - n, n < 0, n >= 0  # for a constant numba would compile what is given it once more
    fresh = yes
    while queue[1] == 0:
        alive = done = 0
        entered = fresh
        for lane in range(L):
            if not state[ALIVE, lane] and queue[0] < B:
                net = fetch_and_increment(queue)
                if net < B:
                    _enter(lane, net, lanes, W, M, V, steps)
                    entered = True
            state[DONE, lane] = state[ALIVE, lane] and state[EPOCH, lane] == rules.epochs
            alive += state[ALIVE, lane]
            done += state[DONE, lane]
        if alive == 0:
            return
        if rules.resident and entered:
            if fresh or len(X) > 1:
                _take(lanes, at.inputs, X, start, n, no)
            if fresh or len(y) > 1:
                _take(lanes, at.targets, y, start, n, no)
            fresh = False
        going = done == 0
        if going and (full or valued or rules.need > 0):
            _pass(rules, lanes, X, y, start, n, no, full, valued)
            for lane in range(L):
                good = rules.need > 0 and lanes.memory[at.sums * L + lane] >= rules.need
                good |= valued and lanes.totals[lane] < rules.limit * n
                state[DONE, lane] = good and state[ALIVE, lane]
                done += state[DONE, lane]
        if done > 0:
            if not (going and valued):
                _pass(rules, lanes, X, y, start, n, no, no, yes)
            for lane in range(L):
                if state[DONE, lane]:
                    _leave(lane, lanes, at, W, M, V, steps, epochs, losses, right)
        if going and full:
            _step(rules, lanes, lr)
        elif going and done < alive:
            for lane in range(L):
                set_keys(seeds[state[WHICH, lane]], state[EPOCH, lane], lanes.order, lane)
            for first in range(start, n, rules.size):
                _pass(rules, lanes, X, y, first, min(first + rules.size, n), yes, yes, no)
                _step(rules, lanes, lr)
        for lane in range(L):
            state[EPOCH, lane] += going


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
