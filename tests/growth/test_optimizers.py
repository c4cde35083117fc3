"""The optimizers of growth are those of torch, bit for bit."""

import pytest
import torch
from torch import nn, optim

from creases.growth._training import AdamW


def train(kind, steps=5, state=None):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    optimizer = kind(model.parameters(), lr=0.1, weight_decay=0.01, fused=True)
    if state is not None:
        optimizer.load_state_dict(state)
    X = torch.randn(20, 3)
    for _ in range(steps):
        optimizer.zero_grad()
        model(X).square().mean().backward()
        optimizer.step()
    return optimizer, torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


@pytest.mark.parametrize(("ours", "theirs"), [(AdamW, optim.AdamW)])
def test_steps_and_states_are_those_of_torch(ours, theirs):
    first, weights = train(ours)
    second, expected = train(theirs)
    assert torch.equal(weights, expected)
    assert type(first).__name__ == theirs.__name__
    state = first.state_dict()
    assert state.keys() == second.state_dict().keys()
    assert torch.equal(train(ours, 3, state)[1], train(theirs, 3, second.state_dict())[1])


def test_a_closure_computes_gradients():
    weight = nn.Parameter(torch.ones(1))
    optimizer = AdamW([weight], lr=0.1, weight_decay=0.0)

    def closure():
        optimizer.zero_grad()
        loss = weight.square().sum()
        loss.backward()
        return loss

    assert float(optimizer.step(closure).detach()) == 1
    assert weight.item() == pytest.approx(0.9)
