"""Every search that can write a proof writes one that the check accepts, or says why there is none."""

from __future__ import annotations

import pytest

from written_proofs import ask


@pytest.mark.parametrize("seed", [pytest.param(0, marks=pytest.mark.thorough), 1, 3])
def test_no_proof_is_refused_and_none_is_missing_without_a_word(seed: int) -> None:
    answers = list(ask(seed, budget=5.0))
    assert {answer.kind: answer.problem for answer in answers if answer.problem} == {}
    assert any(answer.proof is not None for answer in answers)
