"""The linear model of a table: where a run starts, and what its network must beat."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch

from creases._typing import Floats, Ints
from creases.tables._fit.linear_start import LinearModel
from creases.tables._split.rows import fold_weights
from creases.tables._split.split import TableSplit

#: Rows that the model is fitted to, at most: more change its weights little and take long.
MAX_ROWS = 20_000

#: Strengths of the ridge penalty that leave-one-out errors choose from.
RIDGE_ALPHAS = np.logspace(-2, 4, 13)

#: Inverse penalties of logistic regression, the folds that choose one of them, and the tables in which they do, by how
#: many numbers they have at most. Without folds it is scikit-learn's default.
INVERSE_PENALTIES, FOLDS, MAX_NUMBERS = np.logspace(-3, 3, 7), 5, 30_000
DEFAULT = 1.0

#: Offset of a class that no row has: a logit well below the others.
_ABSENT = -5.0


def choose_penalty(data: TableSplit, rows: Ints) -> float:
    """Return the penalty of ridge (alpha) or logistic regression (C) for scaled rows, by number.

    Leave-one-out errors choose alpha. Shuffled folds choose C, by their log loss: 1 unless another value lowers it by
    more than a standard error of the differences.
    """
    rows = _sample(rows)
    X = data.scaling.inputs(data.rows.X[rows])
    if not X.size or not np.ptp(X, axis=0).any():
        return DEFAULT
    if data.task == "regression":
        from sklearn.linear_model import RidgeCV

        model = RidgeCV(RIDGE_ALPHAS).fit(X, data.scaling.targets(data.rows.y[rows]), data.rows.weight[rows])
        return float(model.alpha_)
    y = data.rows.y[rows, 0].astype(np.int64)
    counts = np.bincount(data.rows.y[data.rows.deal(rows), 0].astype(np.int64))
    if X.size > MAX_NUMBERS or (counts > 0).sum() < 2 or counts[counts > 0].min() < FOLDS:
        return DEFAULT  # a fold would lack a class
    held = fold_weights(data.rows, rows, FOLDS, 0, stratify=True)
    return _choose_inverse_penalty(X, y, data.rows.weight[rows], held)


def fit_linear_model(data: TableSplit, rows: Ints, penalty: float) -> LinearModel | None:
    """Fit ridge or logistic regression to scaled rows, by number; None where there is nothing to fit."""
    rows = _sample(rows)
    X, weight = data.scaling.inputs(data.rows.X[rows]), data.rows.weight[rows]
    if not X.size or not np.ptp(X, axis=0).any():
        return None
    if data.task == "regression":
        return _fit_ridge(X, data.scaling.targets(data.rows.y[rows]), weight, penalty)
    return _fit_logistic(X, data.rows.y[rows, 0].astype(np.int64), weight, data.n_outputs, penalty)


def _sample(rows: Ints) -> Ints:
    return rows if len(rows) <= MAX_ROWS else rows[np.random.default_rng(0).permutation(len(rows))[:MAX_ROWS]]


def _choose_inverse_penalty(X: Floats, y: Ints, weight: Floats, held: Floats) -> float:
    """Return C by the log loss of rows that each fold holds out, ``held`` (folds, n) by weight."""
    from sklearn.linear_model import LogisticRegression

    losses = np.zeros((len(INVERSE_PENALTIES), len(X)))  # of each row, as often as it is held out
    with _one_thread():
        for out in held:
            train, test = weight - out > 0, out > 0
            model = LogisticRegression(max_iter=200, warm_start=True)
            for k, C in enumerate(INVERSE_PENALTIES):
                model.set_params(C=C).fit(X[train], y[train], sample_weight=(weight - out)[train])
                chances = model.predict_log_proba(X[test])
                losses[k, test] -= out[test] * chances[np.arange(test.sum()), np.searchsorted(model.classes_, y[test])]
    default = int(np.flatnonzero(INVERSE_PENALTIES == DEFAULT)[0])
    best = int(losses.sum(axis=1).argmin())
    gains = losses[default] - losses[best]
    is_better = gains.sum() > gains.std() * np.sqrt(len(gains))
    return float(INVERSE_PENALTIES[best if is_better else default])


def _fit_ridge(X: Floats, y: Floats, weight: Floats, penalty: float) -> LinearModel:
    from sklearn.linear_model import Ridge

    model = Ridge(penalty).fit(X, y, sample_weight=weight)
    coefficients = np.asarray(model.coef_, np.float64).reshape(y.shape[1], X.shape[1])
    offset = np.broadcast_to(np.asarray(model.intercept_, np.float64), y.shape[1]).copy()
    return LinearModel.from_weights(torch.from_numpy(coefficients), torch.from_numpy(offset))


def _fit_logistic(X: Floats, y: Ints, weight: Floats, n_classes: int, penalty: float) -> LinearModel | None:
    from sklearn.linear_model import LogisticRegression

    present = np.unique(y[weight > 0])
    if len(present) < 2:
        return None
    with _one_thread(X.size <= MAX_NUMBERS):
        model = LogisticRegression(C=penalty, max_iter=200).fit(X, y, sample_weight=weight)
    coefficients, offset = np.zeros((n_classes, X.shape[1])), np.full(n_classes, _ABSENT)
    if len(present) == 2:
        coefficients[present] = np.stack([-model.coef_[0] / 2, model.coef_[0] / 2])
        offset[present] = [-model.intercept_[0] / 2, model.intercept_[0] / 2]
    else:
        coefficients[present], offset[present] = model.coef_, model.intercept_
    return LinearModel.from_weights(torch.from_numpy(coefficients), torch.from_numpy(offset))


@contextmanager
def _one_thread(is_small: bool = True) -> Iterator[None]:
    """Fit on one thread, for which others would wait in small tables, without scikit-learn's warnings."""
    from threadpoolctl import threadpool_limits

    with warnings.catch_warnings(), threadpool_limits(1 if is_small else None):
        warnings.simplefilter("ignore")  # a few more iterations would not change a start
        yield
