"""Slide 29 as printed: no bias, a crease through the origin and the fold point, the largest gradient, aligned."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
import pytest
import torch

import creases
from creases.growth import apply
from creases.growth.methods import fold
from creases.growth.methods.folding import decisions, subnetwork_at
from creases.problems import get
from creases_reproduction.xng.clusters import nearest_to_centroid
from creases_reproduction.xng.growth_experiment import small_networks
from creases_reproduction.xng.printed_rule import broaden, propose_as_printed


@pytest.fixture(scope="module")
def case():
    problem = get("sine")
    model = small_networks("sine", 3, 0, 300).module(1).double()
    return model, creases.places(model)[0], problem


@pytest.mark.parametrize("d", [2, 5])
def test_the_unit_is_orthogonal_to_the_fold_point_and_descent_raises_it_at_the_instance(d):
    rng = np.random.default_rng(7)
    X, slopes = rng.normal(size=(50, d)), rng.normal(size=(50, 3))
    x_t, x_f = rng.normal(size=(2, d))
    unit = broaden(X, slopes, x_t, x_f)
    assert unit is not None
    assert abs(unit.w @ x_f) < 1e-12
    active = X @ unit.w > 0
    gradient = unit.v @ slopes[active].T @ X[active] / len(X)
    assert np.isclose(gradient @ gradient, unit.gradient)
    assert (-gradient @ x_t) * (unit.w @ (x_t - x_f)) > 0


def test_of_both_directions_in_the_plane_the_one_with_the_larger_gradient_is_taken():
    X = np.array([[1.0, 1.0], [-1.0, 1.0]])
    slopes = np.array([[5.0, -5.0], [0.1, -0.1]])
    unit = broaden(X, slopes, np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    assert unit is not None
    assert np.allclose(unit.w, [1.0, 0.0])
    assert broaden(X, 0 * slopes, X[0], X[1]) is None


def test_the_proposal_has_no_bias_and_can_be_applied(case):
    model, place, problem = case
    proposal = propose_as_printed(model, place, problem.X, problem.y)
    assert proposal is not None
    assert not proposal.bias.any()
    grown = deepcopy(model)
    before = model(torch.from_numpy(problem.X).double()).detach()
    apply(proposal, grown)
    change = (grown(torch.from_numpy(problem.X).double()) - before).abs().max()
    assert 0 < change < 1


def test_the_crease_of_the_foot_aligned_unit_is_the_boundary_and_that_of_slide_29_is_not(case):
    model, place, problem = case
    foot = fold(model, place, problem.X, problem.y, point="foot", direction="alignment", choose="mean")
    printed = propose_as_printed(model, place, problem.X, problem.y)
    X = problem.X.astype(np.float64)
    tail = subnetwork_at(model, place)
    t = nearest_to_centroid(X, decisions(tail.outputs(X), problem.y), k=3).mistake
    J = creases.read(model).piece(X[t]).J
    normal = J[0] - J[1]
    cosines = [
        abs(float(w @ normal)) / float(np.linalg.norm(w) * np.linalg.norm(normal))
        for w in (foot.fan_in[0].numpy(), printed.fan_in[0].numpy())
    ]
    assert cosines[0] > 1 - 1e-9 > cosines[1]
