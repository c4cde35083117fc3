"""Folds at patches: in convolutions, behind batch norm, and in residual blocks."""

from __future__ import annotations

import copy
import json

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

import creases
from creases.errors import InputError
from creases.growth import methods
from creases.growth._explanation import explain
from creases.growth._proposal import apply
from creases.growth.methods._first_order.route import Route
from creases.growth.methods._fold.outcome import fold_outcome, unrepaired_rows
from creases.growth.methods._fold.patch_direction import PatchFilters, PatchMoments, _make_orthogonal, pre_activations
from creases.growth.methods._fold.patch_fold import _best_gain
from creases.growth.methods._fold.patch_sample import PatchSample
from creases.growth.methods._fold.patches import strongest_patches
from creases.network import places
from first_order import conv, data, mean_loss
from resnet import images, trained_resnet
from surgery_models import built, inputs


@pytest.fixture(scope="module")
def model():
    return trained_resnet()


@pytest.fixture(scope="module")
def proposal(model):
    x, y = images()
    place = next(place for place in places(model, X=x) if place.name == "blocks.2.conv1")
    return methods.fold(model, place, x, y, count=4)


def pre_activation(model, name, x):
    """Return what enters the bend behind a layer, in eval mode."""
    arrived = []
    handle = model.get_submodule(name).register_forward_hook(lambda module, args, out: arrived.append(out.detach()))
    copy_ = model.eval()
    copy_(x)
    handle.remove()
    return arrived[0]


