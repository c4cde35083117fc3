"""Claims that hang on no luck: a few cases, computed anew, give the verdict of the stored many."""

from __future__ import annotations

import pytest

from creases_reproduction.catalogue import find_claim
from creases_reproduction.results import stored_result
from creases_reproduction.runner import run_claim

#: What the tests of each source's claims do not run already, and takes well under a second.
FAST = [
    "tiny/equation-9", "tiny/proposition-5.1", "tiny/proposition-5.2", "tiny/section-3.2-orthogonal", "tiny/section-5-higher", "tiny/section-B.3",
    "linearity/equation-2.11", "linearity/equation-2.23", "linearity/equation-2.28", "linearity/figure-2.3", "linearity/theorem-2.1.2", "linearity/section-2.3.2-order",
    "linearity/section-2.3.2-same", "linearity/section-2.3.8-dimension", "linearity/section-3.1-bias", "linearity/section-3.1-normal-form",
    "linearity/section-3.1-perceptron", "linearity/section-3.1-width", "linearity/equation-3.6", "linearity/equation-A.14", "linearity/equation-A.21", "linearity/figure-3.1",
    "linearity/figure-3.2", "linearity/figure-3.3", "linearity/lemma-A.2.1", "linearity/section-3.3.1-cases", "linearity/section-3.3.1-classes",
    "linearity/section-3.3.1-parity", "linearity/section-3.3.1-width-2", "linearity/section-3.3.2-nodes", "linearity/section-3.3.3-equations",
    "linearity/section-3.3.3-regions", "linearity/section-3.3.3-symmetry", "linearity/section-3.4.1-freedom", "linearity/section-3.4.1-losses",
    "linearity/section-3.4.3-maxima", "linearity/section-A.5", "linearity/theorem-3.3.1", "linearity/equation-4.6", "linearity/equation-4.13", "linearity/equation-4.20",
    "linearity/figure-4.5", "linearity/section-4.2.1-areas", "linearity/table-4.1", "linearity/equation-5.7", "linearity/equation-5.13", "linearity/equation-5.16", "linearity/equation-5.22",
    "linearity/equation-5.25", "linearity/figure-5.3", "linearity/section-5.2-convex", "linearity/section-5.4-equivalent", "linearity/section-5.5-growth",
    "linearity/section-6.1-images", "linearity/section-6.3-comparisons", "linearity/figure-7.6",
]  # fmt: skip


@pytest.mark.parametrize("id", FAST)
def test_a_few_cases_give_the_verdict_of_many(id):
    many = stored_result(id)
    assert many is not None
    assert run_claim(find_claim(id), "quick").verdict == many.verdict
