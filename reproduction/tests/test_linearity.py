"""Claims of the dissertation, beyond what all claims are tested for."""

from __future__ import annotations

from math import comb

import numpy as np
from altered_numbers import STORED, judge_altered

from creases_reproduction.claim import Row
from creases_reproduction.judges import is_inside
from creases_reproduction.linearity.pruning_parity import PRINTED_WIDE


def test_with_one_unit_more_something_must_be_bounded():
    assert judge_altered("linearity/theorem-2.3.2", {"one unit more": "unbounded"}).verdict == "disagrees"


def test_another_width_than_printed_is_of_the_same_kind():
    assert judge_altered("linearity/section-3.4.2-shallow", STORED).verdict == "agrees in kind"


def test_narrow_networks_rarely_succeed_on_the_hardest_problem_only():
    def as_hard_as_the_mean(numbers):
        return {**numbers, "ReLU": {**numbers["ReLU"], "min": numbers["ReLU"]["mean"]}}

    assert judge_altered("linearity/section-3.4.2-narrow", STORED).verdict == "agrees in kind"
    assert judge_altered("linearity/section-3.4.2-narrow", as_hard_as_the_mean).verdict == "disagrees"


def test_entropy_that_falls_but_not_at_every_step_is_of_the_same_kind():
    def level(numbers):
        first, second, *rest = numbers["rows"]
        return {**numbers, "rows": [first, {**first, "what": second["what"]}, *rest]}

    assert judge_altered("linearity/section-3.1-bias", level).verdict == "agrees in kind"


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


def test_a_limit_up_to_a_factor_agrees_in_kind():
    assert judge_altered("linearity/equation-4.17", STORED).verdict == "agrees in kind"
