"""Which widths of a model can grow, what they cost, and why others cannot."""

from __future__ import annotations

import re

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import creases
from creases.errors import InputError
from surgery_models import MODELS, built, mlp, snapshot


class Forward(nn.Module):
    """Layers by name, and a function of them and the input."""

    def __init__(self, forward, **layers):
        super().__init__()
        for name, layer in layers.items():
            setattr(self, name, layer)
        self.code = forward

    def forward(self, x: Tensor) -> Tensor:
        return self.code(self, x)


def reasons(model, shape):
    return {place.name: place.reason for place in creases.places(model, shape, refused=True)}


@pytest.mark.parametrize("name", MODELS)
def test_the_places_of_a_model_are_found_without_being_declared(name):
    model, shape = built(name)
    assert [place.name for place in creases.places(model, shape)] == MODELS[name][2]


def test_data_stand_in_for_the_input_shape():
    model = Forward(
        lambda m, x: m.b(F.relu(m.a(m.table(x)))), table=nn.Embedding(9, 3), a=nn.Linear(3, 4), b=nn.Linear(4, 2)
    )
    (place,) = creases.places(model, X=torch.tensor([1, 5, 8]))
    assert (place.name, place.width, place.bend) == ("a", 4, "relu")


def test_a_place_says_what_lies_between_and_where_its_units_go():
    model, shape = built("norm_pool")
    first, second, third = creases.places(model, shape)
    assert (first.bend, first.norm, first.between) == ("relu", True, ("1", "2", "3"))
    assert (second.bend, second.between) == ("leaky_relu", ("5", "6", "7", "8", "9"))
    assert [(link.path, link.run, link.blocks) for link in second.consumers] == [("10", 4, 1)]
    assert (third.bend, [link.path for link in third.carriers]) == ("prelu", ["11", "12"])


def test_a_join_gives_units_an_offset_and_channels_last_a_stride():
    model, shape = built("channels_last")
    one, two = creases.places(model, shape)
    assert (one.consumers[0].start, one.consumers[0].blocks, one.consumers[0].stride) == (0, 16, 4)
    assert (two.consumers[0].start, two.consumers[0].blocks, two.consumers[0].stride) == (1, 16, 4)


def test_units_that_enter_several_layers_have_several_consumers():
    model, shape = built("branches")
    first = creases.places(model, shape)[0]
    assert [link.path for link in first.consumers] == ["left", "right", "last"]


@pytest.mark.parametrize("name", MODELS)
def test_the_cost_is_what_one_more_unit_adds_to_the_parameters(name):
    model, shape = built(name)
    for where in MODELS[name][2]:
        place = next(place for place in creases.places(model, shape) if place.name == where)
        weight = model.get_submodule(place.name).weight
        axis = 1 if isinstance(model.get_submodule(place.name), nn.ConvTranspose1d) else 0
        done = creases.widen(model, place.name, torch.zeros_like(weight.movedim(axis, 0)[:1]), input_shape=shape)
        assert done.parameters_after - done.parameters_before == place.cost == done.place.cost


def test_looking_for_places_leaves_the_model_and_random_numbers_alone():
    model, shape = built("norm_pool")
    model.train()
    model[1].eval()
    seen = []
    model[0].register_forward_hook(lambda *_: seen.append(1))
    before, weights, state = snapshot(model), list(model.parameters()), torch.random.get_rng_state()
    creases.places(model, shape)
    assert all(torch.equal(tensor, before[key]) for key, tensor in model.state_dict().items())
    assert all(new is old for new, old in zip(model.parameters(), weights, strict=True))
    assert torch.equal(torch.random.get_rng_state(), state)
    assert model.training
    assert not model[1].training
    assert seen == []


def test_widths_tied_through_a_residual_sum_are_refused_with_both_names():
    why = reasons(*built("residual"))
    assert "'stem'" in why["blocks.0.conv2"]
    assert "residual sum" in why["stem"]
    assert why["head"] == "its units are the model's output"
    assert why["blocks.0.conv1"] == ""


