import numpy as np
import pytest

from creases.errors import InputError
from creases.problems import TARGETS, curve, get

VALUES = {  # at x = -3, -1.5, 0.5
    "sine": np.sin([-6, -3, 1]),
    "quadratic": [4.5, 1.125, 0.125],
    "cubic": [-27, -3.375, 0.125],
    "chirp": np.sin([4.5, 1.125, 0.125]),
    "arctan": np.arctan([-3, -1.5, 0.5]),
    "sawtooth": [-1, 0.5, 0.5],
}


@pytest.mark.parametrize("target", VALUES)
def test_targets_have_their_values(target):
    np.testing.assert_allclose(TARGETS[target](np.array([-3, -1.5, 0.5])), VALUES[target], atol=1e-15)


@pytest.mark.parametrize("target", VALUES)
def test_points_lie_in_order_on_the_curve(target):
    problem = get(f"{target}_curve")
    X, y = problem
    assert (problem.task, problem.classes, X.shape, y.dtype) == ("regression", None, (60, 1), np.float64)
    assert np.all(np.diff(X[:, 0]) > 0)
    assert np.abs(X).max() <= 3
    np.testing.assert_array_equal(y, TARGETS[target](X[:, 0]))


def test_sawtooth_rises_with_slope_one_and_period_two():
    x = np.linspace(-2.9, 0.9, 50)
    saw = TARGETS["sawtooth"]
    np.testing.assert_allclose(saw(x), saw(x + 2), atol=1e-12)
    assert np.abs(saw(x)).max() <= 1


def test_spaced_points_include_both_ends():
    np.testing.assert_array_equal(curve("cubic", n=5, spaced=True).X[:, 0], [-3, -1.5, 0, 1.5, 3])


def test_noise_is_added_to_the_values_only():
    still, noisy = curve(n=5000), curve(n=5000, noise=0.2)
    np.testing.assert_array_equal(still.X, noisy.X)
    assert (noisy.y - still.y).std() == pytest.approx(0.2, rel=0.05)


def test_an_unknown_curve_is_refused_with_the_names():
    with pytest.raises(InputError, match=r"target must be a curve: sine, quadratic, cubic, .* got 'cosine'"):
        curve("cosine")
