"""Scores of a network on the parts of its data, beside those of simple baselines."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from creases._typing import Ints
from creases.growth.experiment._split import TableSplit

if TYPE_CHECKING:
    from creases.network import Network


@dataclass(frozen=True, eq=False)
class Baseline:
    """A model with its score on each part of the data: accuracy, or R^2."""

    name: str
    predictions: NDArray[Any]  #: (n,) for all rows
    train: float
    validation: float
    test: float
    error: float | None  #: root of the mean squared error on the test rows, in the target's own units; for regression


def baselines(net: Network, data: TableSplit) -> list[Baseline]:
    """Return the scores of the network, of a linear model and of a constant, in this order.

    The other two are scikit-learn's, fitted to the rows that the network was trained and validated on.
    """
    problem = data.problem
    outputs = np.asarray(net(problem.X))
    predictions = outputs[:, 0] if problem.classes is None else outputs.argmax(axis=1)
    rows = np.sort(np.concatenate([data.train, data.validation]))
    X, y = data.scaling.inputs(problem.X), problem.y
    scores = [_score_model("grown network", predictions, data)]
    for name, model in _simple_models(problem.classes is not None):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a fit that has not quite converged: it is a yardstick
            scores.append(_score_model(name, model.fit(X[rows], y[rows]).predict(X), data))
    return scores


def compare_with_linear(scores: Sequence[Baseline], data: TableSplit) -> str:
    """Compare the network with the linear model on the test rows, in a sentence; "" for a regression."""
    net, linear = scores[:2]
    if data.problem.classes is None:
        return ""
    right, other = ((model.predictions == data.problem.y)[data.test] for model in (net, linear))
    gained, lost = int((right & ~other).sum()), int((other & ~right).sum())
    if gained == lost == 0:
        return f"On the {len(data.test)} test rows the network is right and wrong where {linear.name} is."
    return (
        f"On the {len(data.test)} test rows the network is right on {gained} that {linear.name} gets wrong, and "
        f"wrong on {lost} that it gets right."
    )


def _simple_models(classification: bool) -> list[tuple[str, Any]]:
    from sklearn.dummy import DummyClassifier, DummyRegressor
    from sklearn.linear_model import LogisticRegression, Ridge

    if classification:
        linear = ("LogisticRegression", LogisticRegression(max_iter=1000))
        return [linear, ("most frequent class", DummyClassifier(strategy="most_frequent"))]
    return [("Ridge", Ridge()), ("mean of the target", DummyRegressor())]


def _score_model(name: str, predictions: NDArray[Any], data: TableSplit) -> Baseline:
    y, regression = data.problem.y, data.problem.classes is None
    train, held, test = (_score(predictions, y, rows, regression) for rows in (data.train, data.validation, data.test))
    error = float(np.sqrt(np.mean((predictions - y)[data.test] ** 2))) if regression else None
    return Baseline(name, predictions, train, held, test, error)


def _score(predictions: NDArray[Any], y: NDArray[Any], rows: Ints, regression: bool) -> float:
    from sklearn.metrics import accuracy_score, r2_score

    if len(rows) < 1 + regression:
        return float("nan")
    return float((r2_score if regression else accuracy_score)(y[rows], predictions[rows]))
