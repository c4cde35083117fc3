"""Claims of the TINY paper, beyond what all claims are tested for."""

from __future__ import annotations

from judged_cases.tiny import TOGETHER

from creases_reproduction.tiny.corollaries import measure_corollary_1
from creases_reproduction.tiny.greedy import measure_variance


def test_move_and_unit_chosen_together_leave_less_than_one_after_the_other():
    assert min(measure_corollary_1("quick")[TOGETHER]) > 0.001


def test_the_variance_of_a_unit_falls_with_the_samples_not_with_their_root():
    found = measure_variance("quick")
    assert 10 < found["by samples"][0] / found["by samples"][-1] < 40  # 16 times the samples
    assert found["by width"][-1] / found["by width"][0] > 4  # 8 times the width
