"""Every search that can write a proof writes one that the check accepts, or says why there is none."""

from __future__ import annotations

import pytest

from written_proofs import ask

POOL = pytest.param(1_220_008, "average pooling", marks=pytest.mark.slow, id="a larger box decides a unit")


@pytest.mark.filterwarnings("ignore:Using padding")
@pytest.mark.parametrize(("seed", "kind"), [pytest.param(0, "", marks=pytest.mark.thorough), (1, ""), (3, ""), POOL])
def test_no_proof_is_refused_and_none_is_missing_without_a_word(seed: int, kind: str) -> None:
    answers = list(ask(seed, budget=5.0, kind=kind))
    assert {answer.kind: answer.problem for answer in answers if answer.problem} == {}
    assert any(answer.proof is not None for answer in answers)
