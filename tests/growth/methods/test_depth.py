"""A new layer is worth what the loss on held-out samples loses along its best move."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

import creases
from creases.errors import InputError
from creases.growth import apply
from creases.growth._cost import count_cost
from creases.growth.methods._depth import _best_move, propose_depth
from creases.growth.methods._tiny.growth_sample import gather_sample
from growth_runs import conv, mlp, normed, same_tensors


def table(n: int = 300, inputs: tuple[int, ...] = (3,), seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """A target that is a bend of a bend."""
    x = torch.randn((n, *inputs), generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    flat = x.flatten(1)
    return x, ((flat[:, :1] - flat[:, 1:2].abs()).abs() - flat[:, 2:3].relu()).abs()


def insert_and_move(model, place, batches, loss, validation):
    """The deepened model, with the new layer moved by one step of its best move."""
    twin = copy.deepcopy(model)
    name = creases.deepen(twin, place, X=batches[0]).place_name
    move = _best_move(gather_sample(twin, name, batches, loss, validation)).weight.T
    return twin, twin.get_submodule(name), move


def test_the_best_move_is_least_squares_of_what_the_next_layer_cannot_give():
    model, (x, y) = mlp(3, 4, 1), table()
    _, _, move = insert_and_move(model, "0", (x, y), nn.MSELoss(), table(seed=1))
    b = model[1](model[0](x)).detach().numpy()
    ones = np.column_stack([b, np.ones(len(b))])
    goal = 2 * (y - model(x)).detach().numpy()
    rest = goal - ones @ np.linalg.lstsq(ones, goal, rcond=None)[0]
    wanted = rest @ model[2].weight.detach().numpy() * (b > 0)
    assert np.allclose(move.numpy(), np.linalg.lstsq(ones, wanted, rcond=None)[0].T, atol=1e-10)
    assert np.abs(move.numpy()).max() > 1e-3


MODELS = {
    "mlp": (lambda: mlp(3, 4, 1), "0", (3,)),
    "deep": (lambda: mlp(3, 4, 5, 1), "2", (3,)),
    "in place": (lambda: mlp(3, 4, 1, bend=lambda: nn.ReLU(inplace=True)), "0", (3,)),
    "leaky": (lambda: mlp(3, 4, 1, bend=nn.LeakyReLU), "0", (3,)),
    "dropout": (lambda: mlp(3, 4, 4, 1, dropout=0.5), "0", (3,)),
    "batch norm": (lambda: nn.Sequential(*normed()[:-1], nn.Linear(3, 1).double()), "0", (3,)),
    "conv": (lambda: nn.Sequential(*conv()[:-1], nn.Linear(32, 1).double()), "0", (1, 6, 6)),
    "flatten": (lambda: nn.Sequential(*conv()[:-1], nn.Linear(32, 1).double()), "2", (1, 6, 6)),
}


@pytest.mark.parametrize("name", MODELS)
def test_the_gain_is_the_decrease_of_the_loss_by_the_move_itself(name):
    make, place, shape = MODELS[name]
    model, batches, validation = make(), table(inputs=shape), table(inputs=shape, seed=1)
    proposal = propose_depth(model, place, batches, nn.MSELoss(), validation=validation)
    twin, layer, move = insert_and_move(model, place, batches, nn.MSELoss(), validation)
    search = proposal.explanation["line_search"]
    x, y = validation
    with torch.no_grad():
        assert F.mse_loss(twin.eval()(x), y).item() == pytest.approx(search["loss_before"])
        layer.weight += search["amplitude"] * move[:, :-1].reshape(layer.weight.shape)
        layer.bias += search["amplitude"] * move[:, -1]
        assert F.mse_loss(twin(x), y).item() == pytest.approx(search["loss_after"])
    assert proposal.gain == search["loss_before"] - search["loss_after"]
    assert (proposal.gain > 0) == (proposal.explanation["reason"] == "")


@pytest.mark.parametrize("name", MODELS)
def test_cost_and_name_are_those_of_the_layer_that_is_inserted(name):
    make, place, shape = MODELS[name]
    model, (x, y) = make(), table(inputs=shape)
    proposal = propose_depth(model, place, (x, y), nn.MSELoss())
    before = copy.deepcopy(model)
    done = apply(proposal, model, data=x)
    assert done.change <= 1e-12
    assert (done.place_name, done.new_width) == (proposal.name, proposal.count)
    assert done.parameters_after - done.parameters_before == proposal.parameters
    costs = []
    for network in (before, model):
        with count_cost() as cost, torch.no_grad():
            network.eval()(x[:1])
        costs.append(cost.multiply_adds)
    assert costs[1] - costs[0] == proposal.multiply_adds


def test_a_layer_is_inserted_without_data_too():
    model, (x, y) = conv(), table(inputs=(1, 6, 6))
    proposal = propose_depth(model, "0", (x, (y[:, 0] > 0.5).long()), nn.CrossEntropyLoss(), kernel=5)
    assert apply(proposal, model).new_width == 2
    assert model[1][1].kernel_size == (5, 5)


def test_a_proposal_changes_neither_the_model_nor_the_random_state():
    model, before = mlp(3, 4, 1, dropout=0.5).train(), mlp(3, 4, 1, dropout=0.5)
    random = torch.get_rng_state()
    propose_depth(model, "0", table(), nn.MSELoss())
    assert same_tensors(model, before)
    assert all(module.training for module in model.modules())
    assert torch.equal(torch.get_rng_state(), random)


def test_the_computation_is_counted_as_part_of_a_growth_step():
    model, batches = mlp(3, 4, 1), table()
    with count_cost() as cost:
        proposal = propose_depth(model, "0", batches, nn.MSELoss())
    assert cost.multiply_adds > 300 * proposal.multiply_adds


def test_without_a_goal_there_is_no_gain_and_a_reason():
    model, (x, _) = mlp(3, 4, 1), table()
    proposal = propose_depth(model, "0", (x, model(x).detach()), nn.MSELoss())
    assert proposal.gain == 0
    assert "no update" in proposal.explanation["reason"]


class Functional(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(3, 2).double(), nn.Linear(2, 1).double()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(F.relu(self.first(x)))


@pytest.mark.parametrize("model", [Functional(), mlp(3, 2, 1, bend=nn.Tanh)])
def test_bends_after_which_no_layer_can_be_inserted_are_refused(model):
    with pytest.raises(InputError, match="place must be followed by"):
        propose_depth(model, creases.places(model)[0], table(), nn.MSELoss())
