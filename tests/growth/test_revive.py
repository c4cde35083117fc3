"""Dead layers come to life: some samples are on the active side of every unit."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

import creases
from creases.growth import grow
from creases.growth._growth_steps import dead_units, revive_units
from growth_runs import classes, conv, mlp, normed, round_robin, values
from thorough_cases import keep


def killed(model, names):
    with torch.no_grad():
        for name in names:
            layer = model.get_submodule(name)
            layer.weight.copy_(-layer.weight.abs())
            layer.bias.fill_(-50.0)
    return model


def test_units_that_are_zero_on_every_sample_are_dead_and_no_others():
    model, (x, y) = mlp(3, 5, 2), classes()
    with torch.no_grad():
        model[0].bias[1], model[0].bias[4] = -100.0, -100.0
    assert dead_units(model, creases.places(model)[0], [(x[:50], y[:50]), (x[50:], y[50:])]) == [1, 4]


@pytest.mark.parametrize("bend", [nn.LeakyReLU, nn.Tanh])
def test_units_of_other_bends_do_not_die(bend):
    model = killed(mlp(3, 2, 2, bend=bend), ["0"])
    assert dead_units(model, creases.places(model)[0], [classes()]) == []


def test_units_behind_a_batch_norm_do_not_die():
    model = killed(normed(), ["0"])
    assert dead_units(model, creases.places(model)[0], [classes()]) == []


@pytest.mark.slow
@given(st.integers(1, 6), st.integers(1, 40), st.integers(0, 100), st.sampled_from([1e-6, 1.0, 1e6]))
def test_revived_units_are_active_on_some_samples(width, n, seed, scale):
    model = killed(mlp(3, width, 2), ["0"])
    x, y = classes(n)
    x = scale * x
    place = creases.places(model)[0]
    revive_units(model, place, [(x[: n // 2], y[: n // 2]), (x[n // 2 :], y[n // 2 :])], list(range(width)), seed)
    assert dead_units(model, place, [(x, y)]) == []


def test_without_a_bias_units_turn_to_the_side_of_the_mean():
    model = nn.Sequential(nn.Linear(2, 6, bias=False), nn.ReLU(), nn.Linear(6, 1)).double()
    x = torch.rand(20, 2, dtype=torch.float64) + 1
    with torch.no_grad():
        model[0].weight.copy_(-model[0].weight.abs())
    place = creases.places(model)[0]
    assert dead_units(model, place, [(x, x)]) == list(range(6))
    revive_units(model, place, [(x, x)], list(range(6)), 0)
    assert dead_units(model, place, [(x, x)]) == []


def test_only_the_dead_units_change_and_an_outgoing_weight_of_zero_too():
    model, (x, y) = mlp(3, 4, 2), classes()
    with torch.no_grad():
        model[0].bias[2] = -100.0
        model[2].weight[:, 2] = 0.0
    before = [tensor.clone() for tensor in model.parameters()]
    revive_units(model, creases.places(model)[0], [(x, y)], [2], 0)
    rest = [0, 1, 3]
    assert torch.equal(model[0].weight[rest], before[0][rest])
    assert torch.equal(model[2].weight[:, rest], before[2][:, rest])
    assert model[2].weight[:, 2].all()


def test_dead_channels_of_a_convolution_come_to_life():
    model = killed(conv(), ["0", "2"])
    x, y = classes(20, (1, 6, 6))
    for place in creases.places(model, X=x):
        assert dead_units(model, place, [(x, y)]) == [0, 1]
        revive_units(model, place, [(x, y)], [0, 1], 0)
        assert dead_units(model, place, [(x, y)]) == []


@pytest.mark.slow
@pytest.mark.parametrize("how", keep(["tiny", "fold", "gradmax", "random", "split"], "tiny", "fold"))
def test_a_dead_one_by_one_start_is_drawn_anew_and_grows(how):
    model = killed(mlp(3, 1, 1, 2), ["0", "2"])
    x, _ = classes()
    y = (x[:, 0] + 0.7 * x[:, 1].abs() > 0.5).long()
    grown = grow(
        model,
        (x, y),
        "classification",
        how=how,
        when=20,
        where=round_robin,
        budget=61,
        lr=0.02,
        weight_decay=0.1,
        schedule="constant",
    )
    revived = [record for record in grown.history.records if record.action == "revive"]
    assert [(record.place, record.epoch) for record in revived[:2]] == [("0", 0), ("2", 0)]
    assert "was dead (0 on every sample) and was reinitialised" in revived[0].explain()
    if how != "fold":  # which needs a boundary between classes, and may find that one unit makes none
        assert any(record.action != "revive" for record in grown.history.records)


def test_a_layer_that_cannot_come_to_life_does_not_keep_the_run_from_ending():
    x = torch.zeros(20, 2, dtype=torch.float64)  # and no bias: nothing is ever active
    model = nn.Sequential(nn.Linear(2, 2, bias=False), nn.ReLU(), nn.Linear(2, 1)).double()
    grown = grow(model, (x, torch.ones(20, 1)), "regression", how="random", when=2, budget=9)
    assert grown.history.ended
    assert [record.action for record in grown.history.records[:4]] == ["revive", "revive", "revive", "grow"]


def test_a_single_sample_revives_a_unit():
    model = killed(mlp(1, 1, 1), ["0"])
    x, y = values(1)
    grown = grow(model, (x, y), "regression", how="random", when=2, budget=3)
    assert grown.history.records[0].action == "revive"
    assert (model[:2](x) > 0).any()
