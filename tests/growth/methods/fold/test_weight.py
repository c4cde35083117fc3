"""Weights in folding: an instance of weight 3 is one that comes three times."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from creases.errors import InputError
from creases.growth import apply
from creases.growth.methods import fold
from creases.growth.methods._fold.explanation import fold_outcome
from creases.problems import get

TASKS = ["classification", "regression"]


def _case(task: str, seed: int) -> tuple[nn.Module, np.ndarray, np.ndarray, np.ndarray]:
    problem = get("moons", n=120)
    X = np.asarray(problem.X, float)
    y = np.asarray(problem.y) if task == "classification" else np.abs(X).sum(axis=1)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 2 if task == "classification" else 1)).double()
    return model, X, y, np.random.default_rng(seed).integers(1, 5, len(X))


def _close(one: Any, other: Any) -> None:
    torch.testing.assert_close(one.fan_in, other.fan_in, rtol=1e-6, atol=1e-9)
    torch.testing.assert_close(one.bias, other.bias, rtol=1e-6, atol=1e-9)
    assert one.gain == pytest.approx(other.gain, rel=1e-6)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("seed", [0, 1, 4, 6])
def test_a_fold_with_weights_is_that_of_instances_that_come_so_often(task: Any, seed: int) -> None:
    model, X, y, weight = _case(task, seed)
    once = fold(model, "0", X, y, loss=task, weight=weight)
    often = fold(model, "0", X.repeat(weight, axis=0), y.repeat(weight), loss=task)
    assert once.count == often.count == 1
    _close(once, often)
    one, other = once.explanation, often.explanation
    back = np.arange(len(X)).repeat(weight)
    assert one["why"]["instance"] == back[other["why"]["instance"]]
    for section, name in (("why", "mean_loss"), ("crease", "active_share"), ("effect", "first_order_change")):
        assert one[section][name] == pytest.approx(other[section][name], rel=1e-6)
    for name in ("share_of_loss", "mean_loss", "centroid"):
        assert one["why"]["cluster"][name] == pytest.approx(other["why"]["cluster"][name], rel=1e-6)


@pytest.mark.parametrize("task", TASKS)
def test_weights_are_relative(task: Any) -> None:
    model, X, y, weight = _case(task, 0)
    _close(fold(model, "0", X, y, loss=task, weight=weight), fold(model, "0", X, y, loss=task, weight=weight / 7))
    even = fold(model, "0", X, y, loss=task, weight=np.full(len(X), 0.3))
    _close(even, fold(model, "0", X, y, loss=task))


def test_what_became_of_a_fold_is_told_with_its_weights() -> None:
    model, X, y, weight = _case("classification", 0)
    proposal = fold(model, "0", X, y, weight=weight)
    apply(proposal, model)
    told = fold_outcome(proposal.explanation, model, X, y, weight=weight)["after"]
    with torch.no_grad():
        loss = nn.functional.cross_entropy(model(torch.from_numpy(X)), torch.from_numpy(y).long(), reduction="none")
    assert told["mean_loss"] == pytest.approx(np.average(loss.numpy(), weights=weight))


@pytest.mark.parametrize("weight", [np.zeros(120), np.full(120, np.nan), np.ones(3), -np.ones(120)])
def test_weights_that_are_none_are_refused(weight: np.ndarray) -> None:
    model, X, y, _ = _case("classification", 0)
    with pytest.raises(InputError, match="weight must be a positive number for each of the 120 samples"):
        fold(model, "0", X, y, weight=weight)
