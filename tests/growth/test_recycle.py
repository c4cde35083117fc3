"""Units that no longer earn their place: which they are, what letting them go costs, and how."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

import creases
from creases.errors import InputError
from creases.growth._recycle import _observe_units, _unexplained_share, redundant_units, remove_redundant
from creases.growth.methods._first_order.observation import PlaceObserver
from surgery_models import MODELS, built, draw, inputs, mlp, snapshot


def fitted(model: nn.Module, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Targets that a model meets but for some noise, so that units that matter cost something."""
    with torch.no_grad():
        y = model(x)
    return x, y + 0.01 * y.std() * draw(5)(*y.shape).to(y)


def test_dead_constant_and_duplicate_units_cost_nothing_and_others_do():
    model, x = mlp().double(), inputs((3,), n=100)
    with torch.no_grad():
        model[0].bias.copy_(torch.tensor([0.1, -100.0, 7.0, 0.2, 0.3]))  # 1 never active
        model[0].weight[2] = 0  # constant 7
        model[0].weight[4], model[0].bias[4] = 3 * model[0].weight[3], 3 * model[0].bias[3]
    found = redundant_units(model, "0", fitted(model, x), nn.MSELoss())
    assert {one.unit for one in found} == {1, 2, 3, 4}
    assert all(abs(one.cost) < 1e-12 for one in found)
    assert all(one.unexplained < 1e-9 for one in found)


def test_each_release_leaves_the_function_as_it_is_until_no_unit_is_redundant():
    model, x = mlp().double(), inputs((3,), n=100)
    with torch.no_grad():
        model[0].weight[1], model[0].bias[1] = 0, -1.0
        model[0].weight[4], model[0].bias[4] = model[0].weight[3], model[0].bias[3]
    data = fitted(model, x)
    widths = []
    while found := redundant_units(model, "0", data, nn.MSELoss()):
        done = remove_redundant(model, "0", found[0], data=x)
        assert done.change < 1e-12
        assert done.bound is None
        widths.append(done.new_width)
    assert widths == [4, 3]


@pytest.mark.parametrize("name", [name for name in MODELS if name != "channels_last"])
def test_a_duplicate_is_found_and_released_at_every_kind_of_place(name):
    model, shape = built(name)
    x = inputs(shape, n=24)
    for place in MODELS[name][2]:
        copied = copy.deepcopy(model)
        _duplicate(copied, creases.places(copied, X=x), place)
        before = copied(x).detach()
        found = redundant_units(copied, place, fitted(copied, x), nn.MSELoss(), tolerance=0)
        assert {0, 1} <= {one.unit for one in found if abs(one.cost) < 1e-10}, place
        done = remove_redundant(copied, place, next(one for one in found if one.unit == 1), data=x)
        assert done.change < 1e-9
        assert torch.allclose(copied(x), before, atol=1e-9)


def _duplicate(model: nn.Module, places: list[creases.Place], name: str) -> None:
    """Make unit 1 a copy of unit 0, with what it passes, and its own columns left as they are."""
    place = next(one for one in places if one.name == name)
    producer = model.get_submodule(name)
    with torch.no_grad():
        rows = producer.weight.movedim(1 if isinstance(producer, nn.ConvTranspose1d) else 0, 0)
        rows[1] = rows[0]
        if producer.bias is not None:
            producer.bias[1] = producer.bias[0]
        for link in place.carriers:
            columns = link.columns(place.width)
            carrier = model.get_submodule(link.path)
            for tensor in [*carrier.parameters(), *carrier.buffers()]:
                if tensor.ndim == 1:
                    tensor[columns[1]] = tensor[columns[0]]


def test_a_unit_that_a_few_held_out_samples_by_chance_do_not_need_stays():
    model, x = mlp().double(), inputs((3,), n=100)
    data = fitted(model, x)
    without = copy.deepcopy(model)
    remove_redundant(without, "0", redundant_units(model, "0", data, nn.MSELoss(), tolerance=1e9)[0])
    few = (x[:5], without(x[:5]).detach())
    assert (
        redundant_units(model, "0", data, nn.MSELoss())
        == redundant_units(model, "0", data, nn.MSELoss(), validation=few)
        == []
    )
    told = redundant_units(model, "0", data, nn.MSELoss(), validation=few, tolerance=1e9)[0]
    assert told.cost == redundant_units(model, "0", data, nn.MSELoss(), tolerance=1e9)[0].cost > 0


