"""Claims that hang on no luck: a few cases, computed anew, give the verdict of the stored many."""

from __future__ import annotations

import pytest

from creases_reproduction.catalogue import find
from creases_reproduction.running import run, stored

#: What the tests of each source's claims do not run already, and takes well under a second.
FAST = [
    "001-eq-9", "001-prop-5.1", "001-prop-5.2", "001-sec-3.2-orthogonal", "001-sec-5-higher", "001-sec-B.3",
    "002-eq-2.11", "002-eq-2.23", "002-eq-2.28", "002-fig-2.3", "002-thm-2.1.2", "002-sec-2.3.2-order",
    "002-sec-2.3.2-same", "002-sec-2.3.8-dimension", "002-sec-3.1-bias", "002-sec-3.1-normal-form",
    "002-sec-3.1-perceptron", "002-sec-3.1-width", "002-eq-3.6", "002-eq-A.14", "002-eq-A.21", "002-fig-3.1",
    "002-fig-3.2", "002-fig-3.3", "002-lemma-A.2.1", "002-sec-3.3.1-cases", "002-sec-3.3.1-classes",
    "002-sec-3.3.1-parity", "002-sec-3.3.1-width-2", "002-sec-3.3.2-nodes", "002-sec-3.3.3-equations",
    "002-sec-3.3.3-regions", "002-sec-3.3.3-symmetry", "002-sec-3.4.1-freedom", "002-sec-3.4.1-losses",
    "002-sec-3.4.3-maxima", "002-sec-A.5", "002-thm-3.3.1", "002-eq-4.6", "002-eq-4.13", "002-eq-4.20",
    "002-fig-4.5", "002-sec-4.2.1-areas", "002-table-4.1", "002-eq-5.7", "002-eq-5.13", "002-eq-5.16", "002-eq-5.22",
    "002-eq-5.25", "002-fig-5.3", "002-sec-5.2-convex", "002-sec-5.4-equivalent", "002-sec-5.5-growth",
    "002-sec-6.1-images", "002-sec-6.3-comparisons", "002-fig-7.6",
]  # fmt: skip


@pytest.mark.parametrize("id", FAST)
def test_a_few_cases_give_the_verdict_of_many(id):
    many = stored(id)
    assert many is not None
    assert run(find(id), "quick").verdict == many.verdict
