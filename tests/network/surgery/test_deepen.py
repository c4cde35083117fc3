"""Inserting a layer that starts as the identity after any supported nonlinearity."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import creases
from creases.errors import InputError
from surgery_models import built, inputs, mlp, snapshot

BENDS = [
    nn.ReLU,
    nn.ReLU6,
    nn.Hardtanh,
    lambda: nn.ReLU(inplace=True),
    lambda: nn.LeakyReLU(0.3),
    lambda: nn.LeakyReLU(-0.5, inplace=True),
    nn.PReLU,
]


@pytest.mark.parametrize("bend", BENDS)
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 1e-6)])
def test_a_new_layer_behind_any_bend_starts_as_the_identity(bend, dtype, tolerance):
    model, x = mlp(bend).to(dtype), 5 * inputs((3,), dtype=dtype)
    before = model(x)
    done = creases.deepen(model, "0", X=x)
    assert (model(x) - before).abs().max() <= tolerance * before.abs().max()
    assert done.change <= tolerance * before.abs().max()
    assert (done.action, done.place_name, done.bound) == ("deepen", "1.1", 0)
    assert done.parameters_after == sum(p.numel() for p in model.parameters()) > done.parameters_before


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("conv", "0"),
        ("conv", "2"),
        ("norm_pool", "0"),
        ("norm_pool", "4"),
        ("norm_pool", "10"),
        ("residual", "blocks.0.conv1"),
        ("residual", "blocks.0.last"),
        ("branches", "first"),
        ("sequence", "up"),
        ("upsampling", "1"),
    ],
)
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 1e-6)])
@pytest.mark.parametrize("kernel", [1, 3])
def test_a_new_layer_starts_as_the_identity_in_any_model(name, place, dtype, tolerance, kernel):
    model, shape = built(name, dtype)
    x = inputs(shape, dtype=dtype)
    before = model(x)
    done = creases.deepen(model, place, kernel=kernel, X=x)
    assert done.change <= tolerance * max(1, before.abs().max())
    assert done.place_name in [place.name for place in creases.places(model, shape, refused=True)]
    assert {p.dtype for p in model.parameters()} == {dtype}


def test_all_other_modules_keep_their_names_and_numbers():
    model, _ = built("mlp")
    before = snapshot(model)
    creases.deepen(model, "0")
    after = model.state_dict()
    assert all(torch.equal(after[key], before[key]) for key in before)
    assert sorted(set(after) - set(before)) == ["1.1.bias", "1.1.weight"]


def test_layers_can_follow_one_another_and_be_widened():
    model, x = mlp().double(), inputs((3,))
    before = model(x)
    first = creases.deepen(model, "0")
    second = creases.deepen(model, first.place_name)
    creases.widen(model, second.place_name, torch.ones(2, 5))
    assert [place.name for place in creases.places(model)] == ["0", "1.1", "1.2.1", "2"]
    assert torch.allclose(model(x), before, rtol=0, atol=1e-14)


def test_the_bend_stays_the_object_it_is_and_its_hooks_fire_once():
    model = mlp()
    act, calls = model[1], []
    act.register_forward_hook(lambda *_: calls.append(1))
    model.train()
    act.eval()
    creases.deepen(model, "0")
    assert calls == []
    model(torch.ones(1, 3))
    assert calls == [1]
    assert model[1][0] is act
    assert [part.training for part in model[1]] == [False] * 3
    assert model.training


def test_the_new_layer_learns():
    model = mlp(lambda: nn.LeakyReLU(0.1)).double()
    creases.deepen(model, "0")
    model(inputs((3,))).square().sum().backward()
    assert all(p.grad.any() for p in model[1].parameters())


class Functional(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.act = nn.Linear(3, 4), nn.Linear(4, 4), nn.ReLU()
        self.c, self.soft = nn.Linear(4, 4), nn.GELU()
        self.d, self.leak = nn.Linear(4, 2), nn.LeakyReLU(-1.0)

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu(self.a(x))
        x = self.act(self.act(self.b(x)))
        return self.d(self.leak(self.soft(self.c(x))))


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("a", "'a', followed by relu called as a function; make it a module.*self.act = torch.nn.ReLU"),
        ("b", "called once per run, got 'act', called 2 times; add a module per call"),
        ("act", "got 'act', called 2 times"),
        ("soft", "followed by ReLU, .*, got 'soft', which is GELU"),
        ("c", r"'c', followed by \['soft', 'leak'\]; pass the path of a nonlinearity's module"),
        ("leak", "slopes away from -1, .*, got 'leak' with one near -1"),
        ("d", "exactly one nonlinearity, got 'd', followed by none"),
        ("nothing", "got 'nothing'; this model's layers are 'a', 'b', 'c', 'd', its nonlinearities 'act', 'leak'"),
        ("", "followed by ReLU, .*, got '', which is Functional"),
    ],
)
def test_what_cannot_be_deepened_is_refused_with_the_reason(place, message):
    model = Functional()
    before = list(model.named_modules())
    with pytest.raises(InputError, match=message):
        creases.deepen(model, place)
    assert list(model.named_modules()) == before


@pytest.mark.parametrize("kernel", [2, 0, 1.5])
def test_kernels_are_odd(kernel):
    with pytest.raises(InputError, match="kernel must be an odd positive integer"):
        creases.deepen(mlp(), "0", kernel=kernel)


def test_a_lone_bend_has_no_name_to_go_by():
    with pytest.raises(InputError, match="inside a container, got the model itself"):
        creases.deepen(nn.ReLU(), "", input_shape=(3,))


def test_weights_and_biases_join_the_groups_of_the_layer_before():
    model = mlp()
    weights, biases = [p for p in model.parameters() if p.ndim > 1], [p for p in model.parameters() if p.ndim == 1]
    optimizer = torch.optim.SGD([{"params": weights}, {"params": biases}], lr=0.1)
    creases.deepen(model, "0", optimizer=optimizer)
    assert optimizer.param_groups[0]["params"][-1] is model[1][1].weight
    assert optimizer.param_groups[1]["params"][-1] is model[1][1].bias
