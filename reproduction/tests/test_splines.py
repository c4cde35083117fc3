"""The claims of the lecture on splines: theorems hold at the quick scale as at the full one, and judges tell apart."""

from __future__ import annotations

import pytest

from creases_reproduction.catalogue import find_claim
from creases_reproduction.runner import run_claim
from creases_reproduction.splines.depth import judge_table_2
from creases_reproduction.splines.kernel_regime import judge_cubic
from creases_reproduction.splines.optimal_fits import judge_suboptimal
from creases_reproduction.splines.spreads import summarize_spread


@pytest.mark.thorough  # make reproduce runs all of them
@pytest.mark.parametrize("name", ["table-2", "smoothness", "relocation", "mobility", "corollary-4", "sticking"])
def test_experiments_run_at_the_quick_scale(name):
    claim = find_claim(f"splines/{name}")
    result = run_claim(claim, "quick")
    assert result.why
    assert claim.picture(result.numbers)


def counts(value):
    one = {"mean": value, "low": value - 1, "high": value + 1}
    return {"1": {"sine": {"mean": 40, "low": 40, "high": 40}}, "5": {"initial": one, "sine": one}}


@pytest.mark.parametrize(("value", "verdict"), [(62.0, "agrees"), (50.0, "agrees in kind"), (400.0, "disagrees")])
def test_table_2_holds_in_kind_where_depth_does_not_multiply_the_breakpoints(value, verdict):
    assert judge_table_2(counts(value)).verdict == verdict


def test_a_fit_below_the_optimum_would_be_a_contradiction():
    curves = [{"kind": "sines", "best": 0.9, "median": 2.0}]
    assert judge_suboptimal({"curves": curves, "restarts": 5}).verdict == "disagrees"


def test_distances_that_do_not_fall_are_no_limit():
    drawn = {"mean": 0.1, "low": 0.0, "high": 0.2}
    numbers = {n: {"as printed": far, "spaced": 1e-5, "drawn": drawn} for n, far in (("100", 1e-3), ("1000", 1e-2))}
    assert judge_cubic(numbers).verdict == "disagrees"


def test_a_spread_of_one_seed_has_no_interval():
    class One:
        mean, sd, values = 2.0, 0.0, (2.0,)

    found = summarize_spread(One)
    assert (found["mean"], found["seeds"]) == (2.0, 1)
    assert found["low"] != found["low"]  # NaN, which JSON has as nothing
