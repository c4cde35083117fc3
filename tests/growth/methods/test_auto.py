"""The default growth method."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import creases
from creases.growth._objective import objective
from creases.growth._samples import InMemorySamples
from creases.growth.methods import Evidence
from creases.growth.methods._fold.fold import MAX_FOLDS
from creases.growth.methods._registry import Auto


@pytest.mark.parametrize(("inputs", "method"), [(2, "fold"), (25, "fold"), (30, "random")])
def test_layers_of_few_inputs_are_folded_and_others_get_random_units(inputs: int, method: str) -> None:
    numbers = torch.Generator().manual_seed(0)
    X = torch.randn(200, inputs, generator=numbers)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(inputs, 4), nn.ReLU(), nn.Linear(4, 2))
    _, history = creases.grow(model, (X, (X[:, 0] > 0).long()), "classification", when=1, budget=2, schedule="constant")
    assert [record.method for record in history.records] == [method] * len(history.records)
    assert history.records


@pytest.mark.parametrize(("count", "method"), [(1, "fold"), (3, "fold"), (MAX_FOLDS + 8, "random")])
def test_a_step_of_more_units_than_folds_supply_has_random_units_alone(count: int, method: str) -> None:
    numbers = torch.Generator().manual_seed(0)
    X = torch.randn(1100, 2, generator=numbers)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 2))
    evidence = Evidence(InMemorySamples(X, (X.prod(1) > 0).long()), objective("classification"), seed=0)
    proposal = Auto(count=count)(model, creases.places(model)[0], evidence)
    assert (proposal.method, proposal.count) == (method, count)


def test_a_convolution_gets_random_channels() -> None:
    numbers = torch.Generator().manual_seed(0)
    X = torch.randn(40, 1, 6, 6, generator=numbers)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Flatten(), nn.Linear(32, 2))
    _, history = creases.grow(model, (X, (X[:, 0, 0, 0] > 0).long()), "classification", when=1, budget=2, where="0")
    assert {record.method for record in history.records} == {"random"}


def test_a_loss_of_the_users_own_gets_random_units() -> None:
    numbers = torch.Generator().manual_seed(0)
    X = torch.randn(100, 2, generator=numbers)
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 1))
    _, history = creases.grow(model, (X, X[:, :1]), nn.SmoothL1Loss(), when=1, budget=2)
    assert {record.method for record in history.records} == {"random"}
