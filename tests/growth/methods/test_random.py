"""Random units: everywhere, by a seed, with the exact slope along their outgoing weights."""

from __future__ import annotations

import pytest
import torch

import creases
from creases.errors import InputError
from creases.growth._explanation import explain
from creases.growth.methods._random import random_units
from creases.network.surgery import find_place
from first_order import apply_to_copy, data, loss, mean_loss, mlp
from surgery_models import MODELS, built


@pytest.mark.parametrize("name", MODELS)
def test_the_gain_is_the_slope_along_the_outgoing_weights_at_every_place(name):
    model, shape = built(name)
    model = model.double().eval()
    x, y = data(shape, 30)
    out = model(x)
    target = y[:, None].expand(len(x), out[0].numel()).reshape(out.shape).double()
    square = torch.nn.MSELoss()
    for place in creases.places(model, shape):
        proposal = random_units(model, place, (x, target), square, count=2, fan_out=1.0, seed=3)
        small = [proposal.scale(1.0, step) for step in (1e-4, 5e-5)]
        falls = [
            (mean_loss(model, x, target, square) - mean_loss(apply_to_copy(model, p), x, target, square)) for p in small
        ]
        found = 2 * falls[1] / 5e-5 - falls[0] / 1e-4
        assert found == pytest.approx(proposal.gain, rel=1e-4, abs=1e-9)


def test_units_of_a_layer_without_bias_have_none():
    x, y = data()
    model = torch.nn.Sequential(torch.nn.Linear(x.shape[1], 3, bias=False), torch.nn.ReLU(), mlp()[2]).double()
    model[2] = torch.nn.Linear(3, model[2].out_features).double()
    proposal = random_units(model, "0", (x, y), loss, count=2)
    assert apply_to_copy(model, proposal)[0].weight.shape == (5, x.shape[1])


def test_without_outgoing_weights_no_sample_is_needed_and_the_function_stays():
    model, batches = mlp(), data()
    place = find_place(model, "0", X=batches[0])
    alone = random_units(model, place, [], loss, count=3, fan_out=0.0)
    assert alone.gain == 0.0
    assert torch.allclose(apply_to_copy(model, alone)(batches[0]), model(batches[0]), rtol=0, atol=1e-15)
    assert torch.equal(alone.fan_in, random_units(model, place, batches, loss, count=3, fan_out=0.0).fan_in)
    with pytest.raises(InputError, match="batches must have at least one sample"):
        random_units(model, place, [], loss, count=3, fan_out=0.1)


def test_the_seed_decides_and_torchs_random_numbers_are_left_alone():
    model, (x, y) = mlp(), data()
    state = torch.get_rng_state()
    one, same, other = (random_units(model, "0", (x, y), loss, seed=seed) for seed in (1, 1, 2))
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.equal(one.fan_in, same.fan_in)
    assert not torch.equal(one.fan_in, other.fan_in)
    assert "the method draws units at random (seed 1)" in explain(one.explanation)