def test_a_sum_with_the_input_fixes_the_width():
    assert "fixed" in reasons(*built("sequence"))["down"] or "output" in reasons(*built("sequence"))["down"]
    model = Forward(lambda m, x: m.b(F.relu(m.a(x) + x)), a=nn.Linear(3, 3), b=nn.Linear(3, 2))
    assert "add combines them with values of a fixed width" in reasons(model, (3,))["a"]


def linear(n, m):
    return nn.Linear(n, m)


def shared_layer():
    return Forward(lambda m, x: m.c(m.b(m.b(m.a(x)))), a=linear(3, 4), b=linear(4, 4), c=linear(4, 1)), (3,)


def tied_weights():
    model = Forward(lambda m, x: m.c(m.b(m.a(x))), a=linear(4, 4), b=linear(4, 4), c=linear(4, 4))
    model.c.weight = model.a.weight
    return model, (4,)


def depthwise():
    return nn.Sequential(nn.Conv2d(2, 4, 3), nn.Conv2d(4, 4, 3, groups=4), nn.Conv2d(4, 2, 1)), (2, 7, 7)


def hard_coded_view():
    layers = {"a": nn.Conv2d(1, 4, 3), "b": linear(4 * 36, 2)}
    return Forward(lambda m, x: m.b(F.relu(m.a(x)).view(-1, 4 * 36)), **layers), (1, 8, 8)


def own_scale():
    layers = {"a": linear(3, 4), "b": linear(4, 2), "scale": nn.Parameter(torch.ones(4))}
    return Forward(lambda m, x: m.b(m.a(x) * m.scale), **layers), (3,)


def normalised():
    return nn.Sequential(linear(3, 4), nn.LayerNorm(4), linear(4, 2)), (3,)


def gated():
    return Forward(lambda m, x: m.b(torch.mul(*m.a(x).chunk(2, dim=1))), a=linear(3, 4), b=linear(2, 1)), (3,)


def softened():
    return Forward(lambda m, x: m.b(torch.softmax(m.a(x), 1)), a=linear(3, 4), b=linear(4, 1)), (3,)


def averaged():
    return Forward(lambda m, x: m.b(m.a(x).mean(1, keepdim=True)), a=linear(3, 4), b=linear(1, 1)), (3,)


def narrow_average():
    return Forward(lambda m, x: m.b(m.a(x).mean(1, keepdim=True)), a=linear(3, 1), b=linear(1, 1)), (3,)


def sliced():
    return Forward(lambda m, x: m.b(m.a(x)[:, :2]), a=linear(3, 4), b=linear(2, 1)), (3,)


def parametrized():
    layer = nn.utils.parametrizations.weight_norm(linear(3, 4))
    return nn.Sequential(layer, nn.ReLU(), linear(4, 1)), (3,)


def parametrized_consumer():
    layer = nn.utils.parametrizations.weight_norm(linear(4, 1))
    return nn.Sequential(linear(3, 4), nn.ReLU(), layer), (3,)


def unused():
    return Forward(lambda m, x: m.b(x), a=linear(3, 4), b=linear(3, 1)), (3,)


def by_hand():
    layers = {"a": linear(3, 4), "weight": nn.Parameter(torch.ones(1, 4))}
    return Forward(lambda m, x: F.linear(m.a(x), m.weight), **layers), (3,)


def written():
    def forward(m, x):
        out = torch.zeros(len(x), 4)
        out += m.a(x)
        return m.b(out)

    return Forward(forward, a=linear(3, 4), b=linear(4, 1)), (3,)


def across():
    return Forward(lambda m, x: m.b(F.relu(m.a(x))), a=nn.Conv2d(1, 4, 3), b=linear(4, 1)), (1, 6, 6)


def as_number():
    return Forward(lambda m, x: m.b(m.a(x)) * m.a2(x).sum().item(), a=linear(3, 4), a2=linear(3, 4), b=linear(4, 1)), (
        3,
    )


def sideways():
    """A path that cannot be followed, as it leaves torch."""

    def forward(m, x):
        h = m.a(x)
        return m.b(h) + torch.from_numpy(h.detach().numpy().copy()).norm()

    return Forward(forward, a=linear(3, 4), b=linear(4, 1)), (3,)


