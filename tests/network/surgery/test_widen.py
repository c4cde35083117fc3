"""Adding units: the resulting function, the state of the model, refused arguments."""

from __future__ import annotations

import copy
import io
import pickle

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

import creases
from creases.errors import InputError
from surgery_models import MODELS, built, draw, inputs, mlp, norm_pool, snapshot

PLACES = [(name, place) for name, (_, _, places) in MODELS.items() for place in places]


def rows(model: nn.Module, name: str, k: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Random fan-in and bias for k units of a layer."""
    layer = model.get_submodule(name)
    axis = 1 if isinstance(layer, nn.ConvTranspose1d) else 0
    random = draw(seed)
    bias = torch.zeros(k) if layer.bias is None else random(k)
    return random(k, *layer.weight.movedim(axis, 0).shape[1:]), bias


def columns(model: nn.Module, place: creases.Place, k: int, seed: int = 1) -> dict[str, Tensor]:
    """Random fan-out (out, k, m, *kernel) for every consumer, without m where it is 1."""
    random = draw(seed)
    out = {}
    for link in place.consumers:
        layer = model.get_submodule(link.path)
        n_out, _, *kernel = layer.weight.movedim(0, 1 if isinstance(layer, nn.ConvTranspose1d) else 0).shape
        out[link.path] = random(n_out, k, *([link.per_unit] if link.per_unit > 1 else []), *kernel)
    return out


def place_of(model: nn.Module, shape: tuple[int, ...], name: str) -> creases.Place:
    return next(place for place in creases.places(model, shape) if place.name == name)


@pytest.mark.parametrize(("name", "where"), PLACES)
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 1e-6)])
def test_zero_fan_out_leaves_the_function_as_it_is(name, where, dtype, tolerance):
    model, shape = built(name, dtype)
    x = inputs(shape, dtype=dtype)
    before = model(x)
    done = creases.widen(model, where, *rows(model, where, 3), X=x, input_shape=shape)
    after = model(x)
    assert (after - before).detach().abs().max() <= tolerance * max(1.0, float(before.detach().abs().max()))
    assert done.change == float((after.double() - before.double()).abs().max().detach())
    assert done.bound == 0
    assert done.new_width == done.old_width + 3 == done.place.width
    assert {p.dtype for p in model.parameters()} == {dtype}


def test_a_wider_convolutional_network_is_the_larger_network_written_out():
    """Batch norm, max-pool, average pool and Flatten lie between."""
    model, shape = built("norm_pool")
    x, random = inputs(shape), draw(6)
    old = copy.deepcopy(model)
    first, second = random(2, 2, 3, 3), random(4, 2, 3, 3)
    mean, var = random(2), random(2).abs()
    creases.widen(
        model, "0", first, None, second, carriers={"1.running_mean": mean, "1.running_var": var}, input_shape=shape
    )
    third, a, fourth = random(1, 5, 3, 3), random(1), random(5, 1, 4)
    creases.widen(model, "4", third, a, fourth, input_shape=shape)
    fifth, b, sixth = random(2, 20), random(2), random(2, 2)
    creases.widen(model, "10", fifth, b, sixth, input_shape=shape)

    def norm(module: nn.Module, more_mean: Tensor, more_var: Tensor) -> tuple[Tensor, ...]:
        k = len(more_mean)
        pairs = (
            (module.running_mean, more_mean),
            (module.running_var, more_var),
            (module.weight, torch.ones(k)),
            (module.bias, torch.zeros(k)),
        )
        return tuple(torch.cat([part.double(), more.double()]) for part, more in pairs)

    one, zero = torch.full((1,), 1 - 1e-5, dtype=torch.float64), torch.zeros(1)
    h = F.conv2d(x, torch.cat([old[0].weight, first]), padding=1)
    h = F.max_pool2d(F.relu(F.batch_norm(h, *norm(old[1], mean, var))), 2)
    weight = torch.cat([torch.cat([old[4].weight, second], 1), third])
    h = F.conv2d(h, weight, torch.cat([old[4].bias, a]), padding=1)
    h = F.avg_pool2d(F.leaky_relu(F.batch_norm(h, *norm(old[5], zero, one)), 0.1), 2).flatten(1)
    weight = torch.cat([torch.cat([old[10].weight, fourth.flatten(1)], 1), fifth])
    h = F.linear(h, weight, torch.cat([old[10].bias, b]))
    h = F.batch_norm(h, *norm(old[11], zero.repeat(2), one.repeat(2)))
    h = F.prelu(h, torch.cat([old[12].weight, torch.full((2,), 0.25)]))
    expected = F.linear(h, torch.cat([old[14].weight, sixth], 1), old[14].bias)
    assert torch.allclose(model(x), expected, rtol=0, atol=1e-12)


def test_a_wider_residual_block_is_the_larger_network_written_out():
    model, shape = built("residual")
    x, random = inputs(shape), draw(8)
    old = copy.deepcopy(model)
    first, second = random(2, 4, 3, 3), random(4, 2, 3, 3)
    creases.widen(model, "blocks.0.conv1", first, None, second, input_shape=shape)
    block, h = old.blocks[0], old.stem(x)
    one = F.relu(F.conv2d(h, first, padding=1))  # batch norm leaves new units as they are
    inner = block.conv2(F.relu(block.bn1(block.conv1(h)))) + F.conv2d(one, second, padding=1)
    expected = old.head(old.blocks[1](F.relu(block.bn2(inner) + h)).mean((2, 3)))
    assert torch.allclose(model(x), expected, rtol=0, atol=1e-12)


def test_units_with_several_consumers_enter_each_with_its_own_columns():
    model, shape = built("branches")
    x, random = inputs(shape), draw(9)
    old = copy.deepcopy(model)
    A, a = random(2, 3), random(2)
    out = [random(3, 2), random(2, 2), random(2, 2)]
    creases.widen(model, "first", A, a, out)
    twin = copy.deepcopy(old)
    creases.widen(twin, "first", A, a, dict(zip(["left", "right", "last"], out, strict=True)))
    assert torch.equal(model(x), twin(x))
    h, new = F.relu(old.first(x)), F.relu(x @ A.T + a)
    joined = torch.cat([old.left(h) + new @ out[0].T, old.right(h) + new @ out[1].T], dim=1)
    expected = old.last(torch.cat([F.relu(old.norm(joined)), h], dim=1)) + new @ out[2].T
    assert torch.allclose(model(x), expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("where", ["one", "two"])
def test_channels_that_are_flattened_last_take_interleaved_columns(where):
    model, shape = built("channels_last")
    x, random = inputs(shape), draw(11)
    old = copy.deepcopy(model)
    A, a, out = random(2, 2, 3, 3), random(2), random(2, 2, 16)
    creases.widen(model, where, A, a, out, input_shape=shape)
    new = F.relu(F.conv2d(x, A, a, padding=1)).flatten(2)
    expected = old(x) + torch.einsum("okp,nkp->no", out, new)
    assert torch.allclose(model(x), expected, rtol=0, atol=1e-12)


def test_transposed_convolutions_grow_along_their_own_axes():
    model, shape = built("upsampling")
    x, random = inputs(shape), draw(12)
    old = copy.deepcopy(model)
    A, a, out = random(2, 2, 2), random(2), random(4, 2, 3)
    creases.widen(model, "0", A, a, out, input_shape=shape)
    new = F.relu(F.conv_transpose1d(x, A.transpose(0, 1), a, stride=2))
    h = old[2](old[1](old[0](x))) + F.conv_transpose1d(new, out.transpose(0, 1))
    assert torch.allclose(model(x), old[4](F.relu(h)), rtol=0, atol=1e-12)


@pytest.mark.parametrize(("name", "where"), PLACES)
def test_removing_the_new_units_undoes_widening_bit_for_bit(name, where):
    model, shape = built(name)
    before, text = snapshot(model), repr(model)
    place = place_of(model, shape, where)
    n = place.width
    done = creases.widen(model, place, *rows(model, where, 3), columns(model, place, 3))
    assert done.bound is None
    assert repr(model) != text
    done = creases.remove(model, done.place, [n + 1, n, n + 2])
    assert done.place == place
    assert repr(model) == text
    assert all(torch.equal(tensor, before[key]) for key, tensor in model.state_dict().items())


@pytest.mark.parametrize(("name", "where"), PLACES)
def test_the_certificates_place_is_the_one_that_would_be_found(name, where):
    model, shape = built(name)
    done = creases.widen(model, where, *rows(model, where, 2), input_shape=shape)
    assert done.place == place_of(model, shape, where)


def test_hooks_modes_frozen_weights_gradients_and_attributes_survive():
    model, shape = built("norm_pool")
    model.train()
    model[1].eval()
    model[0].weight.requires_grad_(False)
    model[4].weight.no_decay = True
    calls = []
    handle = model[4].register_forward_hook(lambda *_: calls.append("module"))
    model[4].bias.register_hook(lambda grad: calls.append("tensor"))
    model[4].bias.register_post_accumulate_grad_hook(lambda parameter: calls.append("after"))
    model(inputs(shape)).sum().backward()
    gradient = model[4].weight.grad.clone()
    calls.clear()
    creases.widen(model, "4", *rows(model, "4", 2), input_shape=shape)
    creases.widen(model, "0", *rows(model, "0", 2), input_shape=shape)
    assert [module.training for module in model] == [i != 1 for i in range(15)]
    assert calls == []
    assert [p.requires_grad for p in model.parameters()] == [False] + [True] * 13
    assert model[4].weight.no_decay
    assert torch.equal(model[4].weight.grad[:4, :3], gradient)
    assert not model[4].weight.grad[4:].any()
    assert all(isinstance(p, nn.Parameter) and p.is_leaf for p in model.parameters())
    model(inputs(shape)).sum().backward()
    assert calls == ["module", "tensor", "after"]
    handle.remove()


def test_channels_last_weights_stay_so():
    model, shape = built("conv")
    model.to(memory_format=torch.channels_last)
    creases.widen(model, "0", *rows(model, "0", 2), input_shape=shape)
    assert model[2].weight.is_contiguous(memory_format=torch.channels_last)


def test_a_grown_model_can_be_saved_loaded_copied_and_pickled():
    model, shape = built("norm_pool")
    x = inputs(shape)
    twin = copy.deepcopy(model)
    creases.widen(model, "4", *rows(model, "4", 2, seed=1), input_shape=shape)
    creases.deepen(model, "10", input_shape=shape)
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)
    creases.widen(twin, "4", *rows(twin, "4", 2, seed=2), input_shape=shape)
    creases.deepen(twin, "10", input_shape=shape)
    twin.load_state_dict(torch.load(file, weights_only=True))
    for other in (twin, copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert torch.equal(other(x), model(x))


BAD = {
    "unknown place": (("9", torch.ones(1, 3)), "place must be one of this model's places, '0', '4', '10', got '9'"),
    "no place": ((7, torch.ones(1, 3)), "place must be a Place or the name of one, got int"),
    "last layer": (("14", torch.ones(1, 5)), "be able to change its width, got '14': its units are the model's output"),
    "fan_in": (
        ("0", torch.ones(1, 3)),
        r"fan_in must have shape \(k, 2, 3, 3\) with k at least 1 for '0', got \(1, 3\)",
    ),
    "no units": (("0", torch.ones(0, 2, 3, 3)), "with k at least 1"),
    "words": (("0", "weights"), "fan_in must be an array of numbers, got str"),
    "nan": (("0", torch.full((1, 2, 3, 3), torch.nan)), "fan_in must be finite, got NaN or infinite entries"),
    "bias": (
        ("4", torch.ones(1, 3, 3, 3), [1.0, 2.0]),
        r"bias must have shape \(1,\), one for each new unit, got \(2,\)",
    ),
    "no bias": (("0", torch.ones(1, 2, 3, 3), [1.0]), "bias must be zero or None, as '0' has no bias"),
    "fan_out": (
        ("4", torch.ones(1, 3, 3, 3), None, torch.ones(5, 3)),
        r"fan_out must have shape \(5, 1, 4\) or \(5, 4\) for '10', got \(5, 3\)",
    ),
    "fan_out nan": (
        ("4", torch.ones(1, 3, 3, 3), None, torch.full((5, 4), torch.inf)),
        "fan_out must be finite, got NaN",
    ),
    "fan_out names": (("4", torch.ones(1, 3, 3, 3), None, {"11": 1}), r"for each consumer \['10'\], got \['11'\]"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_arguments_are_refused_and_nothing_is_changed(case):
    arguments, message = BAD[case]
    model, shape = built("norm_pool")
    before, tensors = snapshot(model), list(model.parameters())
    with pytest.raises(InputError, match=message):
        creases.widen(model, *arguments, input_shape=shape)
    assert all(new is old for new, old in zip(model.parameters(), tensors, strict=True))
    assert all(torch.equal(tensor, before[key]) for key, tensor in model.state_dict().items())


def test_several_consumers_need_as_many_fan_outs():
    model, _ = built("branches")
    with pytest.raises(InputError, match=r"a list or dict of 3, one for each consumer .*, got Tensor"):
        creases.widen(model, "first", torch.ones(1, 3), None, torch.ones(3, 1))
    with pytest.raises(InputError, match="got 2 entries"):
        creases.widen(model, "first", torch.ones(1, 3), None, [torch.ones(3, 1), torch.ones(2, 1)])


@pytest.mark.parametrize(
    ("carriers", "message"),
    [
        ({"5.running_var": [-1.0]}, "nonnegative variances for '5.running_var'"),
        ({"5.weight": [0.0, 1.0]}, r"have shape \(1,\) for '5\.weight', got \(2,\)"),
        ({"5.bias": [float("nan")]}, "carriers must be finite"),
        ({"4.weight": [0.0]}, "name tensors of the batch norms and PReLUs behind '4', got '4.weight'"),
    ],
)
def test_bad_entries_of_carriers_are_refused(carriers, message):
    model, shape = built("norm_pool")
    with pytest.raises(InputError, match=message):
        creases.widen(model, "4", torch.ones(1, 3, 3, 3), carriers=carriers, input_shape=shape)


def test_a_place_that_is_out_of_date_is_refused():
    model = mlp()
    first, second = creases.places(model)
    creases.widen(model, first, torch.ones(1, 3))
    with pytest.raises(
        InputError, match=r"place must be up to date, got '0' with 5 units, now 6; call places\(model\) again"
    ):
        creases.widen(model, first, torch.ones(1, 3))
    creases.widen(model, second, torch.ones(1, 6))
    with pytest.raises(InputError, match="place must belong to the model, got '10', which it lacks"):
        creases.widen(model, creases.places(norm_pool(), (2, 8, 8))[2], torch.ones(1, 16))


def test_data_that_do_not_fit_are_refused_before_anything_is_changed():
    model = mlp()
    place = creases.places(model)[0]
    with pytest.raises(InputError, match="X must be inputs that the model runs on"):
        creases.widen(model, place, torch.ones(1, 3), X=torch.ones(2, 7))
    assert model[0].out_features == 5


@st.composite
def architectures(draw_: st.DrawFn) -> tuple[nn.Module, tuple[int, ...]]:
    """A chain of layers: convolutions or not, batch norm or not, any bend, pooling, Flatten in one of two orders."""
    bends = st.sampled_from([nn.ReLU, nn.LeakyReLU, nn.PReLU, nn.Tanh, nn.Hardtanh, nn.GELU, nn.Identity])
    widths = st.integers(1, 3)
    torch.manual_seed(draw_(st.integers(0, 1000)))
    n, parts = draw_(widths), []
    shape: tuple[int, ...] = (n,)
    if draw_(st.booleans()):
        size, shape = 6, (n, 6, 6)
        for _ in range(draw_(st.integers(1, 2))):
            out = draw_(widths)
            parts.append(nn.Conv2d(n, out, draw_(st.sampled_from([1, 3])), padding="same", bias=draw_(st.booleans())))
            parts += [nn.BatchNorm2d(out)] if draw_(st.booleans()) else []
            parts.append(draw_(bends)())
            if draw_(st.booleans()):
                parts.append(
                    draw_(st.sampled_from([nn.MaxPool2d(2, 1), nn.AvgPool2d(2, 1), nn.ZeroPad2d((0, -1, 0, -1))]))
                )
                size -= 1
            n = out
        parts.append(nn.Flatten())
        n *= size * size
    for _ in range(draw_(st.integers(0, 2))):
        out = draw_(widths)
        parts.append(nn.Linear(n, out, bias=draw_(st.booleans())))
        parts += [nn.BatchNorm1d(out)] if draw_(st.booleans()) else []
        parts.append(draw_(bends)())
        n = out
    return nn.Sequential(*parts, nn.Linear(n, 2)).double().eval(), shape


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(case=architectures(), k=st.integers(1, 3), seed=st.integers(0, 99))
def test_any_architecture_grows_back_and_forth(case, k, seed):
    """All layers but the last are places; silent units change nothing, removal undoes loud ones."""
    model, shape = case
    x = inputs(shape, 5)
    affine = [name for name, module in model.named_modules() if isinstance(module, nn.Linear | nn.Conv2d)]
    widths = creases.places(model, shape)
    assert [place.name for place in widths] == affine[:-1]
    before = model(x)
    for place in widths:
        place = place_of(model, shape, place.name)  # as the places before have changed
        done = creases.widen(model, place, *rows(model, place.name, k, seed), X=x)
        assert done.change <= 1e-12
        loud = creases.widen(model, done.place, *rows(model, place.name, 1, seed), columns(model, done.place, 1, seed))
        creases.remove(model, loud.place, [place.width + k])
        assert torch.allclose(model(x), before, rtol=0, atol=1e-12)
