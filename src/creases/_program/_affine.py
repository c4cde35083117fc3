"""Affine operations of programs, and products of matrices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

Options = dict[str, Any]
Tensors = dict[str, Tensor]
Linear = Callable[[Sequence[Tensor], Options, Tensors], Tensor]

_CONV = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
_CONV_TRANSPOSE = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}
_AVG_POOL = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}
_ADAPTIVE = {1: F.adaptive_avg_pool1d, 2: F.adaptive_avg_pool2d, 3: F.adaptive_avg_pool3d}


def _linear(xs: Sequence[Tensor], options: Options, tensors: Tensors) -> Tensor:
    return linear_map(xs[0], tensors["weight"])  # (b, ..., out)


def _conv(xs: Sequence[Tensor], options: Options, tensors: Tensors) -> Tensor:
    weight = tensors["weight"]
    conv = partial(
        _CONV[weight.ndim - 2],
        weight=weight,
        stride=tuple(options["stride"]),
        padding=tuple(options["padding"]),
        dilation=tuple(options["dilation"]),
        groups=options["groups"],
    )
    return convolve(conv, xs[0], max(len(weight), prod(weight.shape[1:])))


def _conv_transpose(xs: Sequence[Tensor], options: Options, tensors: Tensors) -> Tensor:
    weight = tensors["weight"]
    return _CONV_TRANSPOSE[weight.ndim - 2](
        xs[0],
        weight,
        None,
        tuple(options["stride"]),
        tuple(options["padding"]),
        tuple(options["output_padding"]),
        options["groups"],
        tuple(options["dilation"]),
    )


def _scale(xs: Sequence[Tensor], options: Options, tensors: Tensors) -> Tensor:
    return xs[0] * tensors["factor"]


def _add(xs: Sequence[Tensor], options: Options, tensors: Tensors) -> Tensor:
    signs = options["signs"]
    total = xs[0] if signs[0] == 1 else -xs[0]
    for sign, x in zip(signs[1:], xs[1:], strict=True):
        total = total + x if sign == 1 else total - x
    return total


def _concat(xs: Sequence[Tensor], options: Options, tensors: Tensors) -> Tensor:
    return torch.cat(list(xs), dim=options["dim"] + 1)


def _stack(xs: Sequence[Tensor], options: Options, tensors: Tensors) -> Tensor:
    return torch.stack(torch.broadcast_tensors(*xs), dim=-1)  # type: ignore[no-untyped-call]


def _reshape(xs: Sequence[Tensor], options: Options, tensors: Tensors) -> Tensor:
    return xs[0].reshape(xs[0].shape[0], *options["shape"])


def _permute(xs: Sequence[Tensor], options: Options, tensors: Tensors) -> Tensor:
    return xs[0].permute(0, *(dim + 1 for dim in options["dims"]))


def _gather(xs: Sequence[Tensor], options: Options, tensors: Tensors) -> Tensor:
    return xs[0].reshape(len(xs[0]), prod(xs[0].shape[1:]))[:, tensors["index"]]


def _pad(xs: Sequence[Tensor], options: Options, tensors: Tensors) -> Tensor:
    return F.pad(xs[0], tuple(options["pads"]))


def _avg_pool(xs: Sequence[Tensor], options: Options, tensors: Tensors) -> Tensor:
    pool = _AVG_POOL[len(options["kernel"])]
    return pool(
        xs[0],
        tuple(options["kernel"]),
        tuple(options["stride"]),
        tuple(options["padding"]),
        options["ceil_mode"],
        options["count_include_pad"],
        **({"divisor_override": options["divisor"]} if "divisor" in options else {}),
    )


def _adaptive_avg_pool(xs: Sequence[Tensor], options: Options, tensors: Tensors) -> Tensor:
    return _ADAPTIVE[len(options["size"])](xs[0], tuple(options["size"]))  # type: ignore[arg-type]


def _interpolate(xs: Sequence[Tensor], options: Options, tensors: Tensors) -> Tensor:
    return F.interpolate(
        xs[0],
        size=options.get("size"),
        scale_factor=options.get("scale"),
        mode=options["mode"],
        align_corners=options["align_corners"],
        antialias=options["antialias"],
    )


def _sum(xs: Sequence[Tensor], options: Options, tensors: Tensors) -> Tensor:
    return xs[0].sum(dim=[dim + 1 for dim in options["dims"]], keepdim=options["keepdim"])


def _matmul(xs: Sequence[Tensor], options: Options, tensors: Tensors) -> Tensor:
    return matrix_product(tensors["matrix"], xs[0])


#: Every affine operation by name. Each maps (inputs, options, tensors) to the *linear* part of the step;
#: inputs carry a batch axis in front, options speak of the axes behind it.
AFFINE_OPS: dict[str, Linear] = {
    "linear": _linear,  # weight (out, in), acts on the last axis
    "conv": _conv,  # weight (out, in / groups, *kernel); options stride, padding, dilation, groups
    "conv_transpose": _conv_transpose,  # weight (in, out / groups, *kernel); options as conv, and output_padding
    "scale": _scale,  # factor, broadcast against the value (without batch)
    "add": _add,  # options signs: +1 or -1 for each input; inputs broadcast
    "concat": _concat,  # options dim (batch not counted)
    "stack": _stack,  # inputs broadcast and stacked along a new last axis: candidates of a choice
    "reshape": _reshape,  # options shape
    "permute": _permute,  # options dims (batch not counted)
    "gather": _gather,  # index into the flattened value: slices, windows, repeats, any movement of entries
    "pad": _pad,  # zeros around; options pads (as torch.nn.functional.pad). Another constant is in the offset
    "avg_pool": _avg_pool,  # options kernel, stride, padding, ceil_mode, count_include_pad, perhaps divisor
    "adaptive_avg_pool": _adaptive_avg_pool,  # options size
    "interpolate": _interpolate,  # options size or scale, mode, align_corners, antialias
    "sum": _sum,  # options dims (batch not counted), keepdim
    "matmul": _matmul,  # matrix (m, k) times the value (..., k, n)
}


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
