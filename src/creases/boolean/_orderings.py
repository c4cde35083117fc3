"""The generic orderings of subset sums: all orders of the 2^n inputs by w . x, without ties."""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from creases._schema import INTEGER
from creases._validation import check_arguments
from creases.boolean._functions import all_inputs, check_bits


class Orderings(NamedTuple):
    """All orderings for 0 < w_1 < ... < w_n; every other one is one of these with inputs permuted and negated.

    An input and its negation are at mirrored positions: ``orders[:, k] + orders[:, -1 - k] == 2^n - 1``.
    """

    weights: NDArray[np.int64]  #: (m, n) a witness of each: increasing integers
    orders: NDArray[np.uint8]  #: (m, 2^n) inputs by increasing w . x; rows in ascending order


@check_arguments(n=INTEGER)
@lru_cache
def subset_sum_orderings(n: int) -> Orderings:
    """Return every generic ordering of the sums w . x over all inputs x, for 0 < w_1 < ... < w_n and n <= 6.

    They are the cells of the cone 0 < w_1 < ... < w_n between the planes on which two sums are equal, computed in
    integers by the double description method: 1, 1, 2, 14, 516, 124187 for n = 1, ..., 6 (OEIS A009997).

    Examples
    --------
    >>> weights, orders = subset_sum_orderings(3)
    >>> orders.tolist()  # whether w_1 + w_2 or w_3 is larger
    [[0, 1, 2, 3, 4, 5, 6, 7], [0, 1, 2, 4, 3, 5, 6, 7]]
    >>> weights.tolist()
    [[1, 2, 4], [2, 3, 4]]
    """
    check_bits(n, 6, "to list orderings")
    from creases.boolean._orderings_kernel import cells

    rays = np.triu(np.ones((n, n), np.int64))  # of the cone: (0, ..., 0, 1, ..., 1)
    weights = cells(_planes(n, rays), rays, 64)  # at n = 6 no cell ever has more than 32 rays
    weights //= np.gcd.reduce(weights, axis=1)[:, None]
    orders = np.argsort(weights @ all_inputs(n).T, axis=1).astype(np.uint8)
    ascending = np.lexsort(orders.T[::-1])
    orderings = Orderings(weights[ascending], orders[ascending])
    for values in orderings:
        values.flags.writeable = False
    return orderings


def _planes(n: int, rays: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the normals, with entries -1, 0 and 1, of the planes of equal sums that cut or bound the cone.

    Those with few nonzero entries come first, so that the number of cells stays small as long as possible.
    """
    normals = np.array([e for e in product((-1, 0, 1), repeat=n) if e > (0,) * n])
    sides = normals @ rays.T
    cut = (sides > 0).any(axis=1) & (sides < 0).any(axis=1)
    bound = (sides == 0).sum(axis=1) == n - 1
    order = np.argsort((normals != 0).sum(axis=1), kind="stable")
    planes: NDArray[np.int64] = normals[order[(cut | bound)[order]]]
    return planes
