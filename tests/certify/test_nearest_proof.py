"""Proofs of nearest changes: true ones are verified by the checker, false ones refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import creases
from creases.certify import nearest
from creases.certify.proofs import Proof, check_proof
from creases.certify.proofs._format import Leaf, NearestStatement
from nearest_cases import NORMS, random_network


@pytest.mark.parametrize("seed", range(20, 28))
def test_answers_in_a_box_are_verified(seed: int) -> None:
    net, x = random_network(seed)
    for norm in NORMS:
        change = nearest(net, x, norm=norm, box=(-3, 3))  # type: ignore[arg-type]
        assert change.proof is not None
        assert check_proof(change.proof, net)


def test_deeper_networks_are_verified() -> None:
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(3, 6), nn.LeakyReLU(0.1), nn.Linear(6, 6), nn.ReLU(), nn.Linear(6, 2)).double()
    with torch.no_grad():
        model[-1].bias -= model(torch.zeros(1, 3, dtype=torch.float64))[0] - torch.tensor([0.02, 0.0]).double()
    net = creases.read(model, (3,))
    for norm in NORMS:
        change = nearest(net, [0.1, -0.2, 0.3], norm=norm, weights=[1.0, 2.0, 0.5], box=(-3, 3))  # type: ignore[arg-type]
        assert change.proved
        assert change.point is not None
        assert change.proof is not None
        assert check_proof(change.proof, net)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_networks_as_they_begin_are_verified_by_the_tree_of_the_search(seed: int) -> None:
    torch.manual_seed(seed)
    parts = [nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2)]
    net = creases.read(nn.Sequential(*parts).double(), (5,))
    change = nearest(net, [0.3, 0.2, -0.1, 0.4, 0.1], budget=600)
    assert change.proved
    assert change.proof is not None, change.proof_note
    assert any(node.cuts for part in change.proof.proofs for node in part.tree)
    assert not check_proof(tamper(change.proof, lower_bound=1.001 * change.distance), net)


@pytest.mark.slow
def test_units_far_from_their_bend_are_bounded_as_the_checker_bounds_them() -> None:
    torch.manual_seed(7)
    parts = [nn.Linear(3, 12), nn.ReLU(), nn.Linear(12, 12), nn.ReLU(), nn.Linear(12, 3)]
    net = creases.read(nn.Sequential(*parts), (3,))
    change = nearest(net, np.random.default_rng(7).uniform(-1, 1, 3), budget=600)
    assert change.proved
    assert change.proof is not None, change.proof_note


@pytest.mark.slow
def test_a_bound_that_mixes_lines_of_a_unit_is_the_one_that_the_checker_finds() -> None:
    torch.manual_seed(3)
    net = creases.read(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2)), (4,))
    change = nearest(net, np.random.default_rng(3).uniform(-1, 1, 4), norm="linf", budget=600)
    assert change.proved
    assert change.proof is not None, change.proof_note


NET = creases.read([([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0]), ([[1.0, 1.0]], [-1.5])])


def tamper(proof: Proof | None, **changes: object) -> Proof:
    assert proof is not None
    assert isinstance(proof.statement, NearestStatement)
    return replace(proof, statement=replace(proof.statement, **changes))  # type: ignore[arg-type]


@pytest.mark.parametrize("norm", NORMS)
def test_a_bound_that_is_too_high_is_refused(norm: str) -> None:
    change = nearest(NET, [0.0, 0.5], norm=norm)  # type: ignore[arg-type]
    assert check_proof(tamper(change.proof), NET)
    assert not check_proof(tamper(change.proof, lower_bound=1.01 * change.distance), NET)


def test_a_point_that_is_not_decided_otherwise_is_refused() -> None:
    change = nearest(NET, [0.0, 0.5])
    assert change.point is not None
    point = np.array([0.0, 0.5]) + 0.999999 * (change.point - np.array([0.0, 0.5]))
    assert not check_proof(tamper(change.proof, point=tuple(point.tolist())), NET)
    assert not check_proof(tamper(change.proof, distance=0.9 * change.distance), NET)


def test_constraints_are_part_of_the_claim() -> None:
    x = [0.0, 0.5]
    change = nearest(NET, x, integer=[0], weights=[1.0, 10.0])
    assert check_proof(tamper(change.proof), NET)
    free = nearest(NET, x, weights=[1.0, 10.0])
    assert free.point is not None
    false = tamper(change.proof, point=tuple(free.point.tolist()), distance=free.distance)
    assert not check_proof(false, NET)
    group = nearest(NET, [1.0, 0.0], target=(None, -1.0), one_hot=[[0, 1]], box=(0, 1))
    assert group.point is None
    assert group.proved
    assert check_proof(tamper(group.proof), NET)


def test_choices_of_more_columns_have_no_proof_file_and_say_so() -> None:
    class Largest(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.amax(dim=1, keepdim=True) - 1.0

    change = nearest(creases.read(Largest(), (4,)), [0.0, 0.0, 0.0, 0.0])
    assert change.proved
    assert change.proof is None
    assert "choices" in change.proof_note


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("seed", range(2))
def test_answers_with_groups_and_fixed_columns_are_verified(norm: str, seed: int) -> None:
    """Columns that limits hold, or let move one way, do not count towards the ball of the proof."""
    rng = np.random.default_rng(seed)
    net = creases.read([(rng.normal(size=(8, 7)), rng.normal(size=8)), (rng.normal(size=(3, 8)), np.zeros(3))])
    x = np.array([0.3, -0.2, 1.5, 0.0, 1.0, 1.0, 0.0])
    change = nearest(net, x, norm=norm, fixed=[2], one_hot=[[3, 4], [5, 6]], rising=[0], box=(-4, 4))  # type: ignore[arg-type]
    assert change.proved
    assert change.proof is not None
    assert check_proof(change.proof, net)
    further = tamper(change.proof, lower_bound=1.001 * change.distance)
    assert not check_proof(further, net)


def make_two_inputs(seed: int) -> creases.Network:
    torch.manual_seed(seed)
    layers = [nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 1)]
    return creases.read(nn.Sequential(*layers).double(), (2,))


@pytest.mark.slow
@pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
def test_few_inputs_are_proved_by_boxes_of_the_ball(norm: Any) -> None:
    net = make_two_inputs(24)
    rng = np.random.default_rng(24)
    x = rng.uniform(-1, 1, 2)
    change = nearest(net, x, norm=norm, budget=600)
    assert change.proved
    assert change.proof is not None
    assert all(isinstance(node, Leaf) or node.kind == "input" for node in change.proof.proofs[0].tree)
    points = x + rng.uniform(-1, 1, (100_000, 2)) * change.distance
    order = {"l1": 1, "l2": 2, "linf": np.inf}[norm]
    near = points[np.linalg.norm(points - x, ord=order, axis=1) < change.lower_bound]
    assert len(set((net(near)[:, 0] > 0).tolist())) == 1
    statement: Any = change.proof.statement
    wider = replace(change.proof, statement=replace(statement, lower_bound=1.01 * change.distance))
    assert not check_proof(wider, net)


def test_choices_of_few_columns_have_a_proof_by_boxes() -> None:
    torch.manual_seed(1)
    pool = [nn.Unflatten(1, (1, 8)), nn.MaxPool1d(2), nn.Flatten()]
    net = creases.read(nn.Sequential(nn.Linear(2, 8), *pool, nn.Linear(4, 2)).double(), (2,))
    change = nearest(net, [0.25, -0.5], norm="linf", budget=600)
    assert change.proved
    assert change.proof is not None, change.proof_note
    assert check_proof(change.proof, net)
