import numpy as np
import pytest

from creases.errors import InputError
from creases.problems._planar import moons, spirals


def test_moons_without_noise_are_two_half_circles():
    X, y = moons(n=500, noise=0, standardize=False)
    centre = np.where((y == 0)[:, None], [0, 0], [1, 0.5])
    np.testing.assert_allclose(np.hypot(*(X - centre).T), 1)
    assert (X[y == 0, 1] >= 0).all()
    assert (X[y == 1, 1] <= 0.5).all()


@pytest.mark.parametrize("arms", [2, 3, 5])
def test_spirals_without_noise_lie_on_their_arms(arms):
    X, y = spirals(n=1000, noise=0, arms=arms, turns=2, standardize=False)
    r, angle = np.hypot(*X.T), np.arctan2(X[:, 1], X[:, 0])
    turned = angle / (2 * np.pi) - 2 * r - y / arms
    np.testing.assert_allclose(turned, np.round(turned), atol=1e-9)
    assert r.max() <= 1
    assert set(np.bincount(y)) <= {1000 // arms, 1000 // arms + 1}


@pytest.mark.parametrize("make", [moons, spirals])
def test_classes_are_balanced_and_points_standardized(make):
    X, y = make()
    assert np.bincount(y).tolist() == [200, 200]
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(X.std(axis=0), 1, atol=1e-12)


def test_one_arm_or_no_turn_is_refused():
    with pytest.raises(InputError, match="arms must be an integer, at least 2, got 1"):
        spirals(arms=1)
    with pytest.raises(InputError, match="turns must be a number above 0, got 0"):
        spirals(turns=0)
