"""Reading a model as a network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from creases.network.arrays import from_arrays
from creases.network.network import Network


def read(model: Any, input_shape: Sequence[int] | None = None, *, leak: float = 0.0) -> Network:
    """Read a model as the continuous piecewise-linear function it is."""
    if isinstance(model, Network):
        return model
    return from_arrays(model, leak=leak)
