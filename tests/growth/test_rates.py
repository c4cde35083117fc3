"""Learning rate and weight decay that fit a network and its samples."""

from __future__ import annotations

import pytest

import creases
from creases.growth import GrowthConfig
from creases.growth._rates import LEAST_DECAY, LEAST_RATE, MOST_DECAY, MOST_RATE, fitting_decay, fitting_rate
from growth_runs import classes, mlp


def rate(*widths: int) -> float:
    model = mlp(*widths)
    return fitting_rate(model, creases.places(model))


def test_the_rate_falls_with_the_cube_root_of_the_width():
    assert rate(3, 16, 16, 2) == MOST_RATE
    assert rate(3, 128, 128, 2) == pytest.approx(MOST_RATE / 2)
    assert rate(3, 1, 1, 2) == MOST_RATE
    assert rate(3, 16, *[512] * 40, 2) >= LEAST_RATE


def test_the_decay_falls_with_the_samples():
    assert fitting_decay(100) == fitting_decay(400) == MOST_DECAY
    assert fitting_decay(4000) == pytest.approx(MOST_DECAY / 10)
    assert fitting_decay(10**9) == fitting_decay(None) == LEAST_DECAY


def test_the_rate_follows_the_network_as_it_grows_and_one_that_is_given_does_not():
    def rates(**options):
        seen = {}

        def watch(state):
            seen[state.model[0].out_features] = state.optimizer.param_groups[0]["initial_lr"]

        options |= {"how": "random", "when": 2, "budget": 6, "recycle": False, "callbacks": [watch]}
        creases.grow(mlp(3, 64, 2), classes(60), "classification", progress=False, **options)
        return seen

    found = rates()
    assert len(found) > 1
    for width, value in found.items():
        assert value == pytest.approx(rate(3, width, 2)) or width == max(found)  # the last step came after training
    assert set(rates(lr=0.004).values()) == {0.004}


def test_the_optimizer_has_both():
    model = mlp(3, 64, 64, 2)
    run = creases.growth.Run(model, classes(60), "classification", GrowthConfig())
    weights, biases = run.optimizer.param_groups
    assert weights["lr"] == biases["lr"] == rate(3, 64, 64, 2)
    assert (weights["weight_decay"], biases["weight_decay"]) == (MOST_DECAY, 0.0)
