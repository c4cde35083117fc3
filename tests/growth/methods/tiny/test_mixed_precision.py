"""Units from float32 products are those from float64 ones, whatever the inputs look like."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from creases.growth.methods._first_order.statistics import statistics
from creases.growth.methods._tiny import mixed_precision
from creases.growth.methods._tiny.bottleneck import optimal_units
from creases.growth.methods._tiny.tiny import tiny
from first_order import loss

N, D = 3000, 60


def inputs(kind: str) -> Tensor:
    """Inputs (n, d) in float32 that are hard on float32 products in their own ways."""
    numbers = torch.Generator().manual_seed(0)
    x = torch.randn(N, D, generator=numbers)
    mixed = torch.randn(N, 8, generator=numbers) @ torch.randn(8, D, generator=numbers)
    size = torch.logspace(-6, 6, D)
    return {
        "plain": x,
        "scaled": x * size,
        "far from 0": x + 300,
        "nearly of low rank": mixed + 1e-3 * x,
        "nearly twice": torch.cat([x[:, :30], x[:, :30] + 1e-4 * x[:, 30:]], 1),
        "all positive": x.abs(),
        "mostly 0": x * (x > 1.5),
        "some always 0": x * (torch.arange(D) % 3 > 0),
        "small": 1e-25 * x,
        "some small": x * torch.where(torch.arange(D) < 5, 1e-25, 1.0),
        "large": 1e25 * x,
    }[kind]


def case(kind: str) -> tuple[nn.Module, Tensor, Tensor]:
    x = inputs(kind)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(D, 6), nn.SELU(), nn.Linear(6, 5), nn.SELU(), nn.Linear(5, 3))
    with torch.no_grad():
        model[0].weight /= x.std(0).clamp_min(1e-30)
    return model, x, (3 * torch.sin(x / x.std()).sum(1)).long() % 3


@pytest.mark.parametrize(
    ("kind", "again"),
    [
        ("plain", False),
        ("scaled", False),
        ("far from 0", True),
        ("nearly of low rank", True),
        ("nearly twice", True),
        ("all positive", False),
        ("mostly 0", False),
        ("some always 0", False),
        ("small", True),
        ("some small", True),
        ("large", True),
    ],
)
@pytest.mark.parametrize("ridge", [0.0, 0.1])
def test_singular_values_are_those_of_float64_products(kind, again, ridge, monkeypatch):
    model, x, y = case(kind)
    calls = []
    recompute = mixed_precision.recompute_features
    monkeypatch.setattr(mixed_precision, "recompute_features", lambda *args: (calls.append(args), recompute(*args)))
    found = tiny(
        model,
        "0",
        list(zip(x.split(700), y.split(700), strict=True)),
        loss,
        validation=(x, y),
        tau=0,
        fallback=None,
        above_noise=False,
        ridge=ridge,
    )
    sums = statistics(model, "0", (x, y), loss)
    squares = sums.features.diagonal()[:-1].clone()  # the ridge written out, the constant without it
    sums.features.diagonal()[:-1] += torch.where(squares > 0, ridge * squares[squares > 0].mean(), 0.0)
    exact = optimal_units(sums, count=10)
    least = 1e-6 * float(exact.values[0])
    values = [value for value in found.explanation["lambda"] if value > least]
    assert len(values) == len(exact.values)
    assert values == pytest.approx(exact.values.tolist(), abs=least)
    assert bool(calls) == again or ridge  # with a ridge float32 is accurate enough more often


def test_refined_units_satisfy_their_identities_in_float64():
    model, x, y = case("all positive")
    found = tiny(
        model,
        "0",
        (x, y),
        loss,
        validation=(x, y),
        tau=0,
        count=3,
        project=False,
        fallback=None,
        above_noise=False,
        ridge=0.0,
    )
    ones = torch.cat([x.double(), torch.ones(N, 1, dtype=torch.float64)], 1)
    z = ones @ torch.cat([found.fan_in, found.bias[:, None]], 1).T
    second = z.T @ z / N
    size = second.diagonal().sqrt()
    correlation = second / size / size[:, None] - torch.eye(len(size), dtype=torch.float64)
    assert float(correlation.abs().max()) < 1e-10  # fan-ins orthogonal in S, although S was summed from float32


def test_models_that_work_in_place_are_grown_as_others():
    def built(inplace: bool) -> nn.Sequential:
        with torch.random.fork_rng():
            torch.manual_seed(0)
            layers = [
                nn.Linear(4, 6),
                nn.ReLU(inplace),
                nn.Linear(6, 5),
                nn.ReLU(inplace),
                nn.Linear(5, 4),
                nn.ReLU(inplace),
            ]
            return nn.Sequential(*layers, nn.Linear(4, 2)).double()

    numbers = torch.Generator().manual_seed(1)
    x = torch.randn(200, 4, generator=numbers, dtype=torch.float64)
    y = (x[:, 0] * x[:, 1] > 0).long()
    weights = built(False).state_dict()
    for name in ("0", "2", "4"):
        both = []
        for inplace in (False, True):
            model = built(inplace)
            model.load_state_dict(weights)
            both.append(tiny(model, name, (x, y), loss, tau=0, project=False, fallback=None, above_noise=False))
        one, other = both
        assert one.count == other.count > 0
        assert torch.equal(one.fan_in, other.fan_in)
        assert one.explanation == other.explanation


def test_a_convolution_of_one_position_is_grown_as_the_linear_layer_it_is():
    numbers = torch.Generator().manual_seed(2)
    x = torch.randn(300, 2, 3, 3, generator=numbers)
    y = (x[:, 0, 0, 0] * x[:, 1, 1, 1] > 0).long()
    with torch.random.fork_rng():
        torch.manual_seed(0)
        conv = nn.Sequential(nn.Conv2d(2, 4, 3), nn.SELU(), nn.Flatten(), nn.Linear(4, 2))
    linear = nn.Sequential(nn.Flatten(), nn.Linear(18, 4), nn.SELU(), nn.Linear(4, 2))
    with torch.no_grad():
        for one, other in zip(linear.parameters(), conv.parameters(), strict=True):
            one.copy_(other.reshape(one.shape))
    found = tiny(conv, "0", (x, y), loss, validation=(x, y), count=1, fallback=None, above_noise=False)
    same = tiny(linear, "1", (x, y), loss, validation=(x, y), count=1, fallback=None, above_noise=False)
    assert found.count == same.count == 1
    assert found.gain == pytest.approx(same.gain, rel=1e-5)
    torch.testing.assert_close(found.fan_in.flatten(1), same.fan_in, rtol=1e-4, atol=1e-5)
