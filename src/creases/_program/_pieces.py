"""Pieces: the affine function ``J x + y`` that a pattern selects.

There are two exact ways to compute them. *Forward*: on a slice ``x = origin + basis t`` every value of the network is
affine in t, so k + 1 coefficient tensors of its own shape represent it in the network's own operations. *Reverse*: one
backward pass per output. The first is cheap for few directions, the second for few outputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from creases._display import to_html
from creases._program._forward_pass import propagate
from creases._program._program import Program
from creases._program._step import Step, apply_sides, sides_at
from creases._validation import as_array
from creases.errors import InputError


def bit_widths(program: Program) -> NDArray[np.int64]:
    """Return the number of bits of each unit's side: (n_units,)."""
    counts = np.diff(program.unit_starts)
    return np.repeat([max(1, (k - 1).bit_length()) for k in program.candidates], counts).astype(np.int64)


def unit_of_bit(program: Program) -> NDArray[np.int64]:
    """Return the unit that each bit of a pattern belongs to: (bits,)."""
    return np.repeat(np.arange(program.n_units), bit_widths(program))


def pack_sides(program: Program, sides: NDArray[np.integer]) -> NDArray[np.uint8]:
    """Pack sides (r, n_units) into patterns (r, n_bytes)."""
    widths = bit_widths(program)
    if not len(widths) or widths.max() == 1:
        return np.packbits(sides.astype(bool), axis=1, bitorder="little")
    starts = np.cumsum(widths) - widths
    bits = np.zeros((len(sides), int(widths.sum())), bool)
    for bit in range(int(widths.max())):
        has = widths > bit
        bits[:, starts[has] + bit] = (sides[:, has] >> bit) & 1
    return np.packbits(bits, axis=1, bitorder="little")


def unpack_sides(program: Program, pattern: NDArray[np.uint8]) -> NDArray[np.int16]:
    """Unpack patterns (r, n_bytes) into sides (r, n_units)."""
    widths = bit_widths(program)
    total = int(widths.sum())
    pattern = as_array(pattern, "pattern")
    if pattern.dtype != np.uint8:
        raise InputError("pattern", "hold packed bits as uint8", f"{pattern.dtype}")
    if pattern.ndim != 2 or pattern.shape[1] != (total + 7) // 8:
        raise InputError("pattern", f"have shape (r, {(total + 7) // 8})", f"{pattern.shape}")
    bits = np.unpackbits(pattern, axis=1, count=total, bitorder="little")
    starts = np.cumsum(widths) - widths
    sides = np.zeros((len(pattern), program.n_units), np.int16)
    for bit in range(int(widths.max(initial=0))):
        has = widths > bit
        sides[:, has] |= bits[:, starts[has] + bit].astype(np.int16) << bit
    return sides


def split_sides(program: Program, sides: NDArray[np.integer]) -> list[Tensor]:
    """Split the sides (..., n_units) of all units by bend: tensors (..., *units) as those of :func:`sides_at`."""
    parts = []
    for bend, i in enumerate(program.bends):
        part = np.ascontiguousarray(sides[..., program.unit_starts[bend] : program.unit_starts[bend + 1]])
        kind = torch.bool if program.steps[i].op == "relu" else torch.int64
        parts.append(
            torch.from_numpy(part).to(program.device, kind).reshape(*sides.shape[:-1], *program.steps[i].shape)
        )
    return parts


class Piece(NamedTuple):
    """Coefficients of an affine function ``J x + y``."""

    J: Any  #: (..., n_out, n_in)
    y: Any  #: (..., n_out)

    def _repr_html_(self) -> str:
        return to_html(self)


def memory_limit() -> int:
    """Return the number of bytes that a block of a streamed computation may take: 1 GiB."""
    return 2**30


def forward(program: Program, x: Tensor) -> Tensor:
    """Return the output (b, *output_shape) at a batch (b, *input_shape)."""
    return propagate(program, {0: x}, lambda i, inputs: program.steps[i].apply(inputs))[len(program.steps)]


def forward_sides(program: Program, x: Tensor) -> list[Tensor]:
    """Return the sides (b, *units) of every bend at a batch (b, *input_shape)."""
    sides: list[Tensor] = []

    def apply_step(i: int, inputs: list[Tensor]) -> Tensor:
        step = program.steps[i]
        if step.is_bend:
            sides.append(sides_at(step.op, inputs[0]))
        return step.apply(inputs)

    propagate(program, {0: x}, apply_step)
    return sides


def slice_pieces(program: Program, sides: Sequence[Tensor], origin: Tensor, basis: Tensor) -> Piece:
    """Return the pieces that sides select, as functions ``J t + y`` of t on the slice ``x = origin + basis t``.

    For each bend the sides are (r, *units), as those of :func:`sides_at`; origin is (n_in,), basis (n_in, k),
    J (r, n_out, k), y (r, n_out).
    """
    k = basis.shape[1]
    start = torch.cat([origin[None], basis.T]).reshape(1, k + 1, *program.input_shape)
    remaining = iter(sides)

    def apply_step(i: int, inputs: list[Tensor]) -> Tensor:
        step = program.steps[i]
        if step.is_bend:
            return apply_sides(step.op, inputs[0], next(remaining).unsqueeze(1), step.leak)
        return _apply_to_coefficients(step, inputs)

    # Values are (r or 1, k + 1, *shape): entry 0 the constant, 1..k the directions.
    out = propagate(program, {0: start}, apply_step)[len(program.steps)]
    out = out.reshape(len(out), k + 1, program.n_out)  # (r or 1, k + 1, m)
    regions = len(sides[0]) if sides else 1
    out = out.expand(regions, -1, -1)
    return Piece(out[:, 1:].transpose(1, 2), out[:, 0])


