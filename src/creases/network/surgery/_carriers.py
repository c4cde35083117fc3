"""Entries of carriers for new units: batch norms as the identity, PReLUs with torch's initial slope."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from creases.network.surgery._place import Place, get_layer
from creases.network.surgery._resize import Values

#: Initial slope of torch's PReLU.
PRELU_SLOPE = 0.25


def carrier_values(model: nn.Module, place: Place, k: int) -> Values:
    """Return the default entries of all carriers for k new units.

    In eval mode batch norm is ``weight (x - mean) / sqrt(var + eps) + bias``; with weight 1, bias 0, mean 0 and
    var = 1 - eps it is the identity.
    """
    values: Values = {}
    for link in place.carriers:
        layer = get_layer(model, link.path)
        n = k * link.per_unit
        if isinstance(layer, nn.PReLU):
            values[link.path, "weight"] = torch.full((n,), PRELU_SLOPE)
            continue
        assert isinstance(layer, _BatchNorm)
        values[link.path, "weight"] = torch.ones(n)
        values[link.path, "running_var"] = torch.full((n,), 1 - layer.eps, dtype=torch.float64)
    return values
