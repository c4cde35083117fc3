"""``creases.fit_table``: the network of the command line, bit for bit, and predictions by name."""

from __future__ import annotations

import os

import numpy as np
import pandas as pd
import pytest
import torch
from threadpoolctl import threadpool_info, threadpool_limits

import creases
from creases import problems
from creases.errors import InputError
from creases.growth import GrowthConfig
from creases.tables import Experiment, TableSplit, read_table


@pytest.fixture(scope="module")
def table():
    moons = problems.get("moons", n=80)
    colors = np.array(["red", "<b>blue</b>"])
    frame = pd.DataFrame(moons.X, columns=["x", "y"], index=np.arange(80) + 7)
    return frame.assign(color=colors[np.arange(80) % 2], kind=np.array(["up", "down"])[moons.y])


@pytest.fixture(scope="module")
def result(table):
    return creases.tables.grow_table(table, "kind", budget=6)


def test_the_network_is_that_of_the_file_with_the_same_rows(table, result, tmp_path):
    table.to_csv(tmp_path / "table.csv", index=False)
    config = GrowthConfig(budget=6)
    problem = read_table(tmp_path / "table.csv", "kind")
    experiment = Experiment(TableSplit.from_problem(problem, config), config)
    history = experiment.run()
    for mine, other in zip(result.network.steps, experiment.network.steps, strict=True):
        assert mine.tensors.keys() == other.tensors.keys()
        assert all(torch.equal(mine.tensors[name], other.tensors[name]) for name in mine.tensors)
    assert [epoch["loss"] for epoch in history.epochs] == [epoch["loss"] for epoch in result.history.epochs]


def test_predictions_are_the_networks_by_name(table, result):
    X = result.encode(table).X
    assert X.shape == (80, result.network.n_in)
    expected = np.array(result.classes)[result.network(X).argmax(axis=1)]
    assert (result.predict(table) == expected).all()
    assert set(result.predict(table)) <= {"up", "down"}
    shuffled = table.sample(frac=1.0, random_state=0)[["color", "kind", "y", "x"]]
    assert (result.predict(shuffled) == pd.Series(expected, table.index)[shuffled.index]).all()
    np.testing.assert_allclose(result.predict_proba(table).sum(axis=1), 1.0)
    assert (np.array(result.classes)[result.predict_proba(table).argmax(axis=1)] == expected).all()


def test_numbers_are_predicted_as_values(table):
    result = creases.tables.grow_table(table.drop(columns="kind"), "y", task="regression", budget=2)
    assert result.predict(table).dtype == np.float64
    with pytest.raises(InputError, match="rows must be of a table with classes"):
        result.predict_proba(table)


@pytest.mark.slow
def test_it_is_shown_and_reported_on(table, result):
    html = result._repr_html_()
    assert "LogisticRegression" in html
    assert "<b>blue" not in html
    assert creases.report(result).title == "table: a growth run"


def test_a_problem_has_its_target():
    iris = problems.get("iris")
    assert creases.tables.grow_table(iris, budget=1).predict(iris.X[:1]).tolist() == ["setosa"]
    with pytest.raises(InputError, match="target must not be given for a problem"):
        creases.fit_table(iris, "species")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"validation": 0.2}, "validation must be an option of growth: test_fraction, class_weight, .*, how, "),
        ({"checkpoint": "run.pt"}, "checkpoint must be an option of growth"),
        ({"target": "price"}, "price"),
    ],
)
def test_what_a_table_has_no_use_for_is_refused(table, options, message):
    with pytest.raises(InputError, match=message):
        creases.tables.grow_table(table, **{"target": "kind", "budget": 1, **options})


def test_what_is_not_a_table_is_refused(table):
    with pytest.raises(InputError, match="table must be a DataFrame, a file or a problem, got list"):
        creases.fit_table([1])
    with pytest.raises(InputError, match=r"model must be a torch.nn.Module, got DataFrame; use creases.fit_table"):
        creases.grow(table, "kind", "classification")


@pytest.mark.slow
@pytest.mark.skipif(os.cpu_count() == 1, reason="one core has one thread")
def test_a_model_is_the_same_bit_for_bit_on_any_number_of_threads():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5_000, 6))
    frame = pd.DataFrame(X, columns=list("abcdef")).assign(y=np.sin(X).sum(axis=1) + X[:, 0] * X[:, 1])
    models = []
    for n_threads in (1, 2):
        with threadpool_limits(n_threads):
            assert {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"} == {n_threads}
            models.append(creases.fit_table(frame, "y").function.to_dict())
    assert models[0] == models[1]
