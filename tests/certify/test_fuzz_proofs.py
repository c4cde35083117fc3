"""What is proved agrees with brute force in rational arithmetic; the fixed part of bench/fuzz_proofs.py."""

import pytest

from creases.certify.proofs import check_proof
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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "kind"),
    [
        (25, "range coefficients"),  # affine steps that follow one another
        (178, "monotone"),  # a unit whose bounds contradict those of the node above
        (182, "largest difference"),
        (312, "range outputs"),
        (445, "monotone"),
        (93007, "range outputs"),  # needs bounds of the nodes above in fractions
        (93007, "largest difference"),  # a unit that is 0 at an end of its interval
    ],
)
def test_certificates_of_every_verdict_are_verified(seed, kind):
    records = [record for record in judge(Judge(random_case(seed), 3.0, LIMIT, proofs=True), kind) if record.proof]
    assert records
    for proof, nets in {id(record.proof): (record.proof, record.nets) for record in records}.values():
        answer = check_proof(proof, *nets)
        assert answer, answer
