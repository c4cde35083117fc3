"""Sums of products over many rows, accumulated in float64."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import torch
from torch import Tensor

from creases.growth._cost import charge

_BLOCK = 1024  # rows whose products are summed up in one product of float32
_FEW = 4096  # rows whose products x' x are summed up in float32


def product_dtype(x: Tensor) -> torch.dtype:
    """Return the dtype for products with x: float32 for float32 on a CPU, where that halves the time."""
    return torch.float32 if x.dtype == torch.float32 and x.device.type == "cpu" else torch.float64


def product(a: Tensor, b: Tensor) -> Tensor:
    """Return a' b for a (n, p), b (n, q) in float64; float32 is multiplied in blocks of rows, added in float64."""
    total = None
    for left, right in zip(_blocks(a), _blocks(b), strict=True):
        part = (left.T @ right).double()
        total = part if total is None else total.add_(part)
    return a.new_zeros(a.shape[1], b.shape[1], dtype=torch.float64) if total is None else total


def add_gram(sums: Tensor, parts: Iterable[Tensor], *, constant: bool) -> None:
    """Add x' x for all rows x of the parts (n, d) to sums (d, d), in float64; with ``constant`` for (x, 1).

    Products of float32 are summed in float32 over few thousand rows at most.
    """
    waiting: Tensor | None = None
    rows = 0
    for part in parts:
        d = part.shape[1]
        for block in _blocks(part):
            gram = _gram(block)
            waiting = gram if waiting is None else waiting.add_(gram)
            rows += len(block)
            if rows >= _FEW or block.dtype == torch.float64:
                sums[:d, :d] += waiting
                waiting, rows = None, 0
            if constant:
                column = (block.new_ones(1, len(block)) @ block)[0]
                sums[:d, d] += column
                sums[d, :d] += column
                sums[d, d] += len(block)
    if waiting is not None:
        sums[: len(waiting), : len(waiting)] += waiting


def _blocks(x: Tensor) -> tuple[Tensor, ...]:
    """Return blocks of rows whose products may be summed in x's dtype."""
    return torch.split(x, _BLOCK) if x.dtype == torch.float32 else (x,)


def _gram(x: Tensor) -> Tensor:
    """Return x' x, on a CPU by numpy, which uses the symmetry to do half the work."""
    if x.device.type != "cpu":
        return x.T @ x
    charge(x.shape[0] * x.shape[1] ** 2 / 2)
    array = x.contiguous().numpy()
    with np.errstate(over="ignore", invalid="ignore"):  # as torch, which gives inf
        return torch.from_numpy(array.T @ array)
