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


@dataclass(frozen=True)
class Operation:
    """An affine operation, with all that analyses ask of one; no answer has a default, so none can be forgotten."""

    linear: Linear  #: the *linear* part of the step, from its inputs, options and tensors
    #: Of its matrix: "moves" one 1 in a row or none, "weights" those of the network, 0 and 1, "averages" rounded ones.
    entries: Literal["moves", "weights", "averages"]
    preserves_multiples: bool  #: whether it has no weights and treats all units alike


def _tuples(options: Options, *names: str) -> Options:
    return {name: tuple(options[name]) for name in names}


def _conv(xs: Sequence[Tensor], o: Options, t: Tensors) -> Tensor:
    weight, sizes = t["weight"], _tuples(o, "stride", "padding", "dilation")
    conv = partial(_CONV[weight.ndim - 2], weight=weight, groups=o["groups"], **sizes)
    return convolve(conv, xs[0], max(len(weight), prod(weight.shape[1:])))


def _conv_transpose(xs: Sequence[Tensor], o: Options, t: Tensors) -> Tensor:
    sizes = _tuples(o, "stride", "padding", "output_padding", "dilation")
    return _CONV_TRANSPOSE[t["weight"].ndim - 2](xs[0], t["weight"], groups=o["groups"], **sizes)


def _add(xs: Sequence[Tensor], o: Options, t: Tensors) -> Tensor:
    total = xs[0] if o["signs"][0] == 1 else -xs[0]
    for sign, x in zip(o["signs"][1:], xs[1:], strict=True):
        total = total + x if sign == 1 else total - x
    return total


def _avg_pool(xs: Sequence[Tensor], o: Options, t: Tensors) -> Tensor:
    pool: Any = _AVG_POOL[len(o["kernel"])]
    sizes = _tuples(o, "kernel", "stride", "padding").values()
    divisor = {"divisor_override": o["divisor"]} if "divisor" in o else {}
    return pool(xs[0], *sizes, o["ceil_mode"], o["count_include_pad"], **divisor)  # type: ignore[no-any-return]


#: Every affine operation by name. Inputs carry a batch axis in front, options (o) speak of the axes behind it.
AFFINE_OPS: dict[str, Operation] = {
    # weight (out, in), acts on the last axis
    "linear": Operation(lambda xs, o, t: linear_map(xs[0], t["weight"]), "weights", False),
    # weight (out, in / groups, *kernel); options stride, padding, dilation, groups
    "conv": Operation(_conv, "weights", False),
    # weight (in, out / groups, *kernel); options as conv, and output_padding
    "conv_transpose": Operation(_conv_transpose, "weights", False),
    # factor, broadcast against the value (without batch)
    "scale": Operation(lambda xs, o, t: xs[0] * t["factor"], "weights", False),
    "add": Operation(_add, "weights", False),  # options signs: +1 or -1 for each input; inputs broadcast
    "concat": Operation(lambda xs, o, t: torch.cat(list(xs), o["dim"] + 1), "moves", True),
    # inputs broadcast and stacked along a new last axis: candidates of a choice
    "stack": Operation(
        lambda xs, o, t: torch.stack(torch.broadcast_tensors(*xs), dim=-1),  # type: ignore[no-untyped-call]
        "moves",
        False,
    ),
    "reshape": Operation(lambda xs, o, t: xs[0].reshape(len(xs[0]), *o["shape"]), "moves", True),
    "permute": Operation(lambda xs, o, t: xs[0].permute(0, *(dim + 1 for dim in o["dims"])), "moves", True),
    # index into the flattened value: slices, windows, repeats, any movement of entries
    "gather": Operation(
        lambda xs, o, t: xs[0].reshape(len(xs[0]), prod(xs[0].shape[1:]))[:, t["index"]], "moves", True
    ),
    # zeros around; options pads (as torch.nn.functional.pad). Another constant is in the offset
    "pad": Operation(lambda xs, o, t: F.pad(xs[0], tuple(o["pads"])), "moves", True),
    # options kernel, stride, padding, ceil_mode, count_include_pad, perhaps divisor
    "avg_pool": Operation(_avg_pool, "averages", True),
    "adaptive_avg_pool": Operation(
        lambda xs, o, t: _ADAPTIVE[len(o["size"])](xs[0], tuple(o["size"])),  # type: ignore[arg-type]
        "averages",
        True,
    ),
    # options size or scale, mode, align_corners, antialias
    "interpolate": Operation(
        lambda xs, o, t: F.interpolate(
            xs[0], o.get("size"), o.get("scale"), o["mode"], o["align_corners"], antialias=o["antialias"]
        ),
        "averages",
        True,
    ),
    "sum": Operation(
        lambda xs, o, t: xs[0].sum(dim=[dim + 1 for dim in o["dims"]], keepdim=o["keepdim"]), "weights", True
    ),
    # matrix (m, k) times the value (..., k, n)
    "matmul": Operation(lambda xs, o, t: matrix_product(t["matrix"], xs[0]), "weights", False),
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
