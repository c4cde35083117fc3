"""Affine operations of programs, and products of matrices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any, Literal

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
    sizes: Options = {name: tuple(options[name]) for name in ("stride", "padding", "dilation")}
    conv = partial(_CONV[weight.ndim - 2], weight=weight, groups=options["groups"], **sizes)
    return convolve(conv, xs[0], max(len(weight), prod(weight.shape[1:])))


def _conv_transpose(xs: Sequence[Tensor], options: Options, tensors: Tensors) -> Tensor:
    weight = tensors["weight"]
    sizes: Options = {name: tuple(options[name]) for name in ("stride", "padding", "output_padding", "dilation")}
    return _CONV_TRANSPOSE[weight.ndim - 2](xs[0], weight, groups=options["groups"], **sizes)


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
    pool: Any = _AVG_POOL[len(options["kernel"])]
    sizes = (tuple(options[name]) for name in ("kernel", "stride", "padding"))
    divisor = {"divisor_override": options["divisor"]} if "divisor" in options else {}
    return pool(xs[0], *sizes, options["ceil_mode"], options["count_include_pad"], **divisor)  # type: ignore[no-any-return]


def _adaptive_avg_pool(xs: Sequence[Tensor], options: Options, tensors: Tensors) -> Tensor:
    return _ADAPTIVE[len(options["size"])](xs[0], tuple(options["size"]))  # type: ignore[arg-type]


def _interpolate(xs: Sequence[Tensor], options: Options, tensors: Tensors) -> Tensor:
    how = {name: options[name] for name in ("mode", "align_corners", "antialias")}
    return F.interpolate(xs[0], size=options.get("size"), scale_factor=options.get("scale"), **how)


def _sum(xs: Sequence[Tensor], options: Options, tensors: Tensors) -> Tensor:
    return xs[0].sum(dim=[dim + 1 for dim in options["dims"]], keepdim=options["keepdim"])


def _matmul(xs: Sequence[Tensor], options: Options, tensors: Tensors) -> Tensor:
    return matrix_product(tensors["matrix"], xs[0])


@dataclass(frozen=True)
class Operation:
    """An affine operation, with all that analyses ask of one; no answer has a default, so none can be forgotten."""

    linear: Linear  #: the *linear* part of the step, from its inputs, options and tensors
    #: Of its matrix: "moves" one 1 in a row or none, "weights" those of the network, 0 and 1, "averages" rounded ones.
    entries: Literal["moves", "weights", "averages"]
    preserves_multiples: bool  #: whether it has no weights and treats all units alike


#: Every affine operation by name. Inputs carry a batch axis in front, options speak of the axes behind it.
AFFINE_OPS: dict[str, Operation] = {
    "linear": Operation(_linear, "weights", False),  # weight (out, in), acts on the last axis
    # weight (out, in / groups, *kernel); options stride, padding, dilation, groups
    "conv": Operation(_conv, "weights", False),
    # weight (in, out / groups, *kernel); options as conv, and output_padding
    "conv_transpose": Operation(_conv_transpose, "weights", False),
    "scale": Operation(_scale, "weights", False),  # factor, broadcast against the value (without batch)
    "add": Operation(_add, "weights", False),  # options signs: +1 or -1 for each input; inputs broadcast
    "concat": Operation(_concat, "moves", True),  # options dim (batch not counted)
    # inputs broadcast and stacked along a new last axis: candidates of a choice
    "stack": Operation(_stack, "moves", False),
    "reshape": Operation(_reshape, "moves", True),  # options shape
    "permute": Operation(_permute, "moves", True),  # options dims (batch not counted)
    # index into the flattened value: slices, windows, repeats, any movement of entries
    "gather": Operation(_gather, "moves", True),
    # zeros around; options pads (as torch.nn.functional.pad). Another constant is in the offset
    "pad": Operation(_pad, "moves", True),
    # options kernel, stride, padding, ceil_mode, count_include_pad, perhaps divisor
    "avg_pool": Operation(_avg_pool, "averages", True),
    "adaptive_avg_pool": Operation(_adaptive_avg_pool, "averages", True),  # options size
    # options size or scale, mode, align_corners, antialias
    "interpolate": Operation(_interpolate, "averages", True),
    "sum": Operation(_sum, "weights", True),  # options dims (batch not counted), keepdim
    "matmul": Operation(_matmul, "weights", False),  # matrix (m, k) times the value (..., k, n)
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
