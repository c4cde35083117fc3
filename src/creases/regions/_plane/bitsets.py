"""Sets of units as machine words: bit u of a row (W,) of int64 words is unit u."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import pad

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
