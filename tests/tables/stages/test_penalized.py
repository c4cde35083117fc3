"""Penalized fits against closed forms and against scikit-learn."""

from collections.abc import Sequence

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from creases.tables._stages import penalized
from creases.tables._stages.basis import CurveBasis
from creases.tables._stages.families import NORMAL, Classes
from creases.tables._stages.penalized import Basis, Fit, Shape, project, shape_rows
from creases.tables._stages.rows import Rows


def lines(X: np.ndarray, weight: np.ndarray) -> Basis:
    knots = [np.array([x.min(), x.max()]) for x in X.T]
    return Basis(CurveBasis.from_rows(X, weight, knots, np.full(X.shape[1], -1)))  # lines of numbers share a penalty


def fit_penalized(basis: Basis, rows: Rows, shapes: Sequence[Shape] = ()) -> Fit:
    return penalized.fit_penalized(basis, rows, shapes)


@pytest.fixture
def X() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(300, 4))


def test_a_regression_satisfies_its_normal_equations(X: np.ndarray) -> None:
    rng = np.random.default_rng(1)
    weight = rng.uniform(0.5, 1.5, 300)
    y = X @ [1.0, -2.0, 0.0, 0.5] + rng.normal(size=300)
    rows = Rows(X, y[:, None], weight, np.ones(len(X)), NORMAL)
    fit = fit_penalized(lines(X, weight), rows)
    F = fit.basis(X)
    residuals = weight * (y - fit(rows)[:, 0])
    assert abs(residuals.sum()) < 1e-8
    # the last step solved with the penalty before its update
    shrunk = F.T @ residuals
    ratio = shrunk / fit.weights[:, 0]
    assert np.allclose(ratio, ratio[0], rtol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes_are_fitted_as_by_scikit_learn_with_the_same_penalty(X: np.ndarray, n_classes: int) -> None:
    rng = np.random.default_rng(2)
    logits = X @ rng.normal(size=(4, n_classes))
    y = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    basis = lines(X, np.ones(300))
    rows = Rows(X, y[:, None].astype(float), np.ones(300), np.ones(300), Classes(n_classes))
    fit = fit_penalized(basis, rows)
    soft = np.eye(n_classes)[y] * (1 - n_classes / 2 / 300) + 1 / 2 / 300  # half a row more of every class
    model = LogisticRegression(C=1 / fit.penalties[0], tol=1e-10, max_iter=2000)
    model.fit(np.tile(basis(X), (n_classes, 1)), np.repeat(np.arange(n_classes), 300), sample_weight=soft.T.reshape(-1))
    expected = model.decision_function(basis(X)).reshape(300, -1)
    scores = fit(rows) - (fit(rows).mean(axis=1, keepdims=True) if n_classes > 2 else 0)
    assert np.abs(scores - expected).max() < 0.05


def test_a_block_that_says_nothing_is_shrunk_to_nothing() -> None:
    rng = np.random.default_rng(3)
    x = rng.uniform(size=(500, 1))
    y = 2 * x + 0.1 * rng.normal(size=(500, 1))
    basis = Basis(CurveBasis.from_rows(x, np.ones(500), [np.linspace(0, 1, 11)], np.array([-1])))
    fit = fit_penalized(basis, Rows(x, y, np.ones(500), np.ones(500), NORMAL))
    assert fit.effective[1] < 2
    assert np.abs(fit.weights[1:]).max() < 0.5


def test_many_rows_are_fitted_in_blocks_as_at_once(X: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    y = X[:, :1] ** 2
    rows = Rows(X, y, np.ones(300), np.ones(300), NORMAL)
    at_once = fit_penalized(lines(X, rows.weight), rows)
    monkeypatch.setattr(penalized, "KEEP", 200)
    assert np.allclose(fit_penalized(lines(X, rows.weight), rows)(rows), at_once(rows), atol=1e-10)


@pytest.mark.parametrize("shape", ["rising", "falling", "convex"])
def test_a_shape_holds_whatever_the_rows_say(shape: str) -> None:
    rng = np.random.default_rng(4)
    x = rng.uniform(-1, 1, size=(400, 1))
    y = np.sin(4 * x) + 0.1 * rng.normal(size=(400, 1))
    basis = Basis(CurveBasis.from_rows(x, np.ones(400), [np.linspace(-1, 1, 11)], np.array([-1])))
    limits = shape_rows(basis, [shape])  # type: ignore[list-item]
    fit = fit_penalized(basis, Rows(x, y, np.ones(400), np.ones(400), NORMAL), [shape])  # type: ignore[list-item]
    assert (limits @ fit.weights).min() > 0
    free = fit_penalized(basis, Rows(x, y, np.ones(400), np.ones(400), NORMAL))
    assert (limits @ free.weights).min() < -0.1


def test_the_projection_is_the_nearest_feasible_point() -> None:
    rng = np.random.default_rng(5)
    root = rng.normal(size=(4, 4))
    A = root @ root.T + np.eye(4)
    rows, start = rng.normal(size=(2, 4)), rng.normal(size=4)
    nearest = project(start, np.asarray(np.linalg.inv(A), np.float64), rows)
    assert (rows @ nearest).min() > -1e-9
    distance = (nearest - start) @ A @ (nearest - start)
    others = rng.normal(size=(20_000, 4)) * 3 + nearest
    others = others[(others @ rows.T).min(axis=1) >= 0]
    assert (np.einsum("np,pq,nq->n", others - start, A, others - start) >= distance - 1e-9).all()


def test_errors_count_how_little_the_rows_say_of_penalties() -> None:
    rng = np.random.default_rng(2)
    x = rng.uniform(size=(200, 1))
    y = x + np.maximum(x - 0.5, 0) + 0.2 * rng.normal(size=(200, 1))
    basis = Basis(CurveBasis.from_rows(x, np.ones(200), [np.linspace(0, 1, 9)], np.array([-1])))
    fit = fit_penalized(basis, Rows(x, y, np.ones(200), np.ones(200), NORMAL))
    F, target = basis(x) - basis(x).mean(axis=0), y[:, 0] - y.mean()
    # the penalties of the last step are those under which its weights are the solution
    line, bends = basis.blocks == 0, basis.blocks == 1
    pull = F.T @ (target - F @ fit.weights[:, 0])
    penalties = [float(np.median(pull[b] / (basis.penalty * fit.weights[:, 0])[b])) for b in (line, bends)]

    def solve(logs: np.ndarray) -> np.ndarray:
        shrink = np.exp(logs)[basis.blocks] * basis.penalty
        return np.linalg.solve(F.T @ F + np.diag(shrink), F.T @ target)

    logs = np.log(penalties)
    np.testing.assert_allclose(solve(logs), fit.weights[:, 0], atol=1e-6)
    moves = np.stack([(solve(logs + step) - solve(logs - step)) / 2e-4 for step in 1e-4 * np.eye(2)], axis=1)
    # the expected information of the likelihood of all contrasts, from the variances (n, n) of the rows
    parts = [F[:, b] / (basis.penalty[b] * np.exp(log)) @ F[:, b].T for b, log in zip((line, bends), logs, strict=True)]
    P = np.linalg.inv(np.eye(200) + sum(parts))
    information = [[np.trace(P @ a @ P @ b) / 2 for a in parts] for b in parts]
    prior = 12 / np.log(penalized.LARGEST / penalized.LEAST) ** 2
    shrink = np.exp(logs)[basis.blocks] * basis.penalty
    expected = fit.noise * np.linalg.inv(F.T @ F + np.diag(shrink))
    expected = expected + moves @ np.linalg.inv(np.array(information) + prior * np.eye(2)) @ moves.T
    np.testing.assert_allclose(fit.covariance[0], expected, rtol=1e-4, atol=1e-9)
