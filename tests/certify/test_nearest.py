"""The nearest change of decision: against all regions enumerated, with every kind of constraint."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from scipy.optimize import linprog
from torch import nn

import creases
from creases.certify import nearest
from creases.errors import InputError
from creases.regions.geometry import region_polytope

NORMS = ("l1", "l2", "linf")
TIGHT: Any = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


def least_distance(N: Any, s: Any, x: Any, box: tuple[float, float], norm: str) -> float:
    """The distance of ``N v <= s`` in a box from x by linear programs; Euclidean by cuts of tangent planes."""
    d = len(x)
    lo, hi = np.full(d, box[0]) - x, np.full(d, box[1]) - x
    room = s - N @ x
    if norm == "l1":
        ends = [*zip(0 * hi, np.maximum(hi, 0), strict=True), *zip(0 * lo, np.maximum(-lo, 0), strict=True)]
        done = linprog(np.ones(2 * d), np.hstack([N, -N]), room, bounds=ends, options=TIGHT)
        return float(done.fun) if done.status == 0 else np.inf
    cuts = np.vstack([np.eye(d), -np.eye(d)])
    ends = [*zip(lo, hi, strict=True), (0, None)]
    value = np.inf
    for _ in range(200 if norm == "l2" else 1):
        A = np.vstack([np.column_stack([N, np.zeros(len(N))]), np.column_stack([cuts, -np.ones(len(cuts))])])
        done = linprog(np.eye(1, d + 1, d)[0], A, np.append(room, np.zeros(len(cuts))), bounds=ends, options=TIGHT)
        if done.status != 0:
            return np.inf
        value, size = float(done.fun), float(np.linalg.norm(done.x[:d]))
        if norm == "linf" or size <= value + 1e-10:
            break
        cuts = np.vstack([cuts, done.x[:d] / size])
    return value


def brute_force(net: creases.Network, x: Any, box: tuple[float, float], norm: str) -> float:
    """The least distance over all patterns of sides, whether their regions exist or not."""
    z = net(x)
    predicted = int(z[0] > 0) if len(z) == 1 else int(z.argmax())
    counts = [net.candidates[b] for b in range(len(net.bends)) for _ in range(np.diff(net.unit_starts)[b])]
    best = np.inf
    for sides in product(*map(range, counts)):
        part = region_polytope(net, np.array(sides, np.int16))
        real = part.Q.any(axis=1)
        if (part.p[~real] < 0).any():
            continue
        J, y = (part.J, part.y) if len(z) > 1 else (np.vstack([0 * part.J, part.J]), np.append(0.0, part.y))
        for j in range(len(y)):
            if j != predicted:
                N, s = np.vstack([part.Q[real], J[predicted] - J[j]]), np.append(part.p[real], y[j] - y[predicted])
                best = min(best, least_distance(N, s, x, box, norm))
    return best


ACTIVATIONS = [nn.ReLU, lambda: nn.LeakyReLU(0.2), nn.ReLU6, lambda: nn.LeakyReLU(-0.5), lambda: nn.LeakyReLU(2.0)]


def random_network(seed: int) -> tuple[creases.Network, Any]:
    """A network of few units, with ties, dead units and zero weights now and then, and an input."""
    rng = np.random.default_rng(seed)
    torch.manual_seed(seed)
    d, m, kind = int(rng.integers(1, 4)), int(rng.integers(1, 4)), int(rng.integers(len(ACTIVATIONS)))
    widths = [int(h) for h in rng.integers(1, 3, size=rng.integers(0, 3))]
    layers: list[nn.Module] = []
    for before, after in zip([d, *widths], widths, strict=False):
        layers += [nn.Linear(before, after), ACTIVATIONS[kind]()]
    model = nn.Sequential(*layers, nn.Linear([d, *widths][-1], m)).double()
    x = rng.uniform(-2, 2, size=d)
    with torch.no_grad():
        if seed % 3 == 0:  # few values: ties, zero weights, inputs on creases
            x = np.round(x)
            for weight in model.parameters():
                weight.copy_(torch.round(weight * 3) / 2)
        if seed % 5 == 0 and widths:
            model[0].bias[0] = -50.0  # a dead unit
    return creases.read(model, (d,)), x


@pytest.mark.parametrize("seed", range(12))
def test_distances_are_those_of_all_regions_enumerated(seed: int) -> None:
    net, x = random_network(seed)
    for norm in NORMS:
        truth = brute_force(net, x, (-3, 3), norm)
        for way in ("search",) if norm == "l2" else ("search", "milp"):
            change = nearest(net, x, norm=norm, box=(-3, 3), way=way)
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
    for way in ("search",) if norm == "l2" else ("search", "milp"):
        change = nearest(net, x, norm=norm, one_hot=[[0, 1, 2]], box=(-3, 3), way=way)
        assert change.proved
        assert sorted(change.point[:3].tolist()) == [0.0, 0.0, 1.0]  # type: ignore[index]
        assert change.distance == pytest.approx(truth, abs=2e-4)


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


def test_a_budget_that_is_over_leaves_honest_bounds() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(20, 60), nn.ReLU(), nn.Linear(60, 60), nn.ReLU(), nn.Linear(60, 3)).double()
    x = torch.randn(20, dtype=torch.float64).numpy()
    for norm in NORMS:
        change = nearest(creases.read(model, (20,)), x, norm=norm, budget=0.3)
        assert 0 <= change.lower_bound <= change.distance
        assert change.proved == (change.distance - change.lower_bound <= change.tolerance * change.distance)


def test_wrong_arguments_are_named() -> None:
    for words, options in {
        "norm": {"norm": "l3"},
        "way": {"way": "milp", "norm": "l2"},
        "weights": {"weights": [0.0, 1.0]},
        "fixed": {"fixed": [2]},
        "target": {"target": 2},
        "count": {"count": 0},
    }.items():
        with pytest.raises(InputError, match=words):
            nearest(NET, [0.0, 0.5], **options)  # type: ignore[arg-type]
