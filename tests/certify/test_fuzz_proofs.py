"""What is proved agrees with brute force in rational arithmetic; the fixed part of bench/fuzz_proofs.py."""

import pytest

from proof_cases import random_case, rising_case, table_case
from proof_judge import Judge
from proof_questions import KINDS, judge

#: Seconds for a question, and cases with a few regions of each kind of scale.
BUDGET, LIMIT = 1.0, 400
SEEDS = (5, 38)


def false_verdicts(case, kind):
    return [record for record in judge(Judge(case, BUDGET, LIMIT), kind) if record.is_false]


@pytest.mark.parametrize("seed", [62])
def test_no_falling_column_in_units_of_a_million_is_proved_to_rise(seed):
    assert not false_verdicts(rising_case(seed), "monotone")


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "largest"), [(4, 1e4), (4, 1e6)])
def test_ranges_of_coefficients_hold_for_columns_in_units_of_a_table(seed, largest):
    assert not false_verdicts(table_case(seed, largest), "range coefficients")


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", SEEDS)
def test_verdicts_of_every_kind_agree_with_rational_arithmetic(seed, kind):
    assert not false_verdicts(random_case(seed), kind)


@pytest.mark.slow
def test_a_corner_in_which_no_point_is_accepted_is_not_taken_for_empty():
    assert not false_verdicts(random_case(2), "nearest l1")
