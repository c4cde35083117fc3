"""A run on a table starts as the linear model that scikit-learn fits, and ends as it where nothing is better."""

from typing import Any

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from creases import GrowingClassifier, GrowingRegressor
from creases.growth import GrowthConfig
from creases.tables import Experiment
from creases.tables._fit.experiment import RIDGE_ALPHAS, choose_penalty
from creases.tables._split.split import TableSplit

N = 120


def logistic_regression(experiment: Experiment) -> LogisticRegression:
    """Logistic regression with the penalty that the folds chose."""
    return LogisticRegression(C=experiment._penalty, max_iter=200)


X = np.random.default_rng(0).normal(size=(N, 4)) * [1, 10, 0.1, 3] + [0, 5, -1, 2]
NOISE = np.random.default_rng(1).normal(size=(N, 3))
SIGNAL = (X - X.mean(axis=0)) / X.std(axis=0) @ np.random.default_rng(2).normal(size=(4, 3))
CLASSES = (SIGNAL + NOISE).argmax(axis=1)
HELD = np.arange(N)[::5]
TRAIN = np.setdiff1d(np.arange(N), HELD)


def start(
    rows: np.ndarray, y: np.ndarray, n_outputs: int, weight: np.ndarray | None = None, **options: Any
) -> Experiment:
    """An experiment before its first epoch: a classification of whole numbers, else a regression."""
    task: Any = "classification" if y.dtype.kind == "i" else "regression"
    config = GrowthConfig(**options)
    weight = np.ones(len(rows)) if weight is None else weight
    targets = y.reshape(len(y), -1).astype(float)
    held = HELD[len(rows) > HELD]
    sizes: dict[str, Any] = {"weight": weight, "task": task, "n_outputs": n_outputs, "validation": held}
    return Experiment(TableSplit.from_arrays(rows, targets, config=config, **sizes), config)


def train_rows(experiment: Experiment) -> np.ndarray:
    """Training rows in the order in which the split keeps them: cross-validation depends on it."""
    return experiment.data.rows.first[experiment.data.parts[0]]


def scaled(rows: np.ndarray, weight: np.ndarray | None = None) -> np.ndarray:
    return StandardScaler().fit(rows, sample_weight=weight).transform(rows)


@pytest.mark.slow
@pytest.mark.parametrize("hidden", ["auto", (4, 4), (2, 7), (5,)])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("columns", [[0, 1, 2, 3], [1]])
def test_two_classes_start_as_logistic_regression(hidden: Any, weighted: bool, columns: list[int]) -> None:
    rows, y = X[:, columns], (CLASSES == 1).astype(int)
    weight = np.random.default_rng(3).uniform(0.1, 3, N) if weighted else np.ones(N)
    experiment = start(rows, y, 2, weight, hidden=hidden)
    Z, train = scaled(rows, weight), train_rows(experiment)
    linear = logistic_regression(experiment).fit(Z[train], y[train], sample_weight=weight[train])
    logits = experiment.network(rows)
    np.testing.assert_allclose(logits[:, 1] - logits[:, 0], linear.decision_function(Z), rtol=0, atol=1e-10)


@pytest.mark.parametrize("hidden", ["auto", (6,), (9, 6)])
def test_several_classes_start_as_logistic_regression(hidden: Any) -> None:
    experiment = start(X, CLASSES, 3, hidden=hidden)
    Z, train = scaled(X), train_rows(experiment)
    linear = logistic_regression(experiment).fit(Z[train], CLASSES[train])
    chances = softmax(experiment.network(X), axis=1)
    np.testing.assert_allclose(chances, linear.predict_proba(Z), rtol=0, atol=1e-10)


@pytest.mark.parametrize("hidden", ["auto", (6, 6)])
def test_a_class_without_training_rows_is_below_the_others(hidden: Any) -> None:
    y = np.where(CLASSES == 2, 1, CLASSES)
    y[HELD[:3]] = 2
    experiment = start(X, y, 3, hidden=hidden)
    Z, train = scaled(X), train_rows(experiment)
    linear = logistic_regression(experiment).fit(Z[train], y[train])
    logits = experiment.network(X)
    np.testing.assert_allclose(logits[:, 1] - logits[:, 0], linear.decision_function(Z), rtol=0, atol=1e-10)
    np.testing.assert_allclose(logits[:, 2], -5, rtol=0, atol=1e-10)


