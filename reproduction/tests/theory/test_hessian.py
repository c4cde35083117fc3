import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings

from creases.errors import InputError
from creases.splines import Shallow
from creases.splines.theory import hessian, velocities
from splines_cases import loss, parameters, shallow_cases


@pytest.mark.slow
@settings(deadline=None)
@given(shallow_cases())
def test_gram_and_residual_terms_add_up_to_autograds_hessian(case):
    net, x, y = case
    expected = torch.autograd.functional.hessian(lambda t: loss(net, t, x, y), parameters(net)).numpy()
    got = hessian(net, x, y).matrix
    np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-12 * (1 + np.abs(expected).max()))


@settings(deadline=None)
@given(shallow_cases())
def test_the_splines_hessian_is_autograds_too(case):
    net, x, y = case
    assume((net.w != 0).all())
    a = torch.from_numpy(velocities(net, x, y).sees.a)
    tx, ty = torch.from_numpy(x), torch.from_numpy(y)
    H, skip = net.width, net.c1 != 0

    def of(t):
        beta, m = t[: 2 * H].reshape(2, H)
        line = t[2 * H] + (t[-1] * tx if skip else 0.0)
        e = line + (m[:, None] * (tx - beta[:, None]) * a).sum(0) - ty
        return 0.5 * e @ e

    theta = np.concatenate([-net.b / net.w, net.w * net.v, [net.c0, net.c1] if skip else [net.c0]])
    expected = torch.autograd.functional.hessian(of, torch.from_numpy(theta)).numpy()
    np.testing.assert_allclose(
        hessian(net, x, y, "spline").matrix, expected, rtol=1e-9, atol=1e-10 * (1 + np.abs(expected).max())
    )


@settings(deadline=None)
@given(shallow_cases())
def test_a_units_three_generating_vectors_span_two_dimensions_at_most(case):
    net, x, _ = case
    Z, H = hessian(net, x, x).vectors, net.width
    for i in range(H):
        direction = np.zeros(Z.shape[1])
        direction[[i, H + i, 2 * H + i]] = net.w[i], net.b[i], -net.v[i]  # the gauge: more w and b, less v
        np.testing.assert_allclose(Z @ direction, 0, atol=1e-12 * (1 + np.abs(Z).max() * np.abs(direction).max()))


def test_at_a_perfect_fit_the_hessian_is_the_gram_matrix():
    rng = np.random.default_rng(0)
    net, x = Shallow(*rng.normal(size=(3, 4)), 0.3), rng.normal(size=20)
    found = hessian(net, x, net(x))
    assert np.abs(found.residual).max() < 1e-13
    assert np.linalg.eigvalsh(found.matrix).min() > -1e-12


def test_the_splines_hessian_can_be_positive_definite_and_the_networks_never_is():
    x = np.linspace(-2, 2, 20)
    net = Shallow([1.0, 1.0, -1.0], [0.5, -0.5, -1.1], [1.0, -2.0, 1.5])
    assert np.linalg.eigvalsh(hessian(net, x, net(x), "spline").matrix).min() > 1e-3
    smallest = np.linalg.eigvalsh(hessian(net, x, net(x)).matrix)[: net.width + 1]
    np.testing.assert_allclose(smallest[:-1], 0, atol=1e-12)  # H of them: the gauge
    assert smallest[-1] > 1e-3


def test_without_breakpoint_there_is_no_splines_hessian():
    with pytest.raises(InputError, match="net must have a breakpoint for every unit, got w = 0 for unit 1"):
        hessian(Shallow([1.0, 0.0], [0.0, 1.0], [1.0, 1.0]), [1.0], [1.0], "spline")


@pytest.mark.parametrize("coordinates", ["weights", "spline"])
def test_what_overflows_is_refused(coordinates):
    with pytest.raises(InputError, match="net must have products with the data that fit into float64"):
        hessian(Shallow([1e100], [0.0], [1e200]), [1.0, 2.0], [0.0, 0.0], coordinates)
