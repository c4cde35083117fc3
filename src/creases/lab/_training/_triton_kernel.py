"""Train many networks of one shape on a GPU: whole epochs in one launch, one compilation for all shapes.

The widths are numbers of the run: loops over layers and units read weights and activities from memory, which mostly
stays in the GPU's caches. A program of one warp trains L networks. It works on tiles (U units, S samples, L networks),
of which each thread holds a whole network (L = 32), or some of its units or samples. In all arrays of a program the
networks are innermost: a row of L for each parameter, S rows for each unit. No sum runs over networks, and nothing is
added to memory by two threads, so that a network's numbers depend on nothing but its own.

Barriers part what one step of a program writes from what the next reads, as these may be different threads.
"""

# mypy: ignore-errors

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def _lanes(L: tl.constexpr):
    """Return the networks (1, 1, L), without alignment: wide loads would give a thread four of them."""
    return tl.multiple_of(tl.arange(0, L)[None, None, :], [1, 1, 1])


@triton.jit
def _tile(S: tl.constexpr, L: tl.constexpr):
    """Places of one unit's activities (1, S, L)."""
    return tl.arange(0, S)[None, :, None] * L + _lanes(L)


@triton.jit
def _log1p(e):
    """log(1 + e) for e >= 0: up to 1 as 2 artanh(e / (2 + e)), by its series, as the GPU's log is rough near 1."""
    TERMS: tl.constexpr = 9 if e.dtype == tl.float32 else 18
    s = e / (2 + e)
    total = tl.zeros_like(e)
    for k in tl.static_range(TERMS - 1, -1, -1):
        total = total * s * s + 2.0 / (2 * k + 1)
    return tl.where(e <= 1, total * s, tl.log(1 + e))


@triton.jit
def _mix(z):
    """Apply the finaliser of splitmix64, as in :mod:`creases.lab._training.order`."""
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB
    return z ^ (z >> 31)


@triton.jit
def _key(state, k: tl.constexpr):
    """Return the two numbers of a round of an order."""
    word = _mix(state + (k * 0x9E3779B97F4A7C15) % (1 << 64))
    return word.to(tl.uint32) | 1, (word >> 32).to(tl.uint32)


@triton.jit
def _shuffle(x, key, mask, half):
    m, c = key
    x = (x * m + c) & mask
    return x ^ (x >> half)


