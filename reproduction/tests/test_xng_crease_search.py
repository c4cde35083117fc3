"""The baseline that searches creases anywhere."""

import copy
import json

import numpy as np
import pytest
import torch

from creases.errors import InputError
from creases.growth import apply
from creases.problems import get
from creases_reproduction.xng.crease_search import crease_search
from fold_models import cost, data, perceptron, train_briefly


@pytest.mark.parametrize("widths", [[2, 3, 2], [1, 3, 2], [4, 3, 3], [2, 3, 1], [3, 4, 4, 2]])
def test_the_recorded_gradient_is_that_of_the_new_output_weights(widths):
    rng = np.random.default_rng(0)
    model = perceptron(widths, rng)
    X, y = data(60, widths[0], max(2, widths[-1]), rng)
    proposal = crease_search(model, "0", X, y, eps=1e-9)
    grown = copy.deepcopy(model)
    apply(proposal, grown)
    cost(grown, torch.from_numpy(X), torch.from_numpy(y)).backward()
    rho = proposal.explanation["crease"]["length"]
    size = grown[2].weight.grad[:, -1].norm().item() / rho
    assert size == pytest.approx(proposal.explanation["gradient"], rel=1e-5)
    along = (grown[2].weight.grad[:, -1] * proposal.fan_out["2"][:, 0]).sum().item()
    assert -along == pytest.approx(proposal.gain, rel=1e-5)
    json.dumps(proposal.explanation)


def test_no_other_crease_through_an_instance_has_a_larger_gradient_in_the_plane():
    X, y = get("circle", n=80)
    model = train_briefly(perceptron([2, 3, 2], np.random.default_rng(0)), X, y)
    p = torch.softmax(model(torch.from_numpy(X)), dim=1).detach().numpy()
    error = p - np.eye(2)[y]
    angle = 2 * np.pi * np.arange(72) / 72
    u = np.column_stack([np.cos(angle), np.sin(angle)])
    sizes = [np.linalg.norm(np.maximum((X - x) @ u.T, 0).T @ error / 80, axis=1).max() for x in X]
    assert crease_search(model, "0", X, y).explanation["gradient"] == pytest.approx(max(sizes))


def test_a_search_is_the_same_for_the_same_seed():
    rng = np.random.default_rng(1)
    X, y = data(50, 3, 2, rng)
    model = perceptron([3, 2, 2], rng)
    one, two = (crease_search(model, "0", X, y, points=10, seed=4) for _ in range(2))
    assert torch.equal(one.fan_in, two.fan_in)
    assert one.explanation["tried"] == 720
    with pytest.raises(InputError, match="points must be a positive integer, got 0"):
        crease_search(model, "0", X, y, points=0)
