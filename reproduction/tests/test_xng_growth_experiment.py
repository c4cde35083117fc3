"""The XNG experiment at a small scale: grown by folds, networks end lower than by chance, and recycling helps."""

from __future__ import annotations

import json
from itertools import product

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from creases.errors import InputError
from creases.problems import get
from creases_reproduction.xng import growth_experiment, method_comparison
from creases_reproduction.xng.growth_experiment import (
    METHODS,
    MethodResult,
    linear_loss,
    run_growth_experiment,
    to_markdown,
)


@pytest.mark.thorough
def test_folds_beat_random_growth_and_random_weights_and_recycling_beats_both():
    methods = ["random 2-3-2", "A random", "A fold", "B fold"]
    rows = {row.method: row for row in run_growth_experiment(networks=60, problems=["quadratic"], methods=methods)}
    drawn, chance, grown, recycled = (rows[method] for method in methods)

    def below(one: MethodResult, other: MethodResult) -> bool:
        return other.loss - one.loss > 2 * (one.error**2 + other.error**2) ** 0.5

    assert below(grown, drawn)
    assert below(recycled, grown)
    assert below(recycled, chance)
    assert grown.loss < chance.loss
    assert grown.rate > 2 * drawn.rate
    assert recycled.rate > grown.rate
    assert recycled.recycled > 10


def test_every_method_runs_and_a_seed_gives_the_same_again(monkeypatch):
    for name, steps in {"STEPS": 300, "GROWN": 200, "RECYCLED": (50, 100)}.items():
        monkeypatch.setattr(growth_experiment, name, steps)
    rows = run_growth_experiment(networks=3, problems=["sine"], seed=5)
    assert [row.method for row in rows] == list(METHODS)
    assert all(np.isfinite(row.loss) and row.low <= row.rate <= row.high for row in rows)
    some = ["random 2-3-2", "A fold", "B fold"]
    again = run_growth_experiment(networks=3, problems=["sine"], seed=5, methods=some)
    assert [row.loss for row in again] == [row.loss for row in rows if row.method in some]


def test_the_linear_models_loss_is_where_its_gradient_vanishes():
    problem = get("circle")
    model = LogisticRegression(C=1e9, tol=1e-10, max_iter=10_000).fit(problem.X, problem.y)
    p = model.predict_proba(problem.X)[np.arange(len(problem.y)), problem.y]
    assert np.isclose(linear_loss(problem), -np.log(p).mean(), rtol=1e-6)


def test_rows_make_a_table_of_methods_by_problems():
    row = MethodResult("sine", "A fold", 100, 0.08, 0.002, 36, 0.27, 0.46, 1, 0)
    other = MethodResult("circle", "B fold", 100, 0.1, 0.004, 50, 0.4, 0.6, 1, 30)
    assert to_markdown([row, other]).splitlines() == [
        "|  | sine | circle |",
        "| --- | --- | --- |",
        "| A fold | 0.080 ± 0.002; 36.0% (27.0% to 46.0%) |  |",
        "| B fold |  | 0.100 ± 0.004; 50.0% (40.0% to 60.0%) |",
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"methods": ["C fold"]}, "methods must be 'random 2-3-2', .* or 'B search', got 'C fold'"),
        ({"scale": "huge"}, "scale must be 'quick' or 'full', got 'huge'"),
        ({"networks": 0}, "networks must be a positive integer, got 0"),
    ],
)
def test_bad_arguments_are_refused(change, message):
    with pytest.raises(InputError, match=message):
        run_growth_experiment(**change)


def test_the_comparison_is_written_with_how_it_was_made(tmp_path, monkeypatch):
    for name, steps in {"STEPS": 30, "GROWN": 20, "RECYCLED": (5, 10)}.items():
        monkeypatch.setattr(growth_experiment, name, steps)
    monkeypatch.setattr(method_comparison, "PROBLEMS", ("sine",))
    monkeypatch.setattr(method_comparison, "FULL_METHODS", ("random 2-3-2", "A slide-29"))
    method_comparison.main(["--networks", "2", "--out", str(tmp_path / "found.json")])
    written = json.loads((tmp_path / "found.json").read_text())
    assert [(row["problem"], row["method"], row["networks"]) for row in written["rows"]] == [
        ("sine", "random 2-3-2", 2),
        ("sine", "A slide-29", 2),
    ]
    assert written["about"]["command"].endswith("method_comparison --networks 2 --jobs 1 --out found.json")
    assert {"device", "seconds", "torch"} <= set(written["about"])


def test_the_stored_comparison_has_every_method_on_every_problem():
    rows, about = method_comparison.stored_rows()
    assert {(row["problem"], row["method"]) for row in rows} == set(
        product(growth_experiment.PROBLEMS, method_comparison.FULL_METHODS)
    )
    assert f"--networks {method_comparison.NETWORKS} " in about["command"]
    assert all(row["networks"] == method_comparison.NETWORKS for row in rows)


def test_a_claim_shows_some_methods_of_one_problem():
    numbers, _ = method_comparison.comparison("circle", ("A slide-29", "A fold"))["from_table"]()
    assert list(numbers["methods"]) == ["A slide-29", "A fold"]
    assert all(row["problem"] == "circle" for row in numbers["methods"].values())
