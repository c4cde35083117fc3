"""Deep networks make a power of their width of changes (Theorems 3.3.3 and 3.3.4)."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import creases
from creases.boolean import all_inputs, parity, truth_table
from creases.boolean.intervals._sawtooth import max_changes_network, parity_network, sawtooth_network
from creases.errors import InputError


def hidden(model):
    return [layer.out_features for layer in model if isinstance(layer, torch.nn.Linear)][:-1]


@pytest.mark.parametrize("leak", [0.0, 0.1, 0.5])
@pytest.mark.parametrize(("width", "depth"), [(1, 1), (1, 3), (2, 1), (2, 8), (3, 4), (5, 2), (16, 1), (16, 2)])
def test_a_sawtooth_changes_sign_at_every_half(width, depth, leak):
    model, N = sawtooth_network(width, depth, leak=leak), width**depth
    assert hidden(model) == [width] * depth
    boundary = creases.line(creases.read(model), [0.0], [float(N)]).boundary()
    np.testing.assert_allclose(boundary.t * N, np.arange(N) + 0.5, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("leak", [0.0, 0.1])
def test_the_least_depth_of_every_width_solves_parity_at_all_points_to_16_bits(leak):
    for n in range(1, 17):
        X, sign = torch.from_numpy(all_inputs(n)).double(), 2.0 * truth_table(parity(n), n) - 1
        for width in range(2, 17):
            depth = next(depth for depth in range(1, 6) if width**depth >= n)
            model = parity_network(n, width, depth, leak=leak)
            assert hidden(model) == [width] * depth
            got = model(X).detach().numpy().ravel()
            assert (got == sign / 2).all() if leak == 0 else np.abs(got - sign / 2).max() < 1e-12


def test_parity_needs_enough_changes():
    with pytest.raises(
        InputError, match=r"depth must be large enough for 5 changes of sign, .* got width 2 and depth 2, which give 4"
    ):
        parity_network(5, 2, 2)


@pytest.mark.parametrize(
    ("width", "depth", "leak"),
    [(2, 1, 0.1), (2, 6, 0.1), (2, 6, 0.5), (3, 1, 0.0), (3, 5, 0.0), (3, 4, 0.1), (4, 3, 0.9), (9, 2, 0.0)],
)
def test_the_most_changes_there_can_be_are_made(width, depth, leak):
    model = max_changes_network(width, depth, leak=leak)
    assert hidden(model) == [width] * depth
    found = creases.line(creases.read(model), [0.0], [1.0], infinite=True)
    assert found.count == (width + 1) ** depth  # no network of this shape has more pieces
    assert len(found.boundary().t) == (width + 1) ** depth
    assert np.abs(found.boundary().t).max() < 1


@pytest.mark.parametrize(("width", "leak"), [(2, 0.0), (1, 0.5)])
def test_too_few_units_for_a_change_more_are_refused(width, leak):
    with pytest.raises(InputError, match="width must be at least 3, or 2 with a leak"):
        max_changes_network(width, 2, leak=leak)


def test_more_changes_than_numbers_are_refused():
    with pytest.raises(InputError, match=r"depth must give at most 2\^52 changes"):
        sawtooth_network(2, 60)
