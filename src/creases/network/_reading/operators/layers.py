"""Reading layers: convolution, batch normalization, dropout, padding, interpolation, pooling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from creases.network._reading.builder import ProgramBuilder, Value

Sizes = int | Sequence[int]


def sizes(n: Sizes, axes: int) -> list[int]:
    """Return a size for each axis, given one for all or one for each."""
    values = [int(n)] if isinstance(n, int) else [int(part) for part in n]
    return values * axes if len(values) == 1 else values


#: The arguments of torch's convolutions behind the bias, in order.
_CONVOLUTIONS: dict[str, dict[str, Any]] = {
    "conv": {"stride": 1, "padding": 0, "dilation": 1, "groups": 1},
    "conv_transpose": {"stride": 1, "padding": 0, "output_padding": 0, "groups": 1, "dilation": 1},
}


def convolution(
    op: str, builder: ProgramBuilder, input: Any, weight: Any, bias: Tensor | None = None, *args: Any, **named: Any
) -> Value:
    """Read a convolution with weight (out, in / groups, *kernel), or a transposed one with (in, out / groups, ...)."""
    if not isinstance(input, Value) or isinstance(weight, Value):
        raise builder.error("its weights depend on the input, so the network is not piecewise linear")
    axes = weight.ndim - 2
    if len(input.shape) != axes + 1:
        raise builder.error(
            f"needs values of shape (batch, channels, *{axes} axes), got (batch, *{input.shape}); check input_shape"
        )
    arguments = _CONVOLUTIONS[op] | dict(zip(_CONVOLUTIONS[op], args, strict=False)) | named
    if isinstance(padding := arguments["padding"], str):
        dilations = sizes(arguments["dilation"], axes)
        total = [d * (k - 1) * (padding == "same") for d, k in zip(dilations, weight.shape[2:], strict=True)]
        arguments["padding"] = [n // 2 for n in total]
        if any(n % 2 for n in total):  # torch pads one more at the end
            input = pad(builder, input, [n for each in reversed(total) for n in (each // 2, each - each // 2)])
            arguments["padding"] = 0
    options = {name: sizes(n, axes) for name, n in arguments.items()} | {"groups": int(arguments["groups"])}
    offset = None if bias is None else bias.reshape(-1, *(1,) * axes)
    return builder.emit(op, [input], options, weight=weight, offset=offset)


def batch_norm(
    builder: ProgramBuilder,
    input: Value,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
    cudnn_enabled: bool = False,
) -> Value:
    """Read a batch normalization with running statistics: a factor and an offset per channel."""
    if training or running_mean is None or running_var is None:
        raise builder.error(
            "normalizes by statistics of the batch, so a sample's output depends on the others; "
            "use track_running_stats=True and eval mode"
        )
    factor = (running_var.double() + eps).rsqrt()
    if weight is not None:
        factor = factor * weight
    offset = -running_mean * factor
    if bias is not None:
        offset = offset + bias
    shape = (-1, *(1,) * (len(input.shape) - 1))
    return builder.scale(input, factor.detach().reshape(shape), offset.detach().reshape(shape))


def dropout(
    builder: ProgramBuilder, input: Value, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Value:
    """Read a dropout that is off, as the identity."""
    if training and p > 0:
        raise builder.error(
            "drops entries at random even in eval mode; write F.dropout(x, p, training=self.training) or use nn.Dropout"
        )
    return input


def pad(
    builder: ProgramBuilder, input: Value, pad: Sequence[int], mode: str = "constant", value: float | None = None
) -> Value:
    """Read a padding; a constant other than zero goes into the offset."""
    pads = [int(n) for n in pad]
    if len(pads) // 2 > len(input.shape):
        raise builder.error("pads the batch axis")
    if mode != "constant":
        return builder.move(input, lambda numbers: F.pad(numbers, pads, mode=mode))  # type: ignore[no-any-return]
    options = {"pads": pads}
    if not value:
        return builder.emit("pad", [input], options) if any(pads) else input
    ones = torch.ones(1, *input.shape, dtype=torch.float64)
    return builder.emit("pad", [input], options, offset=value * (1 - F.pad(ones, pads)[0]))


def interpolate(
    builder: ProgramBuilder,
    input: Value,
    size: Sizes | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Value:
    """Read an interpolation: nearest-neighbor moves entries, every other mode is a linear map."""

    def resize(x: Tensor) -> Tensor:
        return F.interpolate(x, size, scale_factor, mode, align_corners, recompute_scale_factor, antialias)

    if mode.startswith("nearest"):
        return builder.move(input, resize)  # type: ignore[no-any-return]
    axes = len(input.shape) - 1
    options: dict[str, Any] = {"mode": mode, "align_corners": align_corners, "antialias": antialias}
    if size is not None or recompute_scale_factor:
        options["size"] = list(resize(input.example[:1]).shape[2:])
    else:
        assert scale_factor is not None
        factors = [scale_factor] * axes if isinstance(scale_factor, int | float) else scale_factor
        options["scale"] = [float(factor) for factor in factors]
    return builder.emit("interpolate", [input], options)


def unfold(
    builder: ProgramBuilder,
    input: Value,
    kernel_size: Sizes,
    dilation: Sizes = 1,
    padding: Sizes = 0,
    stride: Sizes = 1,
) -> Value:
    """Read sliding windows as columns (F.unfold)."""
    rows, columns = sizes(padding, 2)
    padded = pad(builder, input, [columns, columns, rows, rows]) if len(input.shape) == 3 else input
    return builder.move(padded, lambda numbers: F.unfold(numbers, kernel_size, dilation, 0, stride))  # type: ignore[no-any-return, arg-type]


# Pooling: averages are affine, maxima are choices among the entries of a window.


def avg_pool(
    builder: ProgramBuilder,
    input: Value,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Value:
    """Read an average over windows."""
    axes = len(input.shape) - 1
    kernel = sizes(kernel_size, axes)
    options: dict[str, Any] = {
        "kernel": kernel,
        "stride": sizes(stride, axes) if stride else kernel,
        "padding": sizes(padding, axes),
        "ceil_mode": bool(ceil_mode),
        "count_include_pad": bool(count_include_pad),
    }
    if divisor_override:
        options["divisor"] = int(divisor_override)
    return builder.emit("avg_pool", [input], options)


def adaptive_avg_pool(builder: ProgramBuilder, input: Value, output_size: Any) -> Value:
    """Read an average over windows that cover the input."""
    axes = len(input.shape) - 1
    return builder.emit("adaptive_avg_pool", [input], {"size": _output_size(output_size, input.shape[-axes:])})


def max_pool(
    builder: ProgramBuilder,
    input: Value,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Value:
    """Read a maximum over windows; positions outside the input repeat the window's first entry."""
    axes = len(input.shape) - 1
    kernel = sizes(kernel_size, axes)
    strides = sizes(stride, axes) if stride else kernel
    pads, dilations = sizes(padding, axes), sizes(dilation, axes)
    out = getattr(F, f"max_pool{axes}d")(input.example[:1], kernel, strides, pads, dilations, ceil_mode).shape[2:]
    windows = []
    for i in range(axes):
        first = torch.arange(out[i]) * strides[i] - pads[i]
        windows.append(first[:, None] + torch.arange(kernel[i]) * dilations[i])
    return _choose(builder, input, windows)


