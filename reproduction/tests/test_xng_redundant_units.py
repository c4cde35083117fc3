"""Redundant units: a dead or a duplicate unit goes at no cost, and units that matter stay."""

from __future__ import annotations

import torch
from torch import nn

from creases.network import places
from creases_reproduction.xng.redundant_units import remove_redundant_unit


def network(seed: int = 0) -> nn.Sequential:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 2)).double()


def test_a_dead_or_duplicate_unit_is_removed_and_the_function_stays():
    x = torch.randn(100, 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    y = (x[:, 0] > 0).long()
    for spare in ("dead", "duplicate"):
        model = network()
        with torch.no_grad():
            model[0].weight[1] = 0 if spare == "dead" else 2 * model[0].weight[0]
            model[0].bias[1] = -1 if spare == "dead" else 2 * model[0].bias[0]
        smaller = remove_redundant_unit(model, places(model)[0], x, y, tolerance=1e-9)
        assert smaller is not None
        assert smaller[0].out_features == 2
        assert nn.CrossEntropyLoss()(smaller(x), y) <= nn.CrossEntropyLoss()(model(x), y) * (1 + 1e-9)


def test_units_that_matter_stay():
    """Three creases around a triangle: the class inside needs each."""
    model, numbers = network(), torch.Generator().manual_seed(1)
    with torch.no_grad():
        model[0].weight.copy_(torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]]))
        model[0].bias.fill_(-0.3)
        model[2].weight.copy_(torch.tensor([[9.0, 9.0, 9.0], [-9.0, -9.0, -9.0]]))
        model[2].bias.copy_(torch.tensor([-1.0, 1.0]))
    x = torch.randn(200, 2, generator=numbers, dtype=torch.float64)
    assert remove_redundant_unit(model, places(model)[0], x, model(x).argmax(1), tolerance=0.01) is None
