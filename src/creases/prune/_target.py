"""Target sizes: a number of parameters, or of multiply-adds for one input."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral

from torch import nn

from creases.errors import InputError
from creases.network.surgery import (
    ChannelGroup,
    count_multiply_adds,
    count_parameters,
    saved_multiply_adds,
    saved_parameters,
)


@dataclass(frozen=True)
class Target:
    """A size to prune to."""

    limit: int
    positions: dict[str, int] | None = None  #: how often each layer applies its weight; None: parameters are counted

    @classmethod
    def from_fraction(
        cls, name: str, value: float, model: nn.Module, positions: dict[str, int] | None = None
    ) -> Target:
        """Return the target that an argument asks for: a number, or a float up to 1 as a fraction of the model's."""
        size = cls(0, positions).size(model)
        if isinstance(value, Integral) and not isinstance(value, bool) and value > 0:
            return cls(int(value), positions)
        if isinstance(value, float) and 0 < value <= 1:
            return cls(int(value * size), positions)
        raise InputError(
            name, "be a fraction above 0 and up to 1, or a positive integer", repr(value), f"the model has {size:,}"
        )

    def size(self, model: nn.Module) -> int:
        """Return the size of a model."""
        return count_parameters(model) if self.positions is None else count_multiply_adds(model, self.positions)

    def saved(self, model: nn.Module, groups: Sequence[ChannelGroup]) -> int:
        """Return by how much the removal of groups makes a model smaller."""
        if self.positions is None:
            return saved_parameters(model, groups)
        return saved_multiply_adds(model, groups, self.positions)

    def is_reached(self, model: nn.Module) -> bool:
        """Return whether a model is small enough."""
        return self.size(model) <= self.limit
