"""A network as the checker sees it: flat values, affine steps with exact entries, bends.

What an affine step does is written down here from its weights and options alone, entry by entry; a step whose entries
would be rounded on the way (a bilinear interpolation, say) is refused.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from creases.certify.proofs._checker.parts import Dense, Dyadic, Part, Pick, to_fractions
from creases.certify.proofs._checker.plain import PlainNetwork, to_plain
from creases.certify.proofs._spec import Array
from creases.errors import InputError

if TYPE_CHECKING:
    from creases.network import Network

#: Most entries of a step's matrix.
MATRIX_ENTRIES = 2**26

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Offset:
    """Constants (size,) of a step."""

    floats: Array  #: the nearest ones
    error: Array | None  #: bounds of how far they are away; None if they are exact
    exact: Dyadic

    @classmethod
    def of(cls, exact: Dyadic) -> Offset:
        """Return exact numbers with the nearest floats."""
        floats, error = exact.in_range().nearest()
        return cls(floats, error if error.any() else None, exact)

    def at(self, exact: bool) -> Array:
        """Return the constants as floats or as fractions."""
        return self._fractions if exact else self.floats

    @cached_property
    def _fractions(self) -> Array:
        return self.exact.fractions()


@dataclass(frozen=True, eq=False)
class Affine:
    """The sum of parts, each of a value, and an offset."""

    inputs: tuple[int, ...]
    parts: tuple[Part, ...]
    offset: Offset | None  #: (size,)
    size: int


@dataclass(frozen=True, eq=False)
class Relu:
    """Units: z where z > 0, else leak z."""

    inputs: tuple[int]
    leak: Array  #: (size,)
    size: int
    first: int  #: number of its first unit


@dataclass(frozen=True, eq=False)
class Choice:
    """Units: the largest of K candidates, which are next to each other in the value before."""

    inputs: tuple[int]
    K: int
    size: int
    first: int


@dataclass(frozen=True, eq=False)
class Machine:
    """Steps on values numbered from 0, the input; the value of step i is i + 1, the last one the output."""

    n_in: int
    steps: tuple[Affine | Relu | Choice, ...]
    n_units: int

    @property
    def n_out(self) -> int:
        """Number of outputs."""
        return self.steps[-1].size if self.steps else self.n_in

    def up_to(self, number: int) -> Machine:
        """Return the steps that come before a value, which is the output."""
        steps = self.steps[:number]
        return Machine(self.n_in, steps, sum(step.size for step in steps if not isinstance(step, Affine)))

    def sizes(self) -> list[int]:
        """Return the number of entries of each value."""
        return [self.n_in, *(step.size for step in self.steps)]

    def unit(self, number: int) -> tuple[int, int]:
        """Return the step of a unit and its place there."""
        for i, step in enumerate(self.steps):
            if not isinstance(step, Affine) and step.first <= number < step.first + step.size:
                return i, number - step.first
        raise IndexError(number)

    def evaluate(self, x: Array | Sequence[Any]) -> list[Array]:
        """Return all values at an input, in fractions."""
        values = [to_fractions(x)]
        for step in self.steps:
            if isinstance(step, Affine):
                total = np.full(step.size, Fraction(0), dtype=object)
                for number, part in zip(step.inputs, step.parts, strict=True):
                    row = values[number][None]
                    total = total + (part.transpose if isinstance(part, Dense) else part).exact(row)[0]
                values.append(total if step.offset is None else total + step.offset.at(exact=True))
            elif isinstance(step, Relu):
                z = values[step.inputs[0]]
                values.append(np.where(z > 0, z, to_fractions(step.leak) * z))
            else:
                values.append(values[step.inputs[0]].reshape(step.size, step.K).max(axis=1))
        return values


def build_machine(net: Network | PlainNetwork, other: Network | PlainNetwork | None = None) -> Machine:
    """Return a network, or two side by side: the outputs of the first, then those of the second.

    Steps of two networks that do the same to the same values occur once, as in ``join_networks``.
    """
    builder, net = _Builder(), to_plain(net)
    if other is None:
        builder.add(net, 0, merge=False)
        return Machine(net.n_in, tuple(builder.steps), builder.units)
    start, other = 0, to_plain(other)
    first = builder.add(net, 0, merge=True)
    if other.input_shape != net.input_shape:  # a step of its own, so that nothing is shared
        start = builder.append(Affine((0,), (Pick(net.n_in, np.arange(net.n_in)),), None, net.n_in))
    second = builder.add(other, start, merge=True)
    index, m = np.arange(net.n_out + other.n_out), net.n_out
    halves = Pick(m, np.where(index < m, index, -1)), Pick(other.n_out, np.maximum(index - m, -1))
    builder.append(Affine((first, second), halves, None, len(index)))
    return Machine(net.n_in, tuple(builder.steps), builder.units)


class _Builder:
    def __init__(self) -> None:
        self.steps: list[Affine | Relu | Choice] = []
        self.units = 0
        self._known: list[tuple[Any, dict[str, Array], int]] = []  # steps of the networks and the values they make

    def append(self, step: Affine | Relu | Choice) -> int:
        """Append a step; return the number of its value."""
        self.steps.append(step)
        return len(self.steps)

    def add(self, net: PlainNetwork, start: int, *, merge: bool) -> int:
        """Add the steps of a network on the value ``start``; return the number of its output."""
        numbers = [start]
        for i, step in enumerate(net.steps):
            inputs = tuple(numbers[value] for value in step.inputs)
            if not all(np.isfinite(each).all() for each in step.arrays.values()):
                raise InputError("net", "have finite weights", f"others at step {i} ({step.path})")
            mark = (step.op, inputs, step.shape, json.dumps(step.options, sort_keys=True))
            number = self._find(mark, step.arrays) if merge else None
            if number is None:
                shapes = [net.shapes[value] for value in step.inputs]
                number = self._translate(step.op, inputs, shapes, step.shape, step.options, step.arrays, step.path)
                if merge:
                    self._known.append((mark, step.arrays, number))
            numbers.append(number)
        return numbers[-1]

    def _find(self, mark: Any, tensors: dict[str, Array]) -> int | None:
        for known, weights, number in self._known:
            same = known == mark and weights.keys() == tensors.keys()
            if same and all(np.array_equal(weights[name], tensors[name]) for name in tensors):
                return number
        return None

    def _translate(
        self,
        op: str,
        inputs: tuple[int, ...],
        shapes: list[tuple[int, ...]],
        shape: tuple[int, ...],
        options: dict[str, Any],
        tensors: dict[str, Array],
        path: str,
    ) -> int:
        size = prod(shape)
        if op in ("relu", "choice"):
            first, self.units = self.units, self.units + size
            if op == "choice":
                return self.append(Choice((inputs[0],), shapes[0][-1], size, first))
            leak = np.broadcast_to(tensors.get("leak", np.zeros(())), shape).reshape(-1)
            return self.append(Relu((inputs[0],), leak, size, first))
        offset = None
        if "offset" in tensors:
            offsets = np.asarray(np.broadcast_to(tensors["offset"], shape).reshape(-1), float)
            offset = Offset(offsets, None, Dyadic.of(offsets))
        parts, divisor = _affine_parts(op, shapes, shape, options, tensors, path)
        number = self.append(Affine(inputs, tuple(parts), offset if divisor is None else None, size))
        if divisor is None:
            return number
        return self.append(Affine((number,), (Pick(size, np.arange(size), divisor=divisor),), offset, size))


def _affine_parts(
    op: str,
    shapes: list[tuple[int, ...]],
    shape: tuple[int, ...],
    options: dict[str, Any],
    tensors: dict[str, Array],
    path: str,
) -> tuple[list[Part], Array | None]:
    """Return the linear map of each input, flattened, and what the sum is divided by."""
    places = [np.arange(prod(each)).reshape(each) for each in shapes]
    sizes = [prod(each) for each in shapes]
    first = places[0]
    if op in ("linear", "matmul"):
        return [Dense(_products(op, first, shape, tensors["weight" if op == "linear" else "matrix"], path))], None
    if op == "conv":
        return [Dense(_convolution(shapes[0], shape, options, tensors["weight"], path))], None
    if op == "conv_transpose":
        return [Dense(np.ascontiguousarray(_convolution(shape, shapes[0], options, tensors["weight"], path).T))], None
    if op in ("avg_pool", "adaptive_avg_pool"):
        M, counts = _averages(op, shapes[0], shape, options, path)
        return [Dense(M)], counts
    if op == "sum":
        keep = [axis for axis in range(first.ndim) if axis not in options["dims"]]
        lines = np.transpose(first, [*keep, *options["dims"]]).reshape(prod(shape), -1)
        _check_size(prod(shape) * sizes[0], path)
        M = np.zeros((prod(shape), sizes[0]))
        np.put_along_axis(M, lines, 1.0, axis=1)
        return [Dense(M)], None
    if op == "scale":
        factor = np.broadcast_to(tensors["factor"], shape).reshape(-1)
        return [Pick(sizes[0], np.broadcast_to(first, shape).reshape(-1), factor)], None
    if op == "add":
        signs = [None if sign == 1 else -np.ones(prod(shape)) for sign in options["signs"]]
        whole = [np.broadcast_to(each, shape).reshape(-1) for each in places]
        return [Pick(n, index, sign) for n, index, sign in zip(sizes, whole, signs, strict=True)], None
    moves = _moves(op, places, options, tensors, path)
    return [Pick(n, index) for n, index in zip(sizes, moves, strict=True)], None


def _products(op: str, places: Ints, shape: tuple[int, ...], weight: Array, path: str) -> Array:
    """Return the matrix of a product with weights, over the last axis (linear) or the last but one (matmul)."""
    if places.size == weight.shape[-1] and weight.ndim == 2:
        return np.array(weight)
    _check_size(prod(shape) * places.size, path)
    M, target = np.zeros((prod(shape), places.size)), np.arange(prod(shape)).reshape(shape)
    if op == "linear":
        M[target[..., :, None], places[..., None, :]] = weight
    else:
        M[target[..., :, None, :], places[..., None, :, :]] = weight[..., None]
    return M


def _moves(op: str, places: list[Ints], options: dict[str, Any], tensors: dict[str, Array], path: str) -> list[Ints]:
    """Return for each input which entry each output copies, -1 for none: (size,)."""
    first = places[0]
    if op == "reshape":
        return [first.reshape(-1)]
    if op == "permute":
        return [np.transpose(first, options["dims"]).reshape(-1)]
    if op == "gather":
        return [first.reshape(-1)[tensors["index"]].reshape(-1)]
    if op == "pad":
        pads = options["pads"]
        widths = [(pads[2 * k], pads[2 * k + 1]) for k in range(len(pads) // 2)][::-1]
        ends = [(0, 0)] * (first.ndim - len(widths)) + widths
        if min(pads, default=0) < 0:
            raise _unknown(op, path)
        return [np.pad(first, ends, constant_values=-1).reshape(-1)]
    if op in ("concat", "stack"):
        axis = options["dim"] if op == "concat" else -1
        wide = places if op == "concat" else np.broadcast_arrays(*places)
        join = np.concatenate if op == "concat" else np.stack
        return [
            join([each if k == j else np.full_like(each, -1) for j, each in enumerate(wide)], axis=axis).reshape(-1)
            for k in range(len(places))
        ]
    if op == "interpolate" and options["mode"] in ("nearest", "nearest-exact"):
        import torch

        picture = torch.from_numpy(first)[None].double()
        sizes = options.get("size"), options.get("scale")
        copied = torch.nn.functional.interpolate(picture, size=sizes[0], scale_factor=sizes[1], mode=options["mode"])
        return [copied[0].long().numpy().reshape(-1)]
    raise _unknown(op, path)


def _convolution(
    inner: tuple[int, ...], outer: tuple[int, ...], options: dict[str, Any], weight: Array, path: str
) -> Array:
    """Return the matrix of a convolution from shape ``inner`` (in, *space) to ``outer`` (out, *space)."""
    _check_size(prod(inner) * prod(outer), path)
    pads = [(p, p) for p in options["padding"]]
    places = np.pad(np.arange(prod(inner)).reshape(inner), [(0, 0), *pads], constant_values=-1)
    reach = [d * (k - 1) + 1 for d, k in zip(options["dilation"], weight.shape[2:], strict=True)]
    windows = sliding_window_view(places, reach, axis=tuple(range(1, places.ndim)))  # (in, *starts, *reach)
    n, steps = len(reach), options["stride"]
    every = [slice(None, None, step) for step in (*steps, *options["dilation"])]
    windows = windows[(slice(None), *every)]
    if windows.shape[1 : n + 1] != tuple(outer[1:]):
        raise _unknown("conv", path)
    M = np.zeros((prod(outer), prod(inner)))
    positions = np.arange(prod(outer)).reshape(outer[0], -1)
    groups, per_group = options["groups"], weight.shape[1]
    for channel in range(outer[0]):
        start = channel // (outer[0] // groups) * per_group
        for j in range(per_group):
            read = windows[start + j].reshape(positions.shape[1], -1)  # (positions, taps)
            rows = np.broadcast_to(positions[channel][:, None], read.shape)
            taps = np.broadcast_to(weight[channel, j].reshape(-1), read.shape)
            M[rows[read >= 0], read[read >= 0]] = taps[read >= 0]
    return M


def _averages(
    op: str, inner: tuple[int, ...], outer: tuple[int, ...], options: dict[str, Any], path: str
) -> tuple[Array, Array]:
    """Return the matrix of ones of an average pool, and what each sum is divided by."""
    _check_size(prod(inner) * prod(outer), path)
    n = len(options["size"]) if op == "adaptive_avg_pool" else len(options["kernel"])
    spans = []  # for each axis and position: the first entry, the one after the last, and how many count
    for axis in range(n):
        length, count = inner[len(inner) - n + axis], outer[len(outer) - n + axis]
        if op == "adaptive_avg_pool":
            ends = [(i * length // count, -(-(i + 1) * length // count)) for i in range(count)]
            spans.append([(start, stop, stop - start) for start, stop in ends])
            continue
        kernel, stride, pad = (options[name][axis] for name in ("kernel", "stride", "padding"))
        line = []
        for i in range(count):
            start = i * stride - pad
            stop = min(start + kernel, length + pad)
            low, high = max(start, 0), min(stop, length)
            line.append((low, high, stop - start if options["count_include_pad"] else high - low))
        spans.append(line)
    places = np.arange(prod(inner)).reshape(-1, *inner[len(inner) - n :])
    M, counts = np.zeros((prod(outer), prod(inner))), np.ones(prod(outer))
    rows = np.arange(prod(outer)).reshape(-1, *outer[len(outer) - n :])
    for position in product(*(range(len(line)) for line in spans)):
        windows = [line[i] for line, i in zip(spans, position, strict=True)]
        read = places[(slice(None), *(slice(low, high) for low, high, _ in windows))].reshape(len(places), -1)
        at: Any = (slice(None), *position)
        row = rows[at]
        M[row[:, None], read] = 1.0
        counts[row] = options.get("divisor") or prod(count for _, _, count in windows)
    return M, counts


def _check_size(entries: int, path: str) -> None:
    if entries > MATRIX_ENTRIES:
        limit = f"be small enough to write its steps as matrices of at most {MATRIX_ENTRIES:,} entries"
        raise InputError("net", limit, f"{entries:,}" + (f" at {path}" if path else ""))


def _unknown(op: str, path: str) -> InputError:
    return InputError("net", "have steps that can be checked exactly", f"{op}" + (f" at {path}" if path else ""))
