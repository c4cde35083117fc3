"""ONNX operators on shapes and axes as torch operations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from creases.network._reading.onnx.node import Node
from creases.network._reading.traced import TracedTensor

_PAD_MODES = {"constant": "constant", "reflect": "reflect", "edge": "replicate", "wrap": "circular"}


def _flatten(node: Node, x: Tensor) -> Tensor:
    axis = node.get("axis", 1)
    axis = axis + x.ndim if axis < 0 else axis
    return x.reshape(prod(x.shape[:axis]), prod(x.shape[axis:]))


def _reshape(node: Node, x: Tensor, shape: Tensor | None = None) -> Tensor:
    """Reshape; 0 keeps a size. A batch size of 1 in the target represents any batch.

    A value of a file for a single sample keeps its batch axis if the target has none.
    """
    target = list(node.integers("shape", shape))
    if not node.get("allowzero", 0):
        target = [x.shape[i] if n == 0 else n for i, n in enumerate(target)]
    if target and target[0] == 1 and x.ndim and x.numel() and len(x) > 1 and x.is_floating_point():
        rest = target[1:]
        if -1 in rest or prod(rest) * len(x) == x.numel():
            target[0] = len(x)
    if _is_one_sample(x) and target[:1] == [-1] and prod(target[1:]) == x.numel():
        target[0] = 1  # the batch, not an axis of the sample
    if _is_one_sample(x) and target[:1] != [1]:
        target = [1, *target]
    return x.reshape(target)


def _squeeze(node: Node, x: Tensor, axes: Tensor | None = None) -> Tensor:
    listed = node.integers("axes", axes)
    listed = (
        [axis for axis, n in enumerate(x.shape) if n == 1] if listed is None else [axis % x.ndim for axis in listed]
    )
    return x.squeeze(tuple(axis for axis in listed if axis or not _is_one_sample(x)))


def _is_one_sample(x: Tensor) -> bool:
    """Return whether a tensor is a network value in a file for a batch of one."""
    return isinstance(x, TracedTensor) and len(x) == 1


def _unsqueeze(node: Node, x: Tensor, axes: Tensor | None = None) -> Tensor:
    listed = node.integers("axes", axes)
    rank = x.ndim + len(listed)
    for axis in sorted(axis % rank for axis in listed):
        x = x.unsqueeze(axis)
    return x


def _slice(node: Node, x: Tensor, *inputs: Tensor | None) -> Tensor:
    tensors = [*inputs, None, None, None, None]
    starts, ends = node.integers("starts", tensors[0]), node.integers("ends", tensors[1])
    axes = node.integers("axes", tensors[2], list(range(len(starts))))
    steps = node.integers("steps", tensors[3], [1] * len(starts))
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        index = range(x.shape[axis])[slice(start, None if step < 0 and end < -x.shape[axis] else end, step)]
        x = x.index_select(axis, torch.tensor(list(index), dtype=torch.int64))
    return x


def _gather(node: Node, x: Tensor, indices: Tensor) -> Tensor:
    axis = node.get("axis", 0) % x.ndim
    index = torch.where(indices < 0, indices + x.shape[axis], indices).long()
    if index.ndim == 0:
        return x.select(axis, int(index))
    out = x.index_select(axis, index.flatten())
    return out if index.ndim == 1 else out.reshape(*x.shape[:axis], *index.shape, *x.shape[axis + 1 :])


def _split(node: Node, x: Tensor, sizes: Tensor | None = None) -> Sequence[Tensor]:
    axis = node.get("axis", 0)
    parts = node.integers("split", sizes)
    if parts is None:
        count = node.get("num_outputs", len(node.outputs))
        parts = -(-x.shape[axis] // count)  # the last part may be smaller
    return torch.split(x, parts, dim=axis)


def _pad(
    node: Node, x: Tensor, pads: Tensor | None = None, value: Tensor | None = None, axes: Tensor | None = None
) -> Tensor:
    amounts = node.integers("pads", pads)
    if amounts is None:
        amounts = node.get("paddings")  # opset 1
    padded = [axis % x.ndim for axis in node.integers("axes", axes, list(range(x.ndim)))]
    sides = [(0, 0)] * x.ndim
    for i, axis in enumerate(padded):
        sides[axis] = (amounts[i], amounts[len(padded) + i])
    mode = node.get("mode", "constant")
    if mode not in _PAD_MODES:
        raise node.error(f"padding mode {mode!r} cannot be read")
    while sides and sides[0] == (0, 0):  # torch pads trailing axes, and not all of them in the modes that copy
        sides.pop(0)
    if not sides:
        return x
    trailing = [n for side in reversed(sides) for n in side]
    if mode == "constant":
        fill = node.get("value", 0.0) if value is None else float(value)
        return F.pad(x, trailing, value=fill)
    return F.pad(x, trailing, mode=_PAD_MODES[mode])


def _transpose(node: Node, x: Tensor) -> Tensor:
    return x.permute(*node.get("perm", list(reversed(range(x.ndim)))))


def _shape(node: Node, x: Tensor) -> Tensor:
    return torch.tensor(list(x.shape), dtype=torch.int64)[node.get("start", 0) : node.get("end", None)]


def _expand(node: Node, x: Tensor, shape: Tensor) -> Tensor:
    target = list(node.integers("shape", shape))
    x = x.reshape(*(1,) * (len(target) - x.ndim), *x.shape) if len(target) > x.ndim else x
    target = [1] * (x.ndim - len(target)) + target
    return x.expand(*(n if t == 1 else t for n, t in zip(x.shape, target, strict=True)))


def _reduce(function: Callable[[Tensor, list[int], bool], Tensor]) -> Callable[..., Tensor]:
    def operator(node: Node, x: Tensor, axes: Tensor | None = None) -> Tensor:
        listed = node.integers("axes", axes)
        if not listed and node.get("noop_with_empty_axes", 0):
            return x
        return function(x, list(listed or range(x.ndim)), bool(node.get("keepdims", 1)))

    return operator


def _depth_to_space(node: Node, x: Tensor) -> Tensor:
    """Rearrange blocks of channels in space, depth first (DCR) or column first (CRD, torch's pixel shuffle)."""
    size = node.get("blocksize")
    if node.get("mode", "DCR") == "CRD":
        return F.pixel_shuffle(x, size)
    b, c, h, w = x.shape
    split = x.reshape(b, size, size, c // size**2, h, w).permute(0, 3, 4, 1, 5, 2)
    return split.reshape(b, c // size**2, h * size, w * size)


SHAPES: dict[str, Callable[..., Any]] = {
    "Flatten": _flatten,
    "Reshape": _reshape,
    "Transpose": _transpose,
    "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze,
    "Slice": _slice,
    "Gather": _gather,
    "Split": _split,
    "Concat": lambda node, *xs: torch.cat(xs, dim=node.get("axis", 1)),
    "Pad": _pad,
    "Shape": _shape,
    "Size": lambda node, x: torch.tensor(x.numel()),
    "Expand": _expand,
    "Tile": lambda node, x, repeats: x.repeat(*node.integers("repeats", repeats)),
    "ReduceMean": _reduce(lambda x, axes, keep: x.mean(axes, keepdim=keep)),
    "ReduceSum": _reduce(lambda x, axes, keep: x.sum(axes, keepdim=keep)),
    "ReduceMax": _reduce(lambda x, axes, keep: x.amax(axes, keepdim=keep)),
    "ReduceMin": _reduce(lambda x, axes, keep: x.amin(axes, keepdim=keep)),
    "DepthToSpace": _depth_to_space,
}
