"""Sums of products over many rows, in float64."""

from __future__ import annotations

import torch
from torch import Tensor

from creases.growth._cost import charge


def product(a: Tensor, b: Tensor) -> Tensor:
    """Return a' b for a (n, p), b (n, q) in float64."""
    return a.double().T @ b.double()


def add_gram(sums: Tensor, x: Tensor, *, constant: bool) -> None:
    """Add x' x for all rows of x (n, d) to sums (d, d), in float64; with ``constant`` for (x, 1)."""
    x, d = x.double(), x.shape[1]
    sums[:d, :d] += _gram(x)
    if constant:
        column = x.sum(0)
        sums[:d, d] += column
        sums[d, :d] += column
        sums[d, d] += len(x)


def _gram(x: Tensor) -> Tensor:
    """Return x' x, on a CPU by numpy, which uses the symmetry to do half the work."""
    if x.device.type != "cpu":
        return x.T @ x
    charge(x.shape[0] * x.shape[1] ** 2 / 2)
    array = x.contiguous().numpy()
    return torch.from_numpy(array.T @ array)
