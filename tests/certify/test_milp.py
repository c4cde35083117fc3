"""Mixed-integer programs of networks have the network's own largest outputs, and hold every input of the box."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

import creases
from agreement import seeded
from creases.certify import output_bounds
from creases.certify._milp import encode_network

BOX = np.array([[-1.0, 1.0], [-0.5, 2.0]])


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner, self.out = nn.Linear(2, 2), nn.Linear(2, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(torch.maximum(x - torch.relu(self.inner(x)), torch.abs(x)))


MODELS = {
    "relu": nn.Sequential(nn.Linear(2, 6), nn.ReLU(), nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 3)),
    "leaks": nn.Sequential(nn.Linear(2, 6), nn.LeakyReLU(0.2), nn.Linear(6, 4), nn.LeakyReLU(-0.5), nn.Linear(4, 2)),
    "steep": nn.Sequential(nn.Linear(2, 6), nn.LeakyReLU(3.0), nn.Linear(6, 2)),
    "clamp": nn.Sequential(nn.Linear(2, 6), nn.Hardtanh(-0.5, 0.5), nn.Linear(6, 2)),
    "residual and maximum": Residual(),
    "no bend": nn.Linear(2, 2),
}


@pytest.mark.parametrize("name", MODELS)
def test_the_largest_output_is_that_of_the_partition(name: str) -> None:
    net = creases.read(seeded(MODELS[name].double()), (2,))
    program = encode_network(net, BOX)
    low, high = output_bounds(net, BOX, method="exact")
    for j, cost in enumerate(program.outputs):
        for sign, extreme in ((1.0, high[j]), (-1.0, -low[j])):
            solution = program.maximize(sign * cost)
            assert solution.complete
            assert solution.bound + sign * program.offset[j] == pytest.approx(extreme, abs=1e-5)
            assert solution.bound + sign * program.offset[j] >= extreme - 1e-9
            x = np.clip(solution.point[:2], *BOX.T)
            assert sign * net(x)[j] == pytest.approx(extreme, abs=1e-4)
            assert program.maximize(sign * cost, relax=True).bound >= solution.bound - 1e-6


def test_rows_and_columns_can_be_added() -> None:
    net = creases.read([([[1.0, 1.0], [1.0, -1.0]], [0.0, 0.0]), ([[1.0, 1.0]], [0.0])])
    program = encode_network(net, np.array([[-1.0, 1.0], [-1.0, 1.0]]))
    half = program.add_rows([[1.0, 0.0]], -np.inf, 0.5)  # x0 <= 0.5
    solution = half.maximize(half.outputs[0])
    assert solution.bound == pytest.approx(1.5, abs=1e-5)  # relu(x0 + 1) + relu(x0 - 1)
    larger, (column,) = half.add_columns(0.0, 0.25)
    tied = larger.add_rows(np.eye(1, len(larger.low)) - np.eye(1, len(larger.low), column), 0.0, 0.0)  # x0 = it
    assert tied.maximize(tied.outputs[0]).bound == pytest.approx(1.25, abs=1e-5)
    nowhere = half.add_rows([[1.0, 0.0]], 0.75, np.inf)
    assert nowhere.maximize(nowhere.outputs[0]).bound == -np.inf
