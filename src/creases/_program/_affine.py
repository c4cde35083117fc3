"""The affine operations of a program: linear maps, with the offset stored separately.

Because the offset is separate, the same code propagates values and coefficients: values get the offset, directions do
not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from creases._program._products import convolve, linear_map, matrix_product

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
