"""Growth steps: within limits of size, where they are worth it."""

from __future__ import annotations

import pytest
import torch

from creases.growth import Grower, GrowthConfig, Run, grow
from creases.growth._growth_steps import stage_widths, widen_places
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
    run.state.limit = limit
    widen_places(run.state, stage_widths(run.state, 64.0))
    widths = [place.width for place in run.state.places]
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
    state = run.state
    assert state.untrained
    state.untrained = untrained
    before = state.model[2].weight.detach().square().mean().sqrt()
    record = widen_places(state, {"0": 32})
    new = state.model[2].weight.detach()[:, 2:]
    assert float(new.square().mean().sqrt() / before) == pytest.approx(size, rel=0.3)
    assert record.explanation["fan_out"] == pytest.approx(size)
    assert ("their weights are as in an untrained network" in record.explain()) == untrained
