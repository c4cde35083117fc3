"""Splits: copies that leave the function alone."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import creases
from creases.errors import InputError
from creases.growth._explanation import explain
from creases.growth._proposal import apply
from creases.growth.methods._split import split
from first_order import apply_to_copy, conv, data, loss, mlp
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
