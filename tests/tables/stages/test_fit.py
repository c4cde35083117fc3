"""Stages on tables that are large, small or ugly."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import creases
from creases import certify
from creases.problems import Problem
from creases.tables._split.split import merge_duplicates
from creases.tables._stages.fit import fit_stages
from creases.tables._stages.inputs import Inputs
from creases.tables._stages.model import CurveModel
from readable_models import fit_curves


def check_one_function(model: CurveModel, X: np.ndarray) -> None:
    """Assert that parts, scores, network and the stored model are one function, to 1e-12 of its size."""
    scores, outputs = model.scores(X), np.asarray(model.network(X))
    parts = model.parts(X)
    scale = max(np.abs(model.intercept).max(), *(np.abs(each).max() for each in parts), 1e-300)
    assert np.isfinite(scores).all()
    assert np.abs(model.intercept + sum(parts) - scores).max() <= 1e-12 * scale
    from_network = outputs[:, 1:] - outputs[:, :1] if model.n_classes == 2 else outputs
    assert np.abs(from_network - scores).max() <= 1e-12 * scale
    assert (CurveModel.from_dict(json.loads(json.dumps(model.to_dict()))).scores(X) == scores).all()


COLUMNS = ("normal", "skewed", "constant", "yes/no", "few", "huge", "tiny", "spike", "copy")


def draw_column(kind: str, rng: np.random.Generator, n: int) -> np.ndarray:
    """Return a column (n,) of a kind."""
    x = rng.normal(size=n)
    return {
        "normal": x,
        "skewed": np.exp(3 * x),
        "constant": np.full(n, 7.0),
        "yes/no": (x > 0).astype(float),
        "few": np.round(x),
        "huge": 1e12 * x + 1e14,
        "tiny": 1e-9 * x,
        "spike": np.where(rng.uniform(size=n) < 0.8, 0.0, x),
        "copy": np.arange(n) % 5.0,
    }[kind]


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.sampled_from(COLUMNS), min_size=1, max_size=5),
    st.integers(10, 80),
    st.sampled_from([0, 2, 3]),
    st.integers(0, 1000),
    st.booleans(),
)
def test_any_table_gives_one_finite_function(
    kinds: list[str], n: int, n_classes: int, seed: int, is_repeated: bool
) -> None:
    rng = np.random.default_rng(seed)
    X = np.column_stack([draw_column(kind, rng, n) for kind in kinds])
    if is_repeated:
        X = X[rng.integers(0, 5, n)]
    f = np.abs(rng.normal(size=n) + sum(np.argsort(np.argsort(x)) / n for x in X.T))
    y = 1e6 * f if n_classes == 0 else rng.integers(0, n_classes, n)
    classes = None if n_classes == 0 else tuple("abc"[:n_classes])
    problem = Problem("ugly", X, y, features=tuple(f"x{j}" for j in range(len(kinds))), classes=classes)
    check_one_function(fit_curves(problem, weight=rng.uniform(0.5, 2, n)), X)


def make_units_table(n: int) -> Problem:
    """Return a table whose target bends in directions of three columns."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(n, 4))
    f = 3 * np.maximum(X[:, :3].sum(axis=1), 0) - 3 * np.maximum(X[:, 0] - X[:, 1] + X[:, 2], 0) + X[:, 3]
    return Problem("units", X, f + 0.05 * rng.normal(size=n), features=("a", "b", "c", "d"))


@pytest.mark.slow
def test_units_are_kept_where_they_pay_and_leave_shaped_columns_alone() -> None:
    problem = make_units_table(2500)
    model = fit_curves(problem, shapes={"d": "rising"})
    assert [step.stage for step in model.steps if step.is_kept] == ["folds"]
    assert model.units is not None
    assert len(model.units.biases) == len(model.units.reasons) <= 10
    assert not model.units.weights[:, 3].any()
    mixed = model.units(problem.X)[:, 0]
    assert np.abs(mixed.mean()) < 1e-9
    assert np.abs([np.corrcoef(mixed, x)[0, 1] for x in problem.X.T[:3]]).max() < 1e-3  # curves say what they can
    residuals = model.scores(problem.X)[:, 0] - problem.y
    assert residuals.var() < 0.05 * problem.y.var()
    check_one_function(model, problem.X)
    slopes = np.asarray(model.network(problem.X + np.array([0, 0, 0, 0.01]))) - np.asarray(model.network(problem.X))
    assert slopes.min() > -1e-12  # constant beyond the column's range, but for the rounding of the other parts


def test_units_are_not_trained_where_those_of_the_first_fold_do_not_help() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    model = fit_curves(Problem("line", X, X.sum(axis=1) + rng.normal(size=400), features=("a", "b", "c")))
    assert all(step.stage not in ("folds", "units") for step in model.steps)


