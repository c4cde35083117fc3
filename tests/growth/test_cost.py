"""The multiply-adds of a growth step."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from creases.growth._budget import charge, count_cost
from creases.growth.methods import gradmax, random_units, tiny
from creases.network import places


def test_products_factorisations_and_charges_add_up() -> None:
    a = torch.randn(100, 50, dtype=torch.float64)
    s = a.T @ a + torch.eye(50, dtype=torch.float64)
    with count_cost() as cost:
        _ = a.T @ a
        torch.linalg.cholesky_ex(s)
        torch.linalg.svd(a, full_matrices=False)
        torch.linalg.eigh(s)
        torch.linalg.solve_triangular(s, s, upper=True)
        charge(7)
    expected = 100 * 50**2 + 50**3 / 6 + 11 * 100 * 50**2 + 9 / 2 * 50**3 + 50**3 / 2 + 7
    assert abs(cost.multiply_adds - expected) <= 1


def test_nothing_is_charged_outside() -> None:
    with count_cost() as cost:
        pass
    charge(5)
    assert cost.multiply_adds == 0


def test_layers_count_as_in_torch_with_and_without_gradients() -> None:
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 5))
    x = torch.randn(6, 3, 8, 8)

    def train_and_predict() -> None:
        model(x).sum().backward()
        with torch.no_grad():
            model(x)

    with count_cost() as cost:
        train_and_predict()
    with FlopCounterMode(display=False) as counter:
        train_and_predict()
    assert cost.multiply_adds == counter.get_total_flops() // 2 > 0


def test_inference_mode_counts_like_no_grad() -> None:
    """torch's own counter of version 2.4 sees nothing in inference mode, so it cannot be the reference there."""
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 5))
    with torch.inference_mode(), count_cost() as cost:
        model(torch.randn(6, 3, 8, 8))
    assert cost.multiply_adds == 6 * (36 * 4 * 27 + 144 * 5)


@pytest.mark.parametrize("propose", [random_units, gradmax, tiny])
def test_a_proposal_is_the_same_counted_or_not(propose) -> None:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 2))
        x = torch.randn(60, 2)
    arguments = (model, places(model)[0], [(x, (x[:, 0] * x[:, 1] > 0).long())], nn.CrossEntropyLoss())
    plain = propose(*arguments, count=1)
    with count_cost() as cost:
        counted = propose(*arguments, count=1)
    assert torch.equal(plain.fan_in, counted.fan_in)
    assert cost.multiply_adds >= 60 * model[0].weight.numel()  # it saw every sample
