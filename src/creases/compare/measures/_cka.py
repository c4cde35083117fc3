"""Linear centred kernel alignment, exactly, without ever holding a matrix of samples by samples.

Eq. (7.7): ``|Y'X|_F^2 / (|X'X|_F |Y'Y|_F)`` of column-centred X and Y; equally ``<K, L> / (|K| |L|)`` with the Gram
matrices ``K = X X'`` and ``L = Y Y'`` of samples. For one pair the first is the cheaper where columns are fewer than
samples. For all pairs of N matrices the second needs N Gram matrices where the first needs N^2 / 2 products: it is
summed up here in tiles, of which all matrices' are made at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from creases.compare._coefficients import Coefficients
from creases.errors import InputError

#: Rows and columns of one tile of the Gram matrices.
TILE = 1024


def cka(X: Any, Y: Any, *, unbiased: bool = False) -> float:
    """Linear CKA of two matrices with the same p samples as rows, (p, d1) and (p, d2).

    Parameters
    ----------
    unbiased
        With the unbiased estimator of HSIC (Song et al., 2012), which does not grow with the number of columns; at
        least 4 samples.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 1.0], [2.0, 0.0], [1.0, 3.0]])
    >>> round(cka(X, 5 * X[:, ::-1] + 1), 12)
    1.0
    """
    return float(cka_matrix([X, Y], unbiased=unbiased)[0, 1])


def cka_matrix(matrices: Sequence[Any], *, unbiased: bool = False) -> NDArray[np.float64]:
    """Linear CKA of all pairs of N matrices (p, d_i) with the same samples as rows: (N, N), symmetric.

    NaN where a matrix has no variation (all its rows are equal): it has no direction to align.
    """
    parts = [_matrix(X, f"matrices[{i}]") for i, X in enumerate(matrices)]
    counts = {len(X) for X in parts}
    if len(counts) > 1:
        raise InputError(f"matrices: expected the same samples as rows, got {sorted(counts)} of them")
    least = 4 if unbiased else 2
    if not parts or counts.pop() < least:
        raise InputError(f"matrices: expected at least one, with at least {least} samples")
    hsic = _hsic(parts, unbiased).cpu().numpy()
    return _normalised(hsic)


def coefficient_cka(networks: Sequence[Coefficients]) -> NDArray[np.float64]:
    """CKA of all pairs of networks: the mean over outputs of that of their coefficients, (N, N).

    An output whose coefficients are the same at all samples of a network (as those of a linear one) has none, and
    counts as 0 with any other network; a network with itself is 1.
    """
    shapes = {(C.n_out, C.count) for C in networks}
    if len(shapes) != 1:
        raise InputError(f"networks: expected the same outputs and samples of each, got {sorted(shapes)}")
    ((n_out, _),) = shapes
    per_output = [cka_matrix([C.features[j] for C in networks]) for j in range(n_out)]
    result = np.asarray(np.mean([np.nan_to_num(one) for one in per_output], axis=0))
    np.fill_diagonal(result, 1.0)
    return result


def _matrix(X: Any, name: str) -> Tensor:
    tensor = torch.as_tensor(X)
    if tensor.ndim != 2:
        raise InputError(f"{name}: expected a matrix (samples, columns), got shape {tuple(tensor.shape)}")
    if not tensor.isfinite().all():
        raise InputError(f"{name}: has NaN or infinite entries")
    return tensor


def _hsic(parts: Sequence[Tensor], unbiased: bool) -> Tensor:
    """All inner products of the matrices' centred Gram matrices, (N, N), in float64."""
    p, N = len(parts[0]), len(parts)
    centred = [_scaled(X) for X in parts]
    by_columns = N == 2 and not unbiased and max(X.shape[1] for X in parts) < p
    if by_columns:
        products = [[(A.T @ B).square().sum() for B in centred] for A in centred]
        return torch.stack([torch.stack(row) for row in products])
    total = torch.zeros(N, N, dtype=torch.float64, device=parts[0].device)
    sums = [torch.zeros(p, dtype=torch.float64, device=X.device) for X in parts]  # of each row, without the diagonal
    for i in range(0, p, TILE):
        for k in range(i, p, TILE):
            tiles = [X[i : i + TILE] @ X[k : k + TILE].T for X in centred]
            if i == k and unbiased:
                for tile in tiles:
                    tile.fill_diagonal_(0)
            flat = torch.stack([tile.flatten() for tile in tiles])
            total += (flat @ flat.T) * (1 if i == k else 2)
            if unbiased:
                for own, tile in zip(sums, tiles, strict=True):
                    own[i : i + TILE] += tile.sum(1)
                    if i != k:
                        own[k : k + TILE] += tile.sum(0)
    return _unbiased(total, torch.stack(sums), p) if unbiased else total


def _unbiased(products: Tensor, sums: Tensor, p: int) -> Tensor:
    """HSIC_1 times p (p - 3) from products of Gram matrices without diagonals, and the sums of their rows."""
    whole = sums.sum(1)
    return products + torch.outer(whole, whole) / ((p - 1) * (p - 2)) - 2 / (p - 2) * (sums @ sums.T)


def _scaled(X: Tensor) -> Tensor:
    """Centred columns in float64, scaled to a largest entry of 1: squares of squares neither vanish nor overflow."""
    X = X.double()
    X = X / X.abs().amax().clamp(min=1e-300) if X.numel() else X
    X = X - X.mean(0)
    top = X.abs().amax() if X.numel() else X.new_zeros(())
    # Rounding of a column that does not vary is not a direction.
    return X / top if top > 1e-13 else torch.zeros_like(X)


def _normalised(hsic: NDArray[np.float64]) -> NDArray[np.float64]:
    own = np.sqrt(np.maximum(np.diag(hsic), 0))
    with np.errstate(invalid="ignore", divide="ignore"):
        result = np.asarray(hsic / np.outer(own, own))
    np.fill_diagonal(result, np.where(own > 0, 1.0, np.nan))
    return np.asarray((result + result.T) / 2)
