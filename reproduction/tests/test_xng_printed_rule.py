"""Slide 29 as printed: no bias, a crease through the origin and the fold point, the largest gradient, aligned."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
import pytest
import torch
from sklearn.cluster import KMeans

import creases
from creases.growth import apply, explain
from creases.growth.methods import fold
from creases.growth.methods.folding import decisions, printed_unit, subnetwork_at
from creases.problems import get
from creases_reproduction.xng.clusters import nearest_to_centroid
from creases_reproduction.xng.growth_experiment import small_networks
from creases_reproduction.xng.printed_rule import propose_as_printed


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
    w, v = printed_unit(X, slopes, x_t, x_f)
    assert abs(w @ x_f) < 1e-12
    gradient = v @ slopes[X @ w > 0].T @ X[X @ w > 0] / len(X)
    assert (-gradient @ x_t) * (w @ (x_t - x_f)) > 0


def test_of_both_directions_in_the_plane_the_one_with_the_larger_gradient_is_taken():
    X = np.array([[1.0, 1.0], [-1.0, 1.0]])
    slopes = np.array([[5.0, -5.0], [0.1, -0.1]])
    unit = printed_unit(X, slopes, np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    assert unit is not None
    assert np.allclose(unit[0], [1.0, 0.0])
    assert printed_unit(X, 0 * slopes, X[0], X[1]) is None
    assert printed_unit(X[:, :1], slopes, X[0, :1], X[1, :1]) is None  # nothing is orthogonal to a number


def plain_rule(model, X, y, t):
    """Slides 27 and 29 in plain steps for two inputs: the foot, and the product of weights out and in (2, 2).

    Torch differentiates the loss by weights in, and that by weights out.
    """
    inputs, z = torch.from_numpy(X), model(torch.from_numpy(X)).detach()
    i, j = z[t].argsort(descending=True)
    J = torch.autograd.functional.jacobian(model, inputs[t]).numpy()
    normal = J[i] - J[j]
    foot = X[t] - float(z[t, i] - z[t, j]) * normal / (normal @ normal)

    def loss(weights, out):
        added = torch.relu(inputs @ weights)[:, None] * out
        return torch.nn.functional.cross_entropy(z + added, torch.from_numpy(y))

    found = []
    for u in (np.array([-foot[1], foot[0]]), np.array([foot[1], -foot[0]])):
        u = u / np.linalg.norm(u)
        at = torch.from_numpy(u), torch.zeros(2, dtype=torch.float64)
        slopes = torch.func.jacrev(torch.func.grad(loss), 1)(*at).numpy().T  # by weight out: the gradient of those in
        values, vectors = np.linalg.eigh(slopes @ slopes.T)
        v = vectors[:, -1]
        aligned = np.sign((-v @ slopes @ X[t]) * (u @ (X[t] - foot)))
        found.append((values[-1], np.outer(aligned * v, u)))
    return foot, max(found, key=lambda pair: pair[0])[1]


@pytest.mark.parametrize("seed", [0, 2, 3, 4, 5])
def test_as_printed_a_fold_follows_slides_27_to_29(seed):
    problem = get(("sine", "circle", "quadratic")[seed % 3])
    X, y = problem.X.astype(np.float64), problem.y
    model = small_networks(problem.name, 6, 0, 300).module(seed).double()
    proposal = fold(model, "0", X, y, as_printed=True)
    loss = torch.nn.functional.cross_entropy(model(torch.from_numpy(X)), torch.from_numpy(y), reduction="none")
    loss = loss.detach().numpy()
    clustered = KMeans(3, n_init=2, random_state=0).fit(X / np.abs(X - X.mean(0)).max(), sample_weight=loss)
    costly = max(range(3), key=lambda label: loss[clustered.labels_ == label].mean())
    rows = np.flatnonzero(clustered.labels_ == costly)
    t = proposal.explanation["why"]["instance"]
    centroid = np.average(X[rows], axis=0, weights=loss[rows])
    assert t == rows[((X[rows] - centroid) ** 2).sum(1).argmin()]
    foot, product = plain_rule(model, X, y, t)
    assert proposal.explanation["where"]["fold_point"] == pytest.approx(foot, rel=1e-9)
    assert not proposal.bias.any()
    assert abs(proposal.fan_in[0].numpy() @ foot) < 1e-12
    length = np.median(np.linalg.norm(model[0].weight.detach().numpy(), axis=1))
    found = (proposal.fan_out["2"] @ proposal.fan_in).numpy()
    assert found == pytest.approx(0.05 * length * product, rel=1e-6, abs=1e-9)
    assert explain(proposal.explanation).startswith("1 unit added to '0' because ")


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


def test_behind_the_equivalent_deepening_a_fold_passes_through_the_boundary_of_the_new_layer(case):
    model, _, problem = case
    deeper, X = deepcopy(model), torch.from_numpy(problem.X).double()
    name = creases.deepen(deeper, "0").place_name
    assert torch.equal(deeper(X), model(X))
    proposal = fold(deeper, name, problem.X, problem.y)
    where = proposal.explanation["where"]
    assert where["space"] == f"what enters {name}"
    point = torch.tensor(where["fold_point"], dtype=torch.float64)
    assert abs(float(proposal.fan_in[0] @ point + proposal.bias[0])) <= 1e-10
    assert apply(proposal, deeper, data=X).change <= proposal.explanation["effect"]["bound"] + 1e-12
