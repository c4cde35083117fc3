"""Along which directions a network's outputs vary most: active subspaces, section 6.4.

The eigenvectors of the mean of ``grad grad'`` over samples (not centred), for each output. If the first eigenvalue is
most of their sum, the output is nearly a function of one number: ``w . x``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from creases._typing import Floats
from creases.compare._coefficients import Coefficients
from creases.errors import InputError


@dataclass(frozen=True, eq=False)
class ActiveSubspace:
    """Directions along which one output varies, the strongest first."""

    directions: Floats  #: (k, d) unit vectors, each with its largest entry positive
    eigenvalues: Floats  #: (k,) mean squared slope along each
    total: float  #: sum of all eigenvalues: the mean squared length of the gradient

    @property
    def share(self) -> float:
        """How much of the mean squared slope is along the first direction; NaN for a constant output."""
        return float(self.eigenvalues[0] / self.total) if self.total > 0 else float("nan")

    def along(self, x: Tensor | Floats, direction: int = 0) -> Floats:
        """Coordinate of samples (p, ...) on a direction: (p,)."""
        points = torch.as_tensor(x).flatten(1).double().cpu().numpy()
        return np.asarray(points @ self.directions[direction])


def active_subspace(C: Coefficients, j: int, *, keep: int | None = None) -> ActiveSubspace:
    """The active subspace of output j over the samples of its coefficients.

    Parameters
    ----------
    keep
        How many directions to give; all that the coefficients span unless given.
    """
    if not 0 <= j < C.n_out:
        raise InputError(f"j: expected an output from 0 to {C.n_out - 1}, got {j}")
    if not C.count:
        raise InputError("C: has no samples")
    sizes, vectors = _by_samples(C, j) if C.count < C.features.shape[2] else _by_columns(C, j)
    sizes = sizes.clamp(min=0)
    count = len(sizes) if keep is None else min(keep, len(sizes))
    directions = vectors[:count]
    top = directions.gather(1, directions.abs().argmax(1, keepdim=True))
    directions = directions * torch.where(top < 0, -1.0, 1.0)
    return ActiveSubspace(directions.cpu().numpy(), sizes[:count].cpu().numpy(), float(sizes.sum()))


def _by_samples(C: Coefficients, j: int) -> tuple[Tensor, Tensor]:
    """Eigenvalues and eigenvectors (k, d) from the gradients' singular values: for fewer samples than columns."""
    slopes = C.rows(j)[:, :-1].double() / C.count**0.5
    _, sizes, vectors = torch.linalg.svd(slopes, full_matrices=False)
    return sizes.square(), vectors


def _by_columns(C: Coefficients, j: int) -> tuple[Tensor, Tensor]:
    """Eigenvalues and eigenvectors (k, d) from the mean of products, summed over blocks of samples."""
    r, device = C.features.shape[2], C.features.device
    gram = torch.zeros(r, r, dtype=torch.float64, device=device)
    for block in C.blocks():
        rows = C.features[j, block].double()
        gram += rows.T @ rows / C.count
    if C.basis is None:
        sizes, vectors = torch.linalg.eigh(gram[:-1, :-1])  # the last column is the offset
        return sizes.flip(0), vectors.flip(1).T
    own, Q = torch.linalg.eigh(gram)
    slopes = C.basis[:, :-1].to(device)  # (r, d)
    _, sizes, vectors = torch.linalg.svd((own.clamp(min=0).sqrt()[:, None] * Q.T) @ slopes, full_matrices=False)
    return sizes.square(), vectors


def explained_variance(values: Floats | Tensor, along: Floats, *, bins: int = 20) -> float:
    """Share of an output's variance that a function of one coordinate explains: that of means over equal bins.

    Parameters
    ----------
    values, along
        (p,) outputs and coordinates of the samples.
    bins
        Bins with equal numbers of samples; the means' own chance is taken off, as in the adjusted R^2.
    """
    values = np.asarray(torch.as_tensor(values).double().cpu())
    if len(values) != len(along) or len(values) <= bins:
        raise InputError(
            f"values, along: expected more than {bins} samples and as many coordinates, got {len(values)} and "
            f"{len(along)}"
        )
    whole = ((values - values.mean()) ** 2).sum()
    if whole == 0:
        return float("nan")
    within = sum(((part - part.mean()) ** 2).sum() for part in np.array_split(values[np.argsort(along)], bins))
    p = len(values)
    return float(1 - within / whole * (p - 1) / (p - bins))
