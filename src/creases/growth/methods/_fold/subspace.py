"""The leading directions of many columns: where a search in hundreds of dimensions takes place."""

from __future__ import annotations

import numpy as np

from creases._typing import Floats
from creases.growth._cost import charge

#: Directions drawn beyond those wanted, and power iterations (Halko, Martinsson and Tropp, 2011, algorithm 4.4).
OVERSAMPLE, POWER = 8, 2


def leading_directions(A: Floats, k: int, seed: int = 0) -> Floats:
    """Return an orthonormal basis (d, min(k, rank)) of about the leading right singular directions of A (n, d)."""
    n, d = A.shape
    k = min(k, n, d)
    width = min(k + OVERSAMPLE, n, d)
    Y = A @ np.random.default_rng(seed).normal(size=(d, width))
    for _ in range(POWER):
        Y = A @ (A.T @ np.linalg.qr(Y)[0])
    Q = np.linalg.qr(Y)[0]
    charge((2 + 2 * POWER) * n * d * width)
    _, size, directions = np.linalg.svd(Q.T @ A, full_matrices=False)
    return np.ascontiguousarray(directions[:k][size[:k] > 1e-9 * size.max(initial=0.0)].T)


def extend_basis(basis: Floats, vectors: Floats) -> Floats:
    """Return the orthonormal columns (d, e) that vectors (v, d) add to an orthonormal basis (d, k)."""
    out: list[Floats] = []
    for vector in vectors:
        rest, size = vector, float(np.linalg.norm(vector))
        for _ in range(2):  # once more against rounding
            rest = rest - basis @ (basis.T @ rest)
            for other in out:
                rest = rest - (other @ rest) * other
        length = float(np.linalg.norm(rest))
        if length > 1e-6 * size:
            out.append(rest / length)
    return np.array(out).reshape(len(out), len(basis)).T
