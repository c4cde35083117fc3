"""How strong units look where there is nothing to find."""

import torch
from torch import nn

from creases.growth.methods import tiny


def sample(n=400, d=30, seed=0):
    numbers = torch.Generator().manual_seed(seed)
    x = torch.randn(n, d, generator=numbers, dtype=torch.float64)
    model = nn.Sequential(nn.Linear(d, 3), nn.SELU(), nn.Linear(3, 2)).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(0.3 * torch.randn(parameter.shape, generator=numbers))
    return model, x, numbers


def test_goals_that_have_nothing_to_do_with_the_inputs_get_no_unit():
    for seed in range(10):
        model, x, numbers = sample(seed=seed)
        y = model(x).detach() + torch.randn(len(x), 2, generator=numbers, dtype=torch.float64)
        found = tiny(model, "0", (x, y), nn.MSELoss(), validation=(x, y), tau=0, above_noise=True, fallback=None)
        assert found.count == 0
        strongest = found.explanation["lambda"][0]
        assert 0.6 * found.explanation["lambda_by_chance"] < strongest < found.explanation["lambda_by_chance"]


def test_a_real_correlation_is_above_chance():
    model, x, numbers = sample()
    wanted = torch.tanh(x[:, :1] - x[:, 1:2]) * torch.tensor([[1.0, -1.0]]).double()
    y = model(x).detach() + wanted + 0.3 * torch.randn(len(x), 2, generator=numbers, dtype=torch.float64)
    found = tiny(model, "0", (x, y), nn.MSELoss(), validation=(x, y), tau=0, above_noise=True, fallback=None)
    assert found.count == 1
    direction = found.fan_in[0] / found.fan_in[0].norm()
    assert abs(float(direction[0] - direction[1])) > 1.2  # along x0 - x1, as far as noise allows
