"""Splits: copies that leave the function alone, and splits that lower the loss to second order."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import creases
from creases.errors import InputError
from creases.growth._explanation import explain
from creases.growth._proposal import apply
from creases.growth.methods._split import split
from creases.growth.methods._steepest_split import steepest_split
from first_order import apply_to_copy, conv, data, loss, mean_loss, mlp, place_of
from surgery_models import Branches, Residual


@pytest.mark.parametrize(
    ("make", "shape"),
    [(mlp, (3,)), (lambda: mlp(nn.ReLU), (3,)), (conv, (2, 7, 7)), (Branches, (3,)), (Residual, (2, 7, 7))],
)
def test_copies_leave_the_function_as_it_is(make, shape):
    model = make().double().eval()
    x, y = data(shape, 20)
    places = [place for place in creases.places(model, shape) if not place.carriers]
    for place in places:
        proposal = split(model, place, (x, y), loss, count=2, noise=0.0)
        after = apply_to_copy(model, proposal)
        assert torch.allclose(after(x), model(x), atol=1e-12, rtol=0)
        assert proposal.count == 2
    assert places or isinstance(model, Residual)


def test_noise_tells_copies_from_their_originals():
    model, (x, y) = mlp(), data()
    proposal = split(model, "0", (x, y), loss, count=9, noise=0.1)
    assert proposal.count == 4
    assert bool((proposal.fan_in != model[0].weight.detach()).all())
    certificate = apply(proposal, model, data=x)
    assert 0 < certificate.change < 0.2
    assert "units 0, 1, 2, 3 were copied with noise of 0.1" in explain(proposal.explanation)


def test_a_change_of_present_weights_keeps_the_parameters_and_is_undone_if_the_widening_fails():
    from dataclasses import replace

    model, (x, y) = mlp(), data()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    proposal = split(model, "0", (x, y), loss, noise=0.0)
    wrong = replace(proposal, fan_in=proposal.fan_in[:, :2])
    with pytest.raises(InputError, match="fan_in must have shape"):
        apply(wrong, model)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    with pytest.raises(InputError, match=r"a change of shape \(1,\) for 'nowhere', which does not exist"):
        apply(replace(proposal, change={"nowhere": torch.zeros(1)}), model)
    optimizer = torch.optim.Adam(model.parameters())
    assert apply(proposal, model, optimizer=optimizer, data=x).change < 1e-12
    assert sum(len(group["params"]) for group in optimizer.param_groups) == 6


def test_a_unit_is_split_where_the_loss_falls_by_its_curvature():
    model, (x, y) = mlp(), data()
    proposal = steepest_split(model, "0", (x, y), loss, step=1e-3)
    lowest = proposal.explanation["eigenvalues"][0]
    assert lowest < 0
    # the halves' first orders cancel, their second orders add up
    fall = mean_loss(model, x, y) - mean_loss(apply_to_copy(model, proposal), x, y)
    assert fall == pytest.approx(-lowest * 1e-6 / 2, rel=1e-3)
    assert proposal.gain == pytest.approx(-lowest * 1e-6 / 2)
    assert "(second order)" in explain(proposal.explanation)


def smooth_block() -> nn.Module:
    """A residual block with smooth bends and lived-in batch norms."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = Residual().double()
        for block in model.blocks:
            block.act, block.last = nn.SiLU(), nn.SiLU()
        model.train()(data((2, 7, 7), 40, seed=3)[0])
        for module in model.modules():
            if isinstance(module, nn.BatchNorm2d):
                nn.init.uniform_(module.weight, 0.5, 1.5)
    return model.eval()


@pytest.mark.parametrize(
    ("make", "shape", "name"),
    [
        (conv, (2, 7, 7), "0"),
        (conv, (2, 7, 7), "2"),
        (conv, (2, 7, 7), "4"),
        (smooth_block, (2, 7, 7), "blocks.0.conv1"),
        (lambda: smooth_norm([nn.BatchNorm1d(4), nn.Tanh()]), (3,), "0"),
        (lambda: smooth_norm([nn.Tanh(), nn.BatchNorm1d(4)]), (3,), "0"),
    ],
)
def test_filters_and_units_at_a_batch_norm_are_split_where_the_loss_falls_by_their_curvature(make, shape, name):
    model, (x, y) = make(), data(shape, 60)
    step = 1e-3
    proposal = steepest_split(model, place_of(model, name, shape), (x, y), loss, count=2, step=step)
    assert proposal.count
    after = apply_to_copy(model, proposal)
    fall = mean_loss(model, x, y) - mean_loss(after, x, y)
    assert fall == pytest.approx(proposal.gain, rel=1e-2)
    assert torch.allclose(after(x), model(x), atol=1e-4)


def smooth_norm(between: list[nn.Module]) -> nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(3, 4), *between, nn.Linear(4, 2)).double()
    model.train()(data()[0])
    return model.eval()


def test_splits_that_the_mathematics_does_not_allow_are_refused():
    x, y = data()
    with pytest.raises(InputError, match="whose bend is piecewise linear"):
        steepest_split(mlp(nn.ReLU), "0", (x, y), loss)
    bare = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4, affine=False), nn.Tanh(), nn.Linear(4, 2)).double()
    with pytest.raises(InputError, match="have one batch norm with weights"):
        steepest_split(bare, "0", (x, y), loss)
    forgetful = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4, track_running_stats=False), nn.Tanh(), nn.Linear(4, 2))
    with pytest.raises(InputError, match="whose batch norm has no running statistics"):
        steepest_split(forgetful.double(), "0", (x, y), loss)
    with pytest.raises(InputError, match="step must be a finite number above 0"):
        steepest_split(mlp(), "0", (x, y), loss, step=0)


def test_where_no_split_helps_none_is_proposed():
    # the output is far below its targets, and every unit bends upwards where it is: moving both ways can only help
    x = torch.randn(50, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    model = mlp(nn.SiLU, (2, 3, 1))
    with torch.no_grad():
        model[0].weight.mul_(0.1), model[0].bias.zero_(), model[2].weight.fill_(-1.0)
    proposal = steepest_split(model, "0", (x, 10 * torch.ones(50, 1, dtype=torch.float64)), nn.MSELoss())
    assert proposal.count == 0
    assert "no unit has a splitting matrix" in proposal.explanation["reason"]
