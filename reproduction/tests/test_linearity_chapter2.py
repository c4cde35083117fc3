"""Claims of chapter 2 of the dissertation: every judge tells what is as printed from what is not."""

from __future__ import annotations

import pytest

from creases_reproduction.catalogue import find_claim
from creases_reproduction.results import judge_numbers, to_json
from made_up_claims import FAILS, STORED, as_printed, computable, judged_with

#: By id: numbers as printed, and numbers that contradict.
CASES = {
    "linearity/section-2.1.1-convergence": (STORED, FAILS),
    "linearity/theorem-2.1.1": (STORED, FAILS),
    "linearity/theorem-2.1.2": (STORED, {"others": []}),
    "linearity/theorem-2.1.3": (STORED, FAILS),
    "linearity/equation-2.11": ({"as printed": 0.0}, STORED),
    "linearity/equation-2.23": (STORED, {"largest difference": 0.1}),
    "linearity/figure-2.3": (STORED, {"rectangles": [10, 20, 40], "sigmoid": [0.3] * 3, "relu": [0.3] * 3}),
    "linearity/theorem-2.3.2": (STORED, FAILS),
    "linearity/equation-2.26": ({"regions": 12}, STORED),
    "linearity/equation-2.27": (STORED, FAILS),
    "linearity/equation-2.28": (STORED, {"ratios": {"1 inputs, 2 layers": [1.0, 2.0, 4.0]}}),
    "linearity/section-2.3.2-order": (as_printed, STORED),
    "linearity/section-2.3.2-same": (STORED, FAILS),
    "linearity/theorem-2.3.3": (STORED, FAILS),
    "linearity/section-2.3.8-lines": (STORED, {"power": 2.0}),
    "linearity/section-2.3.8-dimension": (STORED, {"powers": [1.0, 1.0, 1.0]}),
}


def test_every_claim_is_here():
    assert set(CASES) == computable("linearity.chapter2_perceptrons", "linearity.chapter2_regions")


@pytest.mark.parametrize("id", CASES)
def test_what_is_as_printed_agrees(id):
    assert judged_with(id, CASES[id][0]).verdict == "agrees"


@pytest.mark.parametrize("id", CASES)
def test_what_contradicts_disagrees(id):
    assert judged_with(id, CASES[id][1]).verdict == "disagrees"


def test_with_one_unit_more_something_must_be_bounded():
    assert judged_with("linearity/theorem-2.3.2", {"one unit more": "unbounded"}).verdict == "disagrees"


@pytest.mark.parametrize(
    "id",
    [
        "linearity/theorem-2.1.1",
        "linearity/theorem-2.1.3",
        "linearity/equation-2.26",
        "linearity/equation-2.27",
        "linearity/theorem-2.3.3",
    ],
)
def test_quick_numbers_are_judged_as_the_stored_ones(id):
    claim = find_claim(id)
    assert claim.measure is not None
    assert judge_numbers(claim, to_json(claim.measure("quick")))[0] == judged_with(id, STORED).verdict
