"""Linear bounds of outputs over a box: never too narrow, and exact where no unit changes side."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import nn

import creases
from agreement import seeded
from creases.certify import output_bounds
from creases.certify.propagation import _linear as module


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner, self.out = nn.Linear(3, 3), nn.Linear(3, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(torch.maximum(x - torch.relu(self.inner(x)), torch.abs(x)))


MODELS = {
    "relu": nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 4)),
    "leaks": nn.Sequential(nn.Linear(3, 8), nn.LeakyReLU(0.2), nn.Linear(8, 8), nn.LeakyReLU(-0.5), nn.Linear(8, 4)),
    "steep": nn.Sequential(nn.Linear(3, 8), nn.LeakyReLU(3.0), nn.Linear(8, 4)),
    "pool": nn.Sequential(
        nn.Linear(3, 36), nn.Unflatten(1, (1, 6, 6)), nn.Conv2d(1, 2, 3), nn.MaxPool2d(2), nn.ReLU(), nn.Flatten(),
        nn.Linear(8, 3),
    ),
    "residual": Residual(),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("backwards", [True, False], ids=["linear bounds", "intervals alone"])
def test_no_point_of_the_box_is_beyond_the_bounds(name: str, backwards: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not backwards:
        monkeypatch.setattr(module, "BACKWARDS", 0)  # then only the output is bounded backwards
    net = creases.read(seeded(MODELS[name].double()), (3,))
    rng = np.random.default_rng(0)
    for radius in (1e-3, 0.1, 1.0, 10.0):
        low, high = output_bounds(net, [(0.3 - radius, 0.3 + radius)] * 3)
        y = net(rng.uniform(0.3 - radius, 0.3 + radius, size=(20_000, 3)))
        assert (low <= y.min(axis=0)).all()
        assert (y.max(axis=0) <= high).all()


@pytest.mark.thorough
@pytest.mark.parametrize("leak", [0.0, 0.2, 1.5, -0.5])
def test_small_networks_reach_their_bounds_or_nearly(leak: float) -> None:
    """With few units bounds are near the truth, so that a line a little too low is seen."""
    rng, slack = np.random.default_rng(0), []
    for _ in range(100):
        sizes = [1, *rng.integers(1, 4, size=rng.integers(1, 3)), 1]
        net = creases.read([(rng.normal(size=(m, n)), rng.normal(size=m)) for n, m in pairwise(sizes)], leak=leak)
        low, high = output_bounds(net, [(-1, 1)])
        values = net(np.append(creases.line(net, [-1.0], [1.0]).ends, [0, 1])[:, None] * 2 - 1)
        assert low[0] <= values.min() + 1e-12
        assert values.max() - 1e-12 <= high[0]
        slack.append((high[0] - low[0]) - np.ptp(values))
    assert np.median(slack) < 0.1


@pytest.mark.parametrize("name", MODELS)
def test_bounds_are_exact_inside_a_region(name: str) -> None:
    net = creases.read(seeded(MODELS[name].double()), (3,))
    region = creases.cell(net, [0.3, -0.2, 0.5])
    radius = 0.9 * region.crease_distance / np.sqrt(3)
    low, high = output_bounds(net, np.stack([region.x - radius, region.x + radius], axis=1))
    reach = radius * np.abs(region.J).sum(axis=1)
    np.testing.assert_allclose(low, region.J @ region.x + region.y - reach, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(high, region.J @ region.x + region.y + reach, rtol=1e-9, atol=1e-12)


def test_networks_without_bends_without_weights_and_with_constants_have_bounds_exact_up_to_rounding() -> None:
    low, high = output_bounds(creases.read([([[1.0, -2.0]], [0.5])]), [(0, 1), (0, 1)])
    assert -1.5 - 1e-14 < low[0] <= -1.5
    assert 1.5 <= high[0] < 1.5 + 1e-14
    low, high = output_bounds(creases.Network([], (2,)), [(0, 1), (-3, 2)])
    assert (low.tolist(), high.tolist()) == ([0, -3], [1, 2])
    dead = creases.read([([[0.0], [1.0]], [-1.0, -5.0]), ([[1.0, 1.0]], [2.0])])
    low, high = output_bounds(dead, [(-1, 1)])
    assert 2.0 - 1e-14 < low[0] <= 2.0 <= high[0] < 2.0 + 1e-14


def test_values_that_are_single_numbers_are_bounded() -> None:
    class Largest(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.stack([x[:, 0], 2 * x[:, 1]], dim=1).amax(dim=1, keepdim=True)

    low, high = output_bounds(creases.read(Largest(), (2,)), [(-1.0, 1.0), (0.0, 0.25)])
    assert low[0] <= 0.0
    assert high[0] == pytest.approx(1.0)
