"""Networks built for Boolean functions are right at every point (Theorem 3.3.2 and section 3.3.2)."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import creases
from creases import boolean
from creases.boolean._constructions import deep_network, margin, wide_network
from creases.boolean.intervals._constructions import layers_needed, units_needed
from creases.errors import InputError

LEAKS = [0.0, 0.1]


def hidden(model):
    return [layer.out_features for layer in model if isinstance(layer, torch.nn.Linear)][:-1]


@pytest.fixture(scope="module")
def classes():
    return [(f, boolean.swaps(f, 4).changes) for f in map(int, boolean.npn_classes(4).representatives)]


@pytest.mark.thorough
@pytest.mark.parametrize("sharp", [True, False])
@pytest.mark.parametrize("leak", LEAKS)
def test_all_222_classes_of_four_bits_are_solved_by_one_layer(classes, leak, sharp):
    assert len(classes) == 222
    for f, swaps in classes:
        model = wide_network(f, 4, leak=leak, sharp=sharp)
        assert sum(hidden(model)) == units_needed(swaps, leak=leak, sharp=sharp)
        assert margin(model, f, 4) >= (0.15 if sharp else 0.499)


@pytest.mark.thorough
@pytest.mark.parametrize("width", [2, 3])
@pytest.mark.parametrize("leak", LEAKS)
def test_all_222_classes_of_four_bits_are_solved_by_narrow_layers(classes, leak, width):
    for f, swaps in classes:
        model = deep_network(f, 4, width, leak=leak)
        assert len(hidden(model)) == layers_needed(swaps, width, leak=leak)
        assert max(hidden(model), default=0) <= width
        assert margin(model, f, 4) >= 0.01


@pytest.mark.slow
def test_along_its_weights_a_network_changes_sign_as_often_as_the_function_swaps():
    for f in (1785, 7140, 27030, 278):
        model, weights = wide_network(f, 4), boolean.swaps(f, 4).weights
        across = creases.line(creases.read(model), np.zeros(4), weights / (weights @ weights), infinite=True)
        assert len(across.boundary().t) == boolean.swaps(f, 4).changes


@pytest.mark.slow
def test_functions_of_five_and_six_bits_with_the_most_swaps_known():
    for f, n, swaps in ((26990475, 5, 9), (0x8B9B5D3A8741CFD4, 6, 15)):
        model = wide_network(f, n)
        assert hidden(model) == [swaps - 1]
        assert margin(model, f, n) > 0
        assert margin(deep_network(f, n, 2), f, n) > 0


def test_given_weights_serve_more_bits_than_swaps_can_be_found_for():
    f = boolean.parity(12)
    assert hidden(wide_network(f, 12, weights=np.ones(12))) == [11]
    assert margin(wide_network(f, 12, weights=np.ones(12)), f, 12) > 0.49
    assert margin(deep_network(f, 12, 4, weights=np.ones(12), leak=0.1), f, 12) > 0


def test_constants_need_no_hidden_layer():
    for f, sign in ((0, -1), (15, 1)):
        for model in (wide_network(f, 2), deep_network(f, 2, 2)):
            assert hidden(model) == []
            assert model(torch.zeros(1, 2).double()).item() == sign
            assert margin(model, f, 2) == 1


def test_the_margin_is_negative_where_a_point_is_wrong():
    assert margin(wide_network(6, 2), 7, 2) < 0


def test_the_margin_is_of_modules_in_any_precision():
    assert margin(wide_network(6, 2).float(), 6, 2) == pytest.approx(margin(wide_network(6, 2), 6, 2))


def test_modules_that_do_not_fit_have_no_margin():
    with pytest.raises(InputError, match=r"model must accept inputs of shape \(4, 2\)"):
        margin(torch.nn.Linear(3, 1), 6, 2)
    with pytest.raises(InputError, match="model must have one output for each of 4 inputs, got 8 numbers"):
        margin(torch.nn.Linear(2, 2), 6, 2)


def test_modules_are_in_float64_and_bend_as_asked():
    assert isinstance(wide_network(6, 2)[1], torch.nn.ReLU)
    leaky = wide_network(6, 2, leak=0.25)
    assert leaky[1].negative_slope == 0.25
    assert {parameter.dtype for parameter in leaky.parameters()} == {torch.float64}


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, 2, 3], "weights must be 2 finite numbers, one per bit"),
        ([1, np.nan], "weights must be 2 finite numbers, one per bit"),
        (["a", "b"], "weights must be an array of numbers"),
        ([1, 0], "weights must map inputs of different classes to different places"),
    ],
)
def test_weights_that_do_not_fit_are_refused(weights, message):
    with pytest.raises(InputError, match=message):
        wide_network(0b1000, 2, weights=weights)


def test_functions_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match="f must be from 0 to"):
        wide_network(16, 2)
    with pytest.raises(InputError, match="n must be an integer from 1 to"):
        deep_network(0, 7, 2)


def test_a_leak_so_near_one_that_rounding_spoils_the_network_is_refused():
    with pytest.raises(InputError, match=r"leak must be far enough below 1 for a network in float64, got 0\.9+"):
        [deep_network(int(f), 4, 2, leak=1 - 1e-12) for f in boolean.npn_classes(4).representatives]


def test_fewer_than_no_changes_are_refused():
    for needed in (boolean.intervals.units_needed, lambda changes: boolean.intervals.layers_needed(changes, 2)):
        with pytest.raises(InputError, match="changes must be at least 0, got -1"):
            needed(-1)
