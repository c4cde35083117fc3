"""Folds of rows: shuffled, classes spread evenly, equal rows together."""

from __future__ import annotations

import numpy as np

from creases._typing import Floats, Ints

#: Folds of a table with fewer rows than ``SMALL``; a larger one has a single held-out part of the same size.
FOLDS, SMALL = 5, 2_000


def deal_folds(X: Floats, y: Floats, seed: int) -> list[tuple[Ints, Ints]]:
    """Return training and held-out rows of each fold of a table X (n, d) with classes or values y (n,).

    Equal inputs are in one fold, unless most rows are repeated: then every fold has some of each.
    """
    n = len(X)
    shuffled = np.random.default_rng(seed).permutation(n)
    _, first, inverse = np.unique(X[shuffled], axis=0, return_index=True, return_inverse=True)
    is_repeated = 2 * len(first) < n
    group = np.arange(n) if is_repeated else inverse.reshape(-1)
    place = np.arange(n) if is_repeated else first
    order = np.lexsort((place, y[shuffled][place]))  # by value, at random among equal ones
    if len(np.unique(y)) > n / 10:
        order = np.argsort(place)
    fold_of_group = np.empty(len(place), int)
    fold_of_group[order] = np.arange(len(place)) % FOLDS
    fold = np.empty(n, int)
    fold[shuffled] = fold_of_group[group]
    used = range(FOLDS if n < SMALL else 1)
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in used]
