"""Curves and planes as one network: the same function, chosen by held-out rows."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import creases
from creases import certify
from creases.errors import InputError
from creases.problems import Problem
from creases.tables._stages.model import CurveModel
from readable_models import fit_curves


def make_problem(seed: int, n: int, kind: str) -> Problem:
    """Return a table of numbers, a spike at zero, a yes/no column, with a curve and a product to find."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=n), rng.exponential(size=n) ** 2, rng.uniform(size=n), rng.integers(0, 2, n)])
    X[rng.uniform(size=n) < 0.3, 1] = 0.0
    f = np.abs(X[:, 0]) + 3 * (X[:, 2] - 0.5) * X[:, 3] + np.minimum(X[:, 1], 1) + 0.3 * rng.normal(size=n)
    classes = {"values": None, "two": ("a", "b"), "three": ("a", "b", "c")}[kind]
    y = f if classes is None else np.searchsorted(np.quantile(f, np.linspace(0, 1, len(classes) + 1)[1:-1]), f)
    return Problem("made", X, y, features=("a", "b", "c", "d"), classes=classes)


@pytest.mark.thorough
@settings(max_examples=4, deadline=None)
@given(st.integers(0, 100), st.sampled_from(["values", "two", "three"]))
def test_parts_scores_and_network_are_one_function(seed: int, kind: str) -> None:
    problem = make_problem(seed, 120, kind)
    model = fit_curves(problem)
    X = problem.X * 1.5 - 0.2  # also beyond the ranges
    X[:, 3] = problem.X[:, 3]
    scores, outputs = model.scores(X), np.asarray(model.network(X))
    scale = np.abs(scores).max()
    assert np.abs(model.intercept + sum(model.parts(X)) - scores).max() < 1e-12 * scale
    from_network = outputs[:, 1:] - outputs[:, :1] if kind == "two" else outputs
    assert np.abs(from_network - scores).max() < 1e-12 * scale
    restored = CurveModel.from_dict(json.loads(json.dumps(model.to_dict())))
    assert (restored.scores(X) == scores).all()
    assert restored.to_dict() == model.to_dict()


@pytest.mark.slow
def test_curves_and_planes_that_pay_are_kept() -> None:
    problem = make_problem(0, 600, "values")
    model = fit_curves(problem)
    assert [step.stage for step in model.steps if step.is_kept] != ["linear"]
    assert any({"c", "d"} == {problem.features[j] for j, *_ in plane.inputs} for plane in model.planes)
    assert np.abs(model.curves[problem.features.index("a")].knots[1:-1]).min() < 0.3  # the corner of |a|


def test_a_linear_table_stays_linear() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    model = fit_curves(Problem("made", X, X @ [1.0, 2.0, -1.0] + rng.normal(size=300), features=("a", "b", "c")))
    assert model.n_bends <= 1
    assert [round(float(curve.slopes[0, 0])) for curve in model.curves] == [1, 2, -1]


@pytest.mark.slow
def test_margins_of_planes_are_zero_in_the_mean() -> None:
    problem = make_problem(0, 600, "values")
    for plane in fit_curves(problem).planes:
        assert abs(plane(problem.X).mean()) < 1e-6


def test_a_rising_curve_is_proved_for_the_whole_network() -> None:
    problem = make_problem(1, 150, "values")
    model = fit_curves(problem, shapes={"a": "rising", "b": "falling", "c": "straight"})
    box = list(zip(problem.X.min(axis=0), problem.X.max(axis=0), strict=True))
    assert bool(certify.monotone(model.network, 0, box))
    assert (model.curves[problem.features.index("b")].slopes <= 0).all()
    assert len(model.curves[problem.features.index("c")].knots) == 2


@pytest.mark.parametrize("shapes", [{"e": "rising"}, {"a": "wavy"}, {"d": "rising"}])
def test_a_shape_that_cannot_be_is_refused(shapes: dict[str, str]) -> None:
    with pytest.raises(InputError, match="shapes"):
        fit_curves(make_problem(0, 100, "values"), shapes=shapes)


@pytest.mark.slow
def test_pairs_by_chance_do_not_come_in_with_a_real_one() -> None:
    rng = np.random.default_rng(1)
    X, color = rng.normal(size=(1500, 7)), rng.choice(list("abcd"), 1500)
    y = 2 * np.sin(X[:, 0]) + 0.8 * X[:, 1] * X[:, 2] + 0.5 * X[:, 3] + (color == "a") + rng.normal(size=1500)
    table = pd.DataFrame(X, columns=[f"x{k}" for k in range(7)]).assign(color=color, y=y)
    text = str(creases.fit_table(table, "y", seed=1))
    assert [line.split(":")[0] for line in text.splitlines() if " together" in line] == ["x2 and x1 together"]
