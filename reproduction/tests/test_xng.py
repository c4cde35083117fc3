"""The claims of the XNG slides: theorems hold at the quick scale as at the full one, and judges tell apart."""

from __future__ import annotations

import pytest

from creases_reproduction.catalogue import find_claim
from creases_reproduction.judges import judge_deviations
from creases_reproduction.runner import run_claim
from creases_reproduction.xng.growth import judge_count, judge_growth


@pytest.mark.thorough  # make reproduce runs all of them
@pytest.mark.parametrize("name", ["growth-sine", "milestone-1", "milestone-3"])
def test_experiments_run_at_the_quick_scale(name):
    claim = find_claim(f"xng/{name}")
    result = run_claim(claim, "quick")
    assert result.why
    assert claim.picture is None or claim.picture(result.numbers).rows


def method(loss, error, low, high):
    return {"networks": 1000, "loss": loss, "error": error, "rate": (low + high) / 2, "low": low, "high": high}


@pytest.mark.parametrize(
    ("printed", "verdict", "words"),
    [
        (0.3, "agrees", "solve it more often"),
        (0.2, "disagrees", "solve it no more often"),
        (0.1, "disagrees", "solve it less often"),
    ],
)
def test_growth_is_judged_by_the_share_that_solves_the_problem_whatever_the_losses(printed, verdict, words):
    rates = {"random 2-3-2": 0.2, "A random": 0.2, "A slide-29": printed, "A fold": 0.2}
    methods = {name: method(1 - rate, 0.01, rate, rate) for name, rate in rates.items()}
    judged = judge_growth({"networks": 1000, "methods": methods})
    assert judged.verdict == verdict
    assert words in judged.why


@pytest.mark.parametrize(
    ("drawn", "grown", "verdict"),
    [
        ((0.05, 0.08), (0.33, 0.39), "agrees"),
        ((0.10, 0.15), (0.33, 0.39), "agrees in kind"),
        ((0.40, 0.50), (0.33, 0.39), "disagrees"),
    ],
)
def test_the_count_of_the_slides_is_set_beside_ours(drawn, grown, verdict):
    methods = {
        "random 2-3-2": method(0, 0, *drawn),
        "A random": method(0, 0, 0, 1),
        "A slide-29": method(0, 0, *grown),
        "A fold": method(0, 0, 0, 1),
    }
    assert judge_count({"networks": 1000, "methods": methods}).verdict == verdict


def test_a_theorem_fails_at_one_deviation_too_many():
    judge = judge_deviations(1e-9, "a", "b")
    assert judge({"a": 1e-10, "b": 0.0, "cases": 3}) == ("agrees", "Holds over 3 cases: a 1e-10, b 0.")
    assert judge({"a": 1e-10, "b": 1.0}).verdict == "disagrees"
    assert judge({"a": 1e-10, "b": None}).verdict == "disagrees"
