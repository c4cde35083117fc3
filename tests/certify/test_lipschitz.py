"""The Lipschitz constant is the largest norm of all regions, between sampled gradients and the product of norms."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import nn

import creases
from agreement import Lambda, seeded
from creases.certify import lipschitz
from creases.certify._maximize import objectives
from creases.certify.proofs import check_proof
from creases.certify.proofs._check import find_difference
from creases.certify.proofs._norms import norm_above, norm_below
from reference import exact_regions
from strategies import Case, cases

ORDER = {"l1": 1, "l2": 2, "linf": np.inf}
NORMS = list(ORDER)


def read(*layers: nn.Module, n: int) -> creases.Network:
    return creases.read(seeded(nn.Sequential(*layers)).double(), (n,))


def largest(J: np.ndarray, norm: str) -> float:
    return max((float(np.linalg.norm(part, ORDER[norm])) for part in J), default=0.0)


def jacobian(case: Case, sides: np.ndarray) -> np.ndarray:
    """Return the Jacobian of the pattern of a perceptron, by its layers."""
    J, first = np.eye(case.layers[0][0].shape[1]), 0
    for k, (W, _) in enumerate(case.layers):
        J = W @ J
        if k + 1 < len(case.layers):
            J = np.where(sides[first : first + len(W)] > 0, 1.0, case.leak)[:, None] * J
            first += len(W)
    return J


@pytest.mark.parametrize("norm", NORMS)
def test_the_constant_is_that_of_the_enumerated_regions(monkeypatch, norm) -> None:
    net = read(nn.Linear(2, 5), nn.ReLU(), nn.Linear(5, 3), nn.LeakyReLU(0.2), nn.Linear(3, 2), n=2)
    box = np.array([(-1.0, 1.0), (-0.5, 2.0)])
    value = largest(creases.space(net, box, method="vertices").pieces().J, norm)
    constant = lipschitz(net, box, norm)
    assert constant.exact
    assert constant.upper == pytest.approx(value, rel=1e-9)
    assert largest(net.piece(constant.where).J[None], norm) == pytest.approx(constant.lower, rel=1e-9)
    assert check_proof(constant.proof, net)
    monkeypatch.setattr(objectives, "search_form", lambda net: None)  # over boxes: creases that meet stay undecided
    coarse = lipschitz(net, box, norm, budget=0.5)
    assert coarse.lower <= constant.upper
    assert coarse.upper >= constant.lower
    assert check_proof(coarse.proof, net)


@pytest.mark.parametrize("norm", NORMS)
def test_it_lies_between_sampled_gradients_and_the_product_of_norms(norm) -> None:
    model = [nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 6), nn.ReLU(), nn.Linear(6, 3)]
    net = read(*model, n=4)
    constant = lipschitz(net, (-1, 1), norm, budget=5)
    X = np.random.default_rng(0).uniform(-1, 1, (300, 4))
    assert constant.upper >= largest(np.concatenate([piece.J for piece in net.jacobians(X)]), norm)
    product = np.prod([np.linalg.norm(each.weight.detach(), ORDER[norm]) for each in model[::2]])
    assert constant.lower <= product * (1 + 1e-12)
    assert check_proof(constant.proof, net)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(cases(n_in=2), st.sampled_from(NORMS))
def test_ugly_networks_have_the_constant_of_their_exact_regions(case: Case, norm: str) -> None:
    net = creases.read(case.layers, leak=case.leak)
    constant = lipschitz(net, case.box, norm, budget=3)
    regions = exact_regions(case.layers, case.box, leak=case.leak)
    value = largest(np.stack([jacobian(case, sides) for sides in regions.sides]), norm)
    assert constant.lower * (1 - 1e-9) <= value <= constant.upper * (1 + 1e-9)
    assert constant.proof is None or check_proof(constant.proof, net)


@pytest.mark.parametrize("norm", NORMS)
def test_single_pieces_of_any_scale_are_known_to_nine_digits(norm) -> None:
    for scale in (1.0, 1e-300, 1e-320, 1e300):
        W = np.array([[3.0, 1.0], [1.0, -2.0]]) * scale
        net = creases.read([(W, [0.0, 1.0])])
        constant = lipschitz(net, (-1, 1), norm)
        assert constant.upper == pytest.approx(np.linalg.norm(W / scale, ORDER[norm]) * scale, rel=1e-3)
        assert constant.exact or scale < 1e-310
        assert check_proof(constant.proof, net)


def test_dead_units_do_not_count() -> None:
    net = creases.read([([[1.0, 1.0], [9.0, 9.0]], [0.0, -100.0]), ([[2.0, 5.0]], [0.0])])
    assert lipschitz(net, (-1, 1), "l1").upper == pytest.approx(2)
    flat = lipschitz(creases.read([([[1.0]], [-5.0]), ([[1.0]], [0.0])]), (-1, 1))
    assert (flat.lower, flat.upper, flat.exact) == (0.0, 0.0, True)


@pytest.mark.parametrize("norm", NORMS)
def test_networks_with_choices_are_searched_over_boxes(norm) -> None:
    net = read(nn.Linear(2, 4), Lambda(lambda h: h.reshape(len(h), 2, 2).amax(dim=2)), nn.Linear(2, 2), n=2)
    constant = lipschitz(net, (-1, 1), norm, budget=3)
    X = np.random.default_rng(0).uniform(-1, 1, (300, 2))
    assert constant.lower <= constant.upper
    assert constant.upper >= largest(np.concatenate([piece.J for piece in net.jacobians(X)]), norm) * (1 - 1e-12)
    assert check_proof(constant.proof, net)


def test_a_search_that_ends_early_has_two_ends() -> None:
    net = read(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 5), n=10)
    constant = lipschitz(net, (-1, 1), budget=1)
    assert 0 < constant.lower < constant.upper
    assert not constant.exact
    assert "between" in str(constant)
    assert check_proof(constant.proof, net)


@pytest.mark.parametrize("norm", NORMS)
def test_forged_proofs_are_refused(norm) -> None:
    net = read(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 2), n=2)
    proof = lipschitz(net, (-1, 1), norm).proof
    statement = proof.statement
    wrong = {"upper": statement.lower * (1 - 1e-9), "lower": statement.upper * (1 + 1e-9), "where": (2.0, 0.0),
             "box": ((-2.0, 2.0), (-1.0, 1.0))}  # fmt: skip
    for name, value in wrong.items():
        if name != "box" or lipschitz(net, value, norm).lower > statement.upper:
            assert not check_proof(replace(proof, statement=replace(statement, **{name: value})), net), name
    other = next(each for each in NORMS if lipschitz(net, (-1, 1), each).lower > statement.upper or each == norm)
    if other != norm:
        assert not check_proof(replace(proof, statement=replace(statement, norm=other, lower=None)), net)
    assert not check_proof(replace(proof, proofs=()), net)
    fixed = replace(statement, box=((-1.0, 1.0), (0.5, 0.5)), lower=None, where=None)  # a column less is no larger
    assert check_proof(replace(proof, statement=fixed), net) or norm == "linf"
    thin = replace(statement, box=((0.5, 0.5), (0.5, 0.5)), lower=None, where=None)
    assert not check_proof(replace(proof, statement=thin), net)
    assert find_difference(statement, replace(statement, upper=statement.upper + 1, where=None)) == ""
    assert find_difference(statement, replace(statement, upper=statement.lower * 0.9)) == "statement.upper"


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(1, 4), st.sampled_from([0.0, 1e-12, 0.5, 3.0]))
def test_norms_between_bounds_enclose_those_of_matrices(seed, m, n, spread) -> None:
    rng = np.random.default_rng(seed)
    low = rng.standard_normal((m, n)) * 10.0 ** rng.integers(-3, 4) * (rng.random((m, n)) < 0.8)
    high = low + spread * rng.random((m, n))
    M = low + (high - low) * rng.random((m, n))
    exact = [np.array([[Fraction(v) for v in row] for row in end.tolist()], dtype=object) for end in (low, high)]
    for norm, order in ORDER.items():
        value = np.linalg.norm(M, order)
        assert norm_below(*exact, norm) <= value * (1 + 1e-12)
        assert norm_above(low, high, norm) >= value * (1 - 1e-12)
        if not spread:
            assert norm_below(*exact, norm) >= value * (1 - 1e-12)
            assert norm_above(low, high, norm) <= value * (1 + 1e-11)


def test_a_norm_of_what_overflows_is_not_bounded() -> None:
    M = np.full((2, 2), 1.7e308)
    for norm in NORMS:
        assert norm_above(M, M, norm) == np.inf
        assert norm_above(np.full((2, 2), -np.inf), np.full((2, 2), np.inf), norm) == np.inf
        assert norm_above(np.full((2, 2), np.nan), M, norm) == np.inf
