"""Removing units: the remaining weights, the certificate, refused arguments."""

from __future__ import annotations

import copy

import pytest
import torch
import torch.nn.functional as F

import creases
from creases.errors import InputError
from surgery_models import built, inputs, mlp


def test_a_narrower_network_is_the_smaller_network_written_out():
    model, x = mlp().double(), inputs((3,))
    old = copy.deepcopy(model)
    done = creases.remove(model, "0", [3, 0], X=x)
    keep = [1, 2, 4]
    h = F.relu(F.linear(x, old[0].weight[keep], old[0].bias[keep]))
    expected = old[4](F.relu(F.linear(h, old[2].weight[:, keep], old[2].bias)))
    assert torch.allclose(model(x), expected, rtol=0, atol=1e-14)
    assert (done.old_width, done.new_width, done.bound) == (5, 3, None)
    assert done.parameters_before - done.parameters_after == 2 * (3 + 1 + 4)
    assert done.change == (model(x) - old(x)).abs().max()


def test_a_channel_goes_with_its_batch_norm_entries_and_flattened_columns():
    model, shape = built("norm_pool")
    x = inputs(shape)
    old = copy.deepcopy(model)
    with torch.no_grad():
        old[10].weight[:, 4:8] = 0  # the columns of channel 1
    done = creases.remove(model, "4", [1], input_shape=shape)
    assert torch.allclose(model(x), old(x), rtol=0, atol=1e-12)
    assert done.bound is None
    assert model[5].running_var.tolist() == old[5].running_var[[0, 2, 3]].tolist()


def test_removing_units_that_nothing_reads_is_certified_to_change_nothing():
    model, x = mlp().double(), inputs((3,))
    with torch.no_grad():
        model[2].weight[:, [1, 4]] = 0
    done = creases.remove(model, "0", torch.tensor([4, 1]), X=x)
    assert done.bound == 0
    assert done.change <= 1e-14


@pytest.mark.parametrize(
    ("units", "message"),
    [
        ([5], r"units must be from 0 to 4 for '0', got \[5\]"),
        ([-1], r"units must be from 0 to 4 for '0', got \[-1\]"),
        ([], r"one or more distinct indices, got \[\]"),
        ([1, 1], r"one or more distinct indices, got \[1, 1\]"),
        (range(5), "leave at least one unit of '0', got all 5"),
        ([0.5], "units must be a list of indices"),
        (3, "units must be a list of indices"),
    ],
)
def test_bad_units_are_refused_and_nothing_is_changed(units, message):
    model = mlp()
    tensors = list(model.parameters())
    with pytest.raises(InputError, match=message):
        creases.remove(model, "0", units)
    assert all(new is old for new, old in zip(model.parameters(), tensors, strict=True))


def test_a_width_that_cannot_grow_cannot_shrink():
    model, shape = built("residual")
    with pytest.raises(InputError, match=r"be able to change its width, got 'stem': add in 'blocks\.0' combines them"):
        creases.remove(model, "stem", [0], input_shape=shape)
