"""The brute-force references agree with the confirmed counts and with each other."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from reference import exact_intervals, exact_regions, load_case, load_counts, lp_regions
from strategies import Case, cases

SQUARE = [(-1.0, 1.0), (-1.0, 1.0)]
DEGENERATE = ["d_dead", "d_dup", "d_neg", "d_parallel", "d_zero"]


@pytest.mark.slow
@pytest.mark.parametrize("name", [*DEGENERATE, "m2_16x2", "m2_32x3"])
def test_exact_clipping_finds_the_confirmed_counts(name: str) -> None:
    found, told = exact_regions(load_case(name), SQUARE), load_counts()[name]
    assert found.count == told["regions"]
    assert found.n_vertices == told.get("vertices", found.n_vertices)
    assert sum(found.areas) == 4


@pytest.mark.thorough
@pytest.mark.parametrize("name", DEGENERATE)
def test_linear_programs_find_the_confirmed_counts(name: str) -> None:
    assert len(lp_regions(load_case(name), SQUARE)) == load_counts()[name]["regions"]


@pytest.mark.thorough
def test_linear_programs_find_the_confirmed_counts_in_space() -> None:
    layers = load_case("m3_16x2")
    assert len(lp_regions(layers, [(-1, 1)] * 3)) == load_counts()["m3_16x2"]["regions"]


@pytest.mark.slow
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(cases(2, max_depth=2, max_width=5))
def test_exact_clipping_and_linear_programs_find_the_same_patterns(case: Case) -> None:
    exact = exact_regions(case.layers, case.box, leak=case.leak)
    linear = lp_regions(case.layers, case.box, leak=case.leak)
    assert sorted(map(tuple, exact.sides)) == sorted(map(tuple, linear))
    assert sum(exact.areas) == np.prod([Fraction(hi) - Fraction(lo) for lo, hi in case.box])


@pytest.mark.slow
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(cases(1, max_depth=2, max_width=5))
def test_intervals_and_linear_programs_find_the_same_patterns(case: Case) -> None:
    (lo, hi) = case.box[0]
    _, sides = exact_intervals(case.layers, np.array([lo]), np.array([hi]), leak=case.leak)
    linear = lp_regions(case.layers, case.box, leak=case.leak)
    assert sorted(map(tuple, sides)) == sorted(map(tuple, linear))
