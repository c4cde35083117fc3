"""Verdicts: numbers of another set-up than the source's compare nothing, whatever the judge says of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from creases_reproduction.catalogue import find_claim
from creases_reproduction.claim import Claim, Judgement
from creases_reproduction.results import NOT_COMPARABLE, full_cost, judge_numbers, stored_result

CLAIM = Claim(
    "tiny/x",
    "x",
    "x",
    measure=lambda scale: {},
    judge=lambda numbers: Judgement("disagrees", f"{numbers['seeds']} runs"),
)


def few_seeds(numbers):
    return f"{numbers['seeds']} seeds instead of 20" if numbers["seeds"] < 20 else ""


@pytest.mark.parametrize(
    ("incomparable", "seeds", "verdict", "why"),
    [
        ("", 2, "disagrees", "2 runs"),
        ("No measure is named.", 2, NOT_COMPARABLE, "No measure is named. Measured all the same: 2 runs"),
        (few_seeds, 2, NOT_COMPARABLE, "2 seeds instead of 20. Measured all the same: 2 runs"),
        (few_seeds, 20, "disagrees", "20 runs"),
    ],
)
def test_numbers_of_another_set_up_are_not_comparable(incomparable, seeds, verdict, why):
    assert judge_numbers(replace(CLAIM, incomparable=incomparable), {"seeds": seeds}) == (verdict, why)


def test_follow_the_ridge_is_comparable_once_it_runs_as_long_as_in_the_source():
    claim, result = find_claim("splines/gan-ridge"), stored_result("splines/gan-ridge")
    assert judge_numbers(claim, result.numbers)[0] == NOT_COMPARABLE
    result.numbers["runs"]["fr sgd, 0.1"]["steps"][-1] = 400_000
    assert judge_numbers(claim, result.numbers)[0] == "disagrees"


def test_a_time_in_words_is_left_out_where_the_stored_run_has_measured_it():
    sticking = find_claim("splines/sticking")
    assert full_cost(sticking, None) == sticking.full != ""
    assert full_cost(sticking, stored_result(sticking.id)) == ""
    dense = find_claim("linearity/figure-6.11")
    assert full_cost(dense, stored_result(dense.id)) == "needs the image files"