@pytest.mark.parametrize(("n_outputs", "hidden"), [(1, "auto"), (1, (4, 4)), (3, "auto"), (3, (6, 8)), (2, (4, 4))])
@pytest.mark.parametrize("weighted", [False, True])
def test_targets_start_as_ridge_regression(n_outputs: int, hidden: Any, weighted: bool) -> None:
    y = ((SIGNAL + NOISE) * [1, 1000, 1e-3] + [0, 50, 1])[:, :n_outputs]
    weight = np.random.default_rng(3).uniform(0.1, 3, N) if weighted else np.ones(N)
    Z, target = scaled(X, weight), scaled(y, weight)
    linear = RidgeCV(RIDGE_ALPHAS).fit(Z[TRAIN], target[TRAIN], sample_weight=weight[TRAIN])
    experiment = start(X, y, n_outputs, weight, hidden=hidden)
    predicted = experiment.data.scaling.targets(experiment.network(X))
    np.testing.assert_allclose(predicted, linear.predict(Z).reshape(N, -1), rtol=0, atol=1e-10)


def test_constant_columns_and_targets_change_nothing_at_the_start() -> None:
    y = np.column_stack([SIGNAL[:, 0] + NOISE[:, 0], np.full(N, 7.0)])
    rows = np.column_stack([X[:, 0], np.full(N, 3.0), X[:, 1:]])
    linear = RidgeCV(RIDGE_ALPHAS).fit(scaled(X)[TRAIN], scaled(y)[TRAIN])
    experiment = start(rows, y, 2)
    predicted = experiment.network(rows)
    np.testing.assert_allclose(
        experiment.data.scaling.targets(predicted)[:, 0], linear.predict(scaled(X))[:, 0], rtol=0, atol=1e-10
    )
    np.testing.assert_allclose(predicted[:, 1], 7, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(experiment.network(rows + np.array([0, 9, 0, 0, 0])), predicted)


def test_the_penalty_is_the_default_where_a_fold_would_lack_a_class() -> None:
    rows, y = np.repeat([[0.0, 1.234], [1.234, 0.0]], 10, axis=0), np.repeat([0, 1], 10)
    assert start(rows, y, 2)._penalty == 1.0


SHORT: dict[str, Any] = {"budget": 30, "batch_size": 10, "growth_share": 0.5, "random_state": 0}

#: Steps so large that training spoils the network.
SPOILT: dict[str, Any] = {**SHORT, "lr": 3.0, "weight_decay": 0.0}


@pytest.mark.slow
def test_where_no_network_is_better_the_classifier_is_the_logistic_regression_of_all_rows() -> None:
    model = GrowingClassifier(**SPOILT).fit(X, CLASSES)
    assert model.history_.kept == 0
    assert model.hidden_ == (6,)
    assert model.history_.records
    assert not any(map(model.history_.keeps, model.history_.records))
    data = TableSplit.from_arrays(
        X,
        CLASSES[:, None].astype(float),
        weight=np.ones(N),
        task="classification",
        n_outputs=3,
        config=GrowthConfig(test_fraction=0.0),
    )
    rows, penalty = data.rows.first, choose_penalty(data, data.parts[0])  # chosen where it was judged: on training rows
    linear = make_pipeline(StandardScaler(), LogisticRegression(C=penalty, max_iter=200)).fit(X[rows], CLASSES[rows])
    np.testing.assert_allclose(model.predict_proba(X), linear.predict_proba(X), rtol=0, atol=1e-10)
    assert model.history_.ending.endswith("; the network is the linear model, which does as well on validation rows")
    assert "is the linear model" in model.summary()


@pytest.mark.slow
def test_where_no_network_is_better_the_regressor_is_the_ridge_regression_of_all_rows() -> None:
    y = (SIGNAL + NOISE)[:, :2]
    model = GrowingRegressor(**SPOILT).fit(X, y)
    assert model.history_.kept == 0
    assert model.hidden_ == (4,)
    linear = RidgeCV(RIDGE_ALPHAS).fit(scaled(X), scaled(y)).predict(scaled(X)) * y.std(axis=0) + y.mean(axis=0)
    np.testing.assert_allclose(model.predict(X), linear, rtol=0, atol=1e-10)


@pytest.mark.thorough
def test_a_network_that_is_better_is_kept_and_so_is_one_too_narrow_for_a_linear_model() -> None:
    bent = (np.abs(X[:, 0]) > 0.7).astype(int)
    assert GrowingClassifier(**{**SHORT, "budget": 60}).fit(X[:, :1], bent).history_.kept > 0
    narrow = GrowingClassifier(**SHORT, hidden=(2,)).fit(X, CLASSES)
    assert narrow.history_.kept > 0


@pytest.mark.slow
def test_without_rows_held_out_the_last_network_is_kept() -> None:
    history = GrowingClassifier(**SHORT, early_stopping=False).fit(X, CLASSES).history_
    assert history.kept == len(history.epochs)
