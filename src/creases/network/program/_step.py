"""One step of a network: an affine map or a bend, on values named by number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch.nn.functional as F
from torch import Tensor

from creases.network.program._affine import AFFINE_OPS
from creases.network.program._bends import BEND_OPS, apply_bend


@dataclass(frozen=True, eq=False)
class Step:
    """An affine map (``linear`` part plus ``offset``) or a bend.

    Attributes
    ----------
    op
        A key of ``AFFINE`` or one of ``BENDS``.
    inputs
        Numbers of the values it reads: 0 is the network's input, ``i + 1`` the output of step ``i``.
    shape
        Shape of its output, without the batch axis.
    options
        Plain settings (JSON).
    tensors
        Weights. ``"offset"`` is the constant of an affine step (broadcasts to ``shape``, which the linear part must
        already have), ``"leak"`` that of a relu.
    path
        Where it comes from in the user's model, for messages and records.
    """

    op: str
    inputs: tuple[int, ...]
    shape: tuple[int, ...]
    options: dict[str, Any] = field(default_factory=dict)
    tensors: dict[str, Tensor] = field(default_factory=dict)
    path: str = ""

    @property
    def is_bend(self) -> bool:
        """Whether it is a bend; else it is affine."""
        return self.op in BEND_OPS

    @property
    def offset(self) -> Tensor | None:
        """The constant of an affine step; None is zero."""
        return self.tensors.get("offset")

    @property
    def leak(self) -> Tensor | None:
        """Slope of a relu on its negative side; None is zero."""
        return self.tensors.get("leak")

    def linear(self, xs: Sequence[Tensor]) -> Tensor:
        """The linear part of an affine step, applied to directions (b, ...)."""
        return AFFINE_OPS[self.op](xs, self.options, self.tensors)

    def apply(self, xs: Sequence[Tensor]) -> Tensor:
        """The step applied to values (b, ...)."""
        if self.is_bend:
            return apply_bend(self.op, xs[0], self.leak)
        offset = self.offset
        if offset is None:
            return self.linear(xs)
        if self.op == "linear" and offset.ndim == 1:
            return F.linear(xs[0], self.tensors["weight"], offset)  # one pass instead of two
        return self.linear(xs) + offset

    def linear_magnitude(self, xs: Sequence[Tensor]) -> Tensor:
        """Sum of the magnitudes of the terms of the linear part, given the magnitudes (b, ...) of its inputs."""
        tensors = {key: t.abs() if t.is_floating_point() else t for key, t in self.tensors.items()}
        options = self.options | {"signs": [1] * len(xs)} if self.op == "add" else self.options
        return AFFINE_OPS[self.op](xs, options, tensors)

    def magnitude(self, xs: Sequence[Tensor]) -> Tensor:
        """As :meth:`linear_magnitude`, of the affine step: the offset is a term too."""
        size = self.linear_magnitude(xs)
        return size if self.offset is None else size + self.offset.abs()
