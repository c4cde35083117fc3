"""Patterns: the sides of all units, packed into bytes.

A relu's side takes one bit, a choice among K takes ceil(log2 K), units in order, first unit in the lowest bit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from creases.errors import InputError

if TYPE_CHECKING:
    from creases.network._network import Network


def bit_widths(net: Network) -> NDArray[np.int64]:
    """Bits of each unit's side: (n_units,)."""
    counts = np.diff(net.unit_starts)
    return np.repeat([max(1, (k - 1).bit_length()) for k in net.candidates], counts).astype(np.int64)


def unit_of_bit(net: Network) -> NDArray[np.int64]:
    """The unit that each bit of a pattern is about: (bits,)."""
    return np.repeat(np.arange(net.n_units), bit_widths(net))


def pack_sides(net: Network, sides: NDArray[np.integer]) -> NDArray[np.uint8]:
    """Sides (r, n_units) to packed patterns (r, n_bytes)."""
    widths = bit_widths(net)
    if not len(widths) or widths.max() == 1:
        return np.packbits(sides.astype(bool), axis=1, bitorder="little")
    starts = np.cumsum(widths) - widths
    bits = np.zeros((len(sides), int(widths.sum())), bool)
    for bit in range(int(widths.max())):
        has = widths > bit
        bits[:, starts[has] + bit] = (sides[:, has] >> bit) & 1
    return np.packbits(bits, axis=1, bitorder="little")


def unpack_sides(net: Network, pattern: NDArray[np.uint8]) -> NDArray[np.int16]:
    """Packed patterns (r, n_bytes) to sides (r, n_units)."""
    widths = bit_widths(net)
    total = int(widths.sum())
    pattern = np.asarray(pattern)
    if pattern.dtype != np.uint8:
        raise InputError(f"pattern: expected packed bits as uint8, got {pattern.dtype}")
    if pattern.ndim != 2 or pattern.shape[1] != (total + 7) // 8:
        raise InputError(f"pattern: expected shape (r, {(total + 7) // 8}), got {pattern.shape}")
    bits = np.unpackbits(pattern, axis=1, count=total, bitorder="little")
    starts = np.cumsum(widths) - widths
    sides = np.zeros((len(pattern), net.n_units), np.int16)
    for bit in range(int(widths.max(initial=0))):
        has = widths > bit
        sides[:, has] |= bits[:, starts[has] + bit].astype(np.int16) << bit
    return sides


def split_sides(net: Network, sides: NDArray[np.integer]) -> list[Tensor]:
    """Sides (..., n_units) of all units as :func:`creases.network.program._bends.sides_at` gives them: for each bend (..., *units).

    On the network's device; bool for a relu, int64 for a choice.
    """
    parts = []
    for bend, i in enumerate(net.bends):
        part = np.ascontiguousarray(sides[..., net.unit_starts[bend] : net.unit_starts[bend + 1]])
        kind = torch.bool if net.steps[i].op == "relu" else torch.int64
        parts.append(torch.from_numpy(part).to(net.device, kind).reshape(*sides.shape[:-1], *net.steps[i].shape))
    return parts
