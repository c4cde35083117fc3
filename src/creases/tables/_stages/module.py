"""A sum of curves, planes and units as a torch module."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn

from creases._typing import Floats
from creases.tables._stages.layers import to_layers

if TYPE_CHECKING:
    from creases.tables._stages.model import CurveModel


def to_module(model: CurveModel) -> nn.Sequential:
    """Return the network (float64) of encoded rows."""
    layers = [layer for weight, bias in to_layers(model) for layer in (_linear(weight, bias), nn.ReLU())]
    return nn.Sequential(*layers[:-1])


def _linear(weight: Floats, bias: Floats) -> nn.Linear:
    layer = nn.Linear(weight.shape[1], weight.shape[0], dtype=torch.float64, device="meta")  # draws no random numbers
    layer.weight = nn.Parameter(torch.tensor(weight))
    layer.bias = nn.Parameter(torch.tensor(bias))
    return layer
