"""ONNX operators as torch operations, by name: ``operator(node, *inputs)``.

Inputs are tensors, traced or constant, and None for an omitted optional input. Operations on constants are folded.
Operators that are not piecewise linear are listed as well: the torch operation is then refused with a reason.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from math import prod
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from creases.errors import ReadError
from creases.network._reading.traced import TracedTensor

# Nodes of an ONNX graph.

#: Entries of a constant that lists sizes, axes or repeats.
MAX_LISTED = 1_000


@dataclass(frozen=True)
class Node:
    """An operator applied to named values."""

    op: str
    name: str
    inputs: tuple[str, ...]  #: names; "" for an omitted optional input
    outputs: tuple[str, ...]
    attributes: dict[str, Any]
    opset: int

    def get(self, attribute: str, default: Any = None) -> Any:
        """Return an attribute."""
        return self.attributes.get(attribute, default)

    def number(self, attribute: str, default: float) -> float:
        """Return a floating-point attribute in single precision, which ONNX's attributes and defaults have."""
        return float(np.float32(self.attributes.get(attribute, default)))

    def error(self, why: str) -> ReadError:
        """Return an error that names the node."""
        return ReadError(f"{self.name} ({self.op}): {why}")

    def integers(self, attribute: str, tensor: Any, default: Any = None) -> Any:
        """Return integers that older opsets store as an attribute and newer ones as a constant input."""
        if tensor is None:
            return self.get(attribute, default)
        if isinstance(tensor, TracedTensor):
            raise self.error(f"its {attribute} depend on the network's input")
        return [int(n) for n in self.listed(attribute, tensor)]

    def listed(self, what: str, tensor: Any) -> list[Any]:
        """Return the entries of a constant that lists sizes, axes or repeats."""
        if tensor.numel() > MAX_LISTED:
            raise self.error(f"its {what} have {tensor.numel():,} entries; no tensor has so many axes")
        return list(tensor.reshape(-1).tolist())


# ONNX layers as torch operations: convolution, normalization, pooling, resizing.


