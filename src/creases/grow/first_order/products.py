"""Sums of products over many rows, in float64: what all statistics are made of."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

_BLOCK = 1024  # rows whose products are summed up in float32


def working(x: Tensor) -> torch.dtype:
    """In which dtype products with x are taken: float32 for float32 on a CPU, where that halves the time."""
    return torch.float32 if x.dtype == torch.float32 and x.device.type == "cpu" else torch.float64


def product(a: Tensor, b: Tensor) -> Tensor:
    """a' b for a (n, p), b (n, q) in float64; float32 is multiplied in blocks of rows, which are added in float64."""
    found = None
    for one, other in zip(_blocks(a), _blocks(b), strict=True):
        part = one.T @ other
        found = part.double() if found is None else found.add_(part)
    return a.new_zeros(a.shape[1], b.shape[1], dtype=torch.float64) if found is None else found


def add_gram(sums: Tensor, x: Tensor, *, constant: bool) -> None:
    """Add x' x to sums, as :func:`product`, for x (n, d); with ``constant`` for x with a 1 behind, (n, d + 1)."""
    for part in _blocks(x):
        d = part.shape[1]
        _add_gram(sums[:d, :d], part)
        if constant:
            column = part.new_ones(1, len(part)) @ part
            sums[:d, d] += column[0]
            sums[d, :d] += column[0]
            sums[d, d] += len(part)


def _blocks(x: Tensor) -> tuple[Tensor, ...]:
    """Rows whose products may be summed in x's own dtype."""
    return torch.split(x, _BLOCK) if x.dtype == torch.float32 else (x,)


def _add_gram(sums: Tensor, x: Tensor) -> None:
    """sums += x' x, on a CPU by numpy, which sees that it is symmetric and does half the work."""
    if x.device.type != "cpu":
        sums += x.T @ x
        return
    array, total = x.contiguous().numpy(), sums.numpy()
    with np.errstate(over="ignore", invalid="ignore"):  # as torch, which gives inf
        total += array.T @ array
