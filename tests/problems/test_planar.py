from functools import partial
from math import pi

import numpy as np
import pytest

from creases.errors import InputError
from creases.problems._planar import overlapping_quadratic, plane_points

sine, quadratic, circle = (partial(plane_points, name) for name in ("sine", "quadratic", "circle"))
RULES = {
    sine: (lambda x, v: v > np.sin(x), [(-pi, pi), (-1.8, 1.8)]),
    quadratic: (lambda x, v: v > x**2, [(-1.5, 1.5), (-0.75, 2.25)]),
    circle: (lambda x, v: x**2 + v**2 < 2 / pi, [(-1, 1), (-1, 1)]),
}


@pytest.mark.parametrize("make", RULES)
def test_classes_follow_the_rule_in_the_box_of_the_experiment(make):
    rule, box = RULES[make]
    X, y = make(n=20_000, standardize=False)
    np.testing.assert_array_equal(y, rule(*X.T))
    for column, (low, high) in zip(X.T, box, strict=True):
        assert low <= column.min() < low + 0.01 * (high - low)
        assert high - 0.01 * (high - low) < column.max() <= high
        counts = np.histogram(column, bins=10, range=(low, high))[0]
        assert np.abs(counts - 2000).max() < 5 * np.sqrt(2000)  # uniform


@pytest.mark.parametrize("make", RULES)
def test_half_of_the_area_belongs_to_each_class(make):
    assert make(n=20_000).y.mean() == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("make", [*RULES, overlapping_quadratic])
def test_defaults_are_those_of_the_experiment(make):
    X, y = make()
    assert (X.shape, X.dtype, y.dtype) == ((400, 2), np.float64, np.int64)
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(X.std(axis=0), 1, atol=1e-12)
    np.testing.assert_array_equal(X, make(n=400, seed=0, standardize=True).X)


def test_parabolas_overlap_with_noise_about_their_curves():
    X, y = overlapping_quadratic(n=20_000, standardize=False)
    x, v = X.T
    rest = np.where(y == 0, v - (x**2 - 0.5), v - (0.5 - x**2))
    assert rest.mean() == pytest.approx(0, abs=0.005)
    assert rest.std() == pytest.approx(0.15, abs=0.003)
    assert y.sum() == 10_000
    assert np.abs(x).max() <= 1.4


def test_without_noise_the_parabolas_are_exact():
    X, y = overlapping_quadratic(n=100, noise=0, standardize=False)
    x, v = X.T
    np.testing.assert_array_equal(v, np.where(y == 0, x**2 - 0.5, 0.5 - x**2))


def test_noise_moves_points_and_leaves_their_classes():
    still, moved = sine(standardize=False), sine(standardize=False, noise=0.1)
    np.testing.assert_array_equal(still.y, moved.y)
    assert (moved.X - still.X).std() == pytest.approx(0.1, rel=0.1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": 0}, "n must be a positive integer, got 0"),
        ({"n": 2.5}, "n must be a positive integer, got 2.5"),
        ({"noise": -1}, "noise must be a finite number at least 0, got -1"),
        ({"noise": float("nan")}, "noise must be a finite number"),
        ({"seed": -3}, "seed must be an integer, at least 0, or a numpy Generator, got -3"),
        ({"seed": "a"}, "seed must be an integer, at least 0"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(InputError, match=message):
        sine(**options)
