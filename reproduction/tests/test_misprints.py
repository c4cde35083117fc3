"""The misprints of the sources that no other test shows, and that every one is listed with a test that is there."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import creases
from creases.compare import cka
from creases.growth.methods import fold, tiny
from creases.growth.methods._first_order.statistics import statistics
from creases.growth.methods._tiny.bottleneck import best_moves, optimal_units
from creases.network import widen
from creases.problems import get
from creases.splines import Shallow, theory
from creases_reproduction.catalogue import find_claim, list_claims
from creases_reproduction.misprints import list_misprints
from creases_reproduction.results import judge_numbers, to_json
from creases_reproduction.xng.growth_experiment import GROWN, small_networks
from first_order import activities, data, loss, mlp, place_of

ROOT = Path(__file__).parents[2]


def test_every_misprint_has_an_id_of_its_own_and_a_test_that_is_there():
    found = list_misprints()
    assert len({one.id for one in found}) == len(found)
    for one in found:
        path, _, name = one.test.partition("::")
        assert f"def {name.partition('[')[0]}(" in (ROOT / path).read_text(), one.id


def test_every_misprint_that_a_claim_names_is_listed():
    listed = {one.id for one in list_misprints()}
    named = {name: claim.id for claim in list_claims() for name in claim.misprints}
    assert {name: id for name, id in named.items() if name not in listed} == {}


@pytest.fixture(scope="module")
def folded():
    """A trained 2-2-2 network with its data and the unit proposed for it."""
    problem = get("sine")
    model = small_networks("sine", 2, 0, GROWN).module(0).double()
    proposal = fold(model, "0", problem.X, problem.y)
    assert proposal.count
    return model, problem, proposal


def gradient_of_new_units(model, place, X, y, fan_in, bias, fan_out, by):
    """Squared norm of the gradient of the new units' incoming weights and biases."""
    grown = deepcopy(model)
    k = len(fan_in)
    widen(grown, place, fan_in, bias, fan_out)
    torch.autograd.backward(by(grown(X), y))
    return float(grown[0].weight.grad[-k:].square().sum() + grown[0].bias.grad[-k:].square().sum())


def test_creases_of_a_second_layer_change_direction():
    # Unit 1 of the second layer is |x1| + x2 - 1/2: its crease is a corner, which no sum of ridges along lines has.
    layers = {
        "W0": np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1]]),
        "b0": np.zeros(4),
        "W1": np.array([[1.0, 1, 1, -1]]),
        "b1": np.array([-0.5]),
        "W2": np.ones((1, 1)),
        "b2": np.zeros(1),
    }
    model = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 1), nn.ReLU(), nn.Linear(1, 1)).double()
    with torch.no_grad():
        for k in range(3):
            model[2 * k].weight.copy_(torch.from_numpy(layers[f"W{k}"]))
            model[2 * k].bias.copy_(torch.from_numpy(layers[f"b{k}"]))
    part = creases.plane(creases.read(model))
    ends = part.vertices[part.edges[part.edge_units == 4]]
    ways = {tuple(np.round(np.sign(b - a)[0] * (b - a) / np.linalg.norm(b - a), 6)) for a, b in ends}
    assert len(ways) == 2


def test_an_inactive_new_unit_adds_nothing_to_the_gradient_at_the_input():
    numbers = find_claim("xng/lemma-2").measure("quick")
    assert numbers["active"] < 1e-12
    assert numbers["inactive, without the term"] < 1e-12 < 0.1 < numbers["inactive, as printed"]


def test_old_units_are_not_zero_at_the_fold_point(folded):
    model, _, proposal = folded
    point = torch.tensor(proposal.explanation["where"]["fold_point"], dtype=torch.float64)
    assert abs(float(proposal.fan_in[0] @ point + proposal.bias[0])) < 1e-10
    assert model[0](point).abs().max() > 1e-3


def test_zero_outgoing_weights_let_no_gradient_through(folded):
    model, problem, proposal = folded
    X, y = torch.from_numpy(problem.X).double(), torch.from_numpy(problem.y)
    nothing, something = (
        gradient_of_new_units(
            model,
            proposal.place,
            X,
            y,
            proposal.fan_in,
            proposal.bias,
            {path: factor * out for path, out in proposal.fan_out.items()},
            nn.functional.cross_entropy,
        )
        for factor in (0.0, 1.0)
    )
    assert nothing == 0 < something


def test_the_paper_drops_a_term_of_the_first_order_change():
    model, (x, y) = mlp(), data()
    place = place_of(model, "0")
    path = place.consumers[0].path
    sums = statistics(model, place, (x, y), loss)
    before, after, goal = activities(model, place, x, y)
    units = optimal_units(sums)
    change = sum(torch.outer(units.omega[path][:, k], before.T @ units.alpha[:, k]) for k in range(len(units.values)))
    moved = best_moves(sums)[path].T @ after
    slope = float((change * goal).sum()) / len(x)  # the fall of the mean loss, for slope 1 at 0
    printed, cross = float(units.values.square().sum()), float((change * moved).sum()) / len(x)
    assert slope == pytest.approx(printed + cross, rel=1e-9)
    assert abs(cross) > 1e-3 * printed


