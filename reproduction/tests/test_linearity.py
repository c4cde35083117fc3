"""Claims of the dissertation, beyond what all claims are tested for."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from altered_numbers import STORED, judge_altered

from creases_reproduction.claim import Row
from creases_reproduction.judges import is_inside
from creases_reproduction.linearity.pruning_parity import PRINTED_WIDE


def test_with_one_unit_more_something_must_be_bounded():
    assert judge_altered("linearity/theorem-2.3.2", {"one unit more": "unbounded"}).verdict == "disagrees"


@pytest.mark.parametrize(
    "name",
    [
        "equation-4.17",  # a limit up to a factor
        "equation-5.14",  # another crease than printed
        "figure-6.18",  # with one optimizer only
        "figure-7.12",  # CKA 0 where it is said to be similar
        "section-3.4.2-narrow",  # rare on the hardest problem only
        "section-3.4.2-shallow",  # another width than printed
        "section-3.4.4-one-layer",  # a fourth digit, where it occurs "only" for two and three
        "section-6.3-comparisons",  # another power of p than printed
    ],
)
def test_a_statement_that_holds_in_a_part_only_disagrees(name):
    assert judge_altered(f"linearity/{name}", STORED).verdict == "disagrees"


def test_entropy_that_falls_but_not_at_every_step_disagrees():
    def level(numbers):
        first, second, *rest = numbers["rows"]
        return {**numbers, "rows": [first, {**first, "what": second["what"]}, *rest]}

    assert judge_altered("linearity/section-3.1-bias", level).verdict == "disagrees"


def test_no_case_at_all_is_no_agreement():
    assert judge_altered("linearity/theorem-3.3.4", {"cases": 0, "failed": 0}).verdict == "disagrees"


def test_a_printed_number_is_inside_an_interval_or_near_a_number_without_one():
    assert is_inside(Row("a", 0.5, 0.6, 0.4, 0.7))
    assert not is_inside(Row("a", 0.5, 0.6, 0.55, 0.7))
    assert is_inside(Row("a", 0.5, 0.6), 0.11)
    assert not is_inside(Row("a", None, 0.6, 0.4, 0.7))


def test_the_cell_of_nine_units_and_six_digits_has_126_choices_not_128():
    assert PRINTED_WIDE[9][5] == (5, 1)
    assert comb(9, 5) == 126


def test_the_printed_inverse_has_its_last_entry_in_the_first_row():
    alpha, k = 0.3, 5
    matrix = np.where(np.arange(k)[:, None] >= np.arange(k), 1.0, alpha)  # (A.14) transposed
    inverse = np.diag(np.full(k, 1 / (1 - alpha))) + np.diag(np.full(k - 1, 1 / (alpha - 1)), -1)
    inverse[0, -1] += alpha / (alpha - 1)  # (A.15) has row 0 where rows are counted from 1
    np.testing.assert_allclose(inverse @ matrix, np.eye(k), atol=1e-12)
