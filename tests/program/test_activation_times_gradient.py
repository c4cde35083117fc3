from itertools import pairwise

import numpy as np
import pytest

from creases._program._gradients import activation_times_gradient
from creases.network._reading.arrays import from_arrays


def layers(rng, *widths):
    return [(rng.normal(size=(n, m)), rng.normal(size=n)) for m, n in pairwise(widths)]


@pytest.mark.parametrize("leak", [0.0, 0.1])
def test_values_of_a_bend_times_gradient_and_its_constant_add_up_to_the_output(leak):
    rng = np.random.default_rng(0)
    mlp = layers(rng, 3, 7, 5, 4)
    net, x = from_arrays(mlp, leak=leak), rng.normal(size=3)
    weights = np.array([1.0, 0.0, -1.0, 0.5])
    products = activation_times_gradient(net, x, weights)
    asked = weights @ net(x)
    _, (_, b1), (W2, b2) = mlp
    slope = np.where(net.sides(x)[7:], 1.0, leak)
    assert products[7:].sum() + weights @ b2 == pytest.approx(asked)
    assert products[:7].sum() + weights @ (W2 @ (slope * b1) + b2) == pytest.approx(asked)


def test_an_inactive_unit_contributes_nothing():
    rng = np.random.default_rng(1)
    net, x = from_arrays(layers(rng, 2, 9, 1)), rng.normal(size=2)
    products = activation_times_gradient(net, x, np.ones(1))
    assert (products[net.sides(x) == 0] == 0).all()
    assert (products[net.sides(x) == 1] != 0).all()


def test_a_network_without_bends_has_no_units():
    assert activation_times_gradient(from_arrays([(np.eye(2), np.zeros(2))]), [1.0, 2.0], np.ones(2)).shape == (0,)