def test_the_crease_passes_through_the_patch_also_behind_a_batch_norm(model, proposal):
    x, _ = images()
    after = copy.deepcopy(model)
    apply(proposal, after)
    z = pre_activation(after, "blocks.2.bn1", x)
    entries = proposal.explanation["folds"]
    assert [entry["unit"] for entry in entries] == list(range(12, 12 + proposal.count))
    for entry in entries:
        row, column = (center // 2 for center in entry["where"]["patch"])  # stride 2, padding 1: the middle is 2 i
        values = z[:, entry["unit"]]
        assert abs(float(values[entry["why"]["instance"], row, column])) < 1e-9 * float(values.abs().max())
        assert 0.01 < float((values > 0).double().mean()) < 0.99  # a fold, with data on both sides


def test_the_function_hardly_changes_and_the_loss_falls_at_once(model, proposal):
    x, y = images()
    after = copy.deepcopy(model)
    certificate = apply(proposal, after, data=x)
    assert 0 < certificate.change < 0.5
    assert mean_loss(after, x, y, F.cross_entropy) < mean_loss(copy.deepcopy(model), x, y, F.cross_entropy)


def test_the_explanation_says_which_filter_folds_at_which_patch(proposal):
    entry = proposal.explanation["folds"][0]
    row, column = entry["where"]["patch"]
    text = explain(proposal.explanation)
    assert text.startswith("4 filters added to 'blocks.2.conv1' because ")
    assert f"Filter 12 folds at the patch at row {row}, column {column} of sample {entry['why']['instance']}" in text
    assert "filter 13 at the patch at row" in text
    assert "This prediction uses 96 of 96 samples." in text
    json.dumps(proposal.explanation, allow_nan=False)
    assert sum(each["effect"]["predicted_gain"] for each in proposal.explanation["folds"]) == pytest.approx(
        proposal.gain
    )


@pytest.mark.slow
def test_a_single_filter_is_explained_and_so_is_its_outcome(model):
    x, y = images()
    once = methods.fold(model, "blocks.0.conv1", x, y)
    assert once.count == 1
    after = copy.deepcopy(model)
    apply(once, after)
    outcome = fold_outcome(once.explanation, after, x, y, input_shape=x.shape[1:])
    text = explain(outcome)
    assert text.startswith("1 filter added to 'blocks.0.conv1' because ")
    assert "of the patches lie on its active side" in text
    assert text.endswith(("is now correct.", "is still wrong."))
    assert outcome["after"]["errors"] == int((after.eval()(x).argmax(1) != y).sum())
    instance = once.explanation["why"]["instance"]
    assert unrepaired_rows([outcome]) == (frozenset() if outcome["after"]["instance_right"] else {instance})
    again = methods.fold(model, "blocks.0.conv1", x, y, tried=[instance])
    assert again.explanation["why"]["instance"] != instance


@pytest.mark.parametrize(("name", "shape"), [("0", (2, 7, 7)), ("2", (2, 7, 7)), ("4", (2, 7, 7))])
def test_the_strongest_patch_is_where_the_gradient_is_largest(name, shape):
    model, (x, y) = conv(nn.ReLU, bias=True), data(shape, 5)
    place = next(place for place in places(model, shape) if place.name == name)
    sample = PatchSample.from_model(model, place, x, y, "classification", None, 0)
    (batch,) = sample.observe(np.arange(5), np.ones(5))
    route = Route(sample.twin, place, batch)
    (consumer,) = route.consumers
    (patch,) = strongest_patches(route, batch, 3, 1)
    goals = consumer.goals(batch.goals[consumer.link.path])[3:4]
    units = torch.eye(batch.layer_output[0, 0].numel()).double().reshape(-1, *batch.layer_output[0, 0].shape)[None]
    sizes = consumer.correlate(units, goals).movedim(1, 0).flatten(1).norm(dim=1)  # one unit for each position
    assert float(patch.columns[consumer.link.path].norm()) == pytest.approx(float(sizes.max()), rel=1e-10)


def test_orthogonal_filters_stay_on_their_points_and_are_uncorrelated():
    model, (x, y) = conv(nn.ReLU), data((2, 7, 7), 30)
    place = places(model, (2, 7, 7))[0]
    sample = PatchSample.from_model(model, place, x, y, "classification", None, 0)
    observations = sample.observe(np.arange(30), np.ones(30))
    route = Route(sample.twin, place, observations[0])
    moments = PatchMoments.from_observations(route, observations)
    numbers = torch.Generator().manual_seed(0)
    rows, points = (torch.randn(5, 18, generator=numbers, dtype=torch.float64) for _ in range(2))
    filters, order = _make_orthogonal(moments, PatchFilters(rows, points, {}, torch.zeros(5)), torch.arange(5))
    assert order.tolist() == [0, 1, 2, 3, 4]
    z = pre_activations(route, x, filters).movedim(1, -1).flatten(0, -2)
    products = z.T @ z / len(z)
    assert torch.allclose(products, torch.diag(products.diagonal()), atol=1e-9 * float(products.max()))


@pytest.mark.parametrize(
    ("name", "place"), [("norm_pool", "10"), ("branches", "first"), ("sequence", "up"), ("channels_last", "two")]
)
def test_every_kind_of_place_folds(name, place):
    model, shape = built(name)
    x = inputs(shape, 60)
    outputs = model(x).flatten(1).detach()
    y = (outputs + torch.sin(3 * x.flatten(1)[:, : outputs.shape[1]])).numpy()
    model_ = nn.Sequential(model, nn.Flatten())
    proposal = methods.fold(model_, f"0.{place}", x, y, loss="regression", count=2, input_shape=shape)
    assert proposal.count, proposal.explanation["reason"]
    text = explain(proposal.explanation)
    assert (" folds at position " in text) if name == "sequence" else (" folds at " in text)
    after = copy.deepcopy(model_)
    apply(proposal, after)
    error = [float((net.eval()(x) - torch.from_numpy(y)).square().mean().detach()) for net in (model_, after)]
    assert error[1] < error[0]


def test_refusals_come_before_any_work():
    class Counting(nn.Sequential):
        calls = 0

        def forward(self, x):
            Counting.calls += 1
            return super().forward(x)

    x, y = images(8)
    net = Counting(
        nn.Conv2d(3, 4, 3), nn.MaxPool2d(2), nn.Conv2d(4, 4, 3, bias=False), nn.ReLU(), nn.Conv2d(4, 4, 1), nn.Flatten()
    ).double()
    pooled, bare = places(net, X=x)
    calls = Counting.calls
    for place, why in ((pooled, "which is not linear at 0"), (bare, "it has no bias")):
        assert why in methods.Fold().check(net, place)
        with pytest.raises(InputError, match=why):
            methods.fold(net, place, x, y)
    with pytest.raises(InputError, match="X must be finite"):
        methods.fold(trained_resnet(1), "blocks.0.conv1", torch.full_like(x, torch.nan), y)
    assert Counting.calls <= calls + 2  # an attempt to read the network


def test_no_fold_without_a_mistake(model):
    x, _ = images(24)
    y = model.eval()(x).argmax(1)
    assert methods.fold(model, "blocks.0.conv1", x, y).explanation["reason"] == "no sample is mispredicted"
    model.train()


@pytest.mark.parametrize(
    ("once", "twice", "gain"), [(-3.0, -4.0, 4.0), (-1.0, -2.0, 2.0), (1.0, 3.0, 0.0), (-7.5, -14.0, 32.0)]
)
def test_the_gain_is_that_of_a_parabola_within_reach(once, twice, gain):
    assert _best_gain(once, twice) == pytest.approx(gain)


@pytest.mark.slow
def test_a_run_folds_in_the_middle_of_training_and_looks_back():
    x, y = images(64)
    net = trained_resnet(4)
    options = {"how": "fold", "where": "blocks.1.conv1", "when": 1, "budget": 4, "lr": 1e-3, "recycle": False}
    _, history = creases.grow(net, (x, y), "classification", **options)
    first = history.records[0]
    assert first.method == "fold"
    assert first.width[1] > first.width[0]
    assert "after" in first.explanation
    assert "1 filter added to 'blocks.1.conv1' because" in history.explain()
