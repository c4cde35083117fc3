from math import pi, sqrt

import numpy as np
import pytest

from creases.errors import InputError
from creases.problems._toy import EQUAL_AREA_RADII, circle_annulus, xor, xor_circles


@pytest.mark.parametrize("radii", [EQUAL_AREA_RADII, (0.5, 0.5 * sqrt(2), 1.0)])
def test_classes_are_balanced_and_lie_in_disc_and_ring(radii):
    X, y = circle_annulus(1000, seed=0, radii=radii)
    r = np.hypot(*X.T)
    assert (X.shape, X.dtype, y.shape, y.dtype) == ((1000, 2), np.float64, (1000,), np.int64)
    assert y.sum() == 500
    assert r[y == 1].max() <= radii[0]
    assert radii[1] <= r[y == 0].min()
    assert r[y == 0].max() <= radii[2]


def test_points_are_uniform_in_area():
    X, y = circle_annulus(20_000, seed=0)
    share = np.hypot(*X[y == 1].T) ** 2 / EQUAL_AREA_RADII[0] ** 2  # uniform on [0, 1] if uniform in the disc
    counts = np.histogram(share, bins=10, range=(0, 1))[0]
    assert np.abs(counts - 1000).max() < 5 * sqrt(1000)


def test_default_radii_make_three_equal_areas():
    r1, r2, r3 = EQUAL_AREA_RADII
    assert pi * (r2**2 - r1**2) == pytest.approx(pi * r1**2)
    assert pi * (r3**2 - r2**2) == pytest.approx(pi * r1**2)


@pytest.mark.parametrize("radii", [(0.5, 0.4, 1.0), (0.0, 0.5, 1.0), (0.5, 1.0, 1.0)])
def test_radii_out_of_order_are_refused(radii):
    with pytest.raises(InputError, match="radii must be 0 < r1 <= r2 < r3"):
        circle_annulus(10, seed=0, radii=radii)


def test_no_points_are_refused():
    with pytest.raises(InputError, match="n must be a positive integer, got 0"):
        circle_annulus(0, seed=0)


def test_xor_circles_swap_the_classes_in_two_quadrants():
    X, y = xor_circles(n=500, standardize=False)
    plain, disc = circle_annulus(500, seed=0)
    np.testing.assert_array_equal(X, plain)
    swapped = X[:, 0] * X[:, 1] < 0
    np.testing.assert_array_equal(y[~swapped], disc[~swapped])
    np.testing.assert_array_equal(y[swapped], 1 - disc[swapped])
    assert 0.4 < y.mean() < 0.6


def test_xor_tells_whether_the_signs_differ():
    X, y = xor(n=5000, standardize=False)
    np.testing.assert_array_equal(y, np.sign(X[:, 0]) != np.sign(X[:, 1]))
    assert y.mean() == pytest.approx(0.5, abs=0.03)
