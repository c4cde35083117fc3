"""Samples that are held out while a network grows."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from creases.growth import GrowthConfig, Run


def start(keep: str) -> Run:
    numbers = torch.Generator().manual_seed(0)
    X = torch.randn(400, 2, generator=numbers)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 2))
        config = GrowthConfig(how="random", budget=60, keep=keep)
        run = Run(model, (X, (X[:, 0] * X[:, 1] > 0).long()), "classification", config, validation=0.25)
        run.start()
        while not run.history.growth_ended:
            assert run.state.samples.size == 300
            run.epoch()
        run.epoch()
    return run


def test_they_are_trained_on_after_growth_where_nothing_is_chosen_by_them() -> None:
    run = start("last")
    assert run.state.samples.size == 400
    assert run.history.last["validation_loss"] is None


def test_they_are_held_out_to_the_end_where_the_best_network_is_chosen_by_them() -> None:
    run = start("best")
    assert run.state.samples.size == 300
    assert run.history.last["validation_loss"] is not None


@pytest.mark.slow
def test_a_run_that_goes_back_to_before_growth_ended_holds_them_out_again() -> None:
    run = start("last")
    fresh = start("last")
    state = fresh.snapshot()
    state.history.growth_ended, state.history.joined = "", None
    run.restore(state)
    assert run.state.samples.size == 300
    assert run.state.validation is not None
