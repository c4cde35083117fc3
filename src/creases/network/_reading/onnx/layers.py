"""ONNX layers as torch operations: convolution, normalization, pooling, resizing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from creases.network._reading.onnx.node import Node

_CONV: dict[int, Any] = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
_CONV_TRANSPOSE: dict[int, Any] = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}
_MAX_POOL: dict[int, Any] = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}
_AVG_POOL: dict[int, Any] = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}
_LINEAR = {1: "linear", 2: "bilinear", 3: "trilinear"}


def _pads(node: Node, x: Tensor, kernel: Sequence[int]) -> list[tuple[int, int]]:
    """Return the padding at the start and end of each spatial axis."""
    axes = len(kernel)
    mode = node.get("auto_pad", "NOTSET")
    if mode in ("NOTSET", ""):
        pads = node.get("pads", [0] * (2 * axes))
        return list(zip(pads[:axes], pads[axes:], strict=True))
    if mode == "VALID":
        return [(0, 0)] * axes
    strides, dilations = node.get("strides", [1] * axes), node.get("dilations", [1] * axes)
    sides = []
    for n, k, s, d in zip(x.shape[2:], kernel, strides, dilations, strict=True):
        total = max(0, ((n + s - 1) // s - 1) * s + d * (k - 1) + 1 - n)
        small, large = total // 2, total - total // 2
        sides.append((small, large) if mode == "SAME_UPPER" else (large, small))
    return sides


def _pad_uneven(x: Tensor, pads: Sequence[tuple[int, int]], mode: str = "constant") -> tuple[Tensor, list[int]]:
    """Apply padding that differs between start and end, which torch's layers lack; return the padding left to them."""
    if all(before == after for before, after in pads):
        return x, [before for before, _ in pads]
    return F.pad(x, [n for side in reversed(pads) for n in side], mode=mode), [0] * len(pads)


