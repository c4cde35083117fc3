"""TINY's schedule by the clock, on digits."""

from __future__ import annotations

import pytest
import torch

from creases_reproduction.tiny.growth_schedule import growth_round, hidden, run, start
from creases_reproduction.tiny.mnist import digit_data


@pytest.fixture(scope="module")
def data():
    return digit_data()


def test_a_round_grows_both_layers_and_tells_how_strong_their_units_are(data):
    model = start([1, 1], 0, 64)
    found = growth_round(model, data[0], torch.Generator().manual_seed(0))
    assert all(width > 1 for width in hidden(model))
    assert all(largest**2 >= mean > 0 for mean, largest in found)


def test_random_units_reach_the_widths_asked_for(data):
    model = start([1, 1], 0, 64)
    assert growth_round(model, data[0], torch.Generator().manual_seed(0), like=[4, 1]) == []
    assert hidden(model) == [4, 1]


def test_a_run_grows_as_often_as_asked_and_starts_with_kaiming_weights(data):
    model = start([1, 1], 0, 64)
    assert float(start([500, 1], 0, 64)[0].weight.detach().var()) == pytest.approx(2 / 64, rel=0.1)
    found = run(model, data, "grown", 0, seconds=0.6, rounds=2, pause=0.0)
    assert len(found.rounds) == len(found.spectra) == 2
    assert found.widths == hidden(model) == found.rounds[-1]
    assert 0 < found.growing < 60
    assert found.steps > 0
