"""Numbers that depend on the content of a row and a seed only: they split and sample rows of any order and amount."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from creases._typing import Bools, Floats

Keys = NDArray[np.uint64]

#: Different rows from which on parts and samples are drawn by keys: a table larger than memory has the same ones.
LARGE = 40_000

_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_STEP = 0x9E3779B97F4A7C15


def row_keys(X: Floats, y: Floats, seed: int) -> Keys:
    """Return a key (n,), evenly spread over 64 bits, of each row X (n, d) with targets y (n, m).

    Equal rows have equal keys. This is SplitMix64 (Steele, Lea, Flood 2014), applied to one column after another.

    Examples
    --------
    >>> keys = row_keys(np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 2.0]]), np.zeros((3, 1)), seed=0)
    >>> bool(keys[0] == keys[2]), bool(keys[0] == keys[1])
    (True, False)
    """
    keys = mix(np.full(len(X), seed % 2**64, np.uint64))
    for column in [*X.T, *y.T]:
        keys = mix(keys ^ (np.asarray(column, np.float64) + 0.0).view(np.uint64))  # -0.0 becomes 0.0
    return keys


def mix(keys: Keys) -> Keys:
    """Return other keys (n,), without a pattern that both share."""
    keys = keys + np.uint64(_STEP)
    keys = (keys ^ (keys >> np.uint64(30))) * _FIRST
    keys = (keys ^ (keys >> np.uint64(27))) * _SECOND
    return np.asarray(keys ^ (keys >> np.uint64(31)))


def is_below(keys: Keys, fraction: float) -> Bools:
    """Return whether each row (n,) is among a fraction of all, drawn by its key."""
    return np.asarray(keys < np.uint64(min(int(fraction * 2.0**64), 2**64 - 1)))


def least_keys(keys: Keys, count: int) -> NDArray[np.int64]:
    """Return the numbers, rising, of a sample of rows: so many with the least keys."""
    if len(keys) <= count:
        return np.arange(len(keys))
    return np.sort(np.argsort(keys, kind="stable")[:count])
