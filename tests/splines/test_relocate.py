"""Relocation of bad breakpoints: its two formulas, what it may change, and training with it."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from torch import nn
from torch.nn.functional import mse_loss

from creases.errors import InputError
from creases.growth import grow
from creases.splines import Shallow, from_module, optimal_fit, to_module, to_spline
from creases.splines._relocation import Relocation, balance_units, relocate
from splines_cases import shallow_cases

X = np.linspace(-3, 3, 60)
Y = np.sin(2 * X)


def objective(net, x, y, penalty):
    return ((net(x) - y) ** 2).sum() + penalty * (net.v**2).sum()


def least(net, x, y, penalty, bias=True):
    """The ridge regression's objective, by least squares on an extended system."""
    z = x[:, None] * net.w + net.b
    phi = np.where(z > 0, z, net.leak * z)
    more = np.ones((len(x), 1)) if bias else np.zeros((len(x), 0))
    top = np.column_stack([phi, more])
    side = np.column_stack([np.sqrt(penalty) * np.eye(net.width), np.zeros((net.width, more.shape[1]))])
    target = np.concatenate([y - net.c1 * x - (0 if bias else net.c0), np.zeros(net.width)])
    system = np.concatenate([top, side])
    return ((system @ np.linalg.lstsq(system, target, rcond=None)[0] - target) ** 2).sum()


def without(net, unit):
    return Shallow(*(np.delete(a, unit) for a in (net.w, net.b, net.v)), net.c0, net.c1, np.delete(net.leak, unit))


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(shallow_cases())
def test_relocation_never_raises_the_error_and_fits_as_the_ridge_regression(case):
    net, x, y = case
    for bias in (True, False):
        found = relocate(net, x, y, max_moves=0, bias=bias)
        errors = ((net(x) - y) ** 2).sum(), ((found.net(x) - y) ** 2).sum()
        assert found.error_before == pytest.approx(errors[0], rel=1e-9, abs=1e-12)
        assert found.error_after == pytest.approx(errors[1], rel=1e-6, abs=1e-9)
        assert found.error_after <= found.error_before
        moved = relocate(net, x, y, bias=bias)
        assert moved.error_after <= found.error_after * (1 + 1e-9)
        assert [move.error_after < 0.99 * move.error_before for move in moved.moves] == [True] * len(moved.moves)
        assert bias or moved.net.c0 == net.c0
        assert (moved.net.c1, moved.net.width) == (net.c1, net.width)


def test_the_unit_that_goes_is_the_one_whose_loss_costs_least():
    rng = np.random.default_rng(0)
    for _ in range(20):
        net = Shallow(*rng.normal(size=(3, 6)), leak=rng.choice([0.0, 0.1]))
        y = rng.normal(size=60)
        found = relocate(net, X, y, max_moves=1, gain=0.0)
        costs = [least(without(net, i), X, y, 60e-5) for i in range(6)]
        assert [move.unit for move in found.moves] == [np.argmin(costs)]


def test_the_new_place_gains_more_than_any_other():
    rng = np.random.default_rng(1)
    middles = (X[1:] + X[:-1]) / 2
    for _ in range(10):
        net = Shallow(*rng.normal(size=(3, 5)))
        move = relocate(net, X, Y, max_moves=1, gain=0.0).moves[0]
        size = np.median(np.abs(net.w))

        def moved(place, net=net, unit=move.unit, size=size):
            w, b = net.w.copy(), net.b.copy()
            w[unit], b[unit] = size, -size * place
            return replace(net, w=w, b=b)

        objectives = [least(moved(place), X, Y, 60e-5) for place in middles]
        assert move.new == pytest.approx(middles[np.argmin(objectives)])


@settings(max_examples=60, deadline=None)
@given(shallow_cases())
def test_balancing_changes_scales_and_not_the_function(case):
    net, x, _ = case
    even = balance_units(net)
    some = (net.v != 0) & ((net.w != 0) | (net.b != 0))
    assert np.hypot(even.w, even.b)[some] == pytest.approx(np.abs(even.v)[some])
    assert even(x) == pytest.approx(net(x), rel=1e-9, abs=1e-9)


def model_of(width=9, seed=0, dtype=torch.float64, **layer):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return nn.Sequential(nn.Linear(1, width), nn.ReLU(), nn.Linear(width, 1, **layer)).to(dtype)


def train(model, optimizer, steps, relocation=None):
    parameter = next(model.parameters())
    x, y = (torch.from_numpy(a).to(parameter.dtype)[:, None] for a in (X, Y))
    for _ in range(steps):
        optimizer.zero_grad()
        mse_loss(model(x), y).backward()
        optimizer.step()
        if relocation:
            relocation(model, x, y, optimizer)
    return float(mse_loss(model(x), y).detach())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("optimizer", "bias", "dtype"),
    [
        (lambda p: torch.optim.SGD(p, lr=0.02), True, torch.float64),
        (lambda p: torch.optim.SGD(p, lr=0.02), False, torch.float32),
        (lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9), True, torch.float32),
        (lambda p: torch.optim.Adam(p, lr=0.01), False, torch.float64),
        (lambda p: torch.optim.Adagrad(p, lr=0.05), True, torch.float64),
        (lambda p: torch.optim.RMSprop(p, lr=0.001), True, torch.float32),
    ],
    ids=["SGD", "no bias", "momentum", "Adam", "Adagrad", "RMSprop"],
)
def test_it_works_in_any_loop_on_the_users_module(optimizer, bias, dtype):
    model = model_of(dtype=dtype, bias=bias)
    plain = copy.deepcopy(model)
    parameters = list(model.parameters())
    relocation = Relocation(every=50, block=25)
    with_it = train(model, optimizer(model.parameters()), 200, relocation)
    without_it = train(plain, optimizer(plain.parameters()), 200)
    assert with_it < 0.5 * without_it
    assert [step for step, _ in relocation.history] == [50, 100, 150, 200]
    assert all(one is other for one, other in zip(parameters, model.parameters(), strict=True))


