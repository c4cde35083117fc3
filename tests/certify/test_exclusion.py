"""That no input at all has another decision is proved in a space without limits, and verified."""

from __future__ import annotations

import numpy as np
import pytest

import creases
from creases.certify import nearest
from creases.certify._nearest.exclusion import exclude_goal
from creases.certify._nearest.question import pose
from creases.certify.proofs import check_proof

INF = float("inf")

#: -1 - relu(x + y) + relu(x + y - 1): at most -1.
NEVER = [([[1.0, 1.0], [1.0, 1.0]], [0.0, -1.0]), ([[-1.0, 1.0]], [-1.0])]


@pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
@pytest.mark.parametrize("leak", [0.0, 0.125])
def test_a_decision_that_no_input_has_is_proved_without_a_box(norm: str, leak: float) -> None:
    net = creases.read(NEVER, leak=leak)
    change = nearest(net, [0.3, -0.2], norm=norm)  # type: ignore[arg-type]
    assert change.point is None
    assert change.proved
    assert change.lower_bound == INF
    answer = check_proof(change.proof, net)
    assert answer, answer


def test_an_input_far_away_is_not_excluded() -> None:
    net = creases.read([([[1.0], [-1.0]], [0.0, 0.0]), ([[1e-12, 1e-12]], [-1.0])])  # class 1 from 1e12 on
    change = nearest(net, [0.0])
    assert change.point is not None
    assert abs(change.point[0]) >= 1e12


@pytest.mark.parametrize("seed", range(6))
def test_a_goal_is_excluded_only_where_no_sample_reaches_it(seed: int) -> None:
    rng = np.random.default_rng(seed)
    layers = [(rng.normal(size=(5, 2)), rng.normal(size=5)), (-np.abs(rng.normal(size=(1, 5))), rng.normal(size=1) - 1)]
    net = creases.read(layers)
    question = pose(net, np.zeros(2), None, "l2", None, (), (), (), None, (), ())
    answer = exclude_goal(question, question.goals[0], INF)
    X = 10.0 ** rng.uniform(-2, 6, (2000, 1)) * rng.normal(size=(2000, 2))
    reached = np.asarray(net(np.vstack([X, np.zeros((1, 2))]))).ravel() * question.goals[0].G[0, 0]
    assert (answer.tree is not None) != (answer.point is not None)
    assert answer.tree is None or (reached < 0).all()


def test_columns_with_limits_count_for_an_exclusion() -> None:
    net = creases.read([([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0]), ([[1.0, -1.0]], [-1.0])])  # relu(x) - relu(y) - 1
    change = nearest(net, [0.0, 0.0], box=[(-1.0, 0.5), (-5.0, 5.0)])
    assert change.proved
    assert change.point is None
