"""What is proved of networks and boxes of any scale is true: products that under- or overflow are counted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import creases
from creases.certify import holds, monotone, nearest, output_bounds, output_range
from creases.certify._nodes import Nodes
from creases.certify.differences import difference_bounds, largest_difference
from extreme_scales import chain_case, judge, network_case

#: y(1) = 2209999, though each product of weights from the output back to the second layer vanishes.
UNDERFLOW = [
    ([[1e150]], [0.0]),
    ([[1e150]], [0.0]),
    ([[1.7e-162]], [0.0]),
    ([[1.3e-162]], [-1e-30]),
    ([[1e30]], [0.0]),
]


def test_weights_whose_product_vanishes_count_for_large_values() -> None:
    net = creases.read(UNDERFLOW)
    assert output_bounds(net, (-1, 1))[1][0] >= 2209999
    assert monotone(net, 0, (-1, 1), direction="falling").status != "holds"
    assert output_range(net, (-1, 1)).high[0] >= 2209999
    assert output_range(net, (-1, 1), quantity="coefficients").high[0, 0] >= 2e6
    zero = creases.read([*UNDERFLOW[:-1], ([[0.0]], [0.0])])
    assert difference_bounds(net, zero, (-1, 1))[1][0] >= 2209999
    assert largest_difference(net, zero, (-1, 1)).upper[0] >= 2209999


def test_a_sum_that_overflows_proves_nothing() -> None:
    net = creases.read([([[1.0], [-1.0]], [0.0, 0.0]), ([[-1e160, 1.0]], [0.0])])
    with np.errstate(all="ignore"):
        assert holds(net, (-1.0, 1e150), never=1).status != "holds"  # at x < 0 class 1 is decided
        assert nearest(net, [0.5], budget=1.0).lower_bound <= 0.5


def test_bounds_that_are_no_numbers_prove_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    net = creases.read([([[1.0], [-1.0]], [0.0, 0.0]), ([[1.0, 1.0]], [0.0])])
    monkeypatch.setattr(Nodes, "maxima", lambda self, above, of: np.full(len(of), np.nan))
    assert output_range(net, (-1, 1), budget=0.2).high[0] >= 1
    assert holds(net, (-1, 1), outputs=([[1.0]], [0.5]), budget=0.2).status != "holds"


def test_the_class_of_an_input_is_exact_where_floats_tie() -> None:
    net = creases.read([([[1.0], [1.0]], [0.0, 0.0]), ([[0.1, 0.2], [0.1 + 0.2, 0.0]], [0.0, 0.0])])
    y = net([1.0])
    assert y[0] == y[1]  # but 0.1 and 0.2 add up to less than the float next to their sum
    assert nearest(net, [1.0], budget=1.0).predicted == 1


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("seed", [105, 107])
def test_a_region_with_ends_beyond_floats_is_no_error(seed: int) -> None:
    case = chain_case(seed)
    answers = [monotone(case.net(), 0, case.box, direction=way, budget=0.5) for way in ("rising", "falling")]
    assert sorted(answer.status for answer in answers) == ["holds", "violated"]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("make", "seed", "questions"),
    [
        pytest.param(chain_case, 10021, ["range of coefficients"], id="a unit whose effect vanishes in floats is open"),
        pytest.param(chain_case, 10070, ["monotone"], id="so it is for a slope that is not monotone"),
        pytest.param(chain_case, 1060, ["range of coefficients"], id="so is one whose effect overflows"),
        pytest.param(chain_case, 10077, ["range of coefficients"], id="a slope that becomes -0 is not above 0"),
        pytest.param(chain_case, 10163, ["nearest"], id="a distance that overflows excludes nothing"),
        pytest.param(network_case, 10195, ["nearest"], id="no radius is larger than the distance"),
        pytest.param(chain_case, 20659, ["nearest"], id="a region that cannot be split may hold an answer"),
        pytest.param(network_case, 20037, ["nearest"], id="a length whose square vanishes is not 0"),
    ],
)
def test_answers_about_extreme_weights_are_true(make: Any, seed: int, questions: list[str]) -> None:
    assert not list(judge(make(seed), seed, 0.5, questions))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_coefficients_that_overflow_have_no_bound() -> None:
    case = network_case(10130)
    answer = output_range(case.net(), case.box, quantity="coefficients", budget=1e-9)
    assert not np.isnan([answer.low, answer.high]).any()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("make", [chain_case, network_case])
def test_no_answer_is_false_at_any_scale(make: object) -> None:
    wrong = [(seed, *problem) for seed in (*range(10), 500_011, 500_015) for problem in judge(make(seed), seed, 0.5)]  # type: ignore[operator]
    assert not wrong