@triton.jit
def _sample_order(place, seed, epoch, n):
    """Return the samples at places (1, S, 1) of each network's order (1, S, L), as in ``order.py``."""
    state = _mix(seed.to(tl.uint64) + 0x9E3779B97F4A7C15) ^ _mix(epoch.to(tl.uint64))
    key1, key2, key3, key4 = _key(state, 1), _key(state, 2), _key(state, 3), _key(state, 4)
    bits = 1
    while (1 << bits) < n:
        bits += 1
    mask = ((1 << bits) - 1).to(tl.uint32)
    half = ((bits + 1) // 2).to(tl.uint32)
    x = place.to(tl.uint32) + tl.zeros_like(seed).to(tl.uint32)
    outside = place + tl.zeros_like(seed).to(tl.int32) >= 0
    busy = True
    while busy:
        moved = _shuffle(_shuffle(x, key1, mask, half), key2, mask, half)
        moved = _shuffle(_shuffle(moved, key3, mask, half), key4, mask, half)
        x = tl.where(outside, moved, x)
        outside = x >= n.to(tl.uint32)
        busy = tl.max(outside.to(tl.int32)) > 0
    return x.to(tl.int32)


@triton.jit
def _samples(start, stop, n, seed, epoch, S: tl.constexpr, ORDERED: tl.constexpr):
    """Numbers of a tile's samples (1, S, 1 or L), and which of them are before ``stop``; the others repeat the last."""
    place = start + tl.arange(0, S)[None, :, None]
    sample = tl.minimum(place, stop - 1)
    if ORDERED:
        sample = _sample_order(sample, seed, epoch, n)
    return sample, place < stop


@triton.jit
def _forward(widths, depth, leak, W, A, S: tl.constexpr, L: tl.constexpr, U: tl.constexpr):
    """Activities of all layers, from the inputs in the first rows of A; U units at a time."""
    tile = _tile(S, L)
    for layer in range(depth):
        m = tl.load(widths + layer)
        o = tl.load(widths + layer + 1)
        for first in range(0, o, U):
            u = tl.minimum(first + tl.arange(0, U)[:, None, None], o - 1)  # those past the last repeat it
            z = tl.load(W + (m * o + u) * L + _lanes(L)) + tl.zeros((U, S, L), W.dtype.element_ty)
            weight = W + u * m * L + _lanes(L)
            a = A
            for _ in range(m):
                z += tl.load(weight) * tl.load(a + tile)
                weight += L
                a += S * L
            if layer < depth - 1:
                z = tl.where(z > 0, z, leak * z)
            tl.store(A + (m + u) * S * L + tile, z)
        tl.debug_barrier()
        W += (m + 1) * o * L
        A += m * S * L


@triton.jit
def _slopes(Z, y, sample, valid, C, share, S: tl.constexpr, L: tl.constexpr, LOSS: tl.constexpr):
    """Losses and right answers (1, S, L) of outputs Z, and the slopes of ``share`` times the loss in their place."""
    tile = _tile(S, L)
    if LOSS == "binary_cross_entropy":
        z = tl.load(Z + tile)
        target = tl.load(y + sample * L + _lanes(L))
        e = tl.exp(-tl.abs(z))
        slope = (tl.where(z > 0, 1.0, e) / (1 + e) - target) * share
        loss = tl.maximum(z, 0.0) - z * target + _log1p(e)
        right = ((z > 0) == (target > 0.5)) & (tl.abs(z) < float("inf"))
        tl.store(Z + tile, tl.where(valid, slope, 0.0))
    elif LOSS == "cross_entropy":
        klass = tl.load(y + sample * L + _lanes(L))
        true_output = tl.load(Z + tile)
        top = true_output
        for j in range(1, C):
            z = tl.load(Z + j * (S * L) + tile)
            top = tl.maximum(top, z)
            true_output = tl.where(klass == j, z, true_output)
        others = tl.zeros((1, S, L), Z.dtype.element_ty)
        right = true_output == true_output
        for j in range(C):
            z = tl.load(Z + j * (S * L) + tile)
            others += tl.where(klass == j, 0.0, tl.exp(z - top))
            right = right & ((true_output > z) | ((true_output == z) & (j >= klass))) & (tl.abs(z) < float("inf"))
        total = others + tl.exp(true_output - top)
        loss = tl.where(true_output == top, _log1p(others), top - true_output + tl.log(total))
        share = share / total
        for j in range(C):
            e = tl.exp(tl.load(Z + j * (S * L) + tile) - top)
            slope = tl.where(klass == j, -others, e) * share
            tl.store(Z + j * (S * L) + tile, tl.where(valid, slope, 0.0))
    else:
        loss = tl.zeros((1, S, L), Z.dtype.element_ty)
        right = valid
        for j in range(C):
            target = tl.load(y + (sample * C + j) * L + _lanes(L))
            off = tl.load(Z + j * (S * L) + tile) - target
            loss += off * off / C
            tl.store(Z + j * (S * L) + tile, tl.where(valid, 2 * off / C * share, 0.0))
    tl.debug_barrier()
    return tl.where(valid, loss, 0.0), tl.where(valid & right, 1.0, 0.0).to(Z.dtype.element_ty)


@triton.jit
def _backward(widths, depth, leak, W, A, G, parameters, units, more, S: tl.constexpr, L: tl.constexpr, U: tl.constexpr):
    """Gradients of a tile's samples into G, or added to it where ``more``, from slopes in the last rows of A.

    The slopes of a layer replace its activities, U units at a time: nothing after them needs those.
    """
    tile = _tile(S, L)
    o = tl.load(widths + depth)
    W += parameters * L
    G += parameters * L
    A += (units - o) * S * L
    for back in range(depth):
        layer = depth - 1 - back
        o = tl.load(widths + layer + 1)
        m = tl.load(widths + layer)
        W -= (m + 1) * o * L
        G -= (m + 1) * o * L
        for u in range(o):
            g = tl.sum(tl.load(A + u * S * L + tile), axis=1, keep_dims=True)
            place = G + (m * o + u) * L + _lanes(L)
            if more:
                g += tl.load(place)
            tl.store(place, g)
        for first in range(0, m, U):
            k = first + tl.arange(0, U)[:, None, None]
            real = k < m
            k = tl.minimum(k, m - 1)
            a = tl.load(A + (k - m) * S * L + tile)
            slope = tl.zeros((U, S, L), W.dtype.element_ty)
            row = k * L + _lanes(L)
            d = A
            for _ in range(o):
                out = tl.load(d + tile)
                slope += out * tl.load(W + row)
                g = tl.sum(out * a, axis=1, keep_dims=True)
                if more:
                    g += tl.load(G + row)
                tl.store(G + row, g, real)
                row += m * L
                d += S * L
            if layer > 0:
                tl.store(A + (k - m) * S * L + tile, tl.where(a > 0, slope, leak * slope), real)
        tl.debug_barrier()
        A -= m * S * L


@triton.jit
def _update(
    W, M, V, G, parameters, on, lr, step, table, last, settings,
    L: tl.constexpr, R: tl.constexpr, ADAM: tl.constexpr,
):  # fmt: skip
    """One step of Adam or gradient descent for the networks that are ``on``, R parameters at a time."""
    b1 = tl.load(settings + 1)
    a1 = tl.load(settings + 2)
    b2 = tl.load(settings + 3)
    a2 = tl.load(settings + 4)
    eps = tl.load(settings + 5)
    rate = lr * tl.load(table + 2 * tl.minimum(step, last))
    root = tl.load(table + 2 * tl.minimum(step, last) + 1)
    for first in range(0, parameters, R):
        p = first + tl.arange(0, R)[:, None, None]
        at = p * L + _lanes(L)
        mask = (p < parameters) & on
        m = a1 * tl.load(G + at, mask, 0.0)
        if b1 > 0:
            m += b1 * tl.load(M + at, mask, 0.0)
            tl.store(M + at, m, mask)
        move = rate * m
        if ADAM:
            g = tl.load(G + at, mask, 0.0)
            v = b2 * tl.load(V + at, mask, 0.0) + a2 * g * g
            tl.store(V + at, v, mask)
            move = move / (tl.sqrt(v) * root + eps)
        tl.store(W + at, tl.load(W + at, mask, 0.0) - move, mask)
    tl.debug_barrier()


@triton.jit
def _pass(
    widths, depth, parameters, units, leak, W, A, G, X, y, n, start, stop, fresh, learn, seed, epoch,
    S: tl.constexpr, L: tl.constexpr, U: tl.constexpr, LOSS: tl.constexpr, PER_NET: tl.constexpr, ORDERED: tl.constexpr,
):  # fmt: skip
    """Sum losses and correct answers (1, 1, L) over samples ``start`` to ``stop``; gradients of the mean in G."""
    d = tl.load(widths)
    C = tl.load(widths + depth)
    losses = tl.zeros((1, 1, L), W.dtype.element_ty)
    rights = tl.zeros((1, 1, L), W.dtype.element_ty)
    share = tl.full((), 1, W.dtype.element_ty) / (stop - start)
    for s in range(start, stop, S):
        sample, valid = _samples(s, stop, n, seed, epoch, S, ORDERED)
        if fresh:  # else the inputs are there from the step before
            for k in range(d):
                x = tl.load(X + (sample * d + k) * L + _lanes(L)) if PER_NET else tl.load(X + sample * d + k)
                tl.store(A + k * S * L + _tile(S, L), x + tl.zeros((1, S, L), W.dtype.element_ty))
            tl.debug_barrier()
        _forward(widths, depth, leak, W, A, S, L, U)
        loss, right = _slopes(A + (units - C) * S * L, y, sample, valid, C, share, S, L, LOSS)
        losses += tl.sum(loss, axis=1, keep_dims=True)
        rights += tl.sum(right, axis=1, keep_dims=True)
        if learn:
            _backward(widths, depth, leak, W, A, G, parameters, units, s > start, S, L, U)
    return losses, rights


@triton.jit(do_not_specialize=["depth", "parameters", "units", "last", "n", "size", "done", "epochs", "watched"])
def epochs_kernel(
    widths, depth, parameters, units, settings, table, last, W, M, V, G, A, X, y, lr, seeds, steps, going, trained,
    losses, rights, n, size, done, epochs, watched,
    S: tl.constexpr, L: tl.constexpr, U: tl.constexpr, R: tl.constexpr, LOSS: tl.constexpr, ADAM: tl.constexpr,
    PER_NET: tl.constexpr, ORDERED: tl.constexpr,
):  # fmt: skip
    """Train blocks of L networks for some epochs; for 0 epochs, only look at their losses.

    Parameters
    ----------
    widths
        (depth + 1,) int32, units of each layer, inputs first; ``units`` is their sum.
    settings
        The bend's leak, beta1, 1 - beta1, beta2, 1 - beta2, eps; then when a network is done: at a mean loss below the
        seventh, or with at least as many correct samples as the eighth.
    table
        (last + 1, 2) factors of lr, and of the root of the second moment, at each step; the last for all later ones.
    W, M, V, G
        (blocks, parameters, L) parameters, both moments, room for gradients.
    A
        (blocks, units, S, L) room for activities.
    X, y
        Inputs (n, d), or (blocks, n, d, L) if PER_NET, and targets (blocks, n, L): classes, or zeros and ones; for mse
        (blocks, n, C, L).
    lr, seeds, steps
        (blocks, L) learning rates, seeds of the order of samples, steps done before.
    going, trained, losses, rights
        (blocks, L): 1 for networks that go on, cleared when they are done; epochs trained, added to; mean loss and
        number of correct samples at the last check.
    size, done, watched
        Samples of a minibatch, where ORDERED; epochs done before; whether to look at the start of each epoch (needed
        unless ORDERED).
    """
    block = tl.program_id(0).to(tl.int64)
    W += block * parameters * L
    M += block * parameters * L
    V += block * parameters * L
    G += block * parameters * L
    A += block * units * S * L
    if PER_NET:
        X += block * n * tl.load(widths) * L
    y += block * n * (tl.load(widths + depth) if LOSS == "squared_error" else 1) * L
    lanes = block * L + _lanes(L)
    leak = tl.load(settings)
    low = tl.load(settings + 6)
    enough = tl.load(settings + 7)
    rate = tl.load(lr + lanes)
    seed = tl.load(seeds + lanes)
    step = tl.load(steps + lanes) + done * (tl.cdiv(n, size) if ORDERED else 1)
    was_on = tl.load(going + lanes) > 0
    on = was_on
    count = tl.load(trained + lanes)
    loss = tl.load(losses + lanes)
    right = tl.load(rights + lanes)
    epoch = 0
    busy = tl.max(on.to(tl.int32)) > 0
    while busy:
        if watched:
            if ORDERED:
                fresh, learn = True, False
            else:
                fresh, learn = (epoch == 0) | (n > S), epoch < epochs
            total, score = _pass(
                widths, depth, parameters, units, leak, W, A, G, X, y, n, 0, n, fresh, learn, seed, epoch,
                S, L, U, LOSS, PER_NET, False,
            )  # fmt: skip
            loss = tl.where(on, total / n, loss)
            right = tl.where(on, score, right)
            on = on & ~((loss < low) | (right >= enough))
        if epoch < epochs:
            if ORDERED:
                for start in range(0, n, size):
                    _pass(
                        widths, depth, parameters, units, leak, W, A, G, X, y, n, start, tl.minimum(start + size, n),
                        True, True, seed, done + epoch, S, L, U, LOSS, PER_NET, True,
                    )  # fmt: skip
                    _update(W, M, V, G, parameters, on, rate, step, table, last, settings, L, R, ADAM)
                    step += 1
            else:
                _update(W, M, V, G, parameters, on, rate, step, table, last, settings, L, R, ADAM)
                step += 1
            count += on.to(tl.int32)
        epoch += 1
        busy = (epoch < epochs) & (tl.max(on.to(tl.int32)) > 0)
    tl.store(losses + lanes, loss, was_on)
    tl.store(rights + lanes, right, was_on)
    tl.store(going + lanes, on.to(tl.int32), was_on)
    tl.store(trained + lanes, count, was_on)
