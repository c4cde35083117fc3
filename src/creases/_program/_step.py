"""A step of a program: an affine map or a bend, on numbered values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from creases._program._affine import AFFINE_OPS
from creases._program._bends import BEND_OPS, apply_bend
from creases._program._products import linear_map


@dataclass(frozen=True, eq=False)
class Step:
    """An affine map (``linear`` part plus ``offset``) or a bend.

    Attributes
    ----------
    op
        A key of ``AFFINE_OPS`` or one of ``BEND_OPS``.
    inputs
        Numbers of the values it reads: 0 is the network's input, ``i + 1`` the output of step ``i``.
    shape
        Shape of its output, without the batch axis.
    options
        Settings that can be written as JSON.
    tensors
        Weights. ``"offset"`` is the constant of an affine step (it broadcasts to ``shape``, which the linear part must
        already have), ``"leak"`` the slope of a relu on its negative side.
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
        """Whether the step is a bend rather than affine."""
        return self.op in BEND_OPS

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
        return AFFINE_OPS[self.op](xs, self.options, self.tensors)

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
        return AFFINE_OPS[self.op](xs, options, tensors)

    def magnitude(self, xs: Sequence[Tensor]) -> Tensor:
        """Return :meth:`linear_magnitude` of the affine step, with the offset as a further term."""
        size = self.linear_magnitude(xs)
        return size if self.offset is None else size + self.offset.abs()
