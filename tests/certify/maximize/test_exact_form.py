"""Matrices between bends are those of the network, without rounding."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import torch
from torch import nn

import creases
from creases.certify._exact import exact_outputs
from creases.certify._form import exact_functions, search_form
from creases.certify._maximize.domain import check_domain
from creases.certify._maximize.objectives import Gradient, LeastRow
from creases.certify._maximize.values import exact_jacobian
from creases.certify.proofs._checker.parts import Dyadic


def read(*layers: nn.Module, n: int = 3) -> creases.Network:
    return creases.read(nn.Sequential(*layers).double(), (n,)).to(torch.float64)


@pytest.fixture
def chain() -> creases.Network:
    torch.manual_seed(1)
    return read(nn.Linear(3, 4), nn.Linear(4, 4), nn.LeakyReLU(0.125), nn.Linear(4, 3), nn.Hardtanh(), nn.Linear(3, 2))


def test_multiplied_out_steps_are_the_same_function(chain: creases.Network) -> None:
    form = search_form(chain)
    assert form is not None
    for x in np.random.default_rng(0).normal(size=(4, 3)):
        assert form.entering(Dyadic.of(x))[-1].fractions().tolist() == exact_outputs(chain, x)


def test_matrices_are_the_nearest_floats_with_their_errors(chain: creases.Network) -> None:
    form = search_form(chain)
    assert form is not None
    assert form.is_known
    assert form.exact_functions is not None
    for layer, (c, *matrices) in zip((*form.layers, form.output), form.exact_functions, strict=True):
        W_error = np.zeros(layer.W.shape) if layer.W_error is None else layer.W_error
        W = np.hstack([part.fractions() for part in matrices])
        for floats, error, exact in ((layer.W, W_error, W), (layer.c, layer.c_error, c.fractions())):
            away = [abs(Fraction(a) - b) for a, b in zip(floats.ravel().tolist(), exact.flat, strict=True)]
            assert all(a <= Fraction(e) for a, e in zip(away, error.ravel().tolist(), strict=True))


def test_the_constants_around_a_point_far_away_are_exact_to_the_last_bit(chain: creases.Network) -> None:
    form, middle = search_form(chain), np.array([1e6, -2e5, 3e7])
    assert form is not None
    first = form.recenter(middle).layers[0]
    assert (first.c_error <= np.spacing(np.abs(first.c))).all()


def test_a_value_that_is_reached_is_rounded_down_once(chain: creases.Network) -> None:
    x = np.array([0.3, -1.2, 2.5])
    outputs = exact_outputs(chain, x)
    assert outputs is not None
    value = LeastRow(chain, np.eye(2)[:1], np.zeros(1)).reached(check_domain((-3, 3), None, None, 3), x, np.inf)
    assert Fraction(value) <= outputs[0] < Fraction(float(np.nextafter(value, np.inf)))


def test_a_coefficient_at_a_point_agrees_with_its_piece(chain: creases.Network) -> None:
    form, x = search_form(chain), np.array([0.3, -1.2, 0.5])
    assert form is not None
    J = np.asarray(chain.piece(x).J)
    exact = exact_jacobian(form, np.eye(2)[:1], x)
    assert exact is not None
    assert exact[0].astype(float) == pytest.approx(J[0], rel=1e-12, abs=1e-15)


def test_a_coefficient_through_a_saturated_clamp_is_exactly_zero() -> None:
    torch.manual_seed(0)
    net = read(nn.Linear(2, 3), nn.Hardtanh(0.0, 1.0), nn.Linear(3, 1), n=2)
    assert Gradient(net, np.ones((1, 1)), np.array([0])).exact_above([np.ones(3)] * 2) == 0.0


def test_a_coefficient_of_a_wide_network_takes_one_pass_each_way() -> None:
    torch.manual_seed(0)
    net, x = (
        read(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1), n=20),
        np.linspace(-1, 1, 20),
    )
    value, form = net.piece(x).J[0, 3], search_form(net)
    assert form is not None
    exact = exact_jacobian(form, np.ones((1, 1)), x)
    assert exact is not None
    assert float(exact[0, 3]) == pytest.approx(value, rel=1e-12)


def test_a_network_that_is_too_large_has_no_exact_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("creases.certify.proofs._checker.runs.MULTIPLICATIONS", 10)
    assert exact_functions(read(nn.Linear(3, 4), nn.Linear(4, 1))) is None
