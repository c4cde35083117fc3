"""A ridge on the second moments S of a place's inputs: small weights where inputs hardly vary."""

from __future__ import annotations

import torch
from torch import Tensor


def ridge_squares(s: Tensor, ridge: float, *, constant: bool) -> Tensor:
    """Return what a ridge adds to the diagonal of S (d, d): the same for all inputs that vary, 0 for the constant.

    ``ridge`` is relative to the mean second moment of the inputs that vary; with ``constant`` the last one does not.
    """
    squares = s.diagonal().clone()
    if constant:
        squares[-1] = 0
    varying = squares > 0
    if not ridge or not bool(varying.any()):
        return torch.zeros_like(squares)
    return torch.where(varying, ridge * squares[varying].mean(), 0.0)


def degrees_of_freedom(s: Tensor, added: Tensor) -> float | None:
    """Return ``tr S (S + R)^-1`` for R = diag(added), the number of directions that units can use; None if singular."""
    active = (s.diagonal() > 0).nonzero()[:, 0]
    total = (s + torch.diag(added))[active][:, active]
    root, failed = torch.linalg.cholesky_ex(total)
    if int(failed):
        return None
    inverse = torch.linalg.solve_triangular(root, torch.eye(len(root)).to(root), upper=False)
    return len(active) - float((inverse.square().sum(0) * added[active]).sum())
