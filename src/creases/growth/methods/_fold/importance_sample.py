"""A sample of the data that keeps most of the samples that matter: those with a high loss."""

from __future__ import annotations

import numpy as np

from creases._typing import Floats, Ints


def importance_sample(mass: Floats, size: int, seed: int) -> tuple[Ints, Floats]:
    """Return the rising numbers (m,) of about ``size`` samples, and what each stands for: (m,), with mean 1.

    Half of the chance to be drawn is even, half is proportional to ``mass`` (n,), such as the losses. Weighted means
    over the sample estimate the means over all, for any function of the samples (Horvitz and Thompson, 1952).

    Examples
    --------
    >>> rows, weight = importance_sample(np.array([8.0, 0.0, 0.0, 0.0]), 2, seed=0)
    >>> len(rows), bool(0 in rows), round(float(weight.mean()), 12)
    (2, True, 1.0)
    """
    n = len(mass)
    if size >= n:
        return np.arange(n), np.ones(n)
    total = float(mass.sum())
    share = 0.5 / n + 0.5 * (mass / total if total > 0 else np.full(n, 1 / n))
    chance = np.minimum(size * share, 1.0)
    for _ in range(20):  # samples that are certain leave more chances to the others
        free = chance < 1
        if size - chance.sum() <= 1e-9 * size or not free.any():
            break
        chance[free] = np.minimum(chance[free] * (size - (~free).sum()) / chance[free].sum(), 1.0)
    rng = np.random.default_rng(seed)
    order = rng.permutation(n)
    ticks = np.floor(np.cumsum(chance[order]) + rng.random()).astype(np.int64)  # systematic: one sample for each tick
    rows = np.sort(order[np.diff(ticks, prepend=0) > 0])
    weight = 1 / chance[rows]
    return rows, np.asarray(weight / weight.mean())
