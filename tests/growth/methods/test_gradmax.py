"""GradMax: the function stays, and the gradient of the new weights is as large as the closed form says."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import nn

from creases.errors import InputError
from creases.growth._explanation import explain
from creases.growth._proposal import apply
from creases.growth.methods._gradmax import gradmax
from first_order import apply_to_copy, conv, data, loss, mlp, place_of

CASES = [
    (mlp, (3,), "0", "zero"),
    (lambda: mlp(nn.ReLU), (3,), "2", "small"),
    (lambda: mlp(nn.SELU), (3,), "0", "small"),
    (conv, (2, 7, 7), "0", "zero"),
    (lambda: conv(nn.ReLU, bias=True), (2, 7, 7), "2", "small"),
    (lambda: conv(nn.ReLU, bias=True), (2, 7, 7), "4", "small"),
]


def gradients(model, proposal, x, y):
    """Gradients of the new incoming and outgoing weights, as rows."""
    loss(model(x), y).backward()
    producer = model.get_submodule(proposal.place.name)
    new = proposal.place.width
    rows = [producer.weight.grad[new:].flatten(1)]
    rows += [] if producer.bias is None else [producer.bias.grad[new:, None]]
    out = model.get_submodule(proposal.place.consumers[0].path).weight.grad
    return torch.cat(rows, 1), out.movedim(1, 0)[new * proposal.place.consumers[0].per_unit :].flatten(1)


@pytest.mark.parametrize(("make", "shape", "name", "start"), CASES)
def test_the_function_stays_and_every_new_unit_has_a_gradient(make, shape, name, start):
    model, (x, y) = make(), data(shape)
    proposal = gradmax(model, place_of(model, name, shape), (x, y), loss, count=2)
    after = apply_to_copy(model, proposal)
    assert proposal.explanation["start"] == start
    assert float((after(x) - model(x)).detach().abs().max()) < 1e-12
    incoming, _ = gradients(after, proposal, x, y)
    assert bool((incoming.norm(dim=1) > 1e-9).all())
    found = proposal.explanation["gradient"]
    assert float(incoming.square().sum()) == pytest.approx(found, rel=1e-6)
    assert explain(proposal.explanation).startswith(f"{proposal.count} unit")


def test_with_a_smooth_bend_the_gradient_is_that_of_the_closed_form_and_no_other_direction_has_a_larger():
    model, (x, y) = mlp(), data()
    proposal = gradmax(model, "0", (x, y), loss, count=2)
    incoming, _ = gradients(apply_to_copy(model, proposal), proposal, x, y)
    assert float(incoming.square().sum()) == pytest.approx(proposal.explanation["gradient"], rel=1e-10)
    length = float(proposal.fan_out["2"].norm(dim=0)[0])
    product = proposal.fan_out["2"].T @ proposal.fan_out["2"]
    assert torch.allclose(product, length**2 * torch.eye(2, dtype=torch.float64), atol=1e-12)
    numbers = torch.Generator().manual_seed(0)
    best = gradmax(model, "0", (x, y), loss)
    for _ in range(20):
        out = torch.randn(5, 1, generator=numbers, dtype=torch.float64)
        other = apply_to_copy(model, replace(best, fan_out={"2": length * out / out.norm()}))
        assert float(gradients(other, best, x, y)[0].square().sum()) <= best.explanation["gradient"] * (1 + 1e-12)


def test_in_float32_the_function_stays_to_a_millionth():
    model, (x, y) = mlp(nn.ReLU).float(), data()
    before = model(x.float())
    apply(gradmax(model, "0", (x.float(), y), loss, count=3), model)
    assert float((model(x.float()) - before).detach().abs().max()) < 1e-6
    assert model[0].weight[4:].abs().min() > 0


def test_with_batch_norm_the_outgoing_weights_are_zero_and_get_the_gradient():
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 2)).double()
    x, y = data()
    proposal = gradmax(model.eval(), "0", (x, y), loss)
    after = apply_to_copy(model, proposal)
    assert proposal.explanation["start"] == "zero out"
    assert torch.allclose(after(x), model(x), atol=1e-14, rtol=0)
    assert float(gradients(after.train(), proposal, x, y)[1].norm()) > 1e-6


def test_a_dead_layer_gets_nothing_and_other_bends_are_refused():
    model, (x, y) = mlp(nn.ReLU), data()
    with torch.no_grad():
        model[2].bias -= 100
    proposal = gradmax(model, "0", (x, y), loss)
    assert proposal.count == 0
    assert "dead" in proposal.explanation["reason"]
    with pytest.raises(InputError, match=r"bend that is 0 at 0 .* whose bend is 0\.5 there"):
        gradmax(mlp(nn.Sigmoid), "0", (x, y), loss)
    with pytest.raises(InputError, match="a bend with a slope at 0"):
        gradmax(mlp(nn.Hardshrink), "0", (x, y), loss)
    with pytest.raises(InputError, match="count must be a positive integer"):
        gradmax(model, "0", (x, y), loss, count=0)
