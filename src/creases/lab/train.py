"""Training many networks as one."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from creases.errors import InputError
from creases.lab.batch import Batch

Array = NDArray[Any]

#: Networks side by side: enough to fill vector registers many times, and few enough to stay in the cache.
LANES = 128


@dataclass(frozen=True, eq=False)
class Moments:
    """Adam's memory of a batch, to go on from: its two moments for each parameter, and the steps done."""

    first: Batch
    second: Batch
    steps: int

    @classmethod
    def none(cls, batch: Batch) -> Moments:
        """The memory before the first step."""
        zero = Batch(tuple(0 * W for W in batch.weights), tuple(0 * b for b in batch.biases))
        return cls(zero, zero, 0)


def train(
    batch: Batch,
    X: Any,
    y: Any,
    *,
    steps: int,
    lr: float = 1e-3,
    betas: tuple[float, float] = (0.9, 0.999),
    eps: float = 1e-8,
    moments: Moments | None = None,
) -> tuple[Batch, Moments]:
    """Train every network of a batch by full-batch Adam on the mean cross-entropy, as ``torch.optim.Adam`` would.

    A network ends the same, bit for bit, whichever others are trained with it. Work is shared by
    ``torch.get_num_threads()`` threads.

    Parameters
    ----------
    X, y
        Inputs (n, d) and classes (n,) for all networks, or (B, n, d) and (B, n) for each its own.
    moments
        Adam's memory to go on with, such as an earlier call gave; none if not given. Entries of new units are zero
        there: step counters go on for all, as :func:`creases.widen` carries them.

    Returns
    -------
    batch, moments
        The trained networks, and the memory to go on from.

    Examples
    --------
    >>> from creases.problems import quadratic
    >>> X, y = quadratic()
    >>> batch = Batch.initial(10, [2, 3, 2], seed=0)
    >>> trained, _ = train(batch, X, y, steps=100, lr=0.02)
    >>> bool((trained.losses(X, y) < batch.losses(X, y)).all())
    True
    """
    from creases.lab.kernel import adam, exp_constants

    if steps < 0 or not (isfinite(lr) and lr > 0) or not eps > 0 or not all(0 <= beta < 1 for beta in betas):
        raise InputError(
            f"steps, lr, betas, eps: expected at least 0, above 0, in [0, 1) and above 0, got {steps}, {lr}, {betas} "
            f"and {eps}"
        )
    X, y = _data(batch, X, y)
    moments = Moments.none(batch) if moments is None else moments
    if moments.first.widths != batch.widths or moments.first.count != batch.count:
        raise InputError(
            f"moments: are of {moments.first.count} networks {moments.first.widths}, the batch has {batch.count} "
            f"{batch.widths}"
        )
    dtype, n, widths = batch.dtype, X.shape[-2], np.array(batch.widths)
    t = np.arange(moments.steps + 1, moments.steps + steps + 1)
    corrections = np.stack([lr / (1 - betas[0] ** t), 1 / np.sqrt(1 - betas[1] ** t)], axis=1).astype(dtype)
    settings = np.array([betas[0], 1 - betas[0], betas[1], 1 - betas[1], eps, 1 / n], dtype)
    leaks = np.array([batch.leak] * (len(widths) - 2) + [1.0], dtype)
    state = [_flat(part, dtype) for part in (batch, moments.first, moments.second)]  # (P, B) each

    def run(start: int) -> None:
        own = slice(start, min(start + LANES, batch.count))
        W, M, V = (np.ascontiguousarray(part[:, own]) for part in state)
        inputs, classes = _lanes(X, own, 3).astype(dtype), _lanes(y, own, 2).astype(f"i{dtype.itemsize}")
        adam(widths, leaks, W, M, V, inputs, classes, corrections, settings, exp_constants(dtype))
        for part, new in zip(state, (W, M, V), strict=True):
            part[:, own] = new

    # Moments of units that are never active fade away: numbers near zero would cost ten times as long as others.
    with ThreadPoolExecutor(torch.get_num_threads(), initializer=torch.set_flush_denormal, initargs=(True,)) as pool:
        list(pool.map(run, range(0, batch.count, LANES)))
    trained, first, second = (_shaped(part, batch) for part in state)
    return trained, Moments(first, second, moments.steps + steps)


def _data(batch: Batch, X: Any, y: Any) -> tuple[Array, Array]:
    """Inputs and classes as arrays: (n, d) and (n,), or both for each network."""
    X, y = np.asarray(X), np.asarray(y)
    B, d, C = batch.count, batch.widths[0], batch.widths[-1]
    if X.ndim not in (2, 3) or X.shape[-1] != d or (X.ndim == 3 and len(X) != B) or not X.shape[-2]:
        raise InputError(f"X: expected inputs (n, {d}) or ({B}, n, {d}), got shape {X.shape}")
    if y.shape not in ((X.shape[-2],), (B, X.shape[-2])):
        raise InputError(f"y: expected classes ({X.shape[-2]},) or ({B}, {X.shape[-2]}), got shape {y.shape}")
    if not np.isfinite(X).all():
        raise InputError("X: has NaN or infinite entries")
    if not np.issubdtype(y.dtype, np.integer) or y.min() < 0 or y.max() >= C:
        raise InputError(f"y: expected whole class numbers from 0 to {C - 1}, got {y.dtype} {y.min()} to {y.max()}")
    return X, y


def _lanes(data: Array, own: slice, ndim: int) -> Array:
    """Data with the networks last: the same for all, or those of some."""
    if data.ndim < ndim:
        return np.repeat(data[..., None], own.stop - own.start, axis=-1)
    return np.ascontiguousarray(np.moveaxis(data[own], 0, -1))


def _flat(batch: Batch, dtype: Any) -> Array:
    """All parameters of a batch (P, B): each layer's weights row by row, then its biases."""
    parts = [part for W, b in zip(batch.weights, batch.biases, strict=True) for part in (W.reshape(len(W), -1), b)]
    return np.ascontiguousarray(np.concatenate(parts, axis=1).T.astype(dtype))


def _shaped(flat: Array, like: Batch) -> Batch:
    """The inverse of ``_flat``."""
    weights, biases, start = [], [], 0
    for W, b in zip(like.weights, like.biases, strict=True):
        size = W[0].size
        weights.append(np.ascontiguousarray(flat[start : start + size].T).reshape(W.shape))
        biases.append(np.ascontiguousarray(flat[start + size : start + size + b[0].size].T))
        start += size + b[0].size
    return Batch(tuple(weights), tuple(biases), like.leak)