def adaptive_max_pool(builder: ProgramBuilder, input: Value, output_size: Any, return_indices: bool = False) -> Value:
    """Read a maximum over windows that cover the input."""
    axes = len(input.shape) - 1
    out = _output_size(output_size, input.shape[-axes:])
    windows = []
    for n, count in zip(input.shape[-axes:], out, strict=True):
        first = torch.arange(count) * n // count
        last = ((torch.arange(count) + 1) * n + count - 1) // count  # exclusive
        window = first[:, None] + torch.arange(int((last - first).max()))
        windows.append(torch.where(window < last[:, None], window, -1))
    return _choose(builder, input, windows)


def _choose(builder: ProgramBuilder, x: Value, windows: Sequence[Tensor]) -> Value:
    """Add a choice among the entries of windows, given for each axis by indices (positions, entries)."""
    channels, *grid = x.shape
    axes = len(grid)
    index = torch.zeros((1,) * (2 * axes), dtype=torch.int64)
    inside = torch.ones((1,) * (2 * axes), dtype=torch.bool)
    for i, (window, n) in enumerate(zip(windows, grid, strict=True)):
        shape = [1] * (2 * axes)
        shape[i], shape[axes + i] = window.shape
        index = index * n + window.clamp(0, n - 1).reshape(shape)
        inside = inside & ((window >= 0) & (window < n)).reshape(shape)
    index, inside = (part.flatten(axes) for part in (index, inside))  # (*positions, entries)
    first = index.gather(-1, inside.int().argmax(-1, keepdim=True))
    index = torch.where(inside, index, first)
    start = torch.arange(channels).reshape(-1, *(1,) * index.ndim) * prod(grid)
    return builder.choice(builder.gather(x, start + index))


def _output_size(size: Any, grid: Sequence[int]) -> list[int]:
    parts = [size] if isinstance(size, int) or size is None else list(size)
    return [n if part is None else int(part) for part, n in zip(parts * (len(grid) // len(parts)), grid, strict=True)]


_DROPOUTS = "dropout dropout1d dropout2d dropout3d alpha_dropout feature_dropout feature_alpha_dropout"

HANDLERS: dict[str, Callable[..., Any]] = {
    **{f"{op}{axes}d": partial(convolution, op) for op in _CONVOLUTIONS for axes in (1, 2, 3)},
    **dict.fromkeys(_DROPOUTS.split(), dropout),
    **dict.fromkeys(("interpolate", "upsample"), interpolate),
    "batch_norm": batch_norm,
    "pad": pad,
    "unfold": unfold,
    **{
        f"{pool.__name__}{axes}d": pool
        for pool in (avg_pool, adaptive_avg_pool, max_pool, adaptive_max_pool)
        for axes in (1, 2, 3)
    },
}
