"""The nearest change of decision: against all regions enumerated, with every kind of constraint."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import creases
from creases.certify import nearest
from creases.certify._nodes import OutOfTimeError
from creases.errors import InputError
from nearest_cases import NORMS, brute_force, random_network


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_distances_are_those_of_all_regions_enumerated(seed: int) -> None:
    net, x = random_network(seed)
    for norm in NORMS:
        truth = brute_force(net, x, (-3, 3), norm)
        change = nearest(net, x, norm=norm, box=(-3, 3))
        assert change.proved
        assert change.lower_bound <= truth + 1e-7
        assert change.distance == pytest.approx(truth, abs=1e-7) or np.isinf([truth, change.distance]).all()


def test_a_choice_is_as_good_as_a_relu() -> None:
    class Largest(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.stack([x[:, 0], x[:, 1], x[:, 2]], dim=1).amax(dim=1, keepdim=True) - 1.0

    net = creases.read(Largest(), (3,))
    for norm in NORMS:
        change = nearest(net, [0.0, 0.5, -1.0], norm=norm)
        assert change.proved
        assert change.distance == pytest.approx(0.5)


NET = creases.read([([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0]), ([[1.0, 1.0]], [-1.5])])  # relu(x0) + relu(x1) - 1.5


def test_constraints_hold_and_are_paid_for() -> None:
    x = [0.0, 0.5]
    assert nearest(NET, x, norm="l1").distance == pytest.approx(1.0)
    held = nearest(NET, x, norm="l1", fixed=[1])
    assert held.point is not None
    assert held.point[1] == 0.5
    assert nearest(NET, x, norm="l1", weights=[1.0, 10.0]).point[0] == pytest.approx(1.0)  # type: ignore[index]
    whole = nearest(NET, x, norm="l2", integer=[0], weights=[1.0, 10.0])
    assert whole.proved
    assert whole.distance == pytest.approx(1.0)
    assert nearest(NET, x, norm="l2", integer=[0], weights=[1.0, 100.0], fixed=[1], target=1).distance == 1.0
    assert np.isinf(nearest(NET, x, falling=[0, 1], box=(-5, 5)).distance)
    assert nearest(NET, x, falling=[0, 1], box=(-5, 5)).proved
    assert nearest(NET, x, falling=[0]).point.tolist() == pytest.approx([0.0, 1.5])  # type: ignore[union-attr]
    assert nearest(NET, x, rising=[1], fixed=[0]).distance == pytest.approx(1.0)


@pytest.mark.parametrize("norm", NORMS)
def test_one_hot_groups_switch_as_a_whole(norm: Any) -> None:
    weight = np.array([[1.0, -1.0, 0.3, 1.0], [0.5, 1.0, -0.6, -1.0], [0.2, -0.3, 1.0, 0.5]])
    net = creases.read([(weight, [0.1, -0.2, 0.0]), ([[1.0, -1.0, 0.5]], [-0.3])])
    x = np.array([0.0, 1.0, 0.0, 0.2])
    values, group = np.linspace(-3, 3, 60_001), np.eye(3)
    truth = np.inf
    for code in group:
        points = np.column_stack([np.tile(code, (len(values), 1)), values])
        other = (net(points)[:, 0] > 0) != (net(x)[0] > 0)
        away = points[other] - x
        sizes = {"l1": np.abs(away).sum(1), "l2": np.linalg.norm(away, axis=1), "linf": np.abs(away).max(1)}[norm]
        truth = min(truth, sizes.min(initial=np.inf))
    change = nearest(net, x, norm=norm, one_hot=[[0, 1, 2]], box=(-3, 3))
    assert change.proved
    assert sorted(change.point[:3].tolist()) == [0.0, 0.0, 1.0]  # type: ignore[index]
    assert change.distance == pytest.approx(truth, abs=2e-4)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("fixed", [0, 1])
def test_a_fixed_column_of_a_group_decides_the_others(norm: Any, fixed: int) -> None:
    """A group whose 1 is in a fixed column cannot switch; one with a fixed 0 switches among the others."""
    rng = np.random.default_rng(5)
    W, b, V = rng.normal(size=(6, 4)), rng.normal(size=6), rng.normal(size=(1, 6))
    x = np.array([0.0, 1.0, 0.0, 0.4])
    net = creases.read([(W, b), (V, np.zeros(1))])
    codes = np.eye(3)[[1]] if fixed == 1 else np.eye(3)[[1, 2]]
    values = np.linspace(-3, 3, 60_001)
    points = np.vstack([np.column_stack([np.tile(code, (len(values), 1)), values]) for code in codes])
    away = points[(net(points)[:, 0] > 0) != (net(x)[0] > 0)] - x
    sizes = {"l1": np.abs(away).sum(1), "l2": np.linalg.norm(away, axis=1), "linf": np.abs(away).max(1)}[norm]
    change = nearest(net, x, norm=norm, fixed=[fixed], one_hot=[[0, 1, 2]], box=(-3, 3))
    assert change.proved
    assert change.distance == pytest.approx(sizes.min(initial=np.inf), abs=2e-4)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_whole_numbers_are_as_good_as_each_of_them_held(seed: int) -> None:
    rng = np.random.default_rng(seed)
    W, b, V = rng.normal(size=(5, 3)), rng.normal(size=5), rng.normal(size=(1, 5))
    x, v = np.append(float(rng.integers(-1, 2)), rng.normal(size=2)), 0.3 * rng.normal(size=1)
    net = creases.read([(W, b), (V, v)])
    target = int(net(x)[0] <= 0)
    join = {"l1": np.sum, "l2": np.linalg.norm, "linf": np.max}
    for norm in NORMS:
        parts = [
            (nearest(creases.read([(W[:, 1:], b + W[:, 0] * k), (V, v)]), x[1:], target, norm=norm, box=(-3, 3)), k)
            for k in range(-3, 4)
        ]
        truth = min(float(join[norm]([part.distance, abs(k - x[0])])) for part, k in parts)
        change = nearest(net, x, target, norm=norm, integer=[0], box=(-3, 3))
        assert change.proved
        assert change.distance == pytest.approx(truth, abs=1e-7)
        assert change.point[0] == round(change.point[0])  # type: ignore[index]


def test_a_range_of_the_output_can_be_the_target() -> None:
    change = nearest(NET, [0.0, 0.5], target=(0.5, None))
    assert change.outputs is not None
    assert change.outputs[0] == pytest.approx(0.5)
    assert nearest(NET, [3.0, 3.0], target=(0.25, 0.5), norm="linf").outputs[0] == pytest.approx(0.5)  # type: ignore[index]


def test_further_answers_leave_the_main_column_alone() -> None:
    change = nearest(NET, [0.0, 0.5], norm="l1", weights=[1.0, 1.5], count=2)
    assert change.point[0] == pytest.approx(1.0)  # type: ignore[index]
    (other,) = change.others
    assert other.point.tolist() == pytest.approx([0.0, 1.5])  # type: ignore[union-attr]
    assert other.distance >= change.distance


@pytest.mark.slow
def test_a_budget_that_is_over_leaves_honest_bounds() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(20, 60), nn.ReLU(), nn.Linear(60, 60), nn.ReLU(), nn.Linear(60, 3)).double()
    x = torch.randn(20, dtype=torch.float64).numpy()
    for norm in NORMS:
        change = nearest(creases.read(model, (20,)), x, norm=norm, budget=0.3)
        assert 0 <= change.lower_bound <= change.distance
        gap = change.distance - change.lower_bound
        assert change.proved == (np.isfinite(gap) and gap <= change.tolerance * change.distance)


def test_wrong_arguments_are_named() -> None:
    for words, options in {
        "norm": {"norm": "l3"},
        "one_hot": {"one_hot": [[0, 1], [1]]},
        "weights": {"weights": [0.0, 1.0]},
        "fixed": {"fixed": [2]},
        "target": {"target": 2},
        "count": {"count": 0},
    }.items():
        with pytest.raises(InputError, match=words):
            nearest(NET, [0.0, 0.5], **options)  # type: ignore[arg-type]


def test_bounds_that_take_longer_than_the_budget_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def run_out(*_: Any, **__: Any) -> None:
        raise OutOfTimeError

    net = creases.read([(np.eye(5), np.zeros(5)), ([[1.0, -1.0, 0.5, 0.0, 0.0]], [0.5])])
    monkeypatch.setattr("creases.certify._nearest.search.Nodes", run_out)
    found = nearest(net, [1.0, 0.0, 0.0, 0.0, 0.0], budget=0.3)
    assert (found.proved, found.lower_bound) == (False, 0.0)
    assert found.distance > 0  # what was found without bounds is kept
