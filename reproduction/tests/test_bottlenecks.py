"""Growth of convolutions, on a few small images."""

import pytest
import torch

from creases.growth import History
from creases.growth.methods import GradMax
from creases_reproduction.tiny import bottlenecks
from creases_reproduction.tiny.bottlenecks import round_robin
from growth_runs import mlp, record, state


@pytest.fixture
def few_images(monkeypatch):
    """Classes that depend on where an image is bright, in place of the image files."""

    def images(read, device, *, flat):
        numbers = torch.Generator().manual_seed(0)
        x = torch.rand(240, 3, 32, 32, generator=numbers)
        y = torch.arange(240) % 10
        for i, label in enumerate(y.tolist()):
            x[i, :, 2 * label : 2 * label + 4] += 1
        return (x[:200], y[:200]), (x[200:], y[200:])

    monkeypatch.setattr(bottlenecks, "images", images)


@pytest.mark.slow
def test_convolutions_grow_beside_a_twin_of_their_size(few_images):
    how = GradMax(count=2, samples=100)
    grown, twin = bottlenecks.cifar10_curves(0, how, device="cpu", epochs=3, max_parameters=1500)
    assert grown.name == "grown by GradMax"
    assert grown.growth_steps >= 1
    assert twin.widths == grown.widths
    assert grown.points[-1][1] > 1058  # parameters; the network of the best epoch may be smaller


def test_round_robin_takes_each_place_in_its_turn():
    seen, history = [], History()
    for epoch in range(5):
        run = state(mlp(3, 2, 2, 2, 2), history=history)
        order = [place.name for place in round_robin(run)]
        assert sorted(order) == ["0", "2", "4"]
        seen.append(order[0])
        history.records.append(record(epoch, order[0]))
    assert seen == ["0", "2", "4", "0", "2"]


def test_round_robin_goes_on_after_a_place_that_is_no_more():
    history = History(records=[record(1, "0"), record(2, "gone")])
    assert [place.name for place in round_robin(state(mlp(3, 2, 2, 2), history=history))] == ["2", "0"]