def test_the_printed_threshold_changes_with_the_unit_of_the_loss_and_the_share_of_a_unit_does_not():
    x, y = data((6,))
    y, model, c = (y + 2 * (x[:, 2] > 0)) % 4, mlp(widths=(6, 3, 4)), 100.0
    found = [tiny(model, "0", (x, y), lambda *a, c=c: c * loss(*a), as_printed=True).explanation for c in (1.0, c)]
    # the loss times c with a step eta / c desires the same changes, so that units and their lambda are the same
    values = [np.array(one["lambda"]) * eta for one, eta in zip(found, (1, 1 / c), strict=True)]
    assert values[0] == pytest.approx(values[1], rel=1e-9)
    # to first order a unit takes lambda^2 / eta off the loss: of the loss the same share
    shares = [v**2 / eta / one["loss"] for one, v, eta in zip(found, values, (1, 1 / c), strict=True)]
    assert shares[0] == pytest.approx(shares[1], rel=1e-9)
    printed = [v**2 * one["loss"] for one, v in zip(found, values, strict=True)]
    assert printed[1] == pytest.approx(c * printed[0], rel=1e-9)
    between = float((values[0][:2] ** 2).mean())
    assert tiny(model, "0", (x, y), loss, as_printed=True, tau=between * found[0]["loss"]).count == 1
    options = {"tau": between / found[0]["loss"], "ridge": 0.0, "above_noise": False, "fallback": None}
    ours = tiny(model, "0", (x, y), loss, validation=(x, y), **options)
    assert ours.explanation["candidates"] == 1


def test_a_unit_without_bias_adds_no_zero_eigenvalue():
    x = np.linspace(-2, 2, 16)
    with_bias, without = (
        np.linalg.matrix_rank(theory.hessian(Shallow([1, -1.2, 1.5], [0.8, 0.6, b], [1, 0.7, 0.5]), x, x).vectors)
        for b in (0.05, 0.0)
    )
    assert without == with_bias == 2 * 3 + 1


def test_the_loss_is_quartic_in_breakpoints_and_delta_slopes_together():
    x, y = np.array([1.0, 2.0, 3.0]), np.array([0.0, 1.0, 0.0])
    losses = [((t * (x + t) - y) ** 2).sum() for t in range(6)]  # one unit, beta = -t and mu = t
    assert np.diff(losses, 4)[0] == 24 * len(x)
    assert np.diff(losses, 5)[0] == 0
    for held in (
        [((2 * (x + t) - y) ** 2).sum() for t in range(6)],
        [((t * (x + 2) - y) ** 2).sum() for t in range(6)],
    ):
        assert not np.diff(held, 3).any()


def test_without_a_free_line_the_kernel_regime_is_no_cubic_spline():
    x, beta, grid = np.linspace(-3, 3, 8), np.linspace(-3, 3, 2000), np.linspace(-3, 3, 601)
    y = np.sin(2 * x) + 1
    cubic = theory.minimum_norm_fit(x, y)(grid)
    free = np.abs(theory.minimum_norm_fit(x, y, beta)(grid) - cubic).max()
    mu = np.linalg.lstsq(np.maximum(x[:, None] - beta, 0), y, rcond=None)[0]
    bound = np.abs(np.maximum(grid[:, None] - beta, 0) @ mu - cubic).max()
    assert free < 1e-3 < 0.1 < bound


RUN = [one.id for one in list_misprints() if "test_the_claim_finds_it_other_than_printed" in one.test]


@pytest.mark.parametrize("id", RUN)
def test_the_claim_finds_it_other_than_printed(id):
    claim = find_claim(id)
    verdict, why = judge_numbers(claim, to_json(claim.measure("quick")))
    assert verdict in ("disagrees", "agrees in kind")
    assert why


def test_a_jacobian_has_a_row_for_each_output_and_moves_with_the_way_from_the_point():
    net = creases.read(mlp(widths=(3, 4, 2), bend=nn.ReLU))
    x, step = np.array([0.3, -0.2, 0.5]), 1e-6 * np.array([1.0, 2.0, -1.0])
    J, _ = net.piece(x)
    assert J.shape == (2, 3)
    assert np.allclose(net(x + step), net(x) + J @ step, rtol=0, atol=1e-12)
    assert not np.allclose(net(x + step), net(x) + J @ (x + step), rtol=0, atol=1e-3)


def test_minus_infinity_is_the_zero_of_maxima():
    numbers = np.array([-1e300, -1.0, 0.0, 7.0])
    assert (np.maximum(numbers, -np.inf) == numbers).all()
    assert (numbers + -np.inf == -np.inf).all()
    assert not (np.maximum(numbers, np.inf) == numbers).any()


def test_the_constant_zero_has_an_error_of_one_half_on_sine():
    x = np.linspace(-np.pi, np.pi, 100)
    assert (np.sin(x) ** 2).mean() == pytest.approx(0.5, abs=0.01)


def test_cka_of_coefficients_is_undefined_for_a_linear_network():
    X = np.random.default_rng(0).normal(size=(20, 3))
    linear, dense = (
        np.array([creases.read(model).piece(x).J[0] for x in X])
        for model in (nn.Sequential(nn.Linear(3, 2)), mlp(widths=(3, 8, 2), bend=nn.ReLU))
    )
    centred = linear - linear.mean(axis=0)
    assert np.abs(centred).max() < 1e-12
    assert np.isnan(cka(linear, dense))
    assert 0 < cka(dense, np.abs(dense)) < 1
