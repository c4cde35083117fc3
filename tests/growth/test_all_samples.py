"""Samples that were held out are trained on where nothing is left to choose by them."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from creases.growth import GrowthConfig, History, Run

ROWS, HELD = 120, 0.25


def flipped(rows: int = ROWS) -> tuple[torch.Tensor, torch.Tensor]:
    """Quadrants of a plane, with three labels in ten wrong: a network soon overfits."""
    numbers = torch.Generator().manual_seed(2)
    X = torch.randn(rows, 3, generator=numbers)
    return X, ((X[:, 0] * X[:, 1] > 0) ^ (torch.rand(rows, generator=numbers) < 0.3)).long()


def halves(rows: int = 600) -> tuple[torch.Tensor, torch.Tensor]:
    """Classes that a network of any size learns without overfitting."""
    X = torch.randn(rows, 3, generator=torch.Generator().manual_seed(0))
    return X, (X[:, 0].abs() + X[:, 1] > 0.5).long()


def make() -> nn.Sequential:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 2))


OPTIONS: dict[str, Any] = {"how": "random", "budget": 60, "lr": 0.02, "weight_decay": 0.0}


def run_to_the_end(data: Any, validation: Any = HELD, **options: Any) -> Run:
    run = Run(make(), data, "classification", GrowthConfig(**{**OPTIONS, **options}), validation=validation)
    with torch.random.fork_rng():
        run.start()
        while not run.history.ended:
            run.epoch()
        run.finish()
    return run


def test_a_network_that_overfits_is_kept_as_it_was_on_held_out_samples() -> None:
    history = run_to_the_end(flipped()).history
    assert history.joined is None
    assert history.last["validation_loss"] is not None
    losses = [epoch["smoothed_loss"] for epoch in history.epochs]
    kept = history.epochs[history.kept - 1]
    assert history.kept < len(losses) or kept["smoothed_score"] >= max(e["smoothed_score"] for e in history.epochs[-1:])


@pytest.mark.slow
def test_from_half_way_on_all_samples_are_trained_on_where_the_loss_still_falls() -> None:
    run = run_to_the_end(halves(), lr=0.002)
    history = run.history
    assert history.growth_spent is not None
    assert run.state.samples.size == 600
    share = history.epochs[history.joined - 1]["progress"]
    assert share == pytest.approx((1 + history.growth_spent) / 2, abs=2 / 60)
    assert [epoch["validation_loss"] is None for epoch in history.epochs].index(True) == history.joined
    assert history.kept == len(history.epochs)
    assert f"all samples, those held out too, were trained on after epoch {history.joined}" in history.ending


def test_where_few_epochs_follow_growth_all_samples_are_trained_on_at_once() -> None:
    run = run_to_the_end(halves(), budget=12, lr=0.002)
    grown = next(k for k, epoch in enumerate(run.history.epochs) if epoch["progress"] >= run.history.growth_spent)
    assert run.history.joined == grown + 1
    assert History.from_json(run.history.to_json()).joined == run.history.joined


@pytest.mark.slow
@pytest.mark.parametrize("keep", ["auto", "last"])
def test_samples_that_were_trained_on_are_not_held_out_again_when_the_network_grows(keep: str) -> None:
    run = Run(
        make(), halves(), "classification", GrowthConfig(**{**OPTIONS, "keep": keep, "lr": 0.002}), validation=HELD
    )
    with torch.random.fork_rng():
        run.start()
        while run.history.joined is None:
            run.epoch()
        assert run.grow_now() is not None
        run.epoch()
    assert run.state.samples.size == 600
    assert run.history.last["validation_loss"] is None


def test_samples_that_the_user_validates_with_are_never_trained_on() -> None:
    X, y = halves()
    run = run_to_the_end((X[100:], y[100:]), validation=(X[:100], y[:100]), budget=12)
    assert run.history.joined is None
    assert run.state.samples.size == 500


@pytest.mark.parametrize(("keep", "joins"), [("best", False), ("last", True)])
def test_the_option_keep_decides_whether_they_are(keep: str, joins: bool) -> None:
    run = run_to_the_end(halves(), keep=keep, budget=12, lr=0.002)
    assert (run.history.joined is not None) == joins
    assert (run.history.last["validation_loss"] is None) == joins
    assert run.state.samples.size == (600 if joins else 600 * (1 - HELD))


def test_a_run_that_goes_back_holds_the_samples_out_again() -> None:
    run = Run(make(), halves(), "classification", GrowthConfig(**{**OPTIONS, "keep": "last"}), validation=HELD)
    with torch.random.fork_rng():
        run.start()
        before = run.snapshot()
        while run.history.joined is None:
            assert run.state.samples.size == 600 * (1 - HELD)
            run.epoch()
        assert run.state.samples.size == 600
        run.restore(before)
    assert run.state.validation is not None
    assert run.state.samples.size == 600 * (1 - HELD)
