"""Linear centred kernel alignment, exactly, without ever storing a matrix of samples by samples.

The dissertation, eq. (7.7): ``|Y'X|_F^2 / (|X'X|_F |Y'Y|_F)`` of column-centred X and Y; equally
``<K, L> / (|K| |L|)`` with the Gram matrices ``K = X X'`` and ``L = Y Y'`` of samples. For one pair the first is the
cheaper where columns are fewer than samples. For all pairs of N matrices the second needs N Gram matrices where the
first needs N^2 / 2 products: it is summed here in tiles, computed for all matrices at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from creases._schema import BOOL
from creases._validation import check_arguments, check_numbers
from creases.compare._coefficients import Coefficients
from creases.errors import InputError

#: Rows and columns of one tile of the Gram matrices.
TILE = 1024


@check_arguments(unbiased=BOOL)
def cka(X: Any, Y: Any, *, unbiased: bool = False) -> float:
    """Return the linear CKA of two matrices with the same p samples as rows, (p, d1) and (p, d2).

    Centred kernel alignment [1]_, a similarity from 0 to 1 that does not depend on rotation and scale.

    Parameters
    ----------
    X, Y
        Features of the same samples in two networks.
    unbiased
        Use the unbiased estimator of HSIC (Song et al., 2012), which does not grow with the number of columns; at
        least 4 samples.

    References
    ----------
    .. [1] Kornblith, Norouzi, Lee, Hinton, "Similarity of Neural Network Representations Revisited", ICML 2019.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 1.0], [2.0, 0.0], [1.0, 3.0]])
    >>> round(cka(X, 5 * X[:, ::-1] + 1), 12)
    1.0
    """
    return float(cka_matrix([X, Y], unbiased=unbiased)[0, 1])


def cka_matrix(matrices: Sequence[Any], *, unbiased: bool = False) -> NDArray[np.float64]:
    """Return the linear CKA of all pairs of N matrices (p, d_i) with the same samples as rows: (N, N), symmetric.

    NaN where a matrix has no variation (all its rows are equal): it has no direction to align.
    """
    parts = [_matrix(X, f"matrices[{i}]") for i, X in enumerate(matrices)]
    counts = {len(X) for X in parts}
    if len(counts) > 1:
        raise InputError("matrices", "have the same samples as rows", f"{sorted(counts)} rows")
    least = 4 if unbiased else 2
    if not parts or counts.pop() < least:
        raise InputError("matrices", f"be at least one, with at least {least} samples")
    hsic = _hsic(parts, unbiased).cpu().numpy()
    norms = np.sqrt(np.maximum(np.diag(hsic), 0))
    with np.errstate(invalid="ignore", divide="ignore"):
        result = np.asarray(hsic / np.outer(norms, norms))
    np.fill_diagonal(result, np.where(norms > 0, 1.0, np.nan))
    return np.asarray((result + result.T) / 2)


def coefficient_cka(networks: Sequence[Coefficients]) -> NDArray[np.float64]:
    """Return the CKA of all pairs of networks, (N, N): the mean over outputs of the CKA of their coefficients.

    It is 0 for an output whose coefficients are the same at all samples (as those of a linear network); a network with
    itself has 1.
    """
    if len({(C.n_out, C.count) for C in networks}) != 1:
        raise InputError("networks", "have the same numbers of outputs and samples")
    per_output = [cka_matrix([C.features[j] for C in networks]) for j in range(networks[0].n_out)]
    result = np.asarray(np.mean([np.nan_to_num(values) for values in per_output], axis=0))
    np.fill_diagonal(result, 1.0)
    return result


def _matrix(X: Any, name: str) -> Tensor:
    tensor = X if isinstance(X, Tensor) and not X.is_meta else torch.from_numpy(check_numbers(X, name))
    if tensor.ndim != 2:
        raise InputError(name, "be a matrix (samples, columns)", f"shape {tuple(tensor.shape)}")
    if not tensor.isfinite().all():
        raise InputError(name, "be finite", "NaN or infinite entries")
    return tensor


def _hsic(parts: Sequence[Tensor], unbiased: bool) -> Tensor:
    """Return all inner products of the matrices' centred Gram matrices, (N, N), in float64."""
    p, N = len(parts[0]), len(parts)
    centred = [_centre(X) for X in parts]
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
                for rows, tile in zip(sums, tiles, strict=True):
                    rows[i : i + TILE] += tile.sum(1)
                    if i != k:
                        rows[k : k + TILE] += tile.sum(0)
    if not unbiased:
        return total
    joined = torch.stack(sums)  # of the rows of the Gram matrices without diagonals: HSIC_1 times p (p - 3)
    totals = joined.sum(1)
    return total + torch.outer(totals, totals) / ((p - 1) * (p - 2)) - 2 / (p - 2) * (joined @ joined.T)


def _centre(X: Tensor) -> Tensor:
    """Return centred columns in float64, scaled to a largest entry of 1: fourth powers neither vanish nor overflow."""
    X = X.double()
    X = X / X.abs().amax().clamp(min=1e-300) if X.numel() else X
    X = X - X.mean(0)
    top = X.abs().amax() if X.numel() else X.new_zeros(())
    # Rounding of a column that does not vary is not a direction.
    return X / top if top > 1e-13 else torch.zeros_like(X)
