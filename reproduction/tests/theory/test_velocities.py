import numpy as np
import pytest
import torch
from hypothesis import given, settings

from creases.errors import InputError
from creases.splines import Shallow
from creases.splines.theory import tangent_kernel, velocities
from creases_reproduction.splines.theory.metric import (
    closed_velocities,
    invariants,
    metric,
    spline_gradient,
    squared_weights,
)
from splines_cases import loss, parameters, shallow_cases, value


def close(got, expected, size=None):
    """Equal to 1e-8 of the size of what is summed (1e-12 in practice)."""
    got, expected = np.asarray(got), np.asarray(expected)
    size = np.abs(expected).max(initial=0) if size is None else size
    np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-10 * (1 + float(size)))


def moved(net, x, y):
    """Parameters and their velocities -grad l, by autograd."""
    theta = parameters(net).requires_grad_()
    (gradient,) = torch.autograd.grad(loss(net, theta, x, y), theta)
    return theta.detach(), -gradient


def along(function, theta, direction):
    """The derivative of a function of the parameters along a direction, by autograd."""
    return (torch.autograd.functional.jacobian(function, theta) @ direction).numpy()


@settings(deadline=None)
@given(shallow_cases())
def test_breakpoints_move_as_autograd_says(case):
    net, x, y = case
    H, bent = net.width, net.w != 0
    one = torch.ones(1, dtype=torch.float64)  # in place of weights that are 0
    expected = along(lambda t: -t[H : 2 * H] / torch.where(torch.tensor(bent), t[:H], one), *moved(net, x, y))
    got = velocities(net, x, y).beta
    assert np.isnan(got[~bent]).all()
    close(got[bent], expected[bent])


@settings(deadline=None)
@given(shallow_cases())
def test_delta_slopes_move_as_autograd_says(case):
    net, x, y = case
    H = net.width
    leak = torch.from_numpy(net.leak)
    close(velocities(net, x, y).mu, along(lambda t: (1 - leak) * t[:H] * t[2 * H : 3 * H], *moved(net, x, y)))


@settings(deadline=None)
@given(shallow_cases())
def test_weights_move_by_minus_the_gradient(case):
    net, x, y = case
    d = velocities(net, x, y)
    parts = [d.w, d.b, d.v, [d.c0, d.c1] if net.c1 != 0 else [d.c0]]
    close(np.concatenate(parts), moved(net, x, y)[1])


@settings(deadline=None)
@given(shallow_cases())
def test_the_function_moves_by_minus_the_kernel_times_the_errors(case):
    net, x, y = case
    expected = along(lambda t: value(net, t, torch.from_numpy(x)), *moved(net, x, y))
    e = velocities(net, x, y).sees.e
    close(-tangent_kernel(net, x) @ e, expected)
    close(velocities(net, x, y).f, expected)


@settings(deadline=None)
@given(shallow_cases())
def test_the_kernel_is_the_product_of_autograds_jacobians(case):
    net, x, y = case
    theta = parameters(net)
    jacobian, other = (
        torch.autograd.functional.jacobian(lambda t, z=z: value(net, t, torch.from_numpy(z)), theta).numpy()
        for z in (x, 3 * y)
    )
    close(tangent_kernel(net, x), jacobian @ jacobian.T)
    close(tangent_kernel(net, x, 3 * y), jacobian @ other.T)


@settings(deadline=None)
@given(shallow_cases())
def test_the_flow_is_the_gradient_in_the_metric(case):
    net, x, y = case
    bent = (net.w != 0) & (np.abs(net.b) < 1e3 * np.abs(net.w))
    P, gradient = metric(net)[bent], np.stack(spline_gradient(net, x, y), -1)[bent]
    d = velocities(net, x, y)
    expected = np.stack([d.beta, d.mu / (1 - net.leak)], -1)[bent]
    close(-(P @ gradient[..., None])[..., 0], expected, size=np.abs(P).max(initial=0) * np.abs(gradient).max(initial=0))


@settings(deadline=None)
@given(shallow_cases())
def test_gradients_in_breakpoints_and_delta_slopes_are_autograds(case):
    net, x, y = case
    bent = net.w != 0
    net = Shallow(net.w[bent], net.b[bent], net.v[bent], net.c0, net.c1, net.leak[bent])
    a = torch.from_numpy(velocities(net, x, y).sees.a)
    beta, m = (torch.from_numpy(part).requires_grad_() for part in (-net.b / net.w, net.w * net.v))
    tx, ty = torch.from_numpy(x), torch.from_numpy(y)
    e = net.c0 + net.c1 * tx + (m[:, None] * (tx - beta[:, None]) * a).sum(0) - ty
    expected = torch.autograd.grad(0.5 * e @ e, (beta, m))
    size = max(1.0, *(float(g.abs().max()) for g in expected)) if net.width else 1.0
    for got, want in zip(spline_gradient(net, x, y), expected, strict=True):
        close(got, want, size)


@settings(deadline=None)
@given(shallow_cases())
def test_the_metric_is_positive_definite(case):
    net, _, _ = case
    P = metric(net)[net.w != 0]
    w, b, v = (part[net.w != 0] for part in (net.w, net.b, net.v))
    assert (P[:, 0, 0] > 0).all()
    determinant = P[:, 0, 0] * P[:, 1, 1] - P[:, 0, 1] ** 2
    np.testing.assert_allclose(determinant, 1 + (b / w) ** 2 + (v / w) ** 2, rtol=1e-6)


