"""Claims of the TINY paper: every judge tells what is as printed from what is not."""

from __future__ import annotations

import pytest

from creases_reproduction.catalogue import find_claim
from creases_reproduction.results import judge_numbers, to_json
from creases_reproduction.tiny.corollaries import corollary_1
from creases_reproduction.tiny.greedy import variance
from creases_reproduction.tiny.mnist import GROWN
from made_up_claims import STORED, computable, judged_with

FALL = "fall over sum of lambda^2"
TOGETHER = "left less when chosen together, of |V_goal|^2"


def runs(**changes):
    """Other numbers for runs, by the names' first words."""
    names = {"grown": GROWN, "twin": "fixed twin", "large": "1000-1000", "fifteen": "grown 15 times"}
    names |= {"optimal": "optimal units", "drawn": "random units"}

    def change(n):
        own = {names[key]: {**n["runs"][names[key]], **value} for key, value in changes.items()}
        return {**n, "runs": {**n["runs"], **own}}

    return change


def failing(name):
    return {name: {"cases": 10, "failed": 1, "best": 0.5, "worst": 1.1}}


#: By id: numbers as printed, and numbers that contradict.
CASES = {
    "tiny/section-2.2": (STORED, {"improving all": 3}),
    "tiny/proposition-3.1": (STORED, {"to least squares": 0.1}),
    "tiny/proposition-3.2": ({"off as printed": 0.0}, {"off": 0.1}),
    "tiny/section-3.2-orthogonal": (STORED, {"orthogonal": 0.1}),
    "tiny/equation-11": ({FALL: {"tanh": [1.0, 1.0]}}, STORED),
    "tiny/proposition-3.3": (STORED, {"off": 0.1}),
    "tiny/corollary-1": ({TOGETHER: [0.0, 0.0]}, STORED),
    "tiny/corollary-2": (STORED, {"off": 0.1}),
    "tiny/section-B.3": (STORED, {"off": 0.1}),
    "tiny/equation-9": (
        STORED,
        {"rows": [{"what": "gradient", "printed": 0.0, "measured": 1.0, "low": None, "high": None}]},
    ),
    "tiny/proposition-5.1": (STORED, failing("some units")),
    "tiny/proposition-5.2": (STORED, failing("one unit")),
    "tiny/proposition-5.3": (STORED, failing("one small unit")),
    "tiny/section-5-higher": (STORED, {"units by linear correlation": 2}),
    "tiny/section-3.4": (
        {"by samples": [1 / n**0.5 for n in (100, 200, 400, 800, 1600)], "by width": [2, 8**0.5, 4, 32**0.5]},
        {"by samples": [1.0] * 5},
    ),
    "tiny/section-1-alone": (STORED, {"accuracy": [0.1]}),
    "tiny/abstract-accuracy": (
        STORED,
        lambda n: {**n, "grown": {**n["grown"], "mean": 90.0, "interval": [89.0, 91.0]}},
    ),
    "tiny/abstract-time": (lambda n: {**n, "grown": {**n["grown"], "seconds": 5.0}}, STORED),
    "tiny/figure-5": (runs(grown={"interval": [93.9, 94.2]}), runs(grown={"interval": [80.0, 81.0]})),
    "tiny/section-4-large": (STORED, runs(large={"steps": 1e6})),
    "tiny/figure-6": (runs(grown={"interval": [96.0, 97.0]}), runs(grown={"interval": [80.0, 81.0]})),
    "tiny/figure-8": (runs(grown={"widths": [222, 71]}), runs(grown={"widths": [10, 90]})),
    "tiny/figure-10": (
        lambda n: runs(fifteen={"by seconds": [99.0] * len(n["runs"]["grown 15 times"]["seconds"])})(n),
        lambda n: runs(fifteen={"by seconds": [50.0] * len(n["runs"]["grown 15 times"]["seconds"])})(n),
    ),
    "tiny/figure-11": ({"mean lambda^2": [[2.0, 1.0], [0.2, 0.1]]}, {"mean lambda^2": [[1.0, 2.0], [0.1, 0.2]]}),
    "tiny/figure-12": ({"largest lambda": [[2.0, 1.0], [0.2, 0.1]]}, {"largest lambda": [[1.0, 2.0], [0.1, 0.2]]}),
    "tiny/figure-13": (
        runs(drawn={"interval": [80.0, 85.0]}),
        lambda n: runs(optimal={"by seconds": [0.0] * len(n["runs"]["optimal units"]["seconds"]), "accuracy": 1.0})(n),
    ),
}


def test_every_claim_is_here():
    assert set(CASES) == computable("tiny.theorems", "tiny.corollaries", "tiny.greedy", "tiny.mnist")


@pytest.mark.parametrize("id", CASES)
def test_what_is_as_printed_agrees(id):
    assert judged_with(id, CASES[id][0]).verdict == "agrees"


@pytest.mark.parametrize("id", CASES)
def test_what_contradicts_disagrees(id):
    assert judged_with(id, CASES[id][1]).verdict == "disagrees"


@pytest.mark.parametrize(
    "id",
    [
        "tiny/section-2.2",
        "tiny/proposition-3.1",
        "tiny/proposition-3.2",
        "tiny/equation-11",
        "tiny/proposition-3.3",
        "tiny/corollary-1",
        "tiny/corollary-2",
        "tiny/proposition-5.3",
    ],
)
def test_quick_numbers_are_judged_as_the_stored_ones(id):
    claim = find_claim(id)
    assert claim.measure is not None
    assert judge_numbers(claim, to_json(claim.measure("quick")))[0] == judged_with(id, STORED).verdict


def test_move_and_unit_chosen_together_leave_less_than_one_after_the_other():
    assert min(corollary_1("quick")[TOGETHER]) > 0.001


def test_the_variance_of_a_unit_falls_with_the_samples_not_with_their_root():
    found = variance("quick")
    assert 10 < found["by samples"][0] / found["by samples"][-1] < 40  # 16 times the samples
    assert found["by width"][-1] / found["by width"][0] > 4  # 8 times the width
