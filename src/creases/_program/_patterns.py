"""Patterns: the sides of all units, packed into bytes.

A relu's side takes one bit, a choice among K takes ceil(log2 K), units in order, first unit in the lowest bit.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from creases._program._program import Program
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
    """Split the sides (..., n_units) of all units by bend: tensors (..., *units).

    They are on the network's device; bool for a relu, int64 for a choice, as
    :func:`creases._program._bends.sides_at` returns them.
    """
    parts = []
    for bend, i in enumerate(program.bends):
        part = np.ascontiguousarray(sides[..., program.unit_starts[bend] : program.unit_starts[bend + 1]])
        kind = torch.bool if program.steps[i].op == "relu" else torch.int64
        parts.append(
            torch.from_numpy(part).to(program.device, kind).reshape(*sides.shape[:-1], *program.steps[i].shape)
        )
    return parts
