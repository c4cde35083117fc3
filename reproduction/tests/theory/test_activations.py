"""Densities of other responses, against closed forms and there and back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.interpolate import make_interp_spline
from scipy.special import gamma

from creases.errors import InputError
from creases.splines.theory import minimum_norm_fit as least_norm_fit
from creases_reproduction.splines.theory.activations import PowerReLU, SaturatingReLU, minimum_norm_fit, unit_basis

ORDERS = [0.5, 1.0, 1.25, 2.0, 2.5, 3.0]


def grid(n):
    """Places (n,) in (0, 2] and their spacing."""
    return 2 / n * np.arange(1, n + 1), 2 / n


def halves(errors):
    """Errors that fall in proportion to the spacing, as it goes to a tenth."""
    return errors[1] < 0.12 * errors[0] or errors[1] < 1e-10


@pytest.mark.parametrize("lam", ORDERS)
def test_the_density_of_a_power_is_its_fractional_derivative(lam):
    errors = []
    for n in (200, 2000):
        x, h = grid(n)
        exact = x ** (4 - lam) / gamma(5 - lam)  # D^lam of x^4 / 4!
        errors.append(np.abs(PowerReLU(lam).density(x**4 / 24, h) - exact).max())
    assert halves(errors)


@pytest.mark.parametrize("response", [*map(PowerReLU, ORDERS), SaturatingReLU(0.5), SaturatingReLU(3.0)], ids=str)
def test_the_density_of_a_layer_is_found_again(response):
    errors = []
    for n in (200, 2000):
        x, h = grid(n)
        c = np.sin(3 * x) * x**2
        errors.append(np.abs(response.density(response.integral(c, h), h) - c).max())
    assert halves(errors)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([*map(PowerReLU, ORDERS[1:]), SaturatingReLU(0.3)]))
def test_a_layer_of_many_units_is_the_integral_of_its_density(seed, response):
    rng = np.random.default_rng(seed)
    x, h = grid(40)
    c = rng.normal(size=40)
    fine = 400
    places = (np.arange(40 * fine) + 0.5) * h / fine  # equal units in every cell
    layer = unit_basis(x, places, response) @ (np.repeat(c, fine) * h / fine)
    assert layer == pytest.approx(response.integral(c, h), abs=1e-2 * h**0.2)


def test_steps_and_relus_are_powers():
    z = np.array([-2.0, -0.0, 0.0, 0.5, 3.0])
    assert PowerReLU(1)(z).tolist() == [0, 0, 0, 1, 1]
    assert PowerReLU(2)(z).tolist() == np.maximum(z, 0).tolist()
    assert PowerReLU(3)(z) == pytest.approx(np.maximum(z, 0) ** 2 / 2)
    assert SaturatingReLU(0.7)(z) == pytest.approx(np.maximum(z, 0) - np.maximum(z - 0.7, 0))


@pytest.mark.parametrize("lam", [1, 2, 3])
def test_least_weights_of_powers_give_natural_splines_of_odd_degree(lam):
    x, t = np.linspace(-3, 3, 12), np.linspace(-3, 3, 500)
    y, places = np.sin(2 * x), np.linspace(-3, 3, 2000)
    mu, polynomial = minimum_norm_fit(x, y, places, lam)
    flat = [(3, 0.0), (4, 0.0)]
    limit = {
        1: lambda t: np.interp(t, x, y),
        2: least_norm_fit(x, y),
        3: make_interp_spline(x, y, k=5, bc_type=(flat, flat)),
    }[lam]
    found = unit_basis(t, places, PowerReLU(lam)) @ mu + np.polyval(polynomial, t)
    assert np.abs(found - limit(t)).max() < {1: 1e-2, 2: 1e-5, 3: 1e-7}[lam]


def test_wrong_activations_are_refused():
    with pytest.raises(InputError, match="lam must be a finite number above 0, got 0"):
        PowerReLU(0)
    with pytest.raises(InputError, match="width must be a finite number above 0, got -1"):
        SaturatingReLU(-1)
    with pytest.raises(InputError, match=r"spacing must divide the width 1.0 evenly, got 0.3"):
        SaturatingReLU(1.0).density(np.zeros(5), 0.3)
    with pytest.raises(InputError, match="spacing must be a finite number above 0, got 0"):
        PowerReLU(2.0).density(np.zeros(5), 0)
    with pytest.raises(InputError, match=r"lam must be a positive integer, got 1.5"):
        minimum_norm_fit([1.0], [1.0], [0.0], 1.5)
    assert PowerReLU(2.0).density([], 0.1).tolist() == []


def test_the_density_of_a_saturating_relu_is_itself_alone():
    x = np.linspace(0, 4, 401)
    density = SaturatingReLU(0.5).density(SaturatingReLU(0.5)(x), 0.01)
    np.testing.assert_allclose(density, np.where(np.arange(401) == 1, 100.0, 0.0), atol=1e-9)
