"""Claims of the TINY paper, beyond what all claims are tested for."""

from __future__ import annotations

import torch
from judged_cases.tiny import TOGETHER
from torch import nn

from creases_reproduction.tiny.corollaries import measure_corollary_1
from creases_reproduction.tiny.greedy import measure_variance
from creases_reproduction.tiny.train_by_growth import train_by_growth
from first_order import mean_loss, mlp


def test_move_and_unit_chosen_together_leave_less_than_one_after_the_other():
    assert min(measure_corollary_1("quick")[TOGETHER]) > 0.001


def test_the_variance_of_a_unit_falls_with_the_samples_not_with_their_root():
    found = measure_variance("quick")
    assert 10 < found["by samples"][0] / found["by samples"][-1] < 40  # 16 times the samples
    assert found["by width"][-1] / found["by width"][0] > 4  # 8 times the width


def test_a_network_can_be_trained_by_growth_alone():
    x = torch.linspace(-2, 2, 200, dtype=torch.float64)[:, None]
    y = torch.sin(2 * x)
    ones = torch.cat([x, torch.ones_like(x)], 1)
    line = float((y - ones @ torch.linalg.lstsq(ones, y).solution).square().mean())
    model = mlp(nn.ReLU, (1, 1, 1))
    weights = [parameter.detach().clone() for parameter in model.parameters()]
    done = train_by_growth(model, ["0"], [(x, y)], nn.MSELoss(), steps=50, tau=1e-4, fallback="random", count=4)
    assert mean_loss(model, x, y, nn.MSELoss()) < 0.15 * line
    assert len(model[0].weight) == 1 + sum(proposal.count for proposal in done)
    assert torch.equal(model[0].weight[:1], weights[0])
    assert torch.equal(model[2].weight[:, :1], weights[2])
