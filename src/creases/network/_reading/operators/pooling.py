"""Reading pooling: averages are affine, maxima are choices among the entries of a window."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from creases.network._reading.builder import ProgramBuilder, Value
from creases.network._reading.operators.layers import Sizes, sizes


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


HANDLERS: dict[str, Callable[..., Any]] = {
    f"{name}{axes}d": handler
    for axes in (1, 2, 3)
    for name, handler in (
        ("avg_pool", avg_pool),
        ("adaptive_avg_pool", adaptive_avg_pool),
        ("max_pool", max_pool),
        ("adaptive_max_pool", adaptive_max_pool),
    )
}