@pytest.mark.slow
def test_curves_are_kept_where_units_are_hardly_better_than_they_are() -> None:
    """On iris, units beat lines by two standard errors and curves do not: these bring nine tenths of the gain."""
    model = creases.fit_table(creases.problems.get("iris"))
    assert model.function.units is None
    losses = {step.stage: step.loss for step in model.function.steps}
    gain = {stage: losses["linear"] - loss for stage, loss in losses.items()}
    assert gain["curves"] > 0.8 * gain.get("units", 0.0) > 0
    assert next(step.stage for step in model.function.steps if step.is_kept) == "curves"


def test_several_targets_have_a_score_each() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = np.column_stack([X[:, 0] + np.abs(X[:, 1]), 100 * X[:, 2]]) + 0.1 * rng.normal(size=(200, 2))
    inputs = Inputs.from_table(X, ("a", "b", "c"), None, n_scores=2)
    model, _, _ = fit_stages(merge_duplicates(X, y, np.ones(200)), inputs, n_classes=0)
    assert (1 - ((model.scores(X) - y) ** 2).mean(axis=0) / y.var(axis=0) > 0.95).all()
    check_one_function(model, X)


def test_a_class_without_rows_has_the_lowest_score() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    problem = Problem("absent", X, (X[:, 0] > 0).astype(int), features=("a", "b"), classes=("no", "yes", "never"))
    model = fit_curves(problem)
    assert set(model.scores(X).argmax(axis=1).tolist()) == {0, 1}


@pytest.mark.slow
def test_a_rising_curve_is_proved_with_planes_of_other_columns() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(400, 3))
    y = 3 * X[:, 1] * X[:, 2] + np.minimum(X[:, 0], 0.2) + 0.1 * rng.normal(size=400)
    problem = Problem("made", X, y, features=("a", "b", "c"))
    model = fit_curves(problem, shapes={"a": "rising"})
    assert len(model.planes) > 0
    box = list(zip(X.min(axis=0), X.max(axis=0), strict=True))
    assert bool(certify.monotone(model.network, 0, box))


def test_fits_of_a_small_table_do_not_depend_on_the_order_of_rows() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 2))
    y = np.abs(X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=150)
    order = rng.permutation(150)
    models = [fit_curves(Problem("p", X[rows], y[rows], features=("a", "b"))) for rows in (np.arange(150), order)]
    assert (models[0].scores(X) == models[1].scores(X)).all()


def test_a_class_of_one_row_does_not_flatten_the_others() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    y = (2 * X[:, 0] + (X[:, 1] > 0) + rng.normal(size=60) / 2 > 0.5).astype(int)
    names = ("a", "b", "c", "d")
    two = fit_curves(Problem("two", X, y, features=names, classes=("no", "yes"))).scores(X)[:, 0]
    y[0] = 2
    three = fit_curves(Problem("three", X, y, features=names, classes=("no", "yes", "maybe"))).scores(X)
    assert (three[:, 1] - three[:, 0]).std() > 0.75 * two.std()


@pytest.mark.slow
def test_curves_of_a_wide_table_have_no_more_pieces_than_rows() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 100))
    problem = Problem("wide", X, X[:, 0] + rng.normal(size=60), features=tuple(f"x{j}" for j in range(100)))
    model = fit_curves(problem)
    assert all(step.bends <= 60 for step in model.steps if step.stage == "curves")
    check_one_function(model, X)


def test_held_out_scores_are_of_fits_that_have_not_seen_the_rows() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 20))
    y = (X[:, :1] > 0).astype(float)
    rows = merge_duplicates(X, y, np.ones(60))
    inputs = Inputs.from_table(X, tuple(f"x{j}" for j in range(20)), None)
    model, held, _ = fit_stages(rows, inputs, n_classes=2)
    assert sorted(held.rows) == list(range(60))
    assert held.weight.sum() == 60
    margins = np.where(rows.y[held.rows, 0] == 1, held.scores[:, 0], -held.scores[:, 0])
    kept = next(step for step in model.steps if step.is_kept)
    assert np.logaddexp(0, -margins).mean() == pytest.approx(kept.loss)


@pytest.mark.slow
def test_a_threshold_is_chosen_by_held_out_rows() -> None:
    from creases.tables._reading.options import CurveConfig
    from creases.tables._scores.baselines import best_threshold
    from creases.tables._split.split import TableSplit

    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = (X[:, 0] + rng.normal(size=300) > 1.2).astype(int)
    config = CurveConfig(threshold="f1")
    problem = Problem("few", X, y, features=("a", "b", "c"), classes=("no", "yes"))
    model = creases.fit_table(problem, threshold="f1")
    data = TableSplit.from_problem(problem, config)
    inputs = Inputs.from_table(X, problem.features, None)
    _, held, _ = fit_stages(data.rows, inputs, n_classes=2, among=data.parts[0])
    assert model.schema.threshold == best_threshold(held.scores[:, 0], data, held.rows, held.weight, "f1")
    assert model.schema.threshold < 0.5