def _conv(node: Node, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    axes = weight.ndim - 2
    x, padding = _pad_uneven(x, _pads(node, x, weight.shape[2:]))
    strides, dilations = node.get("strides", [1] * axes), node.get("dilations", [1] * axes)
    return _CONV[axes](x, weight, bias, strides, padding, dilations, node.get("group", 1))  # type: ignore[no-any-return]


def _conv_transpose(node: Node, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    axes = weight.ndim - 2
    if node.get("auto_pad", "NOTSET") not in ("NOTSET", "VALID") or node.get("output_shape"):
        raise node.error("auto_pad and output_shape of a transposed convolution cannot be read; give explicit pads")
    pads = node.get("pads", [0] * (2 * axes))
    strides, dilations = node.get("strides", [1] * axes), node.get("dilations", [1] * axes)
    extra = node.get("output_padding", [0] * axes)
    out = _CONV_TRANSPOSE[axes](x, weight, bias, strides, 0, extra, node.get("group", 1), dilations)
    for i in range(axes):  # pads of a transposed convolution cut its output
        out = out.narrow(2 + i, pads[i], out.shape[2 + i] - pads[i] - pads[axes + i])
    return out  # type: ignore[no-any-return]


def _batch_norm(node: Node, x: Tensor, scale: Tensor, bias: Tensor, mean: Tensor, var: Tensor) -> Tensor:
    training = bool(node.get("training_mode", 0))
    return F.batch_norm(x, mean, var, scale, bias, training, eps=node.number("epsilon", 1e-5))


def _max_pool(node: Node, x: Tensor) -> Tensor:
    """Apply max-pooling; uneven padding repeats the edge, which does not change a maximum."""
    kernel = node.get("kernel_shape")
    axes = len(kernel)
    dilations = node.get("dilations", [1] * axes)
    pads = _pads(node, x, kernel)
    x, padding = _pad_uneven(x, pads, mode="replicate")
    if any(d > 1 for d in dilations) and any(before != after for before, after in pads):
        raise node.error("a dilated max-pool with uneven padding cannot be read")
    if any(2 * p > k for p, k in zip(padding, kernel, strict=True)):
        raise node.error("its padding is more than half of its window")
    strides = node.get("strides", [1] * axes)
    return _MAX_POOL[axes](x, kernel, strides, padding, dilations, bool(node.get("ceil_mode", 0)))  # type: ignore[no-any-return]


def _average_pool(node: Node, x: Tensor) -> Tensor:
    """Apply average pooling; if torch cannot count the padding, divide by the average of ones."""
    kernel = node.get("kernel_shape")
    axes = len(kernel)
    if any(d > 1 for d in node.get("dilations", [1] * axes)):
        raise node.error("a dilated average pool cannot be read")
    strides, ceil = node.get("strides", [1] * axes), bool(node.get("ceil_mode", 0))
    include = bool(node.get("count_include_pad", 0))
    pads = _pads(node, x, kernel)
    padded, padding = _pad_uneven(x, pads)
    if any(2 * p > k for p, k in zip(padding, kernel, strict=True)):
        raise node.error("its padding is more than half of its window")
    out = _AVG_POOL[axes](padded, kernel, strides, padding, ceil, include)
    if include or all(before == after for before, after in pads):
        return out  # type: ignore[no-any-return]
    ones, _ = _pad_uneven(torch.ones(1, 1, *x.shape[2:], dtype=torch.float64), pads)
    return out / _AVG_POOL[axes](ones, kernel, strides, padding, ceil, include)  # type: ignore[no-any-return]


def _resize(node: Node, x: Tensor, *inputs: Tensor | None) -> Tensor:
    """Apply nearest or linear resizing, in the variants that torch supports."""
    if node.op == "Upsample" or node.opset < 11:
        scales, sizes = (inputs[0] if inputs else None), None
        factors = node.get("scales") if scales is None else node.listed("scales", scales)
        transform, rounding = "asymmetric", "floor"
    else:
        scales, sizes = (list(inputs) + [None] * 3)[1:3]
        factors = node.listed("scales", scales) if scales is not None and scales.numel() else None
        transform = node.get("coordinate_transformation_mode", "half_pixel")
        rounding = node.get("nearest_mode", "round_prefer_floor")
    if node.get("axes") is not None or node.get("antialias", 0):
        raise node.error("resizing with axes or antialias cannot be read")
    axes = x.ndim - 2
    size = node.integers("sizes", sizes)[2:] if sizes is not None else None
    factors = [float(f) for f in factors][2:] if size is None and factors is not None else None
    mode = node.get("mode", "nearest")
    if mode == "nearest" and (transform, rounding) == ("asymmetric", "floor"):
        return F.interpolate(x, size, factors, "nearest")
    if mode == "nearest" and transform == "half_pixel" and rounding == "round_prefer_floor":
        return F.interpolate(x, size, factors, "nearest-exact")
    if mode == "linear" and transform in ("half_pixel", "pytorch_half_pixel", "align_corners"):
        return F.interpolate(x, size, factors, _LINEAR[axes], align_corners=transform == "align_corners")
    raise node.error(
        f"resizing with mode={mode}, {transform}, {rounding} cannot be read; use nearest (asymmetric, floor)"
    )


def _spatial_axes(x: Tensor) -> list[int]:
    return list(range(2, x.ndim))


LAYERS: dict[str, Callable[..., Any]] = {
    "Conv": _conv,
    "ConvTranspose": _conv_transpose,
    "BatchNormalization": _batch_norm,
    "MaxPool": _max_pool,
    "AveragePool": _average_pool,
    "GlobalAveragePool": lambda node, x: x.mean(_spatial_axes(x), keepdim=True),
    "GlobalMaxPool": lambda node, x: x.amax(_spatial_axes(x), keepdim=True),
    "Resize": _resize,
    "Upsample": _resize,
    "LayerNormalization": lambda node, x, *_: F.layer_norm(x, x.shape[node.get("axis", -1) :]),
    "InstanceNormalization": lambda node, x, *_: F.instance_norm(x),
}
