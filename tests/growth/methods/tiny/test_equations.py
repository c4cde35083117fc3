"""Equations 6 and 7 of the TINY paper as plain formulas, beside what is proposed."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from scipy.optimize import minimize_scalar
from torch import nn

import creases
from creases.errors import InputError
from creases.growth import explain
from creases.growth._proposal import apply
from creases.growth.methods import Tiny, tiny
from creases.growth.methods._tiny.line_search import minimize_loss
from first_order import activities, apply_to_copy, data, loss, mean_loss, mlp, place_of

#: Units of Prop. 3.2 as they are, without a ridge, a threshold or a level of noise.
PLAIN = {"tau": 0, "ridge": 0.0, "above_noise": False, "fallback": None, "count": 20}


def best_size(value, last=8):
    """Return the size from 2^-16 to 2^last at which a function is least: a fine grid, then Brent's method."""
    exponents = np.arange(-16, last + 0.01, 0.25)
    k = int(np.argmin([value(2.0**e) for e in exponents]))
    low, high = exponents[max(k - 1, 0)], exponents[min(k + 1, len(exponents) - 1)]
    best = minimize_scalar(lambda e: value(2.0**e), bounds=(low, high), method="bounded", options={"xatol": 1e-10}).x
    size = min((2.0**best, 2.0 ** exponents[k]), key=value)
    return size if value(size) < value(0.0) else 0.0


def plain_units(model, place, x, y):
    """Return dW*, alpha and omega of Prop. 3.1 and 3.2, by matrices of all samples."""
    before, after, goal = activities(model, place, x, y)
    n = len(x)
    move = goal @ after.T / n @ torch.linalg.pinv(after @ after.T / n, hermitian=True)
    root = torch.linalg.cholesky(before @ before.T / n)
    pairs = before @ (goal - move @ after).T / n
    u, values, vh = torch.linalg.svd(torch.linalg.solve(root, pairs), full_matrices=False)
    rank = int((values > 1e-7 * values[0]).sum())
    return move, torch.linalg.solve(root.T, u[:, :rank]), vh[:rank]


def plain_loss(model, place, x, y, last=8):
    """Return gamma_0, gamma and the loss that equations 6 and 7 lead to."""
    move, alpha, omega = plain_units(model, place, x, y)
    at = int(place.name)
    before = model[:at](x)

    @torch.no_grad()
    def value(first, second):
        layer = copy.deepcopy(model[at + 2])
        layer.weight += first * move[:, :-1]
        layer.bias += first * move[:, -1]
        units = torch.tanh(second * (before @ alpha[:-1] + alpha[-1])) @ omega
        return float(loss(model[at + 3 :](layer(model[at : at + 2](before)) + units), y))

    first = best_size(lambda size: value(size, 0.0), last)
    second = best_size(lambda size: value(first, size), last)
    return first, second, value(first, second)


def case(seed):
    """Return a network with tanh, one of its places, and samples."""
    model = mlp(seed=seed)
    return model, place_of(model, ("0", "2")[seed % 2]), *data(seed=seed)


@pytest.mark.parametrize("seeds", [[0], pytest.param(range(1, 60), marks=pytest.mark.thorough)])
def test_a_move_and_units_are_never_worse_than_equations_6_and_7(seeds):
    for seed in seeds:
        model, place, x, y = case(seed)
        proposal = tiny(model, place, (x, y), loss, validation=(x, y), move=True, **PLAIN)
        grown = mean_loss(apply_to_copy(model, proposal), x, y)
        for last in (8, 12, 16):  # of seeds 14 and 50 equation 6 falls without end
            assert grown <= plain_loss(model, place, x, y, last)[2] * (1 + 1e-9), (seed, last)


