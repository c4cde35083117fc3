"""The two kinds of bends that all others are composed of.

``relu``   one unit per entry, leak ``a``: ``z`` where ``z > 0``, ``a z`` elsewhere. Side 1 or 0.
``choice`` one unit per window of K candidates on the last axis: their maximum. Side = index of the first largest.

Leaky ReLU, PReLU and abs (leak -1) are ``relu``; clamp, hard-tanh and ReLU6 are two of them; max-pool and the maximum
of several tensors are ``choice``. On a crease the side is the one whose gradient torch uses: ``z = 0`` is side 0.
"""

from __future__ import annotations

import torch
from torch import Tensor

BEND_OPS = ("relu", "choice")


def sides_at(op: str, z: Tensor) -> Tensor:
    """Return the side of every unit at pre-activations ``z``: (b, *units), int64 for a choice, bool for a relu."""
    if op == "relu":
        return z > 0
    return z.argmax(dim=-1)


def apply_bend(op: str, z: Tensor, leak: Tensor | None) -> Tensor:
    """Return the value of a bend at pre-activations ``z``."""
    if op == "choice":
        return z.max(dim=-1).values  # its gradient follows the first largest, as the side does
    if leak is None:
        return torch.relu(z)  # its gradient is 0 on the crease, as the side says; that of clamp is 1
    return torch.where(z > 0, z, leak * z)


def apply_sides(op: str, z: Tensor, side: Tensor, leak: Tensor | None) -> Tensor:
    """Apply the linear map that sides select to ``z``: values, directions or coefficients.

    ``side`` broadcasts against ``z`` (for a choice: against ``z`` without its last axis).
    """
    if op == "choice":
        shape = [max(pair) for pair in zip(side.shape, z.shape[:-1], strict=True)]
        return z.expand(*shape, -1).gather(-1, side.expand(shape).unsqueeze(-1)).squeeze(-1)
    if leak is None:
        return torch.where(side, z, 0)
    return torch.where(side, z, leak * z)
