"""Networks of width 2 are zigzags through given points, and 0 beyond them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from creases_reproduction.linearity.chapter2_narrow import Integrable, lipschitz_below, narrow_network, relative_error


def test_a_network_of_width_two_passes_through_the_points_and_is_zero_beyond():
    points = np.linspace(-2, 2, 21)
    values = lipschitz_below(np.sin(3 * points), 0.7)
    values[[0, -1]] = 0
    network = narrow_network(points, values, 8.0)
    assert {layer.out_features for layer in network if isinstance(layer, nn.Linear)} == {1, 2}
    assert values.min() < 0 < values.max()
    assert np.allclose(network(torch.from_numpy(points)[:, None]).detach()[:, 0], values, atol=1e-12)
    beyond = torch.tensor([[-9.0], [-2.001], [2.001], [9.0]], dtype=torch.float64)
    assert network(beyond).abs().max() < 1e-12


def test_between_points_the_slope_is_the_given_one():
    network = narrow_network(np.linspace(-1, 1, 5), np.array([0, 0.5, -0.2, 0.4, 0]), 4.0)
    x = torch.linspace(-0.99, 0.99, 1000, dtype=torch.float64)[:, None].requires_grad_()
    (slopes,) = torch.autograd.grad(network(x).sum(), x)
    assert torch.allclose(slopes.abs(), torch.full_like(slopes, 4.0))


def test_the_largest_lipschitz_values_below_are_found():
    assert lipschitz_below(np.array([3.0, 9, 9, 1, 9]), 1.0).tolist() == [0, 1, 2, 1, 0]
    assert lipschitz_below(np.array([0.0, np.inf, 0]), 0.5).tolist() == [0, 0.5, 0]


@pytest.mark.parametrize("steepness", [1.0, None])
def test_four_times_the_depth_at_least_nearly_halves_the_error(steepness):
    function = Integrable(lambda x: np.maximum(1 - np.abs(x), 0), 2.0, steepness)
    assert relative_error(function, 80) < 0.6 * relative_error(function, 20)
