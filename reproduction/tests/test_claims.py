"""All claims: judges tell agreement from contradiction, and a few cases give the verdict of many."""

from __future__ import annotations

import os

import pytest
from altered_numbers import STORED, judge_altered, row_value
from judged_cases import (
    linearity_chapter2,
    linearity_chapter3,
    linearity_chapter4,
    linearity_chapter5,
    linearity_chapter6,
    linearity_chapter7,
    splines,
    tiny,
    xng,
)
from judged_cases.linearity_chapter3 import means
from judged_cases.linearity_chapter6 import regions
from judged_cases.splines import counts, last

from creases_reproduction.catalogue import find_claim, list_claims
from creases_reproduction.results import stored_result
from creases_reproduction.runner import run_claim

CHAPTERS = (
    linearity_chapter2,
    linearity_chapter3,
    linearity_chapter4,
    linearity_chapter5,
    linearity_chapter6,
    linearity_chapter7,
    splines,
    tiny,
    xng,
)

#: By id: numbers as printed, and numbers that contradict.
CASES = {id: cases for chapter in CHAPTERS for id, cases in chapter.CASES.items()}

#: Of printed numbers whose units are not given, or where a part was not tried: the best is that they agree in kind.
IN_KIND = {id for chapter in CHAPTERS for id in getattr(chapter, "IN_KIND", ())}

#: A folder of quick results, shared with ``creases reproduce`` so that none is computed twice by the same code.
REPRODUCED = os.environ.get("CREASES_REPRODUCED")

#: Claims that do not depend on chance and take well under a few seconds at quick scale, by family.
FAST = {
    "xng": """
        slide-7 theorem-2 proposition-1 lemma-1 lemma-2 theorem-4 observation-1 slide-31
    """,
    "tiny": """
        corollary-1 corollary-2 definition-3.1 equation-11 equation-9 proposition-3.1 proposition-3.2 proposition-3.3
        proposition-5.1 proposition-5.2 proposition-5.3 section-2.2 section-3.2-orthogonal section-5-higher
        section-B.3
    """,
    "linearity": """
        equation-2.11 equation-2.23 equation-2.26 equation-2.27 equation-2.28 equation-3.5 equation-3.6 equation-4.1
        equation-4.13 equation-4.16 equation-4.20 equation-4.6 equation-5.13 equation-5.14 equation-5.15
        equation-5.16 equation-5.22 equation-5.25 equation-5.7 equation-6.2 equation-7.7 equation-7.8 equation-A.14
        equation-A.21 figure-2.3 figure-3.1 figure-3.2 figure-3.3 figure-4.1 figure-4.4 figure-4.5 figure-5.1
        figure-5.2 figure-5.3 figure-5.4 figure-6.5 figure-6.7 figure-7.5 figure-7.6 lemma-A.2.1 section-2.3.2-order
        section-2.3.2-same section-2.3.8-dimension section-3.1-bias section-3.1-normal-form section-3.1-perceptron
        section-3.1-width section-3.3.1-cases section-3.3.1-classes section-3.3.1-parity section-3.3.1-width-2
        section-3.3.2-nodes section-3.3.3-equations section-3.3.3-example section-3.3.3-regions section-3.3.3-steady
        section-3.3.3-symmetry section-3.4.1-freedom section-3.4.1-losses section-3.4.3-expected
        section-3.4.3-maxima section-4-sufficient section-4.2.1-areas section-5.2-convex section-5.2-deep
        section-5.4-equivalent section-5.4-terms section-5.5-growth section-6.1-images section-6.2-smallest
        section-6.3-comparisons section-A.2-proof section-A.5 table-3.1 table-3.2 table-4.1 theorem-2.1.1
        theorem-2.1.2 theorem-2.1.3 theorem-2.3.3 theorem-3.3.1 theorem-3.3.3
    """,
    "splines": """
        conversion multivariate theorem-1 density-joint density-mu density-beta theorem-2 theorem-3 theorem-4a
        theorem-4b hessian-gram hessian-definite hessian-types hessian-full theorem-5 theorem-5-gradient ntk
        definition-1 theorem-3-slice theorem-6 kernel-sketch responses activations radon
    """,
}


def test_every_computable_claim_has_numbers_that_its_judge_must_fail():
    assert set(CASES) == {claim.id for claim in list_claims() if claim.measure is not None}


@pytest.mark.parametrize("id", CASES)
def test_numbers_as_printed_agree(id):
    assert judge_altered(id, CASES[id][0]).verdict == ("agrees in kind" if id in IN_KIND else "agrees")


@pytest.mark.parametrize("id", CASES)
def test_numbers_that_contradict_disagree(id):
    assert judge_altered(id, CASES[id][1]).verdict == "disagrees"


@pytest.mark.parametrize("id", [f"{family}/{name}" for family, names in FAST.items() for name in names.split()])
def test_a_few_cases_give_the_verdict_of_many(id):
    result = stored_result(id)
    assert result is not None
    assert run_claim(find_claim(id), "quick", folder=REPRODUCED).verdict == result.verdict


def test_claims_that_cannot_be_computed_say_why():
    assert all(len(claim.cannot) > 20 for claim in list_claims() if claim.measure is None)


@pytest.mark.parametrize(
    ("id", "change", "verdict"),
    [
        ("linearity/figure-4.8", STORED, "disagrees"),  # those with little error become more
        ("linearity/figure-6.11", regions((500, 400), (300, 50)), "disagrees"),  # not all have hundreds
        ("linearity/section-3.4.2-narrow", means(0.15), "disagrees"),
        ("tiny/figure-11", STORED, "disagrees"),  # in the second layer half of the first gain is left after 8 steps
        ("tiny/figure-13", STORED, "disagrees"),  # random units lead at the end
        ("xng/growth-circle", STORED, "disagrees"),  # solved less often than from random weights
        ("linearity/section-3.4.4-15x4", row_value(1, 0.5), "disagrees"),  # 20 % is printed
        ("splines/table-2", counts(lambda depth, printed: printed if depth == "1" else 70.0), "disagrees"),
        ("splines/smoothness", last(lambda width, kappa: kappa * width ** (-1 if kappa == 1 else 1)), "disagrees"),
    ],
)
def test_limits_are_no_wider_than_the_words(id, change, verdict):
    assert judge_altered(id, change).verdict == verdict
