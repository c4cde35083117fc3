"""Perceptrons of scikit-learn: the same decision values, predictions and refusals by name."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, softmax
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, PolynomialFeatures, RobustScaler, StandardScaler

import creases
from creases.errors import InputError, ReadError

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3)) * [1.0, 1e3, 1e-2] + [5.0, 0.0, -1.0]
X[:, 2] = np.where(np.arange(60) % 7 == 0, 0.5, X[:, 2])


def fit(model, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ten iterations do not converge
        return model.fit(X, y)


def classifier(**options):
    return MLPClassifier(hidden_layer_sizes=(5, 4), max_iter=10, random_state=0, **options)


def regressor(**options):
    return MLPRegressor(hidden_layer_sizes=(6,), max_iter=10, random_state=0, **options)


LABELS = make_blobs(60, centers=3, random_state=0)[1]


@pytest.mark.parametrize("activation", ["relu", "identity"])
def test_a_classifiers_outputs_are_logits(activation):
    model = fit(classifier(activation=activation), np.array(["a", "b", "c"])[LABELS])
    net = creases.read(model)
    assert (net.n_in, net.n_out, net.n_units) == (3, 3, 9 if activation == "relu" else 0)
    np.testing.assert_allclose(softmax(net(X), axis=1), model.predict_proba(X), rtol=1e-9, atol=1e-12)
    assert (model.classes_[net(X).argmax(axis=1)] == model.predict(X)).all()


def test_two_classes_are_the_log_odds_of_the_second():
    model = fit(classifier(), LABELS > 0)
    net = creases.read(model)
    np.testing.assert_allclose(expit(net(X)[:, 0]), model.predict_proba(X)[:, 1], rtol=1e-9, atol=1e-12)
    assert ((net(X)[:, 0] > 0) == model.predict(X)).all()


@pytest.mark.parametrize("targets", [1, 2])
def test_a_regressors_outputs_are_its_predictions(targets):
    model = fit(regressor(), X[:, :targets].squeeze())
    np.testing.assert_allclose(creases.read(model)(X).squeeze(), model.predict(X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    "scalers",
    [
        [StandardScaler()],
        [StandardScaler(with_mean=False)],
        [StandardScaler(with_std=False)],
        [RobustScaler(with_centering=False), MinMaxScaler((-2, 5)), StandardScaler()],
        [MaxAbsScaler(), RobustScaler()],
    ],
)
def test_scalers_are_folded_in(scalers):
    model = fit(make_pipeline(*scalers, regressor()), X[:, 0])
    np.testing.assert_allclose(creases.read(model)(X)[:, 0], model.predict(X), rtol=1e-9, atol=1e-9)


def test_no_hidden_layer_is_an_affine_function():
    model = fit(MLPRegressor(hidden_layer_sizes=(), max_iter=3, random_state=0), X[:, 0])
    np.testing.assert_allclose(creases.read(model)(X)[:, 0], model.predict(X), rtol=1e-9)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (lambda: fit(classifier(activation="tanh"), LABELS), "its activation 'tanh' is not piecewise linear"),
        (lambda: fit(regressor(activation="logistic"), X[:, 0]), "its activation 'logistic' is not piecewise"),
        (lambda: MLPClassifier(), "MLPClassifier: it is not fitted"),
        (lambda: LogisticRegression().fit(X, LABELS > 0), "cannot read LogisticRegression"),
        (lambda: fit(make_pipeline(PolynomialFeatures(), regressor()), X[:, 0]), "with PolynomialFeatures"),
        (lambda: fit(make_pipeline(MinMaxScaler(clip=True), regressor()), X[:, 0]), "MinMaxScaler clips"),
        (lambda: fit(make_pipeline(StandardScaler(), LogisticRegression()), LABELS), "cannot read LogisticRegression"),
    ],
)
def test_what_cannot_be_read_is_refused_by_name(model, message):
    made = model()
    with pytest.raises(ReadError, match=message):
        creases.read(made)


def test_functions_that_take_a_network_take_a_perceptron():
    model = fit(classifier(), LABELS)
    assert creases.cell(model, X[0]).net.n_in == 3
    with pytest.raises(InputError, match="input_shape must be that of the model"):
        creases.read(model, (4,))


def test_an_estimator_of_creases_is_read_as_its_network():
    X, y = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 0.0], [1.0, 1.0]] * 5), np.array([0, 0, 1, 1] * 5)
    estimator = creases.GrowingClassifier(budget=2, random_state=0).fit(X, y)
    assert np.array_equal(creases.read(estimator)(X), estimator.network_(X))


@pytest.mark.slow
def test_a_pipeline_that_ends_in_an_estimator_of_creases_has_its_scalers_folded_in():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)) * [1, 50] + [0, 3]
    model = make_pipeline(StandardScaler(), "passthrough", MinMaxScaler(), creases.GrowingRegressor())
    model.fit(X, np.abs(X[:, 0]))
    np.testing.assert_allclose(creases.read(model)(X).ravel(), model.predict(X), atol=1e-12)


def test_an_estimator_of_creases_has_to_be_fitted():
    with pytest.raises(ReadError, match="GrowingClassifier: it is not fitted; call fit first"):
        creases.read(creases.GrowingClassifier())


def test_the_model_of_a_table_is_its_network() -> None:
    table = pd.DataFrame({"x": np.arange(40.0), "y": np.abs(np.arange(40.0) - 20)})
    model = creases.fit_table(table, "y")
    assert creases.read(model) is model.network
