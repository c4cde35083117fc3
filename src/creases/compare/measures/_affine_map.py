"""How well one network's coefficients can be mapped to another's, and what is then left of its accuracy.

Eq. (7.4): for each output j the matrix M_j that minimises ``|C1 M_j - C2|_F`` on training samples. Test samples are
classified by the mapped coefficients: output j at x is ``(row of C1) M_j (x, 1)``. In coordinates, ``C1 = F1 B1`` and
``C2 = F2 B2`` with orthonormal rows of B, that is ``F1 X B2 (x, 1)`` with X the least-squares map from F1 to F2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from creases.compare._coefficients import Coefficients
from creases.compare._decisions import decisions
from creases.errors import InputError

#: Eigenvalues of a Gram matrix below this share of the largest are rounding of the coefficients, squared.
CUT = {torch.float32: 1e-12, torch.float64: 1e-22}


def affine_map(source: Coefficients, target: Coefficients, j: int) -> Tensor:
    """The least-squares map X (r1, r2) of smallest norm from source's coordinates of output j to target's, in float64.

    By the eigenvectors of the Gram matrix: coefficients of a dense layer have low rank, on which normal equations in
    float32 and Cholesky's factors break down.
    """
    return _solver(source, j)(target)


def mapped_accuracies(
    train: Sequence[Coefficients],
    test: Sequence[Coefficients],
    x: Tensor | NDArray[Any],
    labels: Tensor | NDArray[Any],
) -> NDArray[np.float64]:
    """Accuracy (N, N) at test samples of each network (row) mapped to each (column); the diagonal is their own.

    Parameters
    ----------
    train, test
        Coefficients of the N networks at training samples, which the maps are fitted to, and at test samples.
    x, labels
        The test samples (p, ...) and their classes (p,).
    """
    x, labels = torch.as_tensor(x), torch.as_tensor(labels)
    _check(train, test)
    check_samples(test[0], x, labels)
    N, device = len(train), test[0].features.device
    seen = [C.seen(x) for C in test]
    values = torch.empty(N, N, len(x), test[0].n_out, dtype=torch.float64, device=device)
    for j in range(test[0].n_out):
        for a in range(N):
            solve, own = _solver(train[a], j), test[a].features[j].double()
            for b in (b for b in range(N) if b != a):  # a network itself needs no map
                mapped = own @ solve(train[b])  # (p, r_b)
                values[a, b, :, j] = (mapped * seen[b]).sum(1)
    for a, C in enumerate(test):
        values[a, a] = C.values.double()
    return np.asarray((decisions(values) == labels.to(device)).double().mean(2).cpu().numpy())


def _product(A: Coefficients, B: Coefficients, j: int) -> Tensor:
    """``F_A' F_B`` of output j over all samples, summed in float64."""
    total = torch.zeros(A.features.shape[2], B.features.shape[2], dtype=torch.float64, device=A.features.device)
    for block in A.blocks():
        total += A.features[j, block].double().T @ B.features[j, block].double()
    return total


def _solver(C: Coefficients, j: int) -> Callable[[Coefficients], Tensor]:
    """The least-squares map of smallest norm from C's coordinates of output j to any other network's."""
    if C.count < C.features.shape[2]:  # fewer samples than columns: by the coordinates themselves
        inverse = torch.linalg.pinv(C.features[j].double(), rtol=CUT[C.features.dtype] ** 0.5)
        return lambda target: inverse @ target.features[j].double()
    size, Q = torch.linalg.eigh(_product(C, C, j))
    kept = size > CUT[C.features.dtype] * size[-1].clamp(min=1e-300)
    halves = Q[:, kept] / size[kept]
    return lambda target: halves @ (Q[:, kept].T @ _product(C, target, j))


def _check(train: Sequence[Coefficients], test: Sequence[Coefficients]) -> None:
    if len(train) != len(test) or not train:
        raise InputError(f"train, test: expected the same networks in both, got {len(train)} and {len(test)}")
    for name, group in (("train", train), ("test", test)):
        shapes = {(C.n_out, C.count, C.columns) for C in group}
        if len(shapes) > 1:
            raise InputError(
                f"{name}: expected the same outputs, samples and inputs of each network, got {sorted(shapes)}"
            )


def check_samples(C: Coefficients, x: Tensor, labels: Tensor) -> None:
    """Refuse samples and classes that are not those of the coefficients."""
    p, d = C.count, C.columns - 1
    if x.ndim < 2 or x.flatten(1).shape != (p, d) or labels.shape != (p,):
        raise InputError(
            f"x, labels: expected the test samples ({p}, {d}) and their classes ({p},), got {tuple(x.shape)} and "
            f"{tuple(labels.shape)}"
        )
