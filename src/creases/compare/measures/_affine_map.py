"""Affine maps from one network's coefficients to another's, and the accuracy that the mapped coefficients keep.

The dissertation, eq. (7.4): for each output j the matrix M_j that minimises ``|C1 M_j - C2|_F`` on training samples.
Test samples are classified by the mapped coefficients: output j at x is ``(row of C1) M_j (x, 1)``. In coordinates,
``C1 = F1 B1`` and ``C2 = F2 B2`` with orthonormal rows of B, that is ``F1 X B2 (x, 1)`` with X the least-squares map
from F1 to F2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from creases._validation import check_numbers
from creases.compare._coefficients import Coefficients, check_alike
from creases.compare._decisions import check_classes, decisions
from creases.errors import InputError

#: Eigenvalues of a Gram matrix below this fraction of the largest are rounding of the coefficients, squared.
TOLERANCE = {torch.float32: 1e-12, torch.float64: 1e-22}


def affine_map(source: Coefficients, target: Coefficients, j: int) -> Tensor:
    """Return the least-squares map (r1, r2) from source's coordinates of output j to target's, in float64.

    The dissertation, eq. (7.4). Of all such maps the one of smallest norm, computed from the eigenvectors of the Gram
    matrix: coefficients of a dense layer have low rank, on which normal equations in float32 and Cholesky's factors
    break down.
    """
    return _solver(source, j)(target)


def mapped_accuracies(
    train: Sequence[Coefficients],
    test: Sequence[Coefficients],
    X: Tensor | NDArray[Any],
    y: Tensor | NDArray[Any],
) -> NDArray[np.float64]:
    """Return accuracies (N, N) at test samples of each network (row) mapped to each other (column).

    The diagonal has the accuracies of the networks themselves.

    Parameters
    ----------
    train, test
        Coefficients of the N networks at training samples, which the maps are fitted to, and at test samples.
    X, y
        The test samples (p, ...) and their classes (p,).
    """
    if len(train) != len(test):
        raise InputError("test", f"have the same networks as train, {len(train)}", f"{len(test)}")
    check_alike(train, "train")
    check_alike(test, "test")
    X, y = check_samples(test[0], X, y)
    N, device = len(train), test[0].features.device
    points = [C.coordinates(X) for C in test]
    values = torch.empty(N, N, len(X), test[0].n_out, dtype=torch.float64, device=device)
    for j in range(test[0].n_out):
        for a in range(N):
            solve, rows = _solver(train[a], j), test[a].features[j].double()
            for b in (b for b in range(N) if b != a):  # a network itself needs no map
                mapped = rows @ solve(train[b])  # (p, r_b)
                values[a, b, :, j] = (mapped * points[b]).sum(1)
    for a, C in enumerate(test):
        values[a, a] = C.values.double()
    return np.asarray((decisions(values) == y.to(device)).double().mean(2).cpu().numpy())


def _product(A: Coefficients, B: Coefficients, j: int) -> Tensor:
    """Return ``F_A' F_B`` of output j over all samples, summed in float64."""
    total = torch.zeros(A.features.shape[2], B.features.shape[2], dtype=torch.float64, device=A.features.device)
    for block in A.blocks():
        total += A.features[j, block].double().T @ B.features[j, block].double()
    return total


def _solver(C: Coefficients, j: int) -> Callable[[Coefficients], Tensor]:
    """Return a function that maps C's coordinates of output j to another network's by least squares."""
    if C.count < C.features.shape[2]:  # fewer samples than columns: use the coordinates themselves
        inverse = torch.linalg.pinv(C.features[j].double(), rtol=TOLERANCE[C.features.dtype] ** 0.5)
        return lambda target: inverse @ target.features[j].double()
    size, Q = torch.linalg.eigh(_product(C, C, j))
    large = size > TOLERANCE[C.features.dtype] * size[-1].clamp(min=1e-300)
    halves = Q[:, large] / size[large]
    return lambda target: halves @ (Q[:, large].T @ _product(C, target, j))


def check_samples(C: Coefficients, X: Any, y: Any) -> tuple[Tensor, Tensor]:
    """Return samples and their classes as tensors; refuse those that do not fit the coefficients."""
    p, d = C.count, C.columns - 1
    X = X if isinstance(X, Tensor) and not X.is_meta else torch.from_numpy(check_numbers(X, "X"))
    if X.ndim < 2 or X.flatten(1).shape != (p, d):
        raise InputError("X", f"be the test samples ({p}, {d})", f"shape {tuple(X.shape)}")
    return X, torch.from_numpy(check_classes(y, p))
