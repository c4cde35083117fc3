"""The generic orderings of subset sums: in which orders n weights can put the 2^n inputs, no two of them level."""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from creases.boolean._functions import all_inputs, check_bits


class Orderings(NamedTuple):
    """All orderings for 0 < w_1 < ... < w_n; every other is one of these with inputs permuted and negated.

    An input and its negation are in mirrored places: ``orders[:, k] + orders[:, -1 - k] == 2^n - 1``.
    """

    weights: NDArray[np.int64]  #: (m, n), a witness of each: integers, increasing
    orders: NDArray[np.uint8]  #: (m, 2^n), inputs by increasing sum of the weights of their ones; rows ascending


@lru_cache
def subset_sum_orderings(n: int) -> Orderings:
    """Every generic ordering of the sums w . x over all inputs x, for 0 < w_1 < ... < w_n and n <= 6, exactly.

    They are the cells of the cone 0 < w_1 < ... < w_n between the planes on which two sums are equal, found in integers
    by the double description method: 1, 1, 2, 14, 516, 124187 for n = 1, ..., 6 (OEIS A009997).

    Examples
    --------
    >>> weights, orders = subset_sum_orderings(3)
    >>> orders.tolist()  # whether x_1 + x_2 or x_3 weighs more
    [[0, 1, 2, 3, 4, 5, 6, 7], [0, 1, 2, 4, 3, 5, 6, 7]]
    >>> weights.tolist()
    [[1, 2, 4], [2, 3, 4]]
    """
    check_bits(n, 6, "orderings can be listed")
    from creases.boolean._orderings_kernel import cells

    rays = np.triu(np.ones((n, n), np.int64))  # of the cone: (0, ..., 0, 1, ..., 1)
    weights = cells(_planes(n, rays), rays, 64)  # at n = 6 no cell ever has more than 32 rays
    weights //= np.gcd.reduce(weights, axis=1)[:, None]
    orders = np.argsort(weights @ all_inputs(n).T, axis=1).astype(np.uint8)
    ascending = np.lexsort(orders.T[::-1])
    found = Orderings(weights[ascending], orders[ascending])
    for values in found:
        values.flags.writeable = False
    return found


def _planes(n: int, rays: NDArray[np.int64]) -> NDArray[np.int64]:
    """Normals, of -1, 0 and 1, of the planes where two sums are equal, that cut the cone or bound it.

    Those with few entries come first, so that a cell is cut into as few parts as possible for as long as possible.
    """
    normals = np.array([e for e in product((-1, 0, 1), repeat=n) if e > (0,) * n])
    sides = normals @ rays.T
    cut = (sides > 0).any(axis=1) & (sides < 0).any(axis=1)
    bound = (sides == 0).sum(axis=1) == n - 1
    order = np.argsort((normals != 0).sum(axis=1), kind="stable")
    kept: NDArray[np.int64] = normals[order[(cut | bound)[order]]]
    return kept
