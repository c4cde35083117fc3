import numpy as np
import pytest
from hypothesis import given, settings

from creases.errors import InputError
from creases.splines import Shallow
from creases.splines.theory import hessian
from creases_reproduction.splines.theory.critical import critical_point
from splines_cases import shallow_cases

X = np.linspace(-2, 2, 25) + 0.013


def with_errors_orthogonal_to(net, vectors, seed=0, x=X):
    """Targets y such that the errors of the network are orthogonal to some vectors (N, r)."""
    e = np.random.default_rng(seed).normal(size=len(x))
    q = np.linalg.svd(vectors, full_matrices=False)[0][:, : np.linalg.matrix_rank(vectors)]
    e -= q @ (q.T @ e)
    return net(x) - (e - q @ (q.T @ e))


def random_net(seed, H=3):
    rng = np.random.default_rng(seed)
    w = rng.choice([-1.0, 1.0], H)
    return Shallow(w, -w * rng.uniform(-1.8, 1.8, H), rng.uniform(0.5, 2, H), 0.2)


@pytest.mark.parametrize("seed", range(5))
def test_errors_orthogonal_to_what_units_can_add_make_a_minimum(seed):
    net = random_net(seed)
    y = with_errors_orthogonal_to(net, hessian(net, X, X).vectors, seed)
    found = critical_point(net, X, y)
    assert found.kind == "minimum"
    assert found.loss > 0.1
    eigenvalues = np.linalg.eigvalsh(hessian(net, X, y).matrix)
    assert (np.abs(eigenvalues) < 1e-9 * eigenvalues.max()).sum() == found.zeros
    rng = np.random.default_rng(seed)
    for _ in range(50):  # and it is one: the loss falls nowhere near
        near = [part + 1e-4 * rng.normal(size=3) for part in (net.w, net.b, net.v)]
        e = Shallow(*near, net.c0 + 1e-4 * rng.normal())(X) - y
        assert e @ e / 2 >= found.loss - 1e-12


def test_an_unused_unit_that_would_be_of_use_is_a_strict_saddle():
    net = random_net(1)
    net = Shallow(net.w, net.b, net.v * [1, 1, 0], net.c0)
    y = with_errors_orthogonal_to(net, hessian(net, X, X).vectors)  # phi of unit 2 among them: v has no gradient
    found = critical_point(net, X, y)
    assert (found.kind, found.saddles) == ("strict saddle", (2,))
    assert np.linalg.eigvalsh(hessian(net, X, y).matrix).min() < -1e-3


def test_an_unused_unit_that_is_of_no_use_leaves_a_minimum():
    net = random_net(1)
    silent = Shallow(net.w, net.b, net.v * [1, 1, 0], net.c0)
    y = with_errors_orthogonal_to(silent, hessian(net, X, X).vectors)
    found = critical_point(silent, X, y)
    assert (found.kind, found.saddles) == ("minimum", ())
    assert ("no output weight", (2,), 1) in [(one.kind, one.units, one.extra) for one in found.degeneracies]


def test_a_gradient_that_is_not_zero_is_no_critical_point():
    net = random_net(2)
    found = critical_point(net, X, np.sin(X))
    assert found.kind == "not critical"
    assert found.saddles == ()
    assert found.gradient.any()


def test_a_breakpoint_on_a_datum_is_named():
    net = Shallow([1.0, 1.0], [-0.5, 0.3], [1.0, 1.0])
    found = critical_point(net, [0.0, 0.5, 1.0], net([0.0, 0.5, 1.0]))
    assert (found.kind, found.on_data) == ("not smooth", (0,))


@settings(deadline=None)
@given(shallow_cases())
def test_a_perfect_fit_is_a_minimum_at_every_scale(case):
    net, x, _ = case
    for scale in (1e-6, 1.0, 1e6):
        scaled = Shallow(net.w, net.b, scale * net.v, scale * net.c0, scale * net.c1, net.leak)
        found = critical_point(scaled, x, scaled(x))
        assert found.kind in ("minimum", "not smooth")
        assert found.zeros >= net.width


def test_a_wrong_tolerance_is_named():
    with pytest.raises(InputError, match="tolerance must be a finite number at least 0, got -1"):
        critical_point(random_net(0), X, X, tolerance=-1)
