"""Sums of products over many rows, in float64: what all statistics are made of."""

from __future__ import annotations

import torch
from torch import Tensor

_BLOCK = 1024  # rows whose products are summed up in float32


def working(x: Tensor) -> torch.dtype:
    """In which dtype products with x are taken: float32 for float32 on a CPU, where that halves the time."""
    return torch.float32 if x.dtype == torch.float32 and x.device.type == "cpu" else torch.float64


def product(a: Tensor, b: Tensor) -> Tensor:
    """a' b for a (n, p), b (n, q) in float64; float32 is multiplied in blocks of rows, which are added in float64."""
    if a.dtype == torch.float64:
        return _product(a, b)
    found = a.new_zeros(a.shape[1], b.shape[1], dtype=torch.float64)
    for one, other in zip(a.split(_BLOCK), b.split(_BLOCK), strict=True):
        found += _product(one, one if b is a else other)
    return found


def gram(x: Tensor) -> Tensor:
    """x' x for x (n, d), in float64 as :func:`product`."""
    return product(x, x)


def _product(a: Tensor, b: Tensor) -> Tensor:
    """a' b; with half the work where both are one, as numpy sees that the product is symmetric."""
    if a is not b or a.device.type != "cpu":
        return a.T @ b
    array = a.contiguous().numpy()
    return torch.from_numpy(array.T @ array)
