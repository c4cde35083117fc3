"""Planes through convolutional networks, whose values come from the units that change side only."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import creases
from conformance import check_plane
from creases.regions import PlanePartition

plane_module = import_module("creases.regions._plane.plane")


class Block(nn.Module):
    """A residual block with a leaky relu inside."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1)
        self.second = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(x + self.second(nn.functional.leaky_relu(self.first(x), 0.2)))


def models() -> dict[str, nn.Sequential]:
    torch.manual_seed(0)
    return {
        "strides": nn.Sequential(
            nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 6, 3, 2, 1), nn.ReLU(), nn.Flatten(),
            nn.Linear(216, 12), nn.Hardtanh(), nn.Linear(12, 3),
        ),
        "residual": nn.Sequential(
            nn.Conv2d(3, 6, 3, 2, 1), Block(6), nn.AvgPool2d(3), nn.Flatten(), nn.Linear(24, 3),
        ),
        "pooling": nn.Sequential(
            nn.Conv2d(3, 4, 3, padding=1), nn.PReLU(4, -1.0), nn.MaxPool2d(3, 2, 1), nn.Conv2d(4, 4, 3), nn.ReLU(),
            nn.MaxPool2d(2), nn.Flatten(), nn.Linear(16, 3),
        ),
    }  # fmt: skip


def partition(name: str) -> PlanePartition:
    model = models()[name].double()
    a, b, c = torch.rand(3, 3, 12, 12, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    with torch.no_grad():
        model[-1].bias -= model(a[None])[0]  # all classes tie at a
    return creases.plane_through(creases.read(model, (3, 12, 12)), a, a + (b - a) / 12, a + (c - a) / 12)


def patterns(found: PlanePartition) -> set[bytes]:
    return {row.tobytes() for row in found.patterns}


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("creases.regions._plane.subdivision.WIDE", 1)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["strides", "residual", "pooling"])
@pytest.mark.usefixtures("wide")
def test_regions_tile_the_box_with_the_pieces_of_the_network(name: str) -> None:
    found = partition(name)
    assert found.count > 80
    check_plane(found, np.random.default_rng(0))
    np.testing.assert_allclose(found.values, found.net(found.points(found.vertices)), rtol=0, atol=1e-13)


@pytest.mark.parametrize("name", ["strides", "residual"])
def test_values_from_changing_units_give_the_partition_of_full_forward_passes(name: str, monkeypatch) -> None:
    full = partition(name)
    full_boundary = full.boundary().length
    monkeypatch.setattr("creases.regions._plane.subdivision.WIDE", 1)
    found = partition(name)
    assert (len(found.vertices), len(found.edges)) == (len(full.vertices), len(full.edges))
    assert patterns(found) == patterns(full)
    assert found.boundary().length == pytest.approx(full_boundary, rel=1e-9)
    assert full_boundary > 0
    np.testing.assert_allclose(sorted(found.areas()), sorted(full.areas()), rtol=0, atol=1e-12 * full.areas().sum())


@pytest.mark.parametrize("name", ["residual", "pooling"])
@pytest.mark.usefixtures("wide")
def test_bounded_memory_gives_the_same_partition(name: str, monkeypatch) -> None:
    whole = partition(name)
    monkeypatch.setattr(plane_module, "MEMORY", 2**18)
    assert patterns(partition(name)) == patterns(whole)


@pytest.mark.usefixtures("wide")
def test_a_box_without_creases_is_one_region() -> None:
    net = creases.read(models()["pooling"], (3, 12, 12))
    x = np.random.default_rng(0).uniform(size=432)
    basis = np.eye(432, 2)
    found = creases.plane(net, (-1e-9, 1e-9), x, basis)
    assert (found.count, patterns(found)) == (1, {net.pattern(x).tobytes()})
    np.testing.assert_allclose(found.values, net(found.points(found.vertices)), rtol=0, atol=1e-14)
