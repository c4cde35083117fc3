"""Learning rate and weight decay that fit a network and its samples."""

from __future__ import annotations

import pytest
import torch

import creases
from creases.growth import GrowthConfig
from creases.growth._grower import is_untrained
from creases.growth._training import LEAST_DECAY, LEAST_RATE, MOST_DECAY, MOST_RATE, fitting_decay, fitting_rate
from growth_runs import classes, mlp, normed, state


def rate(*widths: int) -> float:
    model = mlp(*widths)
    return fitting_rate(model, creases.places(model))


@pytest.mark.slow
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

        options |= {"how": "random", "when": 2, "budget": 6, "callbacks": [watch]}
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


def test_a_rate_at_which_the_loss_does_not_rise_is_kept_even_if_nothing_is_learned():
    """A network whose only unit is dead: its loss stays where it is, whatever the rate."""
    x, _ = classes(400)
    model = mlp(3, 1, 2)
    with torch.no_grad():
        model[0].bias.fill_(-100.0)
        model[2].bias.zero_()
    run = creases.growth.Run(model, (x, torch.arange(400) % 2), "classification", GrowthConfig(budget=200))
    run.start()
    assert run.state.rate_scale == 1.0


def test_a_network_is_untrained_if_it_does_no_better_than_with_new_weights():
    for model in (mlp(3, 8, 2), normed()):
        assert is_untrained(state(model, classes(100)))
    x, y = classes(100)
    model = mlp(3, 8, 2)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    for _ in range(100):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    assert not is_untrained(state(model, (x, y)))


def test_a_layer_that_cannot_be_initialised_anew_counts_as_trained():
    class Scale(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.size = torch.nn.Parameter(torch.ones(2, dtype=torch.float64))

        def forward(self, x):
            return self.size * x

    assert not is_untrained(state(mlp(3, 8, 2).append(Scale()), classes(100)))


def test_a_model_that_cannot_be_copied_counts_as_trained_and_negative_losses_are_compared_too():
    model = mlp(3, 8, 2)
    model.features = model(classes(10)[0])  # deepcopy refuses what has a gradient
    assert not is_untrained(state(model, classes(100)))

    def shifted(outputs, y):
        return torch.nn.functional.cross_entropy(outputs, y) - 100

    run = creases.growth.Grower(mlp(3, 8, 2), None, classes(100), shifted)
    assert run.state.untrained
