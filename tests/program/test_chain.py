"""Chains of linear layers and (leaky) ReLUs are told from all other programs."""

import pytest
import torch
from torch import nn

import creases
from creases._program import check_chain, find_chain_break
from creases.errors import InputError


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(2, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + torch.relu(self.inner(x))


@pytest.mark.parametrize("bend", [nn.ReLU(), nn.LeakyReLU(0.1)])
def test_a_multilayer_perceptron_is_a_chain(bend):
    net = creases.read(nn.Sequential(nn.Linear(2, 3), bend, nn.Linear(3, 3), bend, nn.Linear(3, 1)))
    assert find_chain_break(net.steps) is None
    check_chain(net.steps, "net", "")


@pytest.mark.parametrize(
    ("model", "shape", "op"),
    [
        (nn.Sequential(nn.Conv2d(1, 1, 2), nn.ReLU(), nn.Flatten(), nn.Linear(4, 1)), (1, 3, 3), "conv"),
        (nn.Sequential(nn.Linear(2, 3), nn.Hardtanh(), nn.Linear(3, 1)), (2,), ""),
        (Residual(), (2,), "add"),
    ],
)
def test_the_first_step_that_breaks_the_chain_is_named(model, shape, op):
    net = creases.read(model, input_shape=shape)
    number = find_chain_break(net.steps)
    assert find_chain_break(net.steps[:number]) is None
    assert net.steps[number].op.startswith(op)
    words = rf"model must be a chain of linear layers and \(leaky\) ReLUs, got {op}.* at step {number} .*; use another"
    with pytest.raises(InputError, match=words):
        check_chain(net.steps, "model", "use another")
