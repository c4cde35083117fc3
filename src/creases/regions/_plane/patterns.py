"""Packed patterns of the regions of a plane, from the signs that every subdivision left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import pad

from creases._compiled import jit
from creases._program import bit_widths, pack_sides
from creases.network import Network
from creases.regions._plane.complex import Signs, column_sides, region_bytes, region_count, signs_on
from creases.regions._plane.kernel import lowest_bit


def region_patterns(net: Network, signs: Sequence[Signs], memory: int) -> NDArray[np.uint8]:
    """Return the patterns (R, n_bytes) of all regions; ``memory`` bounds the bytes that are held beside them."""
    if not signs:
        return np.zeros((1, 0), np.uint8)
    widths = np.diff(net.unit_starts)
    if (widths % 8 == 0).all() and all(each.units is None for each in signs):
        return region_bytes(signs, (widths // 8).tolist())
    count, block = region_count(signs), max(1, memory // (4 * net.n_units))
    parts = np.array_split(np.arange(count), 1 + count // block)
    return np.concatenate([_set_bits(net, signs, regions) for regions in parts])


def _set_bits(net: Network, signs: Sequence[Signs], regions: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Return patterns (R, n_bytes) of some regions: the bits of units that keep their side once, then the others."""
    widths = bit_widths(net)
    starts = np.cumsum(widths) - widths
    kept, changing = np.zeros(net.n_units, np.int16), []
    for each in signs:
        first, stop = net.unit_starts[each.bend : each.bend + 2]
        if each.sides is not None:
            kept[first:stop] = each.sides
        changing.append(first + (np.arange(stop - first) if each.units is None else each.units))
    for units in changing:
        kept[units] = 0
    patterns = np.repeat(pack_sides(net, kept[None]), len(regions), axis=0)
    for units, each in zip(changing, signs_on(signs, regions), strict=True):
        if net.steps[net.bends[each.bend]].op == "relu":
            set_positive(patterns, each.positive, starts[units])
        else:
            set_sides(patterns, column_sides(each, len(units), net.candidates[each.bend]), starts[units])
    return patterns


Array = NDArray[Any]

_ONE = np.uint64(1)
_ZERO = np.uint64(0)


@jit
def set_positive(patterns: Array, positive: Array, places: Array) -> None:
    """Set bit ``places[u]`` of each pattern (R, n_bytes) where bit u of the words (R, W) is set."""
    for r in range(len(patterns)):
        for w in range(positive.shape[1]):
            word = positive[r, w]
            while word != _ZERO:
                place = places[64 * w + lowest_bit(word)]
                word &= word - _ONE
                patterns[r, place >> 3] |= np.uint8(1 << (place & 7))


@jit
def set_sides(patterns: Array, sides: Array, places: Array) -> None:
    """Set the bits from ``places[u]`` on of each pattern (R, n_bytes) to the side (R, U) of unit u; they are 0."""
    for r in range(len(patterns)):
        for u in range(len(places)):
            side, place = int(sides[r, u]), places[u]
            while side:
                patterns[r, place >> 3] |= np.uint8((side & 1) << (place & 7))
                side >>= 1
                place += 1


#: Words looked into at once.
BLOCK = 2**22


def pack(flags: Tensor) -> Tensor:
    """Pack booleans (n, U) into words (n, ceil(U / 64))."""
    n, units = flags.shape
    words = -(-units // 64)
    packed = torch.empty(n, 8 * words, dtype=torch.uint8, device=flags.device)
    weights = 2 ** torch.arange(8, dtype=torch.uint8, device=flags.device)
    block = max(1, BLOCK // max(1, words))
    for start in range(0, n, block):
        rows = pad(flags[start : start + block], (0, 64 * words - units)).reshape(-1, 8 * words, 8)
        packed[start : start + block] = (rows * weights).sum(dim=2, dtype=torch.uint8)
    return packed.view(torch.int64)


def nonzero_bits(words: Tensor) -> tuple[Tensor, Tensor]:
    """Return the rows and units of all bits that are set, by row, then unit."""
    rows, units = [], []
    row, word = words.nonzero().T
    shifts = torch.arange(64, device=words.device)
    for start in range(0, max(1, len(row)), BLOCK):
        r, w = row[start : start + BLOCK], word[start : start + BLOCK]
        i, bit = ((words[r, w][:, None] >> shifts) & 1).nonzero().T
        rows.append(r[i])
        units.append(64 * w[i] + bit)
    return torch.cat(rows), torch.cat(units)


def set_bits(words: Tensor, rows: Tensor, units: Tensor) -> None:
    """Set bits that are not set yet, none of them twice."""
    words.index_put_((rows, units >> 6), torch.ones_like(units) << (units & 63), accumulate=True)


def sign_at(pos: Tensor, neg: Tensor, rows: Tensor, units: Tensor) -> Tensor:
    """Return 1, -1 or 0: whether a unit's bit is set in ``pos``, in ``neg`` or in neither."""
    word, bit = units >> 6, units & 63
    return ((pos[rows, word] >> bit) & 1) - ((neg[rows, word] >> bit) & 1)


def pick_bit(words: Tensor, turn: int) -> Tensor:
    """Return a unit of each row (n,), -1 where the row is empty; ``turn`` is the word to start from."""
    n, count = words.shape
    if not count:
        return torch.full((n,), -1, dtype=torch.int64, device=words.device)
    turned = words.roll(-(turn % count), dims=1)
    first = (turned != 0).int().argmax(dim=1)
    word = turned.gather(1, first[:, None])[:, 0]
    lowest = torch.frexp((word & -word).double().abs()).exponent.long() - 1  # of a power of two: exact
    return torch.where(word == 0, -1, 64 * ((first + turn) % count) + lowest)
