"""Deep networks of two inputs with two hidden layers: the same function at random points, corners and odd creases."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import nn

import creases
from creases.errors import InputError
from creases_reproduction.splines.theory.shallow_plane import to_shallow_plane


def network(*widths, bend=nn.ReLU, seed=0):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        layers = [layer for a, b in pairwise(widths) for layer in (nn.Linear(a, b), bend())]
        return nn.Sequential(*layers[:-1]).double()


def deviation(model, shallow, box=(-2.0, 2.0)):
    """Return the largest difference at random points of the box, relative to the largest value."""
    x = np.random.default_rng(0).uniform(*box, size=(5000, 2))
    values, ours = (creases.read(net)(x) for net in (model, shallow.module))
    return np.abs(values - ours).max() / np.abs(values).max()


@pytest.mark.parametrize("seed", range(3))
def test_a_deep_network_is_the_same_function(seed):
    model = network(2, 5, 5, 5, 2, seed=seed)
    shallow = to_shallow_plane(model, (-2, 2))
    assert deviation(model, shallow) < 1e-12
    assert shallow.deviation < 1e-12
    assert [type(layer) for layer in shallow.module] == [nn.Linear, nn.ReLU, nn.Linear, nn.ReLU, nn.Linear]
    assert all(torch.isfinite(p).all() for p in shallow.module.parameters())


def test_a_network_of_one_hidden_layer_keeps_a_unit_for_each_crease():
    model = network(2, 6, 1, seed=4)
    crossing = creases.plane(model, (-2, 2))
    creased = len(np.unique(crossing.edge_units[crossing.edge_units >= 0]))
    shallow = to_shallow_plane(model, (-2, 2))
    assert shallow.widths == (2 + creased, 2 + creased)
    assert deviation(model, shallow) < 1e-12


def test_leaky_units_and_boxes_away_from_the_origin():
    model = network(2, 4, 4, 3, bend=nn.LeakyReLU, seed=1)
    box = (1.0, 4.0)
    assert deviation(model, to_shallow_plane(model, box), box) < 1e-12


def test_creases_along_the_fixed_rays_and_a_maximum_of_three():
    top = [([[1.0, 0.0], [-0.5, 0.75**0.5], [-0.5, -(0.75**0.5)]], [0.0] * 3), (np.eye(3) - 0.5, [0.0] * 3)]
    model = creases.read([*top, ([[1.0, -2.0, 3.0]], [0.5])])
    shallow = to_shallow_plane(model, (-1, 1))
    x = np.random.default_rng(1).uniform(-1, 1, size=(2000, 2))
    assert np.abs(model(x) - creases.read(shallow.module)(x)).max() < 1e-12
    assert shallow.corners >= 1


def test_an_affine_network_needs_no_crease():
    shallow = to_shallow_plane([([[1.0, 2.0]], [3.0])], (-1, 1))
    assert (shallow.widths, shallow.corners, shallow.creases) == ((2, 2), 0, 0)
    assert shallow.deviation < 1e-14


def test_other_numbers_of_inputs_are_refused():
    with pytest.raises(InputError, match="have two inputs, got 3"):
        to_shallow_plane(network(3, 4, 1), (-1, 1))
