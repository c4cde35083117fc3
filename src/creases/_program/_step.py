"""The steps of a program: affine operations and bends, and the sides of a bend's units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from creases._program._affine import AFFINE_OPS, Operation, linear_map


@dataclass(frozen=True, eq=False)
class Step:
    """An affine map (``linear`` part plus ``offset``) or a bend."""

    op: str  #: a key of ``AFFINE_OPS`` or one of ``BEND_OPS``
    inputs: tuple[int, ...]  #: numbers of the values it reads: 0 is the network's input, ``i + 1`` step i's output
    shape: tuple[int, ...]  #: of its output, without the batch axis
    options: dict[str, Any] = field(default_factory=dict)  #: settings that can be written as JSON
    #: Weights. ``"offset"`` is the constant of an affine step (it broadcasts to ``shape``, which the linear part must
    #: already have), ``"leak"`` the slope of a relu on its negative side.
    tensors: dict[str, Tensor] = field(default_factory=dict)
    path: str = ""  #: where it comes from in the user's model, for messages and records

    @property
    def is_bend(self) -> bool:
        """Whether the step is a bend rather than affine."""
        return self.op in BEND_OPS

    @property
    def operation(self) -> Operation:
        """What is known of the operation of an affine step."""
        return AFFINE_OPS[self.op]

    @property
    def offset(self) -> Tensor | None:
        """The constant of an affine step; None means zero."""
        return self.tensors.get("offset")

    @property
    def leak(self) -> Tensor | None:
        """Slope of a relu on its negative side; None means zero."""
        return self.tensors.get("leak")

    def linear(self, xs: Sequence[Tensor]) -> Tensor:
        """Apply the linear part of an affine step to directions (b, ...)."""
        return self.operation.linear(xs, self.options, self.tensors)

    def apply(self, xs: Sequence[Tensor]) -> Tensor:
        """Apply the step to values (b, ...)."""
        if self.is_bend:
            return apply_bend(self.op, xs[0], self.leak)
        offset = self.offset
        if offset is None:
            return self.linear(xs)
        if self.op == "linear" and offset.ndim == 1:
            return linear_map(xs[0], self.tensors["weight"], offset)  # one pass instead of two
        return self.linear(xs) + offset

    def linear_magnitude(self, xs: Sequence[Tensor]) -> Tensor:
        """Return the sum of the magnitudes of the linear part's terms, given the magnitudes (b, ...) of its inputs."""
        tensors = {key: t.abs() if t.is_floating_point() else t for key, t in self.tensors.items()}
        options = self.options | {"signs": [1] * len(xs)} if self.op == "add" else self.options
        return self.operation.linear(xs, options, tensors)

    def magnitude(self, xs: Sequence[Tensor]) -> Tensor:
        """Return :meth:`linear_magnitude` of the affine step, with the offset as a further term."""
        size = self.linear_magnitude(xs)
        return size if self.offset is None else size + self.offset.abs()


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
