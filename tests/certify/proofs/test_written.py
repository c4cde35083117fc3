"""Every search that can write a proof writes one that the check accepts, or says why there is none."""

from __future__ import annotations

import pytest

from written_proofs import ask


@pytest.mark.parametrize("seed", [pytest.param(0, marks=pytest.mark.thorough), 1, 3])
def test_no_proof_is_refused_and_none_is_missing_without_a_word(seed: int) -> None:
    answers = list(ask(seed, budget=5.0))
    assert {answer.kind: answer.problem for answer in answers if answer.problem} == {}
    assert any(answer.proof is not None for answer in answers)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Using padding")
def test_units_that_a_larger_box_decides_keep_its_bounds_in_search_and_check() -> None:
    answers = ask(1_220_008, budget=10.0, kind="average pooling")
    answer = next(answer for answer in answers if answer.kind == "monotone")
    assert answer.proof is not None
    assert answer.problem == ""
