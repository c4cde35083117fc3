"""What carriers hold for new units: batch norms that leave them as they are, PReLUs with torch's first slope."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from creases.network.surgery._place import Place, get_layer
from creases.network.surgery._resize import Values

#: The slope that torch gives a new PReLU.
PRELU_SLOPE = 0.25


def carrier_values(model: nn.Module, place: Place, k: int, statistics: tuple[Tensor, Tensor] | None) -> Values:
    """Entries of all carriers for k new units.

    In eval mode batch norm is ``weight (x - mean) / sqrt(var + eps) + bias``; with weight 1, bias 0, mean 0 and
    var = 1 - eps it is the identity. ``statistics``: mean (k,) and variance (k,) of what enters the one batch norm.
    """
    values: Values = {}
    for link in place.carriers:
        layer = get_layer(model, link.path)
        n = k * link.per_unit
        if isinstance(layer, nn.PReLU):
            values[link.path, "weight"] = torch.full((n,), PRELU_SLOPE)
            continue
        assert isinstance(layer, _BatchNorm)
        mean, var = statistics or (torch.zeros(n), torch.full((n,), 1 - layer.eps, dtype=torch.float64))
        values[link.path, "weight"] = torch.ones(n)
        values[link.path, "running_mean"], values[link.path, "running_var"] = mean, var
    return values
