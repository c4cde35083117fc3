"""Matrix products that are equal, bit for bit, on any number of threads.

A BLAS may add up the terms of a long product in parts, and choose the parts by the number of threads. Here a product in
float64 of more than :data:`TERMS` terms is the sum of products of at most so many, which are not divided further.
Shorter ones, single rows (OpenBLAS divides their outputs, not their terms), other numbers and other devices are left to
torch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

#: Terms that are added up in one product: few enough for OpenBLAS not to divide them.
TERMS = 256


def linear_map(x: Tensor, weight: Tensor, offset: Tensor | None = None) -> Tensor:
    """Return ``x @ weight.T + offset`` (..., out) of x (..., in), weight (out, in) and offset (out,)."""
    differentiable = torch.is_grad_enabled() and x.requires_grad
    is_row = x.numel() == x.shape[-1]
    if is_row or not _is_divided(x, max(weight.shape) if differentiable else weight.shape[1]):
        return F.linear(x, weight, offset)
    rows = x.reshape(-1, x.shape[-1])
    if differentiable:
        product: Tensor = _Product.apply(rows, weight)  # type: ignore[no-untyped-call]
        out = product if offset is None else product + offset
    else:
        out = _sum_blocks(rows, weight, offset)
    return out.reshape(*x.shape[:-1], len(weight))


def _sum_blocks(rows: Tensor, weight: Tensor, offset: Tensor | None) -> Tensor:
    """Return rows (n, in) times weight (out, in) plus the offset, the sum over blocks of inputs."""
    out = F.linear(rows[:, :TERMS], weight[:, :TERMS], offset)
    for k in range(TERMS, weight.shape[1], TERMS):
        out.addmm_(rows[:, k : k + TERMS], weight[:, k : k + TERMS].T)
    return out


class _Product(torch.autograd.Function):
    """The product of rows (n, in) and weight (out, in), whose gradient is such a product too."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(rows, weight)
        return _sum_blocks(rows, weight, None)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor | None]:
        rows, weight = ctx.saved_tensors
        need_rows, need_weight = ctx.needs_input_grad
        (gradient,) = gradients
        return (
            linear_map(gradient, weight.T) if need_rows else None,
            linear_map(gradient.T, rows.T) if need_weight else None,
        )


def matrix_product(a: Tensor, b: Tensor) -> Tensor:
    """Return ``a @ b`` of matrices (..., n, k) and (..., k, m)."""
    if not _is_divided(b, a.shape[-1]):
        return a @ b
    blocks = zip(torch.split(a, TERMS, dim=-1), torch.split(b, TERMS, dim=-2), strict=True)
    total = torch.matmul(*next(blocks))
    for left, right in blocks:
        total = total + left @ right
    return total


def convolve(convolution: Callable[[Tensor], Tensor], x: Tensor, terms: int) -> Tensor:
    """Return a convolution of x (b, ...) that adds up so many terms for each output.

    Torch computes each of several inputs on one thread, but a single one on all: so that is computed twice.
    """
    if len(x) != 1 or not _is_divided(x, terms):
        return convolution(x)
    return convolution(x.expand(2, *x.shape[1:]))[:1]


def _is_divided(x: Tensor, terms: int) -> bool:
    """Return whether a product of so many terms may depend on the number of threads."""
    return terms > TERMS and x.dtype == torch.float64 and x.device.type == "cpu"
