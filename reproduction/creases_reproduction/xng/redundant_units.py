"""Redundant units of a network with one hidden layer: a mix of the other units replaces them at hardly any cost."""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn

from creases.network import Place, remove


def remove_redundant_unit(
    model: nn.Sequential, place: Place, X: Tensor, y: Tensor, *, tolerance: float
) -> nn.Sequential | None:
    """Return a copy of a network without the unit that costs least; None where each costs more than ``tolerance``.

    The values of a unit are approximated by the others and a constant (least squares); the output layer takes over this
    mix, and the unit is removed. ``tolerance`` is a share of the cross-entropy. At least one unit stays.
    """
    loss = nn.CrossEntropyLoss()
    with torch.no_grad():
        values = model[:-1](X).double()  # (n, width)
        allowed = float(loss(model(X), y)) * (1 + tolerance)
        trials = [_without(model, place, values, unit) for unit in range(place.width)] if place.width > 1 else []
        losses = [float(loss(trial(X), y)) for trial in trials]
    cheapest = min(range(len(trials)), key=losses.__getitem__, default=None)
    return None if cheapest is None or losses[cheapest] > allowed else trials[cheapest]


def _without(model: nn.Sequential, place: Place, values: Tensor, unit: int) -> nn.Sequential:
    others = torch.cat([values[:, :unit], values[:, unit + 1 :], torch.ones(len(values), 1).to(values)], 1)
    mix = torch.linalg.lstsq(others, values[:, unit : unit + 1], driver="gelsd").solution[:, 0]
    smaller = copy.deepcopy(model)
    output = smaller[-1]
    assert isinstance(output, nn.Linear)
    column = output.weight.detach()[:, unit].double()
    remove(smaller, place, [unit])
    output.weight.detach().add_(torch.outer(column, mix[:-1]).to(output.weight))
    output.bias.detach().add_((mix[-1] * column).to(output.bias))
    return smaller
