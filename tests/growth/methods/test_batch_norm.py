"""New units behind a batch norm: the same function in train and eval mode, and a gradient for each of them."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from creases.growth import methods
from creases.growth._proposal import apply, first_units
from creases.network import places
from first_order import mean_loss
from resnet import images, trained_resnet

BLOCKS = ["blocks.0.conv1", "blocks.2.conv1"]
TINY = {"count": 4, "tau": 0, "above_noise": False, "fallback": None}
PROPOSE = {
    "tiny": lambda *args: methods.tiny(*args, validation=args[2], **TINY),
    "gradmax": lambda *args: methods.gradmax(*args, count=4),
    "random": lambda *args: methods.random_units(*args, count=4, fan_out=0.1),
    "random silent": lambda *args: methods.random_units(*args, count=4, fan_out=0.0),
    "split": lambda *args: methods.split(*args, count=4, noise=0.0),
}


@pytest.fixture(scope="module")
def model():
    return trained_resnet()


def grow(model, kind, name, optimizer=None):
    x, y = images()
    place = next(place for place in places(model, X=x) if place.name == name)
    proposal = PROPOSE[kind](model, place, (x, y), F.cross_entropy)
    apply(proposal, model, optimizer=optimizer)
    return proposal


def outputs(model, x, train):
    model = copy.deepcopy(model).train(train)
    with torch.no_grad():
        return model(x)


@pytest.mark.slow
@pytest.mark.parametrize("name", BLOCKS)
@pytest.mark.parametrize("kind", ["gradmax", "random silent", "split"])
def test_units_that_claim_to_leave_the_function_as_it_is_do_so_in_both_modes(model, kind, name):
    x, after = images()[0], copy.deepcopy(model)
    assert grow(after, kind, name).count == 4
    for train in (True, False):
        assert torch.allclose(outputs(model, x, train), outputs(after, x, train), rtol=0, atol=1e-12)
    assert all(module.training for module in after.modules())


@pytest.mark.slow
@pytest.mark.parametrize("name", BLOCKS)
@pytest.mark.parametrize("kind", [kind for kind in PROPOSE if kind != "random silent"])
def test_the_batch_norm_computes_the_same_of_new_units_in_train_and_eval_mode(model, kind, name):
    x, after = images()[0], copy.deepcopy(model)
    width = grow(after, kind, name).place.width
    norm = after.get_submodule(name.replace("conv1", "bn1"))
    arrived = []
    norm.register_forward_hook(lambda module, args, out: arrived.append((args[0][:, width:], out[:, width:])))
    after.eval()(x)
    (before, passed), weight, bias = arrived[0], norm.weight[width:], norm.bias[width:]
    if kind != "split":  # a copy has its original's statistics, which are of earlier batches
        assert torch.allclose(before.mean((0, 2, 3)), norm.running_mean[width:], atol=1e-10)
        assert torch.allclose(before.var((0, 2, 3), correction=0), norm.running_var[width:], rtol=1e-8)
        trained = F.batch_norm(before, None, None, weight, bias, training=True)
        assert torch.allclose(trained, passed, atol=1e-8)


@pytest.mark.parametrize("name", BLOCKS)
@pytest.mark.parametrize("move", [False, True])
def test_tiny_searches_the_loss_of_the_network_it_makes(model, move, name):
    held, after = images(40, seed=5), copy.deepcopy(model)
    place = next(place for place in places(model, X=held[0]) if place.name == name)
    proposal = methods.tiny(model, place, images(), F.cross_entropy, **TINY, move=move, validation=held)
    search = proposal.explanation["line_search"]
    assert search["loss_after"] < search["loss_before"]
    apply(proposal, after)
    assert mean_loss(after, *held, F.cross_entropy) == pytest.approx(search["loss_after"], rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("kind", PROPOSE)
def test_every_new_unit_has_a_gradient_in_train_mode(model, kind):
    (x, y), after = images(), copy.deepcopy(model)
    proposal = grow(after, kind, "blocks.1.conv1")
    block, new = after.blocks[1], slice(proposal.place.width, None)
    after.train().zero_grad()
    F.cross_entropy(after(x), y).backward()
    gradients = [block.conv2.weight.grad[:, new].movedim(1, 0)]
    if kind not in ("gradmax", "random silent"):  # with zero outgoing weights nothing reaches the incoming ones yet
        gradients += [block.conv1.weight.grad[new], block.bn1.weight.grad[new], block.bn1.bias.grad[new]]
    for gradient in gradients:
        assert bool((gradient.reshape(proposal.count, -1).abs().sum(1) > 1e-12).all())


@pytest.mark.parametrize("bend", [nn.ReLU, nn.Tanh])
@pytest.mark.parametrize("kind", ["tiny", "gradmax", "random", "split"])
def test_linear_layers_with_a_norm_on_either_side_of_the_bend_grow_too(kind, bend):
    numbers = torch.Generator().manual_seed(0)
    x = torch.randn(80, 3, generator=numbers, dtype=torch.float64)
    y = (x[:, 0] * x[:, 1] > 0).long()
    for between in ([nn.BatchNorm1d(5), bend()], [bend(), nn.BatchNorm1d(5)]):
        with torch.random.fork_rng():
            torch.manual_seed(1)
            model = nn.Sequential(nn.Linear(3, 5), *between, nn.Linear(5, 2)).double().train()
        for _ in range(5):
            model(x)
        proposal = PROPOSE[kind](model, "0", (x, y), F.cross_entropy)
        assert proposal.count
        after = copy.deepcopy(model)
        apply(proposal, after)
        assert torch.isfinite(outputs(after, x, True)).all()
        if kind == "tiny":
            held = proposal.explanation["line_search"]
            assert held["loss_after"] < held["loss_before"]


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("before", [True, False])
def test_a_fold_passes_a_norm_as_it_is_and_training_moves_the_crease_only_behind_a_norm(before, bias):
    numbers = torch.Generator().manual_seed(0)
    x = torch.randn(300, 3, generator=numbers, dtype=torch.float64)
    y = (x[:, 0] * x[:, 1] > 0).long()
    between = [nn.BatchNorm1d(5), nn.ReLU()] if before else [nn.ReLU(), nn.BatchNorm1d(5)]
    with torch.random.fork_rng():
        torch.manual_seed(1)
        model = nn.Sequential(nn.Linear(3, 5, bias=bias or not before), *between, nn.Linear(5, 2)).double().train()
    for part in x.split(50):
        model(part)
    proposal, after = methods.fold(model, "0", x, y), copy.deepcopy(model)
    apply(proposal, after)
    x_f, out = torch.tensor(proposal.explanation["where"]["fold_point"], dtype=torch.float64), model.eval()(x)
    assert abs(float(model(x_f[None]).diff().detach())) < 1e-10  # the fold point is on the boundary in eval mode
    crease = proposal.explanation["crease"]
    unit = crease["length"] * torch.relu(x @ torch.tensor(crease["normal"]).double() + crease["offset"])
    added = unit[:, None] * torch.tensor(proposal.explanation["effect"]["contrast"]).double()
    assert torch.allclose(after.eval()(x), out + added, atol=1e-12)
    kinks = []
    for part in (x, x[:40]):  # all samples, and a batch, which has a mean of its own
        passed = [part]
        for layer in list(after.train())[:3]:
            passed.append(layer(passed[-1]))
        kinks.append((passed[2 if before else 1][:, -1] > 0) == (unit[: len(part)] > 0))
    assert kinks[0].all()
    assert bool(kinks[1].all()) != before


def test_fewer_units_keep_their_own_entries_of_the_norm(model):
    x, y = images()
    place = next(place for place in places(model, X=x) if place.name == "blocks.0.conv1")
    proposal = PROPOSE["gradmax"](model, place, (x, y), F.cross_entropy)
    fewer = first_units(proposal, 2)
    assert {name: len(part) for name, part in fewer.carriers.items()} == dict.fromkeys(proposal.carriers, 2)
    apply(fewer, copy.deepcopy(model))


@pytest.mark.parametrize("kind", ["random", "tiny"])
def test_scaled_proposals_scale_what_the_norm_passes_on(model, kind):
    x, y = images()
    place = next(place for place in places(model, X=x) if place.name == "blocks.0.conv1")
    proposal = PROPOSE[kind](model, place, (x, y), F.cross_entropy)
    once, twice = copy.deepcopy(model).eval(), copy.deepcopy(model).eval()
    apply(proposal, once)
    apply(proposal.scale(2.0, 0.5), twice)  # relu: twice in and half out is the same
    assert torch.allclose(once(x), twice(x), atol=1e-12)


def test_random_units_are_as_long_as_the_present_ones_where_a_norm_undoes_their_size(model):
    x, y = images()
    place = next(place for place in places(model, X=x) if place.name == "blocks.0.conv1")
    long = copy.deepcopy(model)
    with torch.no_grad():
        long.blocks[0].conv1.weight.mul_(10.0)
    short, large = (methods.random_units(m, place, (x, y), F.cross_entropy, count=50, seed=3) for m in (model, long))
    present = model.blocks[0].conv1.weight.detach().flatten(1).norm(dim=1).mean()
    assert float(short.fan_in.flatten(1).norm(dim=1).mean()) == pytest.approx(float(present), rel=0.05)
    assert torch.allclose(large.fan_in, 10 * short.fan_in)
