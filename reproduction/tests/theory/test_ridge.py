"""Functions of several inputs as integrals of units: closed forms, reconstructions, and random units."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special, stats

from creases.errors import InputError
from creases.splines import to_hyperplanes, to_module
from creases_reproduction.splines.theory.ridge import offset_distribution, ridge_coefficients, ridge_network


def gaussian(covariance, mean):
    """Return a Gaussian of height 1 and its Fourier transform."""
    A, m = np.array(covariance, float), np.array(mean, float)
    precision, size = np.linalg.inv(A), (2 * np.pi) ** (len(m) / 2) * np.sqrt(np.linalg.det(A))

    def f(x):
        return np.exp(-0.5 * np.einsum("ni,ij,nj->n", x - m, precision, x - m))

    return f, lambda k: size * np.exp(-0.5 * np.einsum("ni,ij,nj->n", k, A, k) - 1j * k @ m)


def test_coefficients_of_a_gaussian_are_hermite_polynomials_in_odd_dimensions():
    gamma = np.linspace(-4, 4, 33)
    c = ridge_coefficients(gaussian(np.eye(3), np.zeros(3))[1], [[0.6, 0.0, 0.8]], gamma)[0]
    assert c == pytest.approx(-special.eval_hermitenorm(4, gamma) * np.exp(-(gamma**2) / 2) / (4 * np.pi), abs=1e-12)
    one = ridge_coefficients(gaussian([[1.0]], [0.0])[1], [[1.0]], gamma)[0]
    assert one == pytest.approx((gamma**2 - 1) * np.exp(-(gamma**2) / 2) / 2, abs=1e-12)  # half of f'' for each side


def test_coefficients_of_a_gaussian_of_two_inputs_are_a_dawson_function():
    gamma = np.linspace(-4, 4, 33)
    c = ridge_coefficients(gaussian(np.eye(2), np.zeros(2))[1], [[0.6, 0.8]], gamma)[0]
    # the integral of theta^3 exp(-theta^2 / 2) cos(theta gamma) from 0 on, in closed form
    t = gamma / np.sqrt(2)
    moment = 2 - gamma**2 + np.sqrt(2) * gamma * (gamma**2 - 3) * special.dawsn(t)
    assert c == pytest.approx(-moment / (2 * np.pi), abs=1e-10)


@pytest.mark.parametrize(
    ("covariance", "mean", "accuracy"),
    [(np.eye(2), [0.0, 0.0], 4e-6), ([[1.0, 0.3], [0.3, 0.8]], [0.3, -0.4], 4e-5), (np.eye(3), [0.2, 0.0, -0.1], 4e-4)],
)
def test_a_finite_network_reconstructs_the_function(covariance, mean, accuracy):
    f, transform = gaussian(covariance, mean)
    d = len(mean)
    network = ridge_network(transform, d, n_directions=32 if d == 2 else 16, n_offsets=2001 if d == 2 else 401)
    x = np.random.default_rng(0).uniform(-1, 1, size=(20, d))
    assert np.abs(network(x) - f(x)).max() < accuracy


def test_the_error_falls_with_the_square_of_the_distance_of_creases():
    f, transform = gaussian(np.eye(2), [0.0, 0.0])
    x = np.random.default_rng(0).uniform(-1, 1, size=(30, 2))
    errors = [np.abs(ridge_network(transform, 2, n_offsets=n)(x) - f(x)).max() for n in (251, 1001)]
    assert 8 < errors[0] / errors[1] < 32


def test_steps_rebuild_the_function_too():
    transform = gaussian(np.eye(2), [0.0, 0.0])[1]
    angles = 2 * np.pi * np.arange(32) / 32
    xi, gamma = np.stack([np.cos(angles), np.sin(angles)], axis=1), np.linspace(-30, 30, 6001)
    c = ridge_coefficients(transform, xi, gamma, activation="step")
    values = [float(((xi @ x)[:, None] > gamma).astype(float).ravel() @ c.ravel()) for x in ([0.0, 0.0], [1.0, 0.5])]
    height = (values[0] - values[1]) * (gamma[1] - gamma[0]) * 2 * np.pi / 32
    assert height == pytest.approx(1 - np.exp(-0.625), abs=5e-3)


def test_the_network_is_a_torch_module_as_well():
    network = ridge_network(gaussian(np.eye(2), [0.0, 0.0])[1], 2, n_directions=8, n_offsets=11)
    again = to_hyperplanes(to_module(network))
    x = np.random.default_rng(0).uniform(-1, 1, size=(20, 2))
    assert again(x) == pytest.approx(network(x), abs=1e-12)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_offsets_of_random_units_are_students_t(d):
    rng = np.random.default_rng(d)
    w, b = 2.0 * rng.standard_normal((20_000, d)), 0.5 * rng.standard_normal(20_000)
    offsets = -b / np.linalg.norm(w, axis=1)
    assert stats.kstest(offsets, offset_distribution(d, 2.0, 0.5).cdf).pvalue > 0.01
    assert stats.kstest(offsets, offset_distribution(d + 1, 2.0, 0.5).cdf).pvalue < 0.01


def test_wrong_arguments_are_named():
    transform = gaussian(np.eye(2), [0.0, 0.0])[1]
    with pytest.raises(InputError, match="directions must be unit vectors"):
        ridge_coefficients(transform, [[1.0, 1.0]], [0.0])
    with pytest.raises(InputError, match="n_inputs must be 2 or 3, got 4"):
        ridge_network(transform, 4)
    with pytest.raises(InputError, match="transform must return one value for each of 400 points"):
        ridge_coefficients(lambda k: k, [[1.0, 0.0]], [0.0])
    with pytest.raises(InputError, match="n_inputs must be a positive integer, got 0"):
        offset_distribution(0)
