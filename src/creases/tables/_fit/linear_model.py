"""The linear model of a table: where a run starts, and what its network must beat."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch

from creases._typing import Floats, Ints
from creases.growth import LinearModel
from creases.tables._split.split import TableSplit

#: Rows that the model is fitted to, at most: more change its weights little and take long.
MAX_ROWS = 20_000

#: Strengths of the ridge penalty that leave-one-out errors choose from.
RIDGE_ALPHAS = np.logspace(-2, 4, 13)

#: Inverse penalties of logistic regression and folds of the cross-validation that chooses one of them, as is usual in
#: scikit-learn, in tables of at most so many numbers.
INVERSE_PENALTIES, FOLDS, MAX_NUMBERS = 10, 5, 30_000

#: Offset of a class that no row has: a logit well below the others.
_ABSENT = -5.0


def fit_linear_model(data: TableSplit, rows: Ints) -> LinearModel | None:
    """Fit ridge or logistic regression to scaled rows, by number; None where there is nothing to fit."""
    rows = rows if len(rows) <= MAX_ROWS else rows[np.random.default_rng(0).permutation(len(rows))[:MAX_ROWS]]
    X, weight = data.scaling.inputs(data.rows.X[rows]), data.rows.weight[rows]
    if not X.size or not np.ptp(X, axis=0).any():
        return None
    if data.task == "regression":
        return _fit_ridge(X, data.scaling.targets(data.rows.y[rows]), weight)
    return _fit_logistic(X, data.rows.y[rows, 0].astype(np.int64), weight, data.n_outputs)


def _fit_ridge(X: Floats, y: Floats, weight: Floats) -> LinearModel:
    from sklearn.linear_model import RidgeCV

    model = RidgeCV(RIDGE_ALPHAS).fit(X, y, sample_weight=weight)
    coefficients = np.asarray(model.coef_, np.float64).reshape(y.shape[1], X.shape[1])
    offset = np.broadcast_to(np.asarray(model.intercept_, np.float64), y.shape[1]).copy()
    return LinearModel.from_weights(torch.from_numpy(coefficients), torch.from_numpy(offset))


def _fit_logistic(X: Floats, y: Ints, weight: Floats, n_classes: int) -> LinearModel | None:
    from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
    from threadpoolctl import threadpool_limits

    present = np.unique(y[weight > 0])
    if len(present) < 2:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a few more iterations would not change a start
        is_small = X.size <= MAX_NUMBERS and min(np.bincount(y)[present]) >= FOLDS
        model: LogisticRegression = (
            LogisticRegressionCV(Cs=INVERSE_PENALTIES, cv=FOLDS, scoring=_accuracy, max_iter=200)
            if is_small
            else LogisticRegression(max_iter=200)
        )
        with threadpool_limits(1 if is_small else None):  # for so few numbers, threads wait for each other
            model.fit(X, y, sample_weight=weight)
    coefficients, offset = np.zeros((n_classes, X.shape[1])), np.full(n_classes, _ABSENT)
    if len(present) == 2:
        coefficients[present] = np.stack([-model.coef_[0] / 2, model.coef_[0] / 2])
        offset[present] = [-model.intercept_[0] / 2, model.intercept_[0] / 2]
    else:
        coefficients[present], offset[present] = model.coef_, model.intercept_
    return LinearModel.from_weights(torch.from_numpy(coefficients), torch.from_numpy(offset))


def _accuracy(model: Any, X: Floats, y: Ints, sample_weight: Floats | None = None) -> float:
    """Return the accuracy of a linear classifier: scikit-learn's own scorer takes longer to check its arguments."""
    scores = model.decision_function(X)
    chosen = (scores > 0).astype(np.int64) if scores.ndim == 1 else scores.argmax(axis=1)
    return float(np.average(model.classes_[chosen] == y, weights=sample_weight))
