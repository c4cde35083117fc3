"""Facts about scaling that is learnt from tables."""

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from creases.tables._split.split import learn_scaling


def _data(n: int = 50) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3)) * [1.0, 100.0, 1e-3] + [5.0, -1e4, 0.0]
    return X, rng.normal(size=(n, 2)) * [1.0, 50.0] + 7, rng.integers(1, 4, n).astype(float)


def test_it_is_scikit_learns_with_weights() -> None:
    X, y, weight = _data()
    found = learn_scaling(X, y, weight)
    inputs, targets = (StandardScaler().fit(part, sample_weight=weight) for part in (X, y))
    np.testing.assert_allclose(found.inputs(X), inputs.transform(X), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.targets(y), targets.transform(y), rtol=1e-12, atol=1e-12)
    assert found.target_spread.shape == (2,)


@pytest.mark.parametrize("size", [1e-300, 1e-160, 1e160, 1e300])
def test_columns_of_any_size_come_to_deviation_one(size: float) -> None:
    X = np.random.default_rng(0).normal(size=(50, 2)) * [size, 1.0]
    scaled = learn_scaling(X, None, np.ones(50)).inputs(X)
    np.testing.assert_allclose(scaled.std(axis=0), 1)


def test_a_constant_column_becomes_zero() -> None:
    X = np.column_stack([np.full(10, 1e7), np.arange(10.0)])
    assert not learn_scaling(X, None, np.ones(10)).inputs(X)[:, 0].any()
