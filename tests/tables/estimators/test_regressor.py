"""Facts about the regressor that grows."""

from typing import Any

import numpy as np
import pytest
import torch
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, cross_val_score

from creases import GrowingRegressor
from creases.growth.methods._fold.explanation import fold_entries

#: Three stages of growth, on a few hundred rows.
SHORT: dict[str, Any] = {"budget": 60, "batch_size": 10, "growth_share": 0.5, "random_state": 0}


@pytest.fixture(scope="module")
def valley() -> tuple[np.ndarray, np.ndarray]:
    """Two targets of very different size, with a kink each."""
    X = np.random.default_rng(0).uniform(-2, 2, (150, 2)) * [1, 100]
    return X, np.column_stack([1000 * np.abs(X[:, 0]) + 5000, 1e-3 * np.maximum(X[:, 1] / 100, 0)])


@pytest.fixture(scope="module")
def grown(valley: Any) -> GrowingRegressor:
    return GrowingRegressor(**SHORT).fit(*valley)


@pytest.mark.thorough
def test_it_grows_to_what_a_linear_model_cannot_do(valley: Any, grown: Any) -> None:
    assert LinearRegression().fit(*valley).score(*valley) < 0.6
    assert grown.score(*valley) > 0.95
    assert grown.history_.epochs[0]["widths"] == {"hidden1": 4}


@pytest.mark.slow
def test_several_targets_come_in_their_own_units(valley: Any, grown: Any) -> None:
    X, y = valley
    given = grown.predict(X)
    assert given.shape == y.shape
    np.testing.assert_allclose(given.mean(axis=0), y.mean(axis=0), rtol=0.05)
    np.testing.assert_allclose(grown.network_(X), given, rtol=1e-9)
    with torch.no_grad():
        np.testing.assert_array_equal(grown.module_(torch.from_numpy(X)).numpy(), given)


@pytest.mark.slow
def test_the_account_is_in_the_targets_own_units(valley: Any) -> None:
    X, y = valley
    model = GrowingRegressor(how="fold", **SHORT).fit(X, y[:, 0])
    record = next(record for record in model.history_.records if record.method == "fold")
    why = fold_entries(record.explanation)[0]["why"]
    np.testing.assert_allclose(why["features"] * X.std(axis=0) + X.mean(axis=0), X[why["instance"]], rtol=0.2, atol=20)
    alike = why["cluster"]["same_mistake"] > 1
    off = abs((why["cluster"]["mean_residual"] if alike else why["residual"])[0]) * y[:, 0].std()
    assert off > 10
    told = model.summary()
    assert f"row {why['instance']} (x0 {X[why['instance'], 0]:.3g}" in told
    assert f"{off:.3g}" in told or f"{off:.0f}" in told
    assert told.startswith("The network is 2-")


@pytest.mark.slow
def test_targets_keep_the_shape_they_were_given_in(valley: Any) -> None:
    X, y = valley
    short = {**SHORT, "budget": 3}
    flat, column = (
        GrowingRegressor(**short).fit(X, y[:, 0]),
        GrowingRegressor(**short).fit(X, y[:, :1]),
    )
    assert flat.predict(X).shape == (150,)
    assert column.predict(X).shape == (150, 1)
    np.testing.assert_array_equal(flat.predict(X), column.predict(X)[:, 0])


@pytest.mark.slow
def test_constant_targets_are_met() -> None:
    X = np.random.default_rng(0).normal(size=(30, 2))
    model = GrowingRegressor(**SHORT).fit(X, np.full(30, 7.0))
    np.testing.assert_allclose(model.predict(X), 7, atol=1e-12)
    model = GrowingRegressor(**SHORT).fit(X, np.column_stack([np.full(30, 7.0), X[:, 0]]))
    np.testing.assert_allclose(model.predict(X)[:, 0], 7, atol=1e-6)


@pytest.mark.thorough
@pytest.mark.parametrize("size", [1e-150, 1e150])
def test_the_size_of_targets_makes_no_difference(valley: Any, size: float) -> None:
    X, y = valley[0], valley[1][:, 0] / 1000
    short = {**SHORT, "budget": 10}
    one, other = GrowingRegressor(**short).fit(X, y), GrowingRegressor(**short).fit(X, y * size)
    np.testing.assert_allclose(other.predict(X) / size, one.predict(X), rtol=1e-6)


def test_a_target_that_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="Input y contains NaN"):
        GrowingRegressor().fit([[0.0], [1.0]], [0.0, np.nan])


@pytest.mark.thorough
def test_it_works_in_searches(valley: Any) -> None:
    X, y = valley
    model = GrowingRegressor(**{**SHORT, "budget": 8})
    assert len(cross_val_score(model, X, y[:, 0], cv=2)) == 2
    assert GridSearchCV(model, {"weight_decay": [0.0, 0.1]}, cv=2).fit(X, y).best_params_["weight_decay"] in (0.0, 0.1)
