"""The lecture's formulas against torch's gradients, brute force, SciPy and draws."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given, settings
from scipy.interpolate import CubicSpline

from creases.splines import Shallow, Tracker, from_module, theory, to_module
from splines_cases import loss, parameters, shallow_cases

X = np.linspace(-2, 2, 13)


def network(seed=0, width=8):
    w, b, v = np.random.default_rng(seed).normal(size=(3, width))
    return Shallow(w, b, v, 0.1)


def test_breakpoints_move_in_training_as_predicted():
    x, lr, steps = np.linspace(-2, 2, 30), 1e-4, 20
    y, model, tracker = np.sin(2 * x), to_module(network()), Tracker(x)
    X, Y = torch.from_numpy(x)[:, None], torch.from_numpy(y)[:, None]
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    predicted = []
    for _ in range(steps + 1):
        tracker(model)
        moving = theory.velocities(from_module(model), x, y)
        predicted.append([moving.beta, moving.mu])
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(X), Y).backward()
        optimizer.step()
    tracks = tracker.history().tracks()
    rates = np.mean(predicted[:-1], axis=0) * 2 * lr / len(x) * steps
    sign = np.sign(network().w)
    observed = [[track.x[-1] - track.x[0], track.jump[-1] - track.jump[0]] for track in tracks.values()]
    np.testing.assert_allclose(np.transpose(observed), [rates[0], sign * rates[1]], rtol=1e-3, atol=1e-9)


@settings(max_examples=50, deadline=None)
@given(shallow_cases())
def test_kernel_and_hessian_are_those_of_autograd(case):
    net, x, y = case
    theta = parameters(net).requires_grad_()
    found = theory.hessian(net, x, y)
    matrix = torch.autograd.functional.hessian(lambda t: loss(net, t, x, y), theta).numpy()
    np.testing.assert_allclose(found.matrix, matrix, rtol=1e-9, atol=1e-11 * (1 + np.abs(matrix).max()))
    kernel, moving = theory.tangent_kernel(net, x), theory.velocities(net, x, y)
    np.testing.assert_allclose(kernel, found.vectors @ found.vectors.T, rtol=1e-9, atol=1e-9 * (1 + kernel.max()))
    np.testing.assert_allclose(moving.f, -kernel @ moving.sees.e, atol=1e-9 * (1 + np.abs(moving.f).max()))


def test_a_slice_is_the_loss_with_the_breakpoint_moved():
    net, y = network(1), np.cos(X)
    found = theory.loss_slice(net, 2, X, y)
    places = np.linspace(-3, 3, 40)
    losses = []
    for beta in places:
        b = net.b.copy()
        b[2] = -net.w[2] * beta
        losses.append(((Shallow(net.w, b, net.v, net.c0)(X) - y) ** 2).sum() / 2)
    np.testing.assert_allclose(found(places), losses, rtol=1e-10)
    assert found.minimum()[1] <= min(losses) + 1e-12


def test_degenerate_units_account_for_every_zero_eigenvalue():
    kinds = set()
    for seed in range(300):
        rng = np.random.default_rng(seed)
        w, b, v = rng.normal(size=(3, 5))
        w[0] *= seed % 3 > 0
        b[1] += 9 * (seed % 5 == 0) - 9 * (seed % 7 == 0)
        w[2], b[2] = (2 * w[3], 2 * b[3]) if seed % 2 else (-w[3], -b[3])
        v[4] *= seed % 4 > 0
        net, x = Shallow(w, b, v), rng.uniform(-2, 2, 9)
        causes = theory.degenerate_units(net, x)
        vectors = theory.hessian(net, x, x).vectors
        rank = np.linalg.matrix_rank(vectors / np.maximum(np.linalg.norm(vectors, axis=0), 1e-300), tol=1e-9)
        assert 2 * 5 + 1 - rank == sum(cause.extra for cause in causes)
        kinds |= {cause.kind for cause in causes}
    assert len(kinds) == 7


def test_the_least_norm_fit_interpolates_with_the_smallest_delta_slopes_and_becomes_the_cubic_spline():
    x, y = np.sort(np.random.default_rng(0).uniform(-3, 3, 8)), np.arange(8.0) ** 2 % 5
    beta = np.linspace(-3, 3, 50)
    fit = theory.minimum_norm_fit(x, y, beta)
    np.testing.assert_allclose(fit(x), y, atol=1e-9)
    weighted = np.column_stack([np.maximum(x[:, None] - beta, 0), 1e6 * np.ones(8), 1e6 * x])  # the line is free
    np.testing.assert_allclose(fit.mu, np.linalg.lstsq(weighted, y, rcond=None)[0][:-2], rtol=1e-4, atol=1e-4)
    t = np.linspace(x[0], x[-1], 99)
    cubic = theory.minimum_norm_fit(x, y)
    np.testing.assert_allclose(cubic(t), CubicSpline(x, y, bc_type="natural")(t), atol=1e-12)
    assert np.abs(theory.minimum_norm_fit(x, y, np.linspace(-3, 3, 3000))(t) - cubic(t)).max() < 1e-3
