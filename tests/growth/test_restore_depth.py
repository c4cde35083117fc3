"""A state of a model brings back its layers too: whatever was inserted, widened or trained in between."""

from __future__ import annotations

import copy

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

import creases
from creases.errors import InputError
from creases.growth._checkpoint import ModelState, load_checkpoint, load_optimizer_state, save_checkpoint
from creases.network.surgery import inserted_layers
from growth_runs import conv, mlp, same_tensors

ACTIONS = st.lists(st.tuples(st.sampled_from(["widen", "deepen", "train"]), st.integers(0, 99)), max_size=5)
OPTIMIZERS = {
    "adam": lambda model: torch.optim.Adam(model.parameters(), lr=0.05),
    "groups": lambda model: torch.optim.AdamW(
        [{"params": [p for p in model.parameters() if p.ndim > 1]}, {"params": [model[0].bias, model[2].bias]}], lr=0.05
    ),
    "sgd": lambda model: torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9),
}


def inputs(*shape: int) -> torch.Tensor:
    return torch.randn((6, *shape), generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def widths(model, x) -> dict[str, int]:
    return {place.name: place.width for place in creases.places(model, X=x)}


def change(model, optimizer, x, actions) -> None:
    """Widen, deepen and train, at the places that the numbers choose."""
    for action, number in actions:
        found = creases.places(model, X=x)
        place = found[number % len(found)]
        if action == "train":
            optimizer.zero_grad()
            (model(x) - 1).square().mean().backward()
            optimizer.step()
        elif action == "widen":
            layer = model.get_submodule(place.name)
            rows = torch.randn(
                (1, *layer.weight.shape[1:]), generator=torch.Generator().manual_seed(number), dtype=x.dtype
            )
            creases.widen(model, place, rows, optimizer=optimizer)
        else:
            creases.deepen(model, place, optimizer=optimizer, X=x)


def take(model, optimizer, x) -> tuple[ModelState, dict, torch.Tensor]:
    return (
        ModelState.from_model(model, widths(model, x)),
        copy.deepcopy(optimizer.state_dict()),
        model(x).detach().clone(),
    )


def check_restored(model, optimizer, x, state, numbers, outputs) -> None:
    assert torch.equal(model(x), outputs)
    assert all(torch.equal(value, state.tensors[name]) for name, value in model.state_dict().items())
    assert widths(model, x) == state.widths
    after = optimizer.state_dict()
    assert after["param_groups"] == numbers["param_groups"]
    assert after["state"].keys() == numbers["state"].keys()
    for key, values in numbers["state"].items():
        assert all(
            torch.equal(torch.as_tensor(after["state"][key][name]), torch.as_tensor(v)) for name, v in values.items()
        )
    held = {id(p) for group in optimizer.param_groups for p in group["params"]}
    assert {id(p) for p in model.parameters()} >= held
    assert set(optimizer.state) <= {p for group in optimizer.param_groups for p in group["params"]}


@pytest.mark.slow
@pytest.mark.parametrize("kind", OPTIMIZERS)
@settings(max_examples=12, deadline=None)
@given(first=ACTIONS, between=ACTIONS)
def test_a_model_returns_exactly_from_any_steps_to_any_state(kind, first, between):
    model, x = mlp(2, 3, 1), inputs(2)
    optimizer = OPTIMIZERS[kind](model)
    start = take(model, optimizer, x)
    change(model, optimizer, x, first)
    middle = take(model, optimizer, x)
    change(model, optimizer, x, between)
    for state, numbers, outputs in (middle, start, middle):  # back, further back, and forth again
        state.restore(model, x, optimizer)
        load_optimizer_state(optimizer, copy.deepcopy(numbers))
        check_restored(model, optimizer, x, state, numbers, outputs)


@pytest.mark.slow
@settings(max_examples=12, deadline=None)
@given(actions=ACTIONS)
def test_a_fresh_model_takes_a_deepened_state_from_a_file(tmp_path_factory, actions):
    fresh, x = mlp(2, 3, 1), inputs(2)
    model = copy.deepcopy(fresh)
    optimizer, other = OPTIMIZERS["groups"](model), OPTIMIZERS["groups"](fresh)
    change(model, optimizer, x, actions)
    state, numbers, outputs = take(model, optimizer, x)
    path = tmp_path_factory.mktemp("checkpoint") / "run.pt"
    save_checkpoint(path, {"model": state.to_dict(), "optimizer": numbers})
    saved = load_checkpoint(path)
    ModelState.from_dict(saved["model"]).restore(fresh, x, other)
    load_optimizer_state(other, saved["optimizer"])
    check_restored(fresh, other, x, state, numbers, outputs)
    change(model, optimizer, x, [("train", 0)])
    change(fresh, other, x, [("train", 0)])
    assert same_tensors(model, fresh)


def test_layers_inserted_in_another_order_leave_the_optimizer_in_that_of_the_state():
    model, x = mlp(2, 3, 3, 1), inputs(2)
    optimizer = torch.optim.Adam(model.parameters())
    start = take(model, optimizer, x)
    change(model, optimizer, x, [("deepen", 0), ("deepen", 2), ("train", 0)])
    goal = take(model, optimizer, x)
    start[0].restore(model, x, optimizer)
    change(model, optimizer, x, [("deepen", 1), ("deepen", 0)])
    assert inserted_layers(model) != goal[0].inserted
    goal[0].restore(model, x, optimizer)
    load_optimizer_state(optimizer, copy.deepcopy(goal[1]))
    check_restored(model, optimizer, x, *goal)


@pytest.mark.parametrize("bend", [nn.LeakyReLU, nn.PReLU])
def test_pairs_of_units_after_a_leaky_bend_are_restored(bend):
    model = nn.Sequential(nn.Linear(2, 3), bend(), nn.Linear(3, 1)).double()
    x = inputs(2)
    optimizer = torch.optim.Adam(model.parameters())
    start = take(model, optimizer, x)
    change(model, optimizer, x, [("deepen", 0), ("widen", 0), ("widen", 2), ("widen", 1), ("train", 0)])
    deep = take(model, optimizer, x)
    for state, numbers, outputs in (start, deep):
        state.restore(model, x, optimizer)
        load_optimizer_state(optimizer, copy.deepcopy(numbers))
        check_restored(model, optimizer, x, state, numbers, outputs)


def test_a_deepened_convolution_is_restored_with_its_kernel():
    model, x = conv().double(), inputs(1, 6, 6)
    optimizer = torch.optim.Adam(model.parameters())
    start = take(model, optimizer, x)
    creases.deepen(model, creases.places(model, X=x)[0], kernel=5, optimizer=optimizer, X=x)
    change(model, optimizer, x, [("widen", 0), ("widen", 1), ("train", 0)])
    deep = take(model, optimizer, x)
    for state, numbers, outputs in (start, deep):
        state.restore(model, x, optimizer)
        load_optimizer_state(optimizer, copy.deepcopy(numbers))
        check_restored(model, optimizer, x, state, numbers, outputs)


def test_the_layers_of_another_model_are_refused():
    deep, x = mlp(2, 3, 3, 1), inputs(2)
    creases.deepen(deep, "2")
    with pytest.raises(InputError):
        ModelState.from_model(deep, widths(deep, x)).restore(mlp(2, 3, 1), x)