def test_the_optimizer_starts_afresh():
    model = model_of()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    train(model, optimizer, 20)
    Relocation().apply(model, X, Y, optimizer)
    for state in optimizer.state.values():
        assert all(not value.any() for value in state.values())


def test_a_block_in_which_the_error_rises_is_taken_back_with_half_the_rate():
    model = model_of()
    relocation, optimizer = Relocation(block=10), torch.optim.SGD(model.parameters(), lr=0.02)
    train(model, optimizer, 10, relocation)
    saved = copy.deepcopy(model.state_dict())
    optimizer.param_groups[0]["lr"] = 1e6
    train(model, optimizer, 10, relocation)
    assert relocation.n_halvings == 1
    assert optimizer.param_groups[0]["lr"] == 5e5
    assert all(torch.equal(saved[name], value) for name, value in model.state_dict().items())


def test_it_goes_on_when_the_model_grows():
    relocation = Relocation(every=10, block=5)
    for width in (3, 5):
        model = model_of(width)
        train(model, torch.optim.SGD(model.parameters(), lr=0.01), 20, relocation)
    assert len(relocation.history) == 4


def test_a_growth_run_can_call_it():
    x, y = (torch.from_numpy(a).float()[:, None] for a in (X, Y))
    relocation = Relocation(every=2, block=1)
    model = model_of(3, dtype=torch.float32)
    calls = [relocation.callback(x, y)]
    grow(model, (x, y), "regression", how="tiny", when=3, budget=6, callbacks=calls, keep="last", progress=False)
    assert [step for step, _ in relocation.history] == [2, 4, 6]
    assert relocation.history[0][1].net.width < model[0].out_features


def test_skips_stay_as_they_are_and_the_function_written_is_the_one_reported():
    model = to_module(Shallow([1.0, -1.0, 0.5], [0.1, 0.2, -0.3], [0.3, -0.2, 0.1], 0.5, c1=0.7))
    found = Relocation().apply(model, X, Y)
    assert from_module(model)(X) == pytest.approx(found.net(X), abs=1e-12)
    assert from_module(model).c1 == 0.7


@pytest.mark.parametrize("x", [np.zeros(5), np.array([1.0]), np.array([1.0, 1.0, 2.0])])
def test_data_at_few_places_are_ordinary(x):
    net = Shallow([1.0, 0.0], [0.5, 1.0], [1.0, 0.0])
    found = relocate(net, x, np.arange(len(x), dtype=float))
    assert np.isfinite(found.net(x)).all()
    assert found.error_after <= found.error_before


def test_wrong_arguments_are_refused():
    net = Shallow([1.0], [0.0], [1.0])
    with pytest.raises(InputError, match="x must have at least one sample, got none"):
        relocate(net, [], [])
    with pytest.raises(InputError, match="net must have at least one unit, got none"):
        relocate(Shallow([], [], []), [1.0], [1.0])
    with pytest.raises(InputError, match=r"ridge must be a finite number above 0, got 0"):
        relocate(net, X, Y, ridge=0)
    with pytest.raises(InputError, match="y must be finite, got nan"):
        relocate(net, X, np.full(60, np.nan))
    with pytest.raises(InputError, match="every must be a positive integer, got 0"):
        Relocation(every=0)
    with pytest.raises(InputError, match=r"x must have shape \(n,\) or \(n, 1\), got \(60, 2\)"):
        Relocation().apply(model_of(), np.zeros((60, 2)), Y)
    with pytest.raises(InputError, match="model must have one hidden layer"):
        Relocation().apply(nn.Sequential(nn.Linear(1, 1), nn.BatchNorm1d(1), nn.ReLU(), nn.Linear(1, 1)).eval(), X, Y)
    with pytest.raises(InputError, match="optimizer must hold parameters of the model, got none of them"):
        Relocation().apply(model_of(), X, Y, torch.optim.SGD(model_of().parameters(), lr=0.1))


@pytest.mark.slow
def test_relocation_ends_near_the_optimum_where_gradient_descent_does_not():
    model = model_of(6, seed=3)
    plain = copy.deepcopy(model)
    train(model, torch.optim.SGD(model.parameters(), lr=0.02), 1500, Relocation(every=250))
    train(plain, torch.optim.SGD(plain.parameters(), lr=0.02), 1500)
    best = optimal_fit(X, Y, 6).sse
    near, far = (((to_spline(from_module(one))(X) - Y) ** 2).sum() for one in (model, plain))
    assert near < 2 * best < far
