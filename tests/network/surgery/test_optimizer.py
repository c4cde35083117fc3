"""Optimizer state after edits: old entries continue unchanged, new ones start with small steps."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

import creases
from creases.errors import InputError
from surgery_models import built, draw, inputs, mlp

OPTIMIZERS = {
    "adam": lambda p: torch.optim.Adam(p, lr=0.01),
    "adamw amsgrad": lambda p: torch.optim.AdamW(p, lr=0.01, amsgrad=True, weight_decay=0.1),
    "sgd": lambda p: torch.optim.SGD(p, lr=0.01),
    "momentum": lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9, nesterov=True, weight_decay=0.01),
    "rmsprop": lambda p: torch.optim.RMSprop(p, lr=0.01, momentum=0.5, centered=True),
    "adagrad": lambda p: torch.optim.Adagrad(p, lr=0.01, initial_accumulator_value=0.3),
    "rprop": lambda p: torch.optim.Rprop(p, lr=0.01),
    "nadam": lambda p: torch.optim.NAdam(p, lr=0.01),
    "asgd": lambda p: torch.optim.ASGD(p, lr=0.01),
    "adadelta": lambda p: torch.optim.Adadelta(p),
}
NEW = {"adagrad": {"sum": 0.3}, "rprop": {"step_size": 0.01}}  # all else starts at zero,
SECOND = {"adam", "adamw amsgrad", "nadam"}  # but the second moments of these at a hundredth of their mean


def step(model: nn.Module, optimizer: torch.optim.Optimizer, seed: int) -> None:
    x = draw(seed)(8, 3)
    optimizer.zero_grad()
    model(x).square().sum().backward()
    optimizer.step()


def trained(make, steps: int = 3):
    torch.manual_seed(0)
    model = mlp(nn.Tanh).double()
    optimizer = make(model.parameters())
    for seed in range(steps):
        step(model, optimizer, seed)
    return model, optimizer


def old_block(tensor, like):
    """The entries of a grown tensor that were there before."""
    return tensor[tuple(slice(n) for n in like.shape)]


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_old_entries_keep_their_state_bit_for_bit_and_new_ones_start(name):
    model, optimizer = trained(OPTIMIZERS[name])
    old = {key: (p.detach().clone(), copy.deepcopy(optimizer.state[p])) for key, p in model.named_parameters()}
    creases.widen(model, "0", draw(1)(2, 3), optimizer=optimizer)
    assert {id(p) for group in optimizer.param_groups for p in group["params"]} == {id(p) for p in model.parameters()}
    assert set(optimizer.state) <= set(model.parameters())
    for key, parameter in model.named_parameters():
        before, state = old[key]
        assert torch.equal(old_block(parameter.detach(), before), before)
        assert set(optimizer.state[parameter]) == set(state)
        for what, value in state.items():
            now = optimizer.state[parameter][what]
            if not isinstance(value, torch.Tensor) or value.shape != before.shape:
                assert now == value or (isinstance(value, torch.Tensor) and torch.equal(now, value))
                continue
            assert now.shape == parameter.shape
            assert torch.equal(old_block(now, value), value)
            new = torch.ones_like(now, dtype=torch.bool)
            old_block(new, value).fill_(False)
            start = NEW.get(name, {}).get(what, 0.0)
            if name in SECOND and what.endswith("exp_avg_sq"):
                start = 0.01 * sum(value.flatten().tolist()) / value.numel()
                assert start > 0
            assert now[new].tolist() == pytest.approx([start] * int(new.sum()), rel=1e-12)


@pytest.mark.parametrize("size", [1.0, 1e-3])
@pytest.mark.parametrize("name", ["adam", "adamw amsgrad"])
def test_the_first_step_of_a_new_unit_is_no_larger_than_the_learning_rate(name, size):
    """The gradients of all entries have the same size, so that each step on old weights is the learning rate."""
    layers = nn.Linear(3, 4, bias=False), nn.Linear(4, 2, bias=False)
    model = nn.Sequential(layers[0], nn.ReLU(), layers[1]).double()
    optimizer = OPTIMIZERS[name](model.parameters())
    for _ in range(500):
        for parameter in model.parameters():
            parameter.grad = torch.full_like(parameter, size)
        optimizer.step()
    creases.widen(model, "0", torch.zeros(2, 3), optimizer=optimizer)
    before = model[0].weight.detach().clone()
    for parameter in model.parameters():
        parameter.grad = torch.full_like(parameter, size)
    optimizer.step()
    steps = (model[0].weight.detach() - before).abs() / 0.01
    assert steps[4:].max() <= 1.0
    assert steps[4:].min() > 0.5
    assert torch.allclose(steps[4:], steps[4, 0].expand(2, 3))


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_the_next_step_on_old_weights_is_what_it_would_have_been(name):
    """Silent units give old weights no gradient of their own."""
    model, optimizer = trained(OPTIMIZERS[name])
    plain, plain_optimizer = trained(OPTIMIZERS[name])
    creases.widen(model, "2", draw(2)(3, 5), draw(3)(3), optimizer=optimizer)
    step(model, optimizer, 9)
    step(plain, plain_optimizer, 9)
    for new, old in zip(model.parameters(), plain.parameters(), strict=True):
        assert torch.allclose(old_block(new.detach(), old), old, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_removing_the_new_units_gives_the_old_state_back(name):
    model, optimizer = trained(OPTIMIZERS[name])
    before = copy.deepcopy(optimizer.state_dict())
    done = creases.widen(model, "0", draw(1)(2, 3), optimizer=optimizer)
    creases.remove(model, done.place, [5, 6], optimizer=optimizer)
    after = optimizer.state_dict()
    assert after["param_groups"] == before["param_groups"]
    for key, state in before["state"].items():
        for what, value in state.items():
            now = after["state"][key][what]
            assert torch.equal(now, value) if isinstance(value, torch.Tensor) else now == value


def test_parameters_stay_in_their_groups_and_schedulers_go_on():
    model = mlp()
    biases = [p for name, p in model.named_parameters() if "bias" in name]
    weights = [p for name, p in model.named_parameters() if "weight" in name]
    groups = [{"params": weights, "lr": 0.1, "weight_decay": 0.5}, {"params": biases, "lr": 0.01}]
    optimizer = torch.optim.AdamW(groups)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)
    model(torch.ones(2, 3)).sum().backward()
    optimizer.step()
    scheduler.step()
    group = optimizer.param_groups[0]
    creases.widen(model, "0", torch.ones(2, 3), optimizer=optimizer)
    creases.deepen(model, "2", optimizer=optimizer)
    assert optimizer.param_groups[0] is group
    assert [p.shape for p in group["params"][:3]] == [(7, 3), (4, 7), (2, 4)]
    assert [p.shape for p in group["params"][3:]] == [(4, 4)]  # the new layer's, beside its producer's
    assert [p.shape for p in optimizer.param_groups[1]["params"]] == [(7,), (4,), (2,), (4,)]
    model(torch.ones(2, 3)).sum().backward()
    optimizer.step()
    scheduler.step()
    assert group["lr"] == pytest.approx(0.025)
    assert group["weight_decay"] == 0.5


def test_a_saved_optimizer_loads_into_one_grown_the_same_way():
    model, optimizer = trained(OPTIMIZERS["adam"])
    twin, other = trained(OPTIMIZERS["adam"], steps=1)
    for net, its in ((model, optimizer), (twin, other)):
        creases.widen(net, "0", draw(4)(2, 3), optimizer=its)
    twin.load_state_dict(model.state_dict())
    other.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    step(model, optimizer, 5)
    step(twin, other, 5)
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), twin.parameters(), strict=True))


def test_names_of_parameters_in_groups_are_kept():
    model = mlp()
    optimizer = torch.optim.Adam(model.named_parameters())
    creases.deepen(model, "0", optimizer=optimizer)
    group = optimizer.param_groups[0]
    assert len(group["params"]) == len(group["param_names"])
    assert group["param_names"][-2:] == ["1.1.weight", "1.1.bias"]


def test_frozen_layers_that_the_optimizer_does_not_hold_are_left_out_of_it():
    model = mlp()
    model[0].requires_grad_(False)
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad])
    creases.widen(model, "0", torch.ones(1, 3), optimizer=optimizer)
    assert len(optimizer.param_groups[0]["params"]) == 4
    assert not model[0].weight.requires_grad


def test_convolutions_with_batch_norm_carry_all_their_state():
    model, shape = built("norm_pool")
    optimizer = torch.optim.Adam(model.parameters())
    x = inputs(shape)
    model.train()
    for _ in range(2):
        model(x).square().sum().backward()
        optimizer.step()
    creases.widen(model, "4", draw(1)(2, 3, 3, 3), optimizer=optimizer, input_shape=shape)
    for parameter in model.parameters():
        assert all(value.shape in ((), parameter.shape) for value in optimizer.state[parameter].values())
    model(x).square().sum().backward()
    optimizer.step()


class Odd(torch.optim.SGD):
    """Remembers something that is not by entry."""

    def __init__(self, parameters) -> None:
        super().__init__(parameters, lr=0.1)
        for group in self.param_groups:
            for parameter in group["params"]:
                self.state[parameter]["rows"] = torch.zeros(len(parameter), 9)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda model: torch.optim.LBFGS(model.parameters()), "store its state per parameter, got LBFGS"),
        (lambda model: torch.optim.Adam(mlp().parameters()), "hold parameters of the model, got none of them"),
        (lambda model: "adam", "must be a torch.optim.Optimizer, got str"),
        (lambda model: Odd(model.parameters()), r"here \(5, 3\), got 'rows' of shape \(5, 9\); create a new optimizer"),
    ],
)
def test_optimizers_that_cannot_be_carried_are_refused_before_anything_is_changed(make, message):
    model = mlp()
    optimizer, tensors = make(model), list(model.parameters())
    for edit in (
        lambda: creases.widen(model, "0", torch.ones(1, 3), optimizer=optimizer),
        lambda: creases.remove(model, "0", [0], optimizer=optimizer),
    ):
        with pytest.raises(InputError, match=message):
            edit()
    assert all(new is old for new, old in zip(model.parameters(), tensors, strict=True))
    assert model[0].out_features == 5
