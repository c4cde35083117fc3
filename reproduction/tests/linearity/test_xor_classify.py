"""Trained networks are put into the families they have come to."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from creases.errors import InputError
from creases.lab import Batch
from creases_reproduction.linearity.xor.classify import classify
from creases_reproduction.linearity.xor.steady_states import REGIONS


def module(w, b, o, c):
    model = torch.nn.Sequential(torch.nn.Linear(1, 2), torch.nn.ReLU(), torch.nn.Linear(2, 1)).double()
    with torch.no_grad():
        model[0].weight.copy_(torch.tensor(w, dtype=torch.float64)[:, None])
        model[0].bias.copy_(torch.tensor(b, dtype=torch.float64))
        model[2].weight.copy_(torch.tensor(o, dtype=torch.float64)[None])
        model[2].bias.fill_(c)
    return model


SOLVED = module([-2.0, 2.0], [-1.0, -1.0], [-2.0, -2.0], 1.0)
ONE_SIDE = module([-2.0, -1.0], [-1.0, -5.0], [-4 / 3, 7.0], 1 / 3)
NOTHING = module([0.5, -0.5], [-1.0, -1.0], [3.0, 7.0], 0.0)


def test_a_solution_lies_in_the_family_of_its_region():
    found = classify(SOLVED)
    assert REGIONS[found.region[0]].solution == "c + o1 (b1 - w1) = -1, c = 1, c + o2 (b2 + w2) = -1"
    assert found.values.tolist() == [[-1, 1, -1]]
    assert (found.loss[0], found.distance[0], found.level[0]) == (0, 0, 0)


def test_local_optima_are_told_by_their_loss():
    found = classify(Batch.from_modules([SOLVED, ONE_SIDE, NOTHING], dtype=np.float64))
    np.testing.assert_allclose(found.loss, [0, 8 / 3, 4], atol=1e-12)
    assert found.level.tolist() == [0, 1, 2]
    assert found.is_steady(1e-9).all()


def test_the_distance_is_the_largest_difference_in_values():
    moved = module([-2.0, 2.0], [-1.0, -1.0], [-2.0, -2.1], 1.05)
    assert classify(moved).distance[0] == pytest.approx(0.05)
    assert not classify(moved).is_steady(0.01).any()


def test_a_region_without_steady_states_is_infinitely_far_from_one():
    found = classify(module([1.0, 0.0], [0.5, -1.0], [1.0, 1.0], 0.0))
    assert REGIONS[found.region[0]].values is None
    assert np.isinf(found.distance[0])
    assert not found.is_steady().any()


def test_zero_is_not_active():
    found = classify(module([0.0, 0.0], [0.0, 0.0], [1.0, 1.0], 0.0))
    assert found.region[0] == 0


def test_no_networks_give_no_rows():
    assert classify(Batch.initial(0, [1, 2, 1], seed=0)).region.shape == (0,)


def test_other_shapes_are_refused():
    with pytest.raises(InputError, match=r"networks must have widths \(1, 2, 1\) and ReLUs, got widths \(1, 3, 1\)"):
        classify(Batch.initial(1, [1, 3, 1], seed=0))
    with pytest.raises(InputError, match=r"with leak 0\.1"):
        classify(Batch.initial(1, [1, 2, 1], seed=0, leak=0.1))
    with pytest.raises(InputError, match=r"networks must be a lab\.Batch or an nn\.Sequential, got Linear"):
        classify(torch.nn.Linear(1, 1))
