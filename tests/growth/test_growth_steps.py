"""Growth steps: within limits of size, where they are worth it."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from creases.growth import Grower, GrowthConfig, Run, grow
from creases.growth._growth_steps import note_outcomes, remove_dead, resize_places, stage_widths
from creases.growth._state import SizeLimit
from creases.growth.methods import Split
from growth_runs import classes, mlp

# limits of size


def test_units_of_a_users_method_that_cannot_be_cut_are_left_out_and_growth_ends():
    def how(model, place, evidence):
        return Split(count=3)(model, place, evidence)

    model = mlp(3, 3, 2)
    options = {"how": how, "when": 1, "max_parameters": 32}
    grower = Grower(model, None, classes(), "classification", **options)
    grower.step()
    assert grower.history.growth_ended == "no proposed unit fits within the size limits"
    assert model[0].out_features == 3


@pytest.mark.slow
@pytest.mark.parametrize("limit", [SizeLimit(parameters=150), SizeLimit(units=20)])
def test_a_stage_widens_all_layers_evenly_where_not_all_of_it_fits(limit):
    run = Run(mlp(3, 2, 2, 2, 2, seed=1), classes(100), "classification", GrowthConfig(how="random", where="all"))
    run.start()
    run.grower.state.limit = limit
    resize_places(run.grower.state, stage_widths(run.grower.state, 64.0))
    widths = [place.width for place in run.grower.state.places]
    assert min(widths) > 2
    assert max(widths) <= min(widths) + 1


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("limit", "sizes"),
    [({"max_units": 8}, (5, 2, 10)), ({"max_parameters": 120}, (5, 2, 10)), ({"max_units": 11}, (3, 2, 2, 2))],
)
def test_no_network_of_a_race_exceeds_the_limits_of_size(limit, sizes):
    x = torch.randn(120, sizes[0], generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    y = (10 * x[:, 0].abs()).long() % sizes[-1]
    seen = []

    def watch(state):
        units = sum(place.width for place in state.places)
        seen.append(units if "max_units" in limit else state.parameters)

    grow(mlp(*sizes), (x, y), "classification", loop="sized", budget=120, callbacks=[watch], progress=False, **limit)
    assert len(set(seen)) > 1  # larger networks were tried
    assert max(seen) <= next(iter(limit.values()))


@pytest.mark.parametrize(("untrained", "size"), [(True, (2 / 32) ** 0.5), (False, 1e-3)])
def test_units_of_an_untrained_network_get_outgoing_weights_as_large_as_its_layers_would_have(untrained, size):
    x, y = classes(300)
    wide = torch.nn.functional.pad(x, (0, 20))  # too many inputs for folds
    run = Run(mlp(23, 2, 2, seed=1), (wide, y), "classification", GrowthConfig())
    run.start()
    state = run.grower.state
    assert state.untrained
    state.untrained = untrained
    before = state.model[2].weight.detach().square().mean().sqrt()
    record = resize_places(state, {"0": 32})
    new = state.model[2].weight.detach()[:, 2:]
    assert float(new.square().mean().sqrt() / before) == pytest.approx(size, rel=0.3)
    assert record.explanation["fan_out"] == pytest.approx(size)
    assert ("their weights are as in an untrained network" in record.explain()) == untrained


def test_dead_units_are_removed_and_the_function_stays():
    x, y = classes(200)
    run = Run(mlp(3, 6, 4, 2, seed=1), (x, y), "classification", GrowthConfig())
    state = run.grower.state
    with torch.no_grad():
        state.model[0].bias[[1, 4]] = -1000.0
        before = state.model(x)
    remove_dead(state)
    assert run.grower.widths["0"] == 4
    torch.testing.assert_close(state.model(x), before, rtol=0, atol=1e-12)
    assert (
        "Units 1, 4 of '0' were dead (0 on every sample drawn) and were removed." in state.history.records[0].explain()
    )
    remove_dead(state)
    assert len([record for record in state.history.records if record.place == "0"]) == 1


@pytest.mark.parametrize("pays", [True, False])
def test_dead_units_are_removed_when_growth_has_found_a_larger_size(pays):
    x, y = classes(200)
    grower = Grower(mlp(3, 6, 2, seed=1), None, (x, y), "classification")
    with torch.no_grad():
        grower.state.model[0].bias[1] = -1000.0
    grower.history.stages.append({"pays": pays, "factor": 4.0, "widths": {"0": 6}, "widths_before": {"0": 1}})
    grower.note()
    grower.history.growth_ended = "there is a reason"
    grower.decide()
    assert grower.widths == {"0": 5 if pays else 6}


def test_a_fold_is_not_looked_at_again_after_its_inputs_were_removed():
    x, y = classes(200)
    grower = Grower(mlp(3, 6, 4, 2, seed=1), None, (x, y), "classification", how="fold", where="2")
    grower.note()
    record = grower.grow_now()
    with torch.no_grad():
        grower.state.model[0].bias[1] = -1000.0
    grower.state.where = lambda state: [place for place in state.places if place.name == "0"]
    remove_dead(grower.state)
    assert grower.widths["0"] == 5
    grower.note()
    grower.history.growth_ended = "there is a reason"
    before = dict(record.explanation)
    note_outcomes(grower.state)
    assert record.later["epoch"] == grower.history.epochs[-1]["epoch"]
    assert record.explanation == before


class Reads(torch.nn.Module):
    """A layer whose units something else reads too, or that are shifted before they bend."""

    def __init__(self, read):
        super().__init__()
        torch.manual_seed(0)
        self.a, self.b, self.d = (torch.nn.Linear(3, 6), torch.nn.Linear(6, 2), torch.nn.Linear(6, 2))
        self.read = read
        self.double()

    def forward(self, x):
        return self.read(self, self.a(x))


@pytest.mark.parametrize(
    "read",
    [
        lambda m, h: m.b(F.relu(h)) + m.d(h),
        lambda m, h: m.b(F.relu(h)) + m.d(F.relu(-h)),
        lambda m, h: m.b(F.relu(h) + 1),
        lambda m, h: m.b(F.relu(h + 10)),
    ],
)
def test_units_that_something_else_reads_are_not_removed(read):
    x, y = classes(200)
    grower = Grower(Reads(read), None, (x, y), "classification")
    model = grower.state.model
    with torch.no_grad():
        model.a.weight[1], model.a.bias[1] = 0.0, -3.0
        before = model(x)
    remove_dead(grower.state)
    assert torch.equal(model(x), before)


def test_dead_units_stay_at_places_that_do_not_grow_and_where_a_companion_may_use_them():
    for options in ({"where": "2"}, {"companions": [torch.optim.swa_utils.AveragedModel(mlp(3, 6, 4, 2, seed=1))]}):
        grower = Grower(mlp(3, 6, 4, 2, seed=1), None, classes(200), "classification", **options)
        with torch.no_grad():
            grower.state.model[0].bias[1] = -1000.0
        remove_dead(grower.state)
        assert grower.widths["0"] == 6
