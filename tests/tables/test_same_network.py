"""``creases.grow``, the estimators, ``creases grow`` and the studio make the same network, bit for bit.

All get the same rows (scaled, sorted, without duplicates), the same split, seed and configuration.
"""

import inspect
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from typer.testing import CliRunner

import creases
from creases import GrowingClassifier, GrowingRegressor, problems
from creases.cli import app
from creases.growth import GrowthConfig, History
from creases.problems import Problem
from creases.show.studio._limits import Limits
from creases.show.studio._live_run import LiveRun
from creases.show.studio._page_input import make_config
from creases.tables import Experiment, RunSettings, TableSplit
from creases.tables._split.split import merge_duplicates

SHARED: dict[str, Any] = {"budget": 40, "growth_share": 0.7, "standardize": False}
SEED = 0

pytestmark = pytest.mark.filterwarnings("ignore:budget=:sklearn.exceptions.ConvergenceWarning")


def prepared(name: str) -> Problem:
    """A problem whose rows are scaled, differ and are sorted as an experiment sorts them."""
    source = problems.get(name)
    X = source.X[:, :2]  # of iris: no network gets these right
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    y = source.y if source.classes is not None else (source.y - source.y.mean()) / source.y.std()
    rows = merge_duplicates(X, y[:, None].astype(float), np.ones(len(y)))
    kept = rows.weight == 1
    features = tuple(f"x{k}" for k in range(X.shape[1]))
    return Problem(name, rows.X[kept], rows.y[kept, 0], features, source.classes, target="y")


def same(model: nn.Module, other: nn.Module) -> bool:
    pairs = zip(model.state_dict().values(), other.state_dict().values(), strict=True)
    return all(torch.equal(a, b) for a, b in pairs)


def trace(history: History) -> list[Any]:
    """Losses and growth steps, without times and without the numbers of rows in explanations."""
    epochs = [(epoch["loss"], epoch["validation_loss"], epoch["parameters"]) for epoch in history.epochs]
    records = [(record.epoch, record.place, record.units, record.weights, record.undone) for record in history.records]
    return [*epochs, *records, history.stages, history.growth_ended, history.joined]


@pytest.fixture(scope="module", params=["moons", "iris", "sine_curve"])
def problem(request: pytest.FixtureRequest) -> Problem:
    return prepared(request.param)


@pytest.fixture(scope="module")
def how(problem: Problem) -> str:
    return "random" if problem.name == "iris" else "fold"


@pytest.fixture(scope="module")
def experiment(problem: Problem, how: str) -> Experiment:
    experiment = Experiment.from_problem(problem, GrowthConfig(how=how, seed=SEED, **SHARED))
    experiment.run(progress=False)
    assert experiment.history.stages
    return experiment


def split(problem: Problem, data: TableSplit) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """The rows to train on and to validate with."""
    train, held = ((problem.X[rows], problem.y[rows]) for rows in (data.train, data.validation))
    return train, held


@pytest.mark.thorough
def test_the_estimator_makes_the_network_of_the_experiment(problem: Problem, how: str, experiment: Experiment) -> None:
    estimator = GrowingRegressor if problem.classes is None else GrowingClassifier
    train, held = split(problem, experiment.data)
    model = estimator(how=how, random_state=SEED, **SHARED).fit(*train, validation=held)
    assert same(model.module_, experiment.data.scaling.fold_into(experiment.model))
    assert trace(model.history_) == trace(experiment.history)


@pytest.mark.slow
def test_the_studio_makes_the_network_of_the_experiment(problem: Problem, experiment: Experiment) -> None:
    live = LiveRun(problem, RunSettings(problem.name, config=experiment.config), Limits())
    while not live.history.ended:
        live.epoch()
    assert same(live.state.model, experiment.model)
    assert trace(live.history) == trace(experiment.history)


@pytest.fixture(scope="module", params=["moons", pytest.param("sine_curve", marks=pytest.mark.thorough)])
def explained(request: pytest.FixtureRequest) -> tuple[Problem, Experiment]:
    """A run of explained growth, which judges by the rows that it holds out and does not train on them."""
    problem = prepared(request.param)
    experiment = Experiment.from_problem(problem, GrowthConfig(seed=SEED, standardize=False, keep="best"))
    experiment.run(progress=False)
    assert experiment.history.loop.startswith("explained growth")
    return problem, experiment


@pytest.mark.slow
def test_grow_and_the_estimator_make_the_explained_network(explained: tuple[Problem, Experiment]) -> None:
    problem, experiment = explained
    task = experiment.data.task
    train, held = split(problem, experiment.data)
    estimator = GrowingRegressor if problem.classes is None else GrowingClassifier
    fitted = estimator(random_state=SEED, standardize=False).fit(*train, validation=held)
    assert same(fitted.module_, experiment.data.scaling.fold_into(experiment.model))
    assert trace(fitted.history_) == trace(experiment.history)
    if task == "regression":
        train, held = ((X, y[:, None]) for X, y in (train, held))
    model = nn.Sequential(nn.Linear(problem.X.shape[1], 3), nn.ReLU(), nn.Linear(3, experiment.data.n_outputs)).double()
    _, history = creases.grow(model, train, task, validation=held, seed=SEED, progress=False)
    assert same(nn.Sequential(*model), nn.Sequential(*experiment.model))
    assert [epoch["loss"] for epoch in history.epochs] == [epoch["loss"] for epoch in experiment.history.epochs]


@pytest.mark.slow
def test_the_command_line_and_the_studio_make_the_explained_network(
    explained: tuple[Problem, Experiment], tmp_path: Path
) -> None:
    problem, _ = explained
    config = GrowthConfig(seed=SEED)
    experiment = Experiment.from_problem(problem, config)
    experiment.run(progress=False)
    columns = {name: problem.X[:, k] for k, name in enumerate(problem.features)}
    np.savez(tmp_path / "table.npz", **columns, y=problem.y)
    words = ["grow", tmp_path / "table.npz", "--target", "y", "--task", problem.task, "--out", tmp_path / "run"]
    result = CliRunner().invoke(app, list(map(str, [*words, "--seed", SEED])))
    assert result.exit_code == 0, result.output
    network = creases.read(tmp_path / "run" / "model.safetensors")
    assert np.array_equal(network(problem.X), experiment.network(problem.X))
    live = LiveRun(problem, RunSettings(problem.name, config=config), Limits())
    while not live.history.ended:
        live.epoch()
    assert same(live.state.model, experiment.model)


def test_all_share_their_defaults() -> None:
    defaults = asdict(GrowthConfig())
    for estimator in (GrowingClassifier(), GrowingRegressor()):
        shared = {name: value for name, value in estimator.get_params().items() if name in defaults}
        assert shared == {name: defaults[name] for name in shared}
    assert make_config({}, Limits()) == GrowthConfig()
    for function in (creases.grow, creases.growth.Grower):
        given = inspect.signature(function).parameters.values()
        shared = {parameter.name: parameter.default for parameter in given if parameter.name in defaults}
        shared.pop("optimizer")  # the caller's own in a Grower
        assert shared == {name: defaults[name] for name in shared}
        assert len(shared) > 8