@settings(deadline=None)
@given(shallow_cases())
def test_each_unit_keeps_its_invariant(case):
    net, x, y = case
    d = velocities(net, x, y)
    change = 2 * (net.w * d.w + net.b * d.b - net.v * d.v)
    terms = np.abs([net.w * d.w, net.b * d.b, net.v * d.v]).max(axis=0)
    assert (np.abs(change) <= 1e-11 * (1 + terms)).all()


@settings(deadline=None)
@given(shallow_cases())
def test_breakpoint_delta_slope_and_invariant_give_the_weights_back(case):
    net, _, _ = case
    bent = net.w != 0
    w, b, v = net.w[bent], net.b[bent], net.v[bent]
    w2, v2 = squared_weights(-b / w, w * v, invariants(net)[bent])
    size = w**2 + b**2 + v**2  # d is known to rounding of this, and no better
    np.testing.assert_allclose(w2 * (1 + (b / w) ** 2), w**2 + b**2, atol=1e-12 * size.max(initial=0))
    np.testing.assert_allclose(v2, v**2, atol=1e-12 * size.max(initial=0))


@settings(deadline=None)
@given(shallow_cases())
def test_closed_velocities_are_the_velocities(case):
    net, x, y = case
    d = velocities(net, x, y)
    found = d.sees
    keep = (net.w**2 > 1e-3 * (net.b**2 + net.v**2)) & (np.abs(net.w) > 0)
    w, b, v = net.w[keep], net.b[keep], net.v[keep]
    got = closed_velocities(-b / w, w * v, w**2 + b**2 - v**2, found.r1[keep], found.rx[keep])
    np.testing.assert_allclose(got[0], d.beta[keep], rtol=1e-8, atol=1e-8 * (1 + np.abs(d.beta[keep]).max(initial=0)))
    expected = d.mu[keep] / (1 - net.leak[keep])
    np.testing.assert_allclose(got[1], expected, rtol=1e-8, atol=1e-8 * (1 + np.abs(expected).max(initial=0)))


def test_a_dead_unit_stands_still():
    net = Shallow([1.0, 1.0], [0.0, -50.0], [1.0, 1.0])
    d = velocities(net, [0.5, 1.0], [0.0, 0.0])
    assert (d.beta[1], d.mu[1], d.w[1], d.v[1]) == (0, 0, 0, 0)


def test_equal_units_move_alike():
    d = velocities(Shallow([1.0, 1.0], [0.2, 0.2], [0.5, 0.5]), [-1.0, 0.0, 1.0], [1.0, 0.0, 2.0])
    assert d.beta[0] == d.beta[1]
    assert d.mu[0] == d.mu[1]


def test_without_data_nothing_moves():
    d = velocities(Shallow([1.0], [0.5], [1.0]), [], [])
    assert (d.beta[0], d.mu[0], d.c0, len(d.f)) == (0, 0, 0, 0)
    assert tangent_kernel(Shallow([1.0], [0.5], [1.0]), []).shape == (0, 0)


def test_a_unit_without_weight_has_no_breakpoint_to_move():
    d = velocities(Shallow([0.0], [1.0], [2.0]), [1.0], [0.0])
    assert np.isnan(d.beta[0])
    assert d.mu[0] == -(2.0**2) * 2.0  # m = w v leaves 0: -v^2 rx


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ([1.0, 2.0], [1.0], "y must have one target per input, got 1 for 2 inputs"),
        ([np.nan], [1.0], "x must be finite, got nan"),
        ([1.0], [np.inf], "y must be finite, got inf"),
        (np.zeros((2, 2)), [1.0, 1.0], r"x must have shape \(n,\) or \(n, 1\), got \(2, 2\)"),
        (["a"], [1.0], "x must be an array of numbers"),
    ],
)
def test_wrong_data_are_named(x, y, message):
    with pytest.raises(InputError, match=message):
        velocities(Shallow([1.0], [0.5], [1.0]), x, y)


def test_closed_velocities_refuse_a_unit_without_weight():
    zero = np.zeros(1)
    with pytest.raises(InputError, match="m must belong to units that have a breakpoint, got w = 0 for unit 0"):
        closed_velocities(zero, zero, -np.ones(1), zero, zero)


@pytest.mark.parametrize("call", [velocities, spline_gradient, lambda net, x, y: tangent_kernel(net, x)])
def test_what_overflows_is_refused(call):
    net = Shallow([1e200, 1.0], [0.0, 1.0], [1e200, 1.0])
    with pytest.raises(InputError, match="net must have products with the data that fit into float64"):
        call(net, [1.0, 2.0], [0.0, 0.0])


def test_the_smallest_weights_move_as_they_should():
    net = Shallow([1e-160, 1.0], [1e-160, 0.5], [1e-160, 1.0])
    d = velocities(net, [1.0, 2.0], [0.0, 0.0])
    assert np.isfinite(d.beta).all()
    d = velocities(Shallow([5e-324], [1.0], [1.0]), [1.0], [0.0])  # its breakpoint is beyond float64
    assert not np.isfinite(d.beta[0])
    assert d.w[0] == -1.0
