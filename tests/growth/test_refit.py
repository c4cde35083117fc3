"""Where training overfits after growth, the network is retrained on all samples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from creases import problems
from creases.growth import GrowthConfig, History, Run
from creases.problems import Problem
from creases.tables import Experiment
from growth_runs import grow_and_save, same_tensors, timeless

ROWS, HELD, SEED = 120, 0.25, 1


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


OPTIONS: dict[str, Any] = {"how": "random", "budget": 60, "lr": 0.02, "weight_decay": 0.0, "keep": "refit"}


def run_to_the_end(data: Any, validation: Any = HELD, **options: Any) -> Run:
    run = Run(make(), data, "classification", GrowthConfig(**{**OPTIONS, **options}), validation=validation)
    with torch.random.fork_rng():
        run.start()
        while not run.history.ended:
            run.epoch()
        run.finish()
    return run


@pytest.fixture(scope="module")
def overfitted() -> Run:
    return run_to_the_end(flipped())


def test_a_network_that_overfits_is_retrained_on_all_samples(overfitted: Run) -> None:
    history = overfitted.history
    before, after = history.epochs[: history.refit["begun"]], history.epochs[history.refit["begun"] :]
    assert overfitted.grower.state.samples.size == ROWS
    assert all(epoch["validation_loss"] is not None for epoch in before)
    assert all(epoch["validation_loss"] is None for epoch in after)
    assert history.kept == len(history.epochs)


def test_it_is_retrained_for_as_long_as_the_lowest_validation_loss_took(overfitted: Run) -> None:
    history, refit = overfitted.history, overfitted.history.refit
    watched = history.epochs[refit["growth"] : refit["begun"]]
    best = min(watched, key=lambda epoch: epoch["smoothed_loss"])
    assert best["epoch"] == refit["best"]
    length = history.last["epochs"] - history.epochs[refit["begun"] - 1]["epochs"]
    assert length == pytest.approx(refit["epochs"], abs=0.5)
    assert f"retrained on all samples for {refit['epochs']:.3g} epoch" in history.ended


def test_it_starts_at_the_end_of_growth_and_ends_at_a_learning_rate_of_zero(overfitted: Run) -> None:
    history, refit = overfitted.history, overfitted.history.refit
    assert history.epochs[-1]["widths"] == history.epochs[refit["growth"]]["widths"]
    assert history.epochs[refit["begun"]]["loss"] > history.epochs[refit["begun"] - 1]["loss"]
    assert all(group["lr"] < 0.1 * group["initial_lr"] for group in overfitted.optimizer.param_groups)


@pytest.mark.parametrize("budget", [60, "1e6 multiply-adds"])
def test_it_is_part_of_the_budget(budget: Any) -> None:
    run = run_to_the_end(flipped(), budget=budget)
    meter = run.grower.state.meter
    step = 3 * (run.grower.state.flops // 2) * run.batch_size if isinstance(budget, str) else 1
    assert run.history.refit
    assert meter.spent <= meter.budget.amount + step


def test_a_network_that_does_not_overfit_is_trained_on() -> None:
    run = run_to_the_end(halves(), budget=12, lr=0.002)
    assert not run.history.refit
    assert run.history.ended.startswith("the budget of 12 epochs is spent")


@pytest.mark.slow
def test_from_half_way_on_all_samples_are_trained_on_where_training_goes_on() -> None:
    run = run_to_the_end(halves(), budget=60, lr=0.002)
    history = run.history
    assert not history.refit
    assert history.growth_spent is not None
    assert run.grower.state.samples.size == 600
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
@pytest.mark.parametrize("keep", ["refit", "last"])
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
    assert run.grower.state.samples.size == 600
    assert run.history.last["validation_loss"] is None


def test_samples_that_a_caller_divided_are_held_out_to_the_end_where_training_goes_on() -> None:
    X, y = halves()
    config = GrowthConfig(**{**OPTIONS, "budget": 12, "lr": 0.002})
    run = Run(make(), (X[100:], y[100:]), "classification", config, validation=(X[:100], y[:100]), all_samples=(X, y))
    with torch.random.fork_rng():
        run.start()
        while not run.history.ended:
            run.epoch()
    assert run.history.joined is None
    assert run.history.last["validation_loss"] is not None


def test_samples_that_the_user_validates_with_are_never_trained_on() -> None:
    X, y = flipped()
    run = run_to_the_end((X[30:], y[30:]), validation=(X[:30], y[:30]))
    assert not run.history.refit
    assert run.grower.state.samples.size == ROWS - 30


@pytest.mark.parametrize("keep", ["best", "last"])
def test_only_keep_refit_retrains(keep: str) -> None:
    assert not run_to_the_end(flipped(), keep=keep, budget=30).history.refit


@pytest.mark.slow
def test_stopped_in_the_middle_it_ends_the_same(overfitted: Run, tmp_path: Path) -> None:
    refit = overfitted.history.refit
    options = {**OPTIONS, "validation": HELD, "checkpoint": tmp_path / "run.pt"}
    for stop in (refit["growth"] + 1, refit["begun"], refit["begun"] + 1):

        def strike(state: Any, at: int = stop) -> None:
            if len(state.history.epochs) > at:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            grow_and_save(make(), flipped(), "classification", callbacks=[strike], **options)
    again = grow_and_save(make(), flipped(), "classification", **options)
    assert same_tensors(overfitted.grower.state.model, again.model)
    assert timeless(overfitted.history) == timeless(again.history)


def test_a_longer_budget_trains_on_all_samples_to_its_end() -> None:
    run = run_to_the_end(flipped())
    epochs = len(run.history.epochs)
    with torch.random.fork_rng():
        run.extend(70)
        while not run.history.ended:
            run.epoch()
    assert run.history.last["epochs"] == pytest.approx(70, abs=1)
    assert all(epoch["validation_loss"] is None for epoch in run.history.epochs[epochs:])


def test_a_run_that_goes_back_to_before_it_holds_the_samples_out_again() -> None:
    run = Run(make(), flipped(), "classification", GrowthConfig(**OPTIONS), validation=HELD)
    with torch.random.fork_rng():
        run.start()
        before = run.snapshot()
        while not run.history.refit:
            before = before if run.refit else run.snapshot()
            run.epoch()
        assert run.grower.state.samples.size == ROWS
        run.restore(before)
    assert run.grower.state.samples.size == ROWS * (1 - HELD)


@pytest.mark.slow
def test_a_table_that_overfits_still_ends_as_the_linear_model_where_no_network_was_better() -> None:
    iris = problems.get("iris")
    problem = Problem("iris", iris.X[:, :2], iris.y, iris.features[:2], iris.classes, target="species")
    experiment = Experiment.from_problem(problem, GrowthConfig(how="random", budget=80, keep="refit", seed=SEED))
    experiment.run(progress=False)
    history = experiment.history
    assert 0 < history.refit["epochs"] < 40
    assert history.last["validation_loss"] is None
    assert history.kept == 0
    assert history.ending.startswith("training after growth overfitted; the network is the linear model")