def test_a_loss_that_diverged_is_told_as_such():
    model, x = mlp(), inputs((3,), n=10).float()
    with torch.no_grad():
        model[0].weight.fill_(torch.inf)
    with pytest.raises(InputError, match=r"use a smaller lr, or scale the data, if the training has diverged"):
        redundant_units(model, "0", (x, x[:, :2]), nn.MSELoss())


def test_what_stands_in_for_a_unit_is_its_least_squares_projection():
    model, x = mlp().double(), inputs((3,), n=60)
    found = redundant_units(model, "0", fitted(model, x), nn.MSELoss(), tolerance=1e9)
    assert len(found) == 5
    h = F.relu(model[0](x)).detach().numpy()
    for one in found:
        others = np.column_stack([np.delete(h, one.unit, axis=1), np.ones(len(h))])
        mix, rest, *_ = np.linalg.lstsq(others, h[:, one.unit])
        read = model[2].weight.detach().numpy()[:, one.unit]
        weight = np.delete(one.change["2.weight"].numpy(), one.unit, axis=1)
        assert np.allclose(weight, np.outer(read, mix[:-1]), atol=1e-10)
        assert np.allclose(one.change["2.bias"].numpy(), mix[-1] * read, atol=1e-10)
        assert np.isclose(one.unexplained, rest[0] / (h[:, one.unit].var() * len(h)), rtol=1e-6)
        reduced = copy.deepcopy(model)
        remove_redundant(reduced, "0", one)
        x_, y = fitted(model, x)
        cost = F.mse_loss(reduced(x_), y) - F.mse_loss(model(x_), y)
        assert np.isclose(one.cost, float(cost.detach()), rtol=1e-8, atol=1e-12)
    assert [one.cost for one in found] == sorted(one.cost for one in found)


def test_the_screening_of_all_units_from_one_inverse_is_that_of_each_alone():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        model = nn.Sequential(nn.Linear(4, 40), nn.ReLU(), nn.Linear(40, 2)).double()
    x = inputs((4,), n=300)
    watch = PlaceObserver.from_model(model, "0", nn.MSELoss(), x)
    found = _unexplained_share(_observe_units(watch, [(x, None)])[0])
    h = F.relu(model[0](x)).detach().numpy()
    for unit in range(40):
        others = np.column_stack([np.delete(h, unit, axis=1), np.ones(len(h))])
        rest = h[:, unit] - others @ np.linalg.lstsq(others, h[:, unit])[0]
        assert np.isclose(found[unit], rest.var() / max(h[:, unit].var(), 1e-300), rtol=1e-5, atol=1e-8)


def test_batches_and_the_losses_reduction_make_no_difference():
    model, x = mlp().double(), inputs((3,), n=40)
    x, y = fitted(model, x)
    whole = redundant_units(model, "0", (x, y), nn.MSELoss(), tolerance=10)
    parts = redundant_units(model, "0", [(x[:7], y[:7]), (x[7:], y[7:])], nn.MSELoss(), tolerance=10)
    assert [one.unit for one in whole] == [one.unit for one in parts]
    assert np.allclose([one.cost for one in whole], [one.cost for one in parts], rtol=1e-9)


def test_the_model_its_mode_gradients_and_random_numbers_are_left_alone():
    model, shape = built("norm_pool")
    model.train()
    x = inputs(shape)
    data = (x, torch.zeros(16, 2, dtype=torch.float64))
    before, state = snapshot(model), torch.random.get_rng_state()
    redundant_units(model, "4", data, nn.MSELoss(), tolerance=1)
    assert all(torch.equal(old, new) for old, new in zip(before.values(), model.state_dict().values(), strict=True))
    assert all(module.training for module in model.modules())
    assert all(parameter.grad is None for parameter in model.parameters())
    assert torch.equal(state, torch.random.get_rng_state())