def _apply_to_coefficients(step: Step, inputs: list[Tensor]) -> Tensor:
    """Apply an affine step to coefficient tensors (r or 1, k + 1, ...); only the constant gets the offset."""
    regions, rows = max(len(x) for x in inputs), inputs[0].shape[1]
    flat = step.linear([x.expand(regions, *x.shape[1:]).flatten(0, 1) for x in inputs])
    out = flat.reshape(regions, rows, *flat.shape[1:])
    if step.offset is None:
        return out
    return torch.cat([out[:, :1] + step.offset, out[:, 1:]], dim=1)


def pattern_pieces(
    program: Program, patterns: NDArray[np.uint8], origin: NDArray[np.float64], basis: NDArray[np.float64]
) -> Piece:
    """Return the pieces that packed patterns (r, n_bytes) select on the slice ``x = origin + basis t``, in float64.

    J (r, n_out, k) and y (r, n_out) are numpy arrays, computed in blocks of :func:`memory_limit`.
    """
    program = program.to(torch.float64)
    start, directions = (torch.from_numpy(array).to(program.device) for array in (origin, basis))
    k = basis.shape[1]
    J, y = np.empty((len(patterns), program.n_out, k)), np.empty((len(patterns), program.n_out))
    block = max(1, memory_limit() // (4 * 8 * (k + 1) * max(program.sizes)))
    with torch.no_grad():
        for first in range(0, len(patterns), block):
            rows = slice(first, first + block)
            part = slice_pieces(program, split_sides(program, unpack_sides(program, patterns[rows])), start, directions)
            J[rows], y[rows] = part.J.cpu().numpy(), part.y.cpu().numpy()
    return Piece(J, y)


#: Bytes of activations that fit in a CPU cache: backward passes over more of them wait for memory.
_CACHE = 2**24


def piece_batches(program: Program, x: Tensor, memory: int) -> Iterator[Piece]:
    """Yield the pieces J (b, n_out, n_in), y (b, n_out) of a batch, in blocks that fit in ``memory`` bytes."""
    by_directions = program.n_in < 2 * program.n_out  # a direction costs about half of a backward pass
    activations = sum(program.sizes)
    copies = (program.n_in + 1) if by_directions else 3
    per_sample = (activations * copies + 2 * program.n_out * program.n_in) * x.element_size()
    block = memory // max(1, per_sample)
    if x.device.type == "cpu" and not by_directions:
        block = min(block, _CACHE // max(1, activations * x.element_size()))
    block = max(1, block)
    for start in range(0, len(x), block):
        part = x[start : start + block]
        if not by_directions:
            yield _by_outputs(program, part)
            continue
        with torch.no_grad():
            basis = torch.eye(program.n_in, dtype=x.dtype, device=x.device)
            J, y = slice_pieces(program, forward_sides(program, part), x.new_zeros(program.n_in), basis)
        yield Piece(J.expand(len(part), -1, -1), y.expand(len(part), -1))


def _by_outputs(program: Program, x: Tensor) -> Piece:
    with torch.enable_grad():
        x = x.detach().requires_grad_()
        value = _differentiable_output(program, x).reshape(len(x), program.n_out)  # (b, m)
        J = x.new_empty(len(x), program.n_out, program.n_in)
        for j in range(program.n_out):
            if not value.requires_grad:
                J.zero_()
                break
            (gradient,) = torch.autograd.grad(value[:, j].sum(), x, retain_graph=j + 1 < program.n_out)
            J[:, j] = gradient.flatten(1)
    x, value = x.detach(), value.detach()
    return Piece(J, value - torch.einsum("bmd,bd->bm", J, x.flatten(1)))


def _differentiable_output(program: Program, x: Tensor) -> Tensor:
    """Return the output, with max-pooling (a choice among gathered candidates) reading the largest entries directly.

    A backward pass then moves one number per unit instead of its whole window.
    """
    readers = [value for step in program.steps for value in step.inputs]
    gathers = {i + 1: step for i, step in enumerate(program.steps) if step.op == "gather" and step.offset is None}
    choices = [step for step in program.steps if step.op == "choice"]
    windows = {i: gathers[i] for (i,) in (step.inputs for step in choices) if i in gathers and readers.count(i) == 1}

    def apply_step(i: int, inputs: list[Tensor]) -> Tensor:
        step = program.steps[i]
        if i + 1 in windows:
            return inputs[0]
        if step.op != "choice" or step.inputs[0] not in windows:
            return step.apply(inputs)
        entries, index = inputs[0].flatten(1), windows[step.inputs[0]].tensors["index"].flatten(0, -2)  # (units, K)
        with torch.no_grad():
            side = entries[:, index].argmax(dim=-1, keepdim=True)  # (b, units, 1)
            place = torch.take_along_dim(index[None], side, dim=2).squeeze(-1)
        return entries.gather(1, place).reshape(-1, *step.shape)

    return propagate(program, {0: x}, apply_step)[len(program.steps)]
