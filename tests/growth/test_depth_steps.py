"""Depth as a growth step: chosen where it pays, recorded, explained, budgeted and undone like any other."""

from __future__ import annotations

import copy
import json

import pytest
import torch
from torch.nn import functional as F

from creases.growth import Grower, GrowthConfig, History, Run
from creases.growth._proposal import DepthProposal
from creases.growth.methods import Tiny
from creases.growth.policies import SizeLimit
from creases.growth.policies._depth import WidthOrDepth, held_out_gain, new_layer
from creases.network import Place
from growth_runs import mlp, same_tensors, state, timeless


def train(model, x, y, steps: int = 200) -> None:
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(steps):
        optimizer.zero_grad()
        F.mse_loss(model(x), y).backward()
        optimizer.step()


def deep_target() -> tuple[torch.nn.Sequential, tuple[torch.Tensor, torch.Tensor]]:
    """The first layer of a network with two, and an output layer fitted to it: only the second layer is missing.

    With 20 inputs a unit costs 21 multiply-adds, a layer of four units 16.
    """
    x = torch.randn(800, 20, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    teacher, model = mlp(20, 4, 4, 1, seed=1), mlp(20, 4, 1)
    with torch.no_grad():
        for parameter in teacher.parameters():
            parameter.mul_(3)
        y = teacher(x)
        y = (y - y.mean()) / y.std()
        model[0].load_state_dict(teacher[0].state_dict())
        units = torch.cat([model[:2](x), torch.ones(len(x), 1)], 1)
        fit = torch.linalg.lstsq(units, y).solution
        model[2].weight.copy_(fit[:-1].T)
        model[2].bias.copy_(fit[-1])
    return model, (x, y)


def wide_target() -> tuple[torch.nn.Sequential, tuple[torch.Tensor, torch.Tensor]]:
    """A zigzag in one dimension and a network of eight units: a unit costs 2 multiply-adds, a layer 64."""
    x = torch.rand(800, 1, generator=torch.Generator().manual_seed(1), dtype=torch.float64) * 8 - 4
    y = (x.abs() - 2).abs() + (x - 1).relu().remainder(1.0)
    model = mlp(1, 8, 1)
    train(model, x, y)
    return model, (x, y)


def gain_by_width(model, data, units: int) -> float:
    """The held-out decrease by TINY's units, called as a run calls it."""
    at = state(model, data, how=Tiny(count=units))
    return at.propose(at.places[0]).explanation["line_search"]["gain"]


def test_depth_is_chosen_where_it_gains_more_for_the_same_multiply_adds():
    model, data = deep_target()
    at = state(model, data, how="tiny", where="width or depth")
    layer, place = at.where(at)
    assert isinstance(layer, DepthProposal)
    assert layer.multiply_adds == 16  # a unit costs 21
    assert layer.gain > gain_by_width(model, data, 1)
    assert layer.explanation["width"] == {"place": "0", "units": 1, "gain": gain_by_width(model, data, 1)}
    assert place.name == "0"


@pytest.mark.slow
@pytest.mark.parametrize("how", ["tiny", "gradmax", "random", "split"])
def test_width_is_chosen_where_that_gains_more_for_the_same_multiply_adds(how):
    model, data = wide_target()
    at = state(model, data, how=how, where="width or depth")
    place, *layers = at.where(at)
    assert isinstance(place, Place)
    assert all(layer.gain <= gain_by_width(model, data, 32) for layer in layers)  # 64 multiply-adds


@pytest.mark.slow
def test_with_several_layers_the_options_are_in_order():
    model, (x, y) = mlp(2, 3, 6, 1), wide_target()[1]
    x = torch.cat([x, x.flip(0)], 1)
    train(model, x, y)
    at = state(model, (x, y), how="tiny", where="width or depth")
    options = at.where(at)
    layers = [option for option in options if isinstance(option, DepthProposal)]
    assert len(layers) == 2
    assert layers == sorted(layers, key=lambda layer: layer.gain / layer.multiply_adds, reverse=True)
    costs = {"0": (2 + 6), "2": (3 + 1)}
    gains = {p.name: held_out_gain(at, p, max(1, round(layers[0].multiply_adds / costs[p.name]))) for p in at.places}
    names = [option.name for option in options if isinstance(option, Place)]
    assert names == sorted(gains, key=gains.get, reverse=True)
    assert (options[0] is layers[0]) == (layers[0].gain > max(gains.values()))


def test_places_without_a_layer_to_insert_are_still_options():
    model, (x, y) = mlp(1, 3, 1, bend=torch.nn.Tanh), wide_target()[1]
    at = state(model, (x, y), how="random", where="width or depth")
    assert [option.name for option in at.where(at)] == ["0"]
    assert new_layer(at, at.places[0]) is None


def run_on(model, data, **options) -> Run:
    config = GrowthConfig(
        **{"how": "tiny", "where": "width or depth", "when": 3, "budget": 8, "lr": 0.01} | options
    )
    return Run(model, data, "regression", config, validation=0.2)


def test_a_deepening_step_is_recorded_and_explained():
    run = run_on(*deep_target())
    run.start()
    run.epoch()
    before = copy.deepcopy(run.grower.state.model)
    record = run.grow_now()
    x = run.grower.state.samples.example()
    assert torch.equal(before(x), run.grower.state.model(x))
    assert (record.action, record.place, record.method, record.width) == ("deepen", "1.1", "depth", (0, 4))
    assert record.units == [0, 1, 2, 3]
    assert record.parameters[1] - record.parameters[0] == 20
    assert record.before == record.after
    assert record.predicted > 0
    assert "A layer of 4 units was inserted after '0' because its weights can reach" in record.why()
    assert "new units at '0' for the same multiply-adds " in record.explain()
    assert History.from_json(run.history.to_json()).records[0].explain() == record.explain()
    json.dumps(record.explanation)
    run.epoch()
    assert run.history.last["widths"] == {"0": 4, "1.1": 4}


def test_a_deepening_step_is_undone_and_made_again_exactly():
    run = run_on(*deep_target())
    run.start()
    run.epoch()
    start = run.snapshot()
    first = run.grow_now()
    run.epoch()
    deep = run.snapshot()
    run.restore(start)
    assert len(list(run.grower.state.model.modules())) == 4
    assert run.grower.widths == {"0": 4}
    again = run.grow_now()
    run.epoch()
    assert (again.predicted, again.place) == (first.predicted, first.place)
    assert all(torch.equal(v, deep.network.tensors[k]) for k, v in run.grower.state.model.state_dict().items())


@pytest.mark.slow
def test_a_killed_run_with_new_layers_ends_in_the_same_network(tmp_path):
    model, data = deep_target()
    fresh = copy.deepcopy(model)
    whole = run_on(model, data)
    whole.start()
    while not whole.history.ended:
        whole.epoch()
    whole.finish()
    assert {"deepen"} <= {record.action for record in whole.history.records}
    parts = copy.deepcopy(fresh)
    for epochs in (4, 100):  # killed after the first growth step, then to the end, in a fresh model
        parts = copy.deepcopy(fresh)
        run = run_on(parts, data)
        run.path = tmp_path / "run.pt"
        run.start()
        for _ in range(epochs):
            if not run.history.ended:
                run.epoch()
                run.save(0.0)
    run.finish()
    assert same_tensors(parts, model)
    assert timeless(run.history) == timeless(whole.history)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("limits", "fits"),
    [
        ({"parameters": 109}, True),
        ({"parameters": 108}, False),
        ({"units": 8}, True),
        ({"units": 7}, False),
        ({"flops": 2 * (84 + 16)}, True),
        ({"flops": 2 * (84 + 16) - 1}, False),
    ],
)
def test_a_layer_is_inserted_only_if_all_of_it_fits_the_budget(limits, fits):
    model, data = deep_target()  # 20-4-1: 89 parameters, 84 multiply-adds
    grower = Grower(model, None, data, "regression", how="tiny", where="width or depth", stop=SizeLimit(**limits))
    record = grower.grow_now()
    assert (record is not None and record.action == "deepen") == fits


def test_averages_of_the_weights_get_the_layer_too():
    model, data = deep_target()
    average = torch.optim.swa_utils.AveragedModel(model)
    with torch.no_grad():
        model[0].weight *= 1.01  # the average lags behind
    before = average(data[0])
    grower = Grower(model, None, data, "regression", how="tiny", where="width or depth", companions=[average])
    assert grower.grow_now().action == "deepen"
    assert torch.equal(average(data[0]), before)
    average.update_parameters(model)
    assert torch.equal(average.module[1][1].weight, model[1][1].weight)


def test_the_policy_is_known_by_its_name():
    assert GrowthConfig(where="width or depth").to_dict()["where"] == "width or depth"
    assert state(where="width or depth").where == WidthOrDepth()
