"""Active subspaces, the directions along which a network's outputs vary most: the dissertation, section 6.4.

The eigenvectors of the mean of ``grad grad'`` over samples (not centred), for each output. If the first eigenvalue is
most of their sum, the output is nearly a function of one number: ``w . x``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from creases._schema import INTEGER, instance, optional
from creases._text import OneLine
from creases._typing import Floats
from creases._validation import check_arguments, check_index
from creases.compare._coefficients import Coefficients
from creases.errors import InputError


@dataclass(frozen=True, eq=False, repr=False)
class ActiveSubspace(OneLine):
    """Directions along which one output varies, the strongest first."""

    directions: Floats  #: (k, d) unit vectors, each with its largest entry positive
    eigenvalues: Floats  #: (k,) mean squared slope along each
    total: float  #: sum of all eigenvalues: the mean squared length of the gradient

    @property
    def share(self) -> float:
        """The fraction of the mean squared slope along the first direction; NaN for a constant output."""
        return float(self.eigenvalues[0] / self.total) if self.total > 0 else float("nan")

    def project(self, X: Tensor | Floats, direction: int = 0) -> Floats:
        """Return the coordinates (p,) of samples (p, ...) along a direction."""
        points = torch.as_tensor(X).flatten(1).double().cpu().numpy()
        return np.asarray(points @ self.directions[direction])


@check_arguments(C=instance("Coefficients"), n_directions=optional(INTEGER))
def active_subspace(C: Coefficients, j: int, *, n_directions: int | None = None) -> ActiveSubspace:
    """Return the active subspace of output j over the samples of its coefficients (the dissertation, section 6.4).

    Parameters
    ----------
    C
        Coefficients of a network, from :func:`creases.compare.coefficients`.
    j
        Number of the output.
    n_directions
        How many directions to return; all that the coefficients span unless given.
    """
    j = check_index(j, C.n_out, "j")
    if not C.count:
        raise InputError("C", "have at least one sample", "none")
    if C.count < C.features.shape[2]:  # few samples: the gradients' singular values
        _, sizes, vectors = torch.linalg.svd(C.rows(j)[:, :-1].double() / C.count**0.5, full_matrices=False)
        sizes = sizes.square()
    else:
        sizes, vectors = _by_columns(C, j)
    sizes = sizes.clamp(min=0)
    count = len(sizes) if n_directions is None else min(n_directions, len(sizes))
    directions = vectors[:count]
    top = directions.gather(1, directions.abs().argmax(1, keepdim=True))
    directions = directions * torch.where(top < 0, -1.0, 1.0)
    return ActiveSubspace(directions.cpu().numpy(), sizes[:count].cpu().numpy(), float(sizes.sum()))


def _by_columns(C: Coefficients, j: int) -> tuple[Tensor, Tensor]:
    """Return eigenvalues and eigenvectors (k, d) from the mean of products, for many samples."""
    r, device = C.features.shape[2], C.features.device
    gram = torch.zeros(r, r, dtype=torch.float64, device=device)
    for block in C.blocks():
        rows = C.features[j, block].double()
        gram += rows.T @ rows / C.count
    if C.basis is None:
        sizes, vectors = torch.linalg.eigh(gram[:-1, :-1])  # the last column is the offset
        return sizes.flip(0), vectors.flip(1).T
    squares, Q = torch.linalg.eigh(gram)
    slopes = C.basis[:, :-1].to(device)  # (r, d)
    _, sizes, vectors = torch.linalg.svd((squares.clamp(min=0).sqrt()[:, None] * Q.T) @ slopes, full_matrices=False)
    return sizes.square(), vectors