def _windows(node: Node, x: Tensor, kernel: Sequence[int]) -> tuple[list[int], list[int], list[tuple[int, int]]]:
    """Return strides, dilations and the padding at the start and end of each spatial axis."""
    axes = len(kernel)
    strides, dilations = node.get("strides", [1] * axes), node.get("dilations", [1] * axes)
    mode = node.get("auto_pad", "NOTSET")
    if not mode.startswith("SAME"):
        pads = [0] * (2 * axes) if mode == "VALID" else node.get("pads", [0] * (2 * axes))
        return strides, dilations, list(zip(pads[:axes], pads[axes:], strict=True))
    sides = []
    for n, k, s, d in zip(x.shape[2:], kernel, strides, dilations, strict=True):
        total = max(0, ((n + s - 1) // s - 1) * s + d * (k - 1) + 1 - n)
        small, large = total // 2, total - total // 2
        sides.append((small, large) if mode == "SAME_UPPER" else (large, small))
    return strides, dilations, sides


#: Which entry of an axis of length n is at a position before or after it, by the mode of a padding that copies.
_PAD_MODES: dict[str, Callable[[Tensor, int], Tensor]] = {
    "edge": lambda at, n: at.clamp(0, n - 1),
    "reflect": lambda at, n: (n - 1) - ((n - 1) - at % max(2 * n - 2, 1)).abs(),
    "wrap": lambda at, n: at % n,
}


def _pad_axes(x: Tensor, sides: dict[int, tuple[int, int]], mode: str = "constant", value: float = 0.0) -> Tensor:
    """Pad axes at their start and end with a constant, or with copies of entries by a mode of ONNX."""
    if mode == "constant":
        first = min((axis for axis, side in sides.items() if any(side)), default=x.ndim)  # torch pads trailing axes
        trailing = [n for axis in reversed(range(first, x.ndim)) for n in sides.get(axis, (0, 0))]
        return F.pad(x, trailing, value=value) if trailing else x
    for axis, (before, after) in sides.items():
        if before or after:
            n = x.shape[axis]
            x = x.index_select(axis, _PAD_MODES[mode](torch.arange(-before, n + after), n))
    return x


def _pad_uneven(x: Tensor, pads: Sequence[tuple[int, int]], mode: str = "constant") -> tuple[Tensor, list[int]]:
    """Apply padding that differs between start and end, which torch's layers lack; return the padding left to them."""
    if all(before == after for before, after in pads):
        return x, [before for before, _ in pads]
    return _pad_axes(x, dict(enumerate(pads, start=2)), mode), [0] * len(pads)


def _conv(node: Node, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    strides, dilations, pads = _windows(node, x, weight.shape[2:])
    x, padding = _pad_uneven(x, pads)
    conv = getattr(F, f"conv{weight.ndim - 2}d")
    return conv(x, weight, bias, strides, padding, dilations, node.get("group", 1))  # type: ignore[no-any-return]


def _conv_transpose(node: Node, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    axes = weight.ndim - 2
    mode, shape = node.get("auto_pad", "NOTSET"), node.get("output_shape")
    strides, dilations = node.get("strides", [1] * axes), node.get("dilations", [1] * axes)
    if mode.startswith("SAME") and not shape:
        shape = [n * s for n, s in zip(x.shape[2:], strides, strict=True)]
        if any((k - 1) * d + 1 < s for k, d, s in zip(weight.shape[2:], dilations, strides, strict=True)):
            raise node.error(f"its stride is longer than its kernel, where runtimes read auto_pad={mode} differently")
    pads, extra = node.get("pads", [0] * (2 * axes)), list(node.get("output_padding", [0] * axes))
    cuts = list(zip(pads[:axes], pads[axes:], strict=True))  # pads of a transposed convolution cut its output
    for i in range(axes if shape else 0):
        total = (x.shape[2 + i] - 1) * strides[i] + (weight.shape[2 + i] - 1) * dilations[i] + 1 + extra[i] - shape[i]
        extra[i] -= min(total, 0)  # a longer output is continued
        half = max(total, 0) // 2 if mode == "SAME_UPPER" else max(total, 0) - max(total, 0) // 2
        cuts[i] = (half, max(total, 0) - half)
    out = getattr(F, f"conv_transpose{axes}d")(x, weight, bias, strides, 0, extra, node.get("group", 1), dilations)
    for i, (before, after) in enumerate(cuts):
        out = out.narrow(2 + i, before, out.shape[2 + i] - before - after)
    return out  # type: ignore[no-any-return]


def _pool(node: Node, x: Tensor) -> Tensor:
    """Apply max-pooling or average pooling.

    Uneven padding repeats the edge for a maximum, which it does not change. If torch cannot count the padding of an
    average, that is divided by the average of ones.
    """
    kernel = node.get("kernel_shape")
    strides, dilations, pads = _windows(node, x, kernel)
    is_max, is_even = node.op == "MaxPool", all(before == after for before, after in pads)
    if any(d > 1 for d in dilations) and not (is_max and is_even):
        raise node.error("a dilated average pool, or max-pool with uneven padding, cannot be read")
    padded, padding = _pad_uneven(x, pads, mode="edge" if is_max else "constant")
    if any(2 * p > k for p, k in zip(padding, kernel, strict=True)):
        raise node.error("its padding is more than half of its window")
    pool = getattr(F, f"{'max' if is_max else 'avg'}_pool{len(kernel)}d")
    ceil, include = bool(node.get("ceil_mode", 0)), bool(node.get("count_include_pad", 0))
    out = pool(padded, kernel, strides, padding, *((dilations, ceil) if is_max else (ceil, include)))
    if is_max or include or is_even:
        return out  # type: ignore[no-any-return]
    ones, _ = _pad_uneven(torch.ones(1, 1, *x.shape[2:], dtype=torch.float64), pads)
    return out / pool(ones, kernel, strides, padding, ceil, include)  # type: ignore[no-any-return]


def _resize(node: Node, x: Tensor, *inputs: Tensor | None) -> Tensor:
    """Resize one axis after another: nearest entries are selected, linear and cubic interpolation is a matrix."""
    old = node.op == "Upsample" or node.opset < 11
    scales, sizes = (inputs[0] if inputs else None, None) if old else (list(inputs) + [None] * 3)[1:3]
    if node.get("antialias", 0) or node.get("keep_aspect_ratio_policy", "stretch") != "stretch":
        raise node.error("resizing with antialias or a kept aspect ratio cannot be read")
    axes = [axis % x.ndim for axis in node.get("axes", range(x.ndim))]
    size = node.integers("sizes", sizes) if sizes is not None else [None] * len(axes)
    factors = [None] * len(axes)
    if sizes is None:
        factors = node.get("scales") if scales is None else node.listed("scales", scales)
    for axis, length, factor in zip(axes, size, factors, strict=True):
        n = x.shape[axis]
        length = int(n * factor + 1e-9) if length is None else length
        scale = length / n if factor is None else factor
        if axis and (length != n or scale != 1):
            x = _resize_axis(node, x, axis, length, scale, "asymmetric" if old else "half_pixel")
    return x


def _resize_axis(node: Node, x: Tensor, axis: int, length: int, scale: float, transform: str) -> Tensor:
    n, position = x.shape[axis], torch.arange(length, dtype=torch.float64)
    transform = node.get("coordinate_transformation_mode", transform)
    half_pixel = (position + 0.5) / scale - 0.5
    sources = {
        "half_pixel": half_pixel,
        "half_pixel_symmetric": n / 2 * (1 - length / (scale * n)) + half_pixel,
        "pytorch_half_pixel": half_pixel if length > 1 else 0 * position,
        "align_corners": position * (n - 1) / max(length - 1, 1),
        "asymmetric": position / scale,
        "tf_half_pixel_for_nn": (position + 0.5) / scale,
    }
    mode = node.get("mode", "nearest")
    if transform not in sources or mode not in ("nearest", "linear", "cubic"):
        raise node.error(f"resizing with mode={mode} and {transform} cannot be read")
    source = sources[transform]
    if mode == "nearest":
        default = "floor" if transform == "asymmetric" and node.opset < 11 else "round_prefer_floor"
        rounding: dict[str, Callable[[Tensor], Tensor]] = {
            "round_prefer_floor": lambda at: (at - 0.5).ceil(),
            "round_prefer_ceil": lambda at: (at + 0.5).floor(),
            "floor": torch.floor,
            "ceil": torch.ceil,
        }
        nearest = rounding[node.get("nearest_mode", default)](source)
        return x.index_select(axis, nearest.clamp(0, n - 1).long())
    first, past = source.floor().long(), source - source.floor()
    a = node.number("cubic_coeff_a", -0.75)
    weights = torch.zeros(length, n, dtype=torch.float64)
    for k in (0, 1) if mode == "linear" else (-1, 0, 1, 2):
        d = (past - k).abs()
        near = 1 - d if mode == "linear" else (a + 2) * d**3 - (a + 3) * d**2 + 1
        weight = torch.where(d <= 1, near, a * (d**3 - 5 * d**2 + 8 * d - 4))
        inside = (first + k >= 0) & (first + k < n) if node.get("exclude_outside", 0) else torch.tensor(True)
        weights.scatter_add_(1, (first + k).clamp(0, n - 1)[:, None], (weight * inside)[:, None])
    weights = weights / weights.sum(1, keepdim=True)
    return F.linear(x.transpose(axis, -1), weights).transpose(axis, -1)


# ONNX operators on shapes and axes as torch operations.


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
    listed = node.integers("axes", axes, [axis for axis, n in enumerate(x.shape) if n == 1])
    return x.squeeze(tuple(axis % x.ndim for axis in listed if axis % x.ndim or not _is_one_sample(x)))


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


def _from_front(indices: Tensor, n: int) -> Tensor:
    """Return indices along an axis of length n, of which negative ones count from its end."""
    return torch.where(indices < 0, indices + n, indices).long()


def _gather(node: Node, x: Tensor, indices: Tensor) -> Tensor:
    axis = node.get("axis", 0) % x.ndim
    return x[(slice(None),) * axis + (_from_front(indices, x.shape[axis]),)]


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
    amounts = node.integers("pads", pads, node.get("paddings"))  # which opset 1 has
    padded = [axis % x.ndim for axis in node.integers("axes", axes, list(range(x.ndim)))]
    sides = dict(zip(padded, zip(amounts[: len(padded)], amounts[len(padded) :], strict=True), strict=True))
    mode = node.get("mode", "constant")
    if mode not in ("constant", *_PAD_MODES):
        raise node.error(f"padding mode {mode!r} cannot be read")
    return _pad_axes(x, sides, mode, node.get("value", 0.0) if value is None else float(value))


def _reduce(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def operator(node: Node, x: Tensor, axes: Tensor | None = None) -> Tensor:
        listed = node.integers("axes", axes)
        if not listed and node.get("noop_with_empty_axes", 0):
            return x
        return function(x, dim=list(listed or range(x.ndim)), keepdim=bool(node.get("keepdims", 1)))

    return operator


def _transpose_channels(x: Tensor, rows: int) -> Tensor:
    """Transpose channels that are ``rows`` rows, one after another."""
    return x.reshape(len(x), rows, -1, *x.shape[2:]).transpose(1, 2).flatten(1, 2)


def _depth_to_space(node: Node, x: Tensor) -> Tensor:
    """Rearrange blocks of channels in space, depth first (DCR) or column first (CRD, torch's pixel shuffle)."""
    size = node.get("blocksize")
    if node.get("mode", "DCR") == "DCR":
        x = _transpose_channels(x, size**2)
    return F.pixel_shuffle(x, size)


def _cumulative_sum(node: Node, x: Tensor, axis: Tensor) -> Tensor:
    at = int(axis)
    total = x.flip(at).cumsum(at).flip(at) if node.get("reverse", 0) else x.cumsum(at)
    return total - x if node.get("exclusive", 0) else total


Operator = Callable[..., Any]

#: ONNX's element types; all that are floating point are read as float64.
_KINDS = {2: torch.uint8, 3: torch.int8, 5: torch.int16, 6: torch.int32, 7: torch.int64, 9: torch.bool}
_KINDS |= dict.fromkeys((1, 10, 11, 16), torch.float64)


def _gemm(node: Node, a: Tensor, b: Tensor, c: Tensor | None = None) -> Tensor:
    """Compute ``alpha A' B' + beta C``, A' and B' possibly transposed."""
    a = a.mT if node.get("transA", 0) else a
    b = b.mT if node.get("transB", 0) else b
    alpha, beta = node.number("alpha", 1.0), node.number("beta", 1.0)
    if c is not None and c.ndim == 1 and not isinstance(b, TracedTensor):
        return F.linear(a, (b * alpha).mT, c * beta)  # one step
    out = a @ b * alpha
    return out if c is None else out + c * beta


def _matmul(node: Node, a: Tensor, b: Tensor) -> Tensor:
    """Multiply; a matrix times a vector, in a file without batch axis, acts on the vector of each sample."""
    is_vector = isinstance(b, TracedTensor) and not isinstance(a, TracedTensor) and b.ndim == 2 and len(b) == 1
    if is_vector and a.ndim == 2 and a.shape[1] == b.shape[1]:
        return F.linear(b, a)
    return torch.matmul(a, b)


def _prelu(node: Node, x: Tensor, slope: Tensor) -> Tensor:
    """Apply a leaky ReLU with a slope tensor, by torch's PReLU if there is one slope or one per channel."""
    if slope.numel() == 1 or list(slope.shape) == [*x.shape[1:2], *(1,) * (x.ndim - 2)]:
        return F.prelu(x, slope.reshape(-1))
    return torch.relu(x) - slope * torch.relu(-x)


def _clip(node: Node, x: Tensor, low: Tensor | None = None, high: Tensor | None = None) -> Tensor:
    values = [node.get(name) if t is None else float(t) for name, t in (("min", low), ("max", high))]
    bounds = [None if v is None or abs(v) > 3e38 else v for v in values]  # the old default is float32's largest
    return x if bounds == [None, None] else torch.clamp(x, *bounds)


def _shrink(node: Node, x: Tensor) -> Tensor:
    """Move what is beyond ±lambd toward 0 by the bias and give 0 elsewhere; continuous if the two are equal."""
    bias, lambd = node.number("bias", 0.0), node.number("lambd", 0.5)
    if bias != lambd or lambd < 0:
        raise node.error(f"jumps, with lambd={lambd:g} and bias={bias:g}; only bias == lambd >= 0 can be read")
    return F.softshrink(x, lambd)


def _cast(node: Node, x: Tensor) -> Tensor:
    if (to := node.get("to")) not in _KINDS:
        raise node.error(f"casts to the element type {to}, which cannot be read")
    return x.to(_KINDS[to])


def _constant(node: Node) -> Tensor:
    for name in ("value", "value_float", "value_floats", "value_int", "value_ints"):
        value = node.get(name)
        if value is not None:
            dtype = torch.float64 if "float" in name else torch.int64
            return value if isinstance(value, Tensor) else torch.tensor(value, dtype=dtype)
    raise node.error("holds no number; only numeric constants can be read")


def _plain(function: Callable[..., Any]) -> Operator:
    return lambda node, *xs: function(*xs)


#: Operators that torch has under the same name, in lower case, whether they are read or refused.
_OF_TORCH = "Relu Abs Neg Add Sub Mul Pow Greater Less Where Sigmoid Tanh Erf Exp Log Sqrt Reciprocal Sin Cos Sign"
_OF_TORCH += " Floor Ceil Round"
_OF_FUNCTIONAL = "Elu Selu Celu Gelu Mish HardSwish Softplus Softsign"


OPERATORS: dict[str, Operator] = {
    "Conv": _conv,
    "ConvTranspose": _conv_transpose,
    "BatchNormalization": lambda node, x, scale, bias, mean, var: F.batch_norm(
        x, mean, var, scale, bias, bool(node.get("training_mode", 0)), eps=node.number("epsilon", 1e-5)
    ),
    "MaxPool": _pool,
    "AveragePool": _pool,
    "GlobalAveragePool": lambda node, x: x.mean(list(range(2, x.ndim)), keepdim=True),
    "GlobalMaxPool": lambda node, x: x.amax(list(range(2, x.ndim)), keepdim=True),
    "Resize": _resize,
    "Upsample": _resize,
    "LayerNormalization": lambda node, x, *_: F.layer_norm(x, x.shape[node.get("axis", -1) :]),
    "InstanceNormalization": lambda node, x, *_: F.instance_norm(x),
    "Flatten": lambda node, x: x.reshape(prod(x.shape[: node.get("axis", 1)]), prod(x.shape[node.get("axis", 1) :])),
    "Reshape": _reshape,
    "Transpose": lambda node, x: x.permute(*node.get("perm", list(reversed(range(x.ndim))))),
    "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze,
    "Slice": _slice,
    "Gather": _gather,
    "Split": _split,
    "Concat": lambda node, *xs: torch.cat(xs, dim=node.get("axis", 1)),
    "Pad": _pad,
    "Shape": lambda node, x: torch.tensor(list(x.shape)[node.get("start", 0) : node.get("end")], dtype=torch.int64),
    "Size": lambda node, x: torch.tensor(x.numel()),
    "Expand": lambda node, x, shape: x.expand(
        np.broadcast_shapes(tuple(x.shape), tuple(node.integers("shape", shape)))
    ),
    "Tile": lambda node, x, repeats: x.repeat(*node.integers("repeats", repeats)),
    "ReduceMean": _reduce(torch.mean),
    "ReduceSum": _reduce(torch.sum),
    "ReduceMax": _reduce(torch.amax),
    "ReduceMin": _reduce(torch.amin),
    "ReduceL1": _reduce(partial(torch.linalg.vector_norm, ord=1)),
    "ReduceL2": _reduce(torch.linalg.vector_norm),
    "DepthToSpace": _depth_to_space,
    "SpaceToDepth": lambda node, x: _transpose_channels(F.pixel_unshuffle(x, node.get("blocksize")), x.shape[1]),
    "CumSum": _cumulative_sum,
    "GatherElements": lambda node, x, k: x.gather(node.get("axis", 0), _from_front(k, x.shape[node.get("axis", 0)])),
    "Trilu": lambda node, x, k=None: (torch.triu if node.get("upper", 1) else torch.tril)(
        x, 0 if k is None else int(k)
    ),
    **{name: _plain(getattr(torch, name.lower())) for name in _OF_TORCH.split()},
    **{name: _plain(getattr(F, name.lower())) for name in _OF_FUNCTIONAL.split()},
    "Gemm": _gemm,
    "MatMul": _matmul,
    "Div": lambda node, a, b: (
        a / b if a.is_floating_point() or b.is_floating_point() else torch.div(a, b, rounding_mode="trunc")
    ),
    "Mod": lambda node, a, b: (torch.fmod if node.get("fmod", 0) else torch.remainder)(a, b),
    "Sum": lambda node, *xs: reduce(torch.add, xs),
    "Mean": lambda node, *xs: reduce(torch.add, xs) / len(xs),
    "Identity": _plain(lambda x: x),
    "Dropout": lambda node, x, *_: x,
    "Cast": _cast,
    "Constant": _constant,
    "ConstantOfShape": lambda node, shape: (
        node.get("value", torch.zeros(1, dtype=torch.float64)).reshape(()).expand(node.integers("shape", shape))
    ),
    "Range": lambda node, start, limit, delta: torch.arange(start.item(), limit.item(), delta.item()),
    "Einsum": lambda node, *xs: torch.einsum(node.get("equation"), *xs),
    "ThresholdedRelu": lambda node, x: F.threshold(x, node.number("alpha", 1.0), 0.0),
    "LeakyRelu": lambda node, x: F.leaky_relu(x, node.number("alpha", 0.01)),
    "PRelu": _prelu,
    "Clip": _clip,
    "Shrink": _shrink,
    "Max": lambda node, *xs: reduce(torch.maximum, xs),
    "Min": lambda node, *xs: reduce(torch.minimum, xs),
    "HardSigmoid": lambda node, x: torch.clamp(x * node.number("alpha", 0.2) + node.number("beta", 0.5), 0.0, 1.0),
    "Equal": _plain(torch.eq),
    "GreaterOrEqual": _plain(torch.ge),
    "LessOrEqual": _plain(torch.le),
    "Not": _plain(torch.logical_not),
    "Softmax": lambda node, x: F.softmax(x, node.get("axis", 1 if node.opset < 13 else -1)),
    "LogSoftmax": lambda node, x: F.log_softmax(x, node.get("axis", 1 if node.opset < 13 else -1)),
    "ArgMax": lambda node, x: torch.argmax(x, dim=node.get("axis", 0), keepdim=bool(node.get("keepdims", 1))),
}
