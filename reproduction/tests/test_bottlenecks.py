"""TINY's figures, on a few small images."""

import pytest
import torch

from creases.growth.methods import GradMax
from creases_reproduction.tiny import bottlenecks


@pytest.fixture
def few_images(monkeypatch):
    """Classes that depend on where an image is bright, in place of the image files."""

    def images(read, device, *, flat):
        numbers = torch.Generator().manual_seed(0)
        channels, side = (1, 28) if flat else (3, 32)
        x = torch.rand(240, channels, side, side, generator=numbers)
        y = torch.arange(240) % 10
        for i, label in enumerate(y.tolist()):
            x[i, :, 2 * label : 2 * label + 4] += 1
        x = x.flatten(1) if flat else x
        return (x[:200], y[:200]), (x[200:], y[200:])

    monkeypatch.setattr(bottlenecks, "images", images)


@pytest.mark.slow
def test_a_grown_network_its_twin_and_a_wide_one_are_followed(few_images):
    grown, twin, wide = bottlenecks.mnist_curves(0, epochs=5, count=4)
    assert min(grown.widths) >= 1
    assert max(grown.widths) > 1
    assert twin.widths == grown.widths
    assert twin.parameters == grown.parameters
    assert wide.widths == [1000, 1000]
    assert len(grown.points) == len(twin.points) > len(wide.points)
    assert [seconds for seconds, _, _ in grown.points] == sorted(seconds for seconds, _, _ in grown.points)


@pytest.mark.slow
def test_convolutions_grow_beside_a_twin_of_their_size(few_images):
    how = GradMax(count=2, samples=100)
    grown, twin = bottlenecks.cifar10_curves(0, how, device="cpu", epochs=3, max_parameters=1500)
    assert grown.name == "grown by GradMax"
    assert grown.growth_steps >= 1
    assert twin.widths == grown.widths
    assert grown.points[-1][1] > 1058  # parameters; the network of the best epoch may be smaller