REFUSED = {
    shared_layer: {"a": "'b', which is used more than once", "b": "used more than once"},
    tied_weights: {"a": "a.weight is shared with another layer", "c": "c.weight is shared"},
    depthwise: {"0": "'1', a convolution in 4 groups", "1": "convolution in 4 groups"},
    hard_coded_view: {"a": "fails when it is wider.*may depend on the width 4"},
    own_scale: {"a": "fails when it is wider"},
    normalised: {"0": "enter layer_norm in '1'"},
    gated: {"a": "mul combines them with those of 'a'"},
    softened: {"a": "enter softmax, which units cannot be tracked through"},
    averaged: {"a": "mean mixes them"},
    narrow_average: {"a": "fails when it is wider"},
    sliced: {"a": "'b' reads only some of its units"},
    parametrized: {"0": "weight norm or another parametrization"},
    parametrized_consumer: {"0": "weight does not belong to a torch layer"},
    unused: {"a": "forward does not call it"},
    by_hand: {"a": "enter linear, whose weight does not belong to a torch layer"},
    written: {"a": "add writes them into another tensor"},
    across: {"a": "do not lie along the axis that 'b' reads"},
    as_number: {"a2": "sum mixes them"},
    sideways: {"a": "numpy, which units cannot be tracked through"},
}


@pytest.mark.parametrize("make", REFUSED)
def test_what_cannot_grow_is_refused_with_the_reason(make):
    why = reasons(*make())
    for name, pattern in REFUSED[make].items():
        assert re.search(pattern, why[name]), why


def test_the_spatial_mean_of_channels_is_no_mixture():
    model = Forward(lambda m, x: m.b(m.a(x).relu().amax((2, 3)).contiguous()), a=nn.Conv2d(1, 4, 3), b=linear(4, 1))
    assert [place.name for place in creases.places(model, (1, 6, 6))] == ["a"]


@pytest.mark.parametrize(
    "code",
    [
        lambda m, x: m.b(torch.nn.functional.silu(m.a(x))),
        lambda m, x: m.b((lambda h: h * torch.sigmoid(h))(m.a(x))),
        lambda m, x: m.b(torch.maximum(m.a(x), torch.tensor(0.1))),
        lambda m, x: m.b(torch.maximum(m.a(x), 0.1 * x[:, :1])),
        lambda m, x: m.b(torch.stack(m.a(x).unbind(1), dim=1).relu_()),
        lambda m, x: m.b(m.a(x).unsqueeze(1).expand(-1, 2, -1)[:, 1].clamp(min=0)),
        lambda m, x: m.b(m.a(x).abs() / 2 + 1),
        lambda m, x: m.b(F.linear(x, m.a.weight, m.a.bias).tanh().to(x.dtype)),
        lambda m, x: m.b(F.dropout(m.a(x).add_(1), 0.0)),
        lambda m, x: m.b(torch.cat([part.relu() for part in m.a(x).split(1, dim=1)], 1)),
        lambda m, x: m.b(m.a(x).reshape(len(x), 1, -1).transpose(1, 2).squeeze(2)),
    ],
)
def test_units_are_followed_through_any_code(code):
    model = Forward(code, a=linear(3, 4), b=linear(4, 1))
    assert reasons(model, (3,))["a"] == ""


@pytest.mark.parametrize(
    ("model", "shape", "message"),
    [
        ("mlp", None, "model must be a torch.nn.Module, got str"),
        (
            nn.Sequential(nn.Conv2d(1, 1, 3)),
            None,
            "input_shape must be given for a model that starts with a convolution",
        ),
        (mlp(), (4,), r"model must run on an example of shape \(2, 4\), got .*check input_shape"),
        (nn.Sequential(nn.LazyLinear(2)), (3,), "got lazy '0.weight'; run the model once"),
        (torch.jit.ScriptModule(), (3,), "must not be compiled by TorchScript"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_bad_models_are_refused(model, shape, message):
    with pytest.raises(InputError, match=message):
        creases.places(model, shape)


def test_bad_data_are_refused():
    with pytest.raises(InputError, match="X must be a tensor of inputs"):
        creases.places(mlp(), X=[[1.0, 2.0, 3.0]])