def test_the_optimizers_state_of_what_stays_is_carried():
    model, x = mlp().double(), inputs((3,), n=30)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    y = torch.zeros(30, 2, dtype=torch.float64)
    for _ in range(3):
        optimizer.zero_grad()
        F.mse_loss(model(x), y).backward()
        optimizer.step()
    moments = optimizer.state[model[0].weight]["exp_avg"].clone()
    one = redundant_units(model, "0", (x, y), nn.MSELoss(), tolerance=1e9)[0]
    remove_redundant(model, "0", one, optimizer)
    keep = [unit for unit in range(5) if unit != one.unit]
    assert torch.equal(optimizer.state[model[0].weight]["exp_avg"], moments[keep])
    F.mse_loss(model(x), y).backward()
    optimizer.step()


def test_one_unit_always_stays():
    model = nn.Sequential(nn.Linear(2, 1), nn.ReLU(), nn.Linear(1, 1))
    x = torch.ones(3, 2)
    assert redundant_units(model, "0", (x, x[:, :1]), nn.MSELoss()) == []


def test_without_a_bias_behind_it_a_constant_unit_is_not_replaced_by_the_bias():
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 1, bias=False)).double()
    with torch.no_grad():
        model[0].weight.copy_(torch.tensor([[1.0, 0.0], [0.0, 0.0]]))
        model[0].bias.copy_(torch.tensor([0.0, 2.0]))
        model[2].weight.fill_(1.0)
    x = inputs((2,), n=50)
    assert redundant_units(model, "0", fitted(model, x), nn.MSELoss()) == []


def test_a_perfect_fit_does_not_make_rounding_a_cost():
    model, x = mlp().float(), inputs((3,), n=50).float()
    with torch.no_grad():
        model[0].weight[4], model[0].bias[4] = 3 * model[0].weight[3], 3 * model[0].bias[3]
        y = model(x)
    assert {3, 4} == {one.unit for one in redundant_units(model, "0", (x, y), nn.MSELoss())}


def test_one_sample_makes_every_unit_a_constant():
    model, x = mlp().double(), inputs((3,), n=1)
    found = redundant_units(model, "0", (x, model(x).detach() + 1), nn.MSELoss())
    assert len(found) == 5
    assert all(abs(one.cost) < 1e-9 for one in found)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tolerance": -1}, "tolerance must be a finite number at least 0, got -1"),
        ({"tolerance": float("nan")}, "tolerance must be a finite number at least 0"),
        ({"batches": []}, "batches must have at least one sample"),
        (
            {"batches": (torch.full((2, 3), torch.nan), torch.zeros(2, 2))},
            "loss must be finite on the batches, got nan",
        ),
        ({"place": "9"}, "place must be one of this model's places, .*, got '9'"),
    ],
)
def test_bad_arguments_are_refused(change, message):
    x = torch.zeros(4, 3)
    arguments = {"place": "0", "batches": (x, torch.zeros(4, 2)), "loss": nn.MSELoss()} | change
    with pytest.raises(InputError, match=message):
        redundant_units(mlp(), **arguments)


def test_a_unit_found_before_another_was_released_is_refused_and_nothing_is_changed():
    model, x = mlp().double(), inputs((3,), n=30)
    one, two = redundant_units(model, "0", fitted(model, x), nn.MSELoss(), tolerance=1e9)[:2]
    remove_redundant(model, "0", one)
    before = snapshot(model)
    with pytest.raises(
        InputError, match=r"unit must fit the model, got a change of shape \(4, 5\) for '2\.weight', which has shape"
    ):
        remove_redundant(model, "0", two)
    assert all(torch.equal(old, new) for old, new in zip(before.values(), model.state_dict().values(), strict=True))


def test_where_the_removal_is_refused_the_refit_is_undone():
    model, x = mlp().double(), inputs((3,), n=30)
    one = redundant_units(model, "0", fitted(model, x), nn.MSELoss(), tolerance=1e9)[0]
    before = snapshot(model)
    other = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=0.1)
    with pytest.raises(InputError, match="optimizer must hold parameters of the model, got none of them"):
        remove_redundant(model, "0", one, other)
    assert all(torch.equal(old, new) for old, new in zip(before.values(), model.state_dict().values(), strict=True))
