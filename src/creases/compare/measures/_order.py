"""An order of networks that puts similar ones next to each other."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

from creases.errors import InputError


def similarity_order(values: ArrayLike, *, distance: bool = False) -> list[int]:
    """Return N networks in an order that puts similar ones next to each other.

    The leaves of a hierarchical clustering (average linkage), ordered so that neighbours are as similar as possible.

    Parameters
    ----------
    values
        (N, N) similarities, or distances. A matrix that is not symmetric is replaced by its symmetric part. If some
        values are not finite, the networks stay in their order.
    distance
        Whether small values mean that networks are similar.
    """
    S = np.array(values, np.float64)
    if S.ndim != 2 or S.shape[0] != S.shape[1]:
        raise InputError("values", "be a matrix (N, N), a row and a column for each network", f"shape {S.shape}")
    if len(S) < 3 or not np.isfinite(S).all():
        return [*range(len(S))]
    S = (S + S.T) / 2
    apart = S if distance else S[~np.eye(len(S), dtype=bool)].max() - S
    apart = np.maximum(apart - np.diag(np.diag(apart)), 0.0)
    tree = linkage(squareform(apart, checks=False), method="average", optimal_ordering=True)
    return [int(i) for i in leaves_list(tree)]
