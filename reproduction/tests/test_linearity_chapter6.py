"""Claims of chapter 6 of the dissertation: every judge tells what is as printed from what is not."""

from __future__ import annotations

import pytest

from creases_reproduction.catalogue import find_claim
from creases_reproduction.results import judge_numbers, to_json
from made_up_claims import FAILS, STORED, as_printed, computable, far_off, judged_with

SHARE = "share of the outputs' variance"


def of_kind(name, value, *kinds):
    """A measure with other values for networks of some kinds."""
    return lambda n: {
        **n,
        name: [value if network.split()[0] in kinds else own for own, network in zip(n[name], n["names"], strict=True)],
    }


def dense(sgd, adamw):
    """Other numbers of regions for dense networks."""

    def change(n):
        own = {("dense", "sgd"): sgd, ("dense", "adamw"): adamw}
        rows = zip(n["network"], n["optimizer"], n["regions"], strict=True)
        return {**n, "regions": [own.get((kind, optimizer), count) for kind, optimizer, count in rows]}

    return change


#: By id: numbers as printed, and numbers that contradict.
CASES = {
    "linearity/section-6.1-images": (as_printed, far_off),
    "linearity/figure-6.4": (lambda n: {**n, "sides": {"6": n["solved"]}}, {"closed": 0}),
    "linearity/section-6.2-smallest": (STORED, {"solved": [0, 3, 5, 7]}),
    "linearity/figure-6.5": (STORED, {"solved": 0}),
    "linearity/figure-6.6": (STORED, {"solved": 0}),
    "linearity/figure-6.7": (STORED, {"corners by layer": {"1": 2}}),
    "linearity/section-6.2-bottom-up": (
        STORED,
        lambda n: {**n, "changed, by layer": [own[::-1] for own in n["changed, by layer"]]},
    ),
    "linearity/equation-6.2": (STORED, FAILS),
    "linearity/section-6.3-comparisons": ({"of p": 1.5}, {"of p": 4.0, "of the points": 2.0}),
    "linearity/figure-6.12": (
        lambda n: {**n, "seen": [n["regions"]] * 5, "counted": [n["regions"]] * 5, "of two creases": [4] * 5},
        STORED,
    ),
    "linearity/table-6.1": (as_printed, far_off),
    "linearity/section-6.1-linear": (STORED, lambda n: {**n, "rows": [{**one, "measured": 50.0} for one in n["rows"]]}),
    "linearity/figure-6.3": (
        of_kind("outside", 0.0, "simple", "complex"),
        of_kind("outside", 1.0, "simple", "complex"),
    ),
    "linearity/figure-6.10": (dense(2000, 1000), dense(500, 1000)),
    "linearity/figure-6.11": (dense(300, 100), dense(30, 100)),
    "linearity/figure-6.13": (STORED, lambda n: {**n, "by_coefficients": n["by_pattern"]}),
    "linearity/figure-6.14": (STORED, lambda n: {**n, "roughness": [0.5] * len(n["names"])}),
    "linearity/figure-6.15": (STORED, {SHARE: {"mnist": {"sgd": 0.1, "adamw": 0.2}}}),
    "linearity/figure-6.16": (STORED, lambda n: {**n, "eigenvalues": [[1.0] * 5] * len(n["names"])}),
    "linearity/figure-6.17": (STORED, lambda n: {**n, "roughness": [0.5] * len(n["names"])}),
    "linearity/figure-6.18": (
        {SHARE: {"mnist": {"sgd": 0.6, "adamw": 0.5}, "cifar10": {"sgd": 0.4, "adamw": 0.3}}},
        {SHARE: {"mnist": {"sgd": 0.3, "adamw": 0.2}, "cifar10": {"sgd": 0.4, "adamw": 0.3}}},
    ),
    "linearity/figure-6.19": (STORED, lambda n: {**n, "eigenvalues": [[1.0] * 5] * len(n["names"])}),
}


def test_every_claim_is_here():
    assert set(CASES) == computable("linearity.chapter6", "linearity.chapter6_images")


@pytest.mark.parametrize("id", CASES)
def test_what_is_as_printed_agrees(id):
    assert judged_with(id, CASES[id][0]).verdict == "agrees"


@pytest.mark.parametrize("id", CASES)
def test_what_contradicts_disagrees(id):
    assert judged_with(id, CASES[id][1]).verdict == "disagrees"


@pytest.mark.parametrize(
    "id", ["linearity/section-6.2-smallest", "linearity/figure-6.5", "linearity/figure-6.7", "linearity/equation-6.2"]
)
def test_quick_numbers_are_judged_as_the_stored_ones(id):
    claim = find_claim(id)
    assert claim.measure is not None
    assert judge_numbers(claim, to_json(claim.measure("quick")))[0] == judged_with(id, STORED).verdict
