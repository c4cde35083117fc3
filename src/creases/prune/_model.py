"""Models to prune: torch modules, or networks that are rebuilt as modules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import nn

from creases.network import as_network
from creases.network.surgery import unwrap_module


def as_module(model: Any, input_shape: Sequence[int] | None = None) -> tuple[nn.Module, tuple[int, ...] | None]:
    """Return a torch module, and the shape of its input where it is known.

    A :class:`creases.Network` or a file name is rebuilt as a module of torch's layers.
    """
    if isinstance(model, nn.Module):
        return unwrap_module(model), None if input_shape is None else tuple(input_shape)
    net = as_network(model, input_shape)
    return net.module(), net.input_shape