@pytest.mark.parametrize("seed", [0, 1, 3, 5])  # of which no size grows without end
def test_as_printed_the_units_and_their_sizes_are_those_of_the_equations(seed):
    model, place, x, y = case(seed)
    proposal = tiny(model, place, (x, y), loss, as_printed=True)
    first, second, final = plain_loss(model, place, x, y)
    move, alpha, omega = plain_units(model, place, x, y)
    path = place.consumers[0].path
    assert proposal.explanation["move"]["amplitude"] == pytest.approx(first, rel=1e-3)
    assert proposal.explanation["line_search"]["amplitude"] == pytest.approx(second, rel=2e-3)
    assert proposal.change[f"{path}.weight"] == pytest.approx(first * move[:, :-1].numpy(), rel=1e-3, abs=1e-6)
    products = [proposal.fan_out[path] @ proposal.fan_in, second * (omega.T @ alpha[:-1].T)]
    if path == "4":  # equal weights to all logits change nothing
        products = [product - product.mean(0) for product in products]
    assert torch.allclose(*products, rtol=2e-3, atol=1e-5)
    assert mean_loss(apply_to_copy(model, proposal), x, y) == pytest.approx(final, rel=1e-5)


def test_as_printed_every_unit_is_added_so_that_ranks_alone_give_the_widths():
    numbers = torch.Generator().manual_seed(0)
    x = torch.randn(400, 12, generator=numbers, dtype=torch.float64)
    y = (x[:, :5] * x[:, 5:10]).argmax(1)
    model = mlp(nn.SELU, (12, 1, 1, 5))
    widths = [12, 1, 1, 5]
    for _ in range(4):
        for at, name in ((1, "0"), (2, "2")):
            apply(tiny(model, place_of(model, name), (x, y), loss, as_printed=True), model)
            widths[at] += min(widths[at - 1] + 1, widths[at + 1])
        assert [model[0].out_features, model[2].out_features] == widths[1:3]


def test_as_printed_options_of_ours_are_refused():
    model, place, x, y = case(0)
    for option in ({"ridge": 0.2}, {"move": True}, {"above_noise": False}, {"fallback": None}, {"project": False}):
        with pytest.raises(InputError, match=f"{next(iter(option))} must be .* as printed"):
            tiny(model, place, (x, y), loss, as_printed=True, **option)


def test_without_a_unit_the_move_is_proposed_alone():
    model, place, x, y = case(1)
    proposal = tiny(model, place, (x, y), loss, validation=(x, y), move=True, **(PLAIN | {"tau": 1e6}))
    assert proposal.count == 0
    assert "no linear correlation" in proposal.explanation["reason"]
    search = proposal.explanation["move"]
    moved = apply_to_copy(model, proposal)
    assert mean_loss(moved, x, y) == pytest.approx(search["loss_after"], rel=1e-12)
    assert search["loss_after"] < search["loss_before"]
    assert [len(p) for p in moved.parameters()] == [len(p) for p in model.parameters()]


def grow_step_by_step(model, how, x, y):
    """Grow a network every second epoch, without stages."""
    options = {"when": 2, "budget": 8, "keep": "last", "progress": False}
    return creases.grow(model, (x, y), "classification", how=how, **options)


def test_growth_keeps_a_move_without_units():
    _, history = grow_step_by_step(mlp(seed=1), Tiny(tau=1e6, fallback=None, move=True), *data())
    records = [record for record in history.records if record.method == "tiny"]
    assert records
    assert all(record.width[0] == record.width[1] and not record.units for record in records)
    text = explain(records[0].explanation)
    assert text.startswith("No unit added to '0': no linear correlation")
    assert "The existing weights moved, by " in text


def test_as_printed_the_samples_are_multiplied_after_every_step():
    seen = []

    def as_printed(model, place, evidence):
        proposal = Tiny(as_printed=True)(model, place, evidence)
        seen.append((place.name, proposal.explanation["samples"]))
        return proposal

    grow_step_by_step(mlp(nn.Tanh, (3, 2, 2)), as_printed, *data(n=600))
    assert seen[:2] == [("0", 100), ("0", 174)]  # 100 sqrt(3): three inputs, two outputs


def test_a_line_search_finds_the_least_of_several_minima():
    def value(size):
        exponent = np.log2(max(size, 2.0**-60))
        return -np.exp(-((exponent + 7) ** 2) / 4) - 0.5 * np.exp(-(exponent**2) / 4)

    found = minimize_loss(value, 1)
    assert found.factor == pytest.approx(2.0**-7, rel=1e-3)
