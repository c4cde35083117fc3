"""The catalogue: unique ids, known families, a result at full scale for everything that can be computed."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from creases.errors import InputError
from creases_reproduction.catalogue import find_claim, list_claims
from creases_reproduction.claim import FAMILIES
from creases_reproduction.results import (
    STORED_RESULTS,
    VERDICTS,
    count_verdicts,
    judge_again,
    read_result,
    stored_result,
)

ALL = list_claims()


def test_every_claim_has_an_id_of_its_family_and_says_something():
    assert len({claim.id for claim in ALL}) == len(ALL) > 0
    for claim in ALL:
        assert claim.family in FAMILIES
        assert re.fullmatch(r"[a-z]+/[A-Za-z0-9._-]+", claim.id)
        assert claim.place
        assert claim.says
        assert (claim.measure is None) == bool(claim.cannot), claim.id
        assert (claim.measure is None) == (claim.judge is None), claim.id


@pytest.mark.thorough
def test_a_claim_imports_its_own_family_only():
    code = (
        "import sys; from creases_reproduction.catalogue import find_claim; find_claim('tiny/figure-5');"
        "print(*{name.split('.')[1] for name in sys.modules if name.startswith('creases_reproduction.')})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) & set(FAMILIES) == {"tiny"}


def test_no_computable_claim_is_without_a_result_at_full_scale():
    missing = [claim.id for claim in ALL if claim.measure is not None and stored_result(claim.id) is None]
    assert missing == []


def test_every_stored_result_is_of_a_claim_at_full_scale_and_judged_by_the_current_judge():
    computable = {claim.id for claim in ALL if claim.measure is not None}
    paths = sorted(STORED_RESULTS.rglob("*.json"))
    results = [read_result(path) for path in paths]
    assert {result.id for result in results} == computable
    for path, result in zip(paths, results, strict=True):
        assert path == STORED_RESULTS / f"{result.id}.json"
        assert result.scale == "full"
        again = judge_again(result)
        assert (again.verdict, again.why) == (result.verdict, result.why), result.id


def test_every_stored_result_can_be_drawn():
    for claim in ALL:
        result = stored_result(claim.id)
        if claim.picture is not None and result is not None:
            picture = claim.picture(result.numbers)
            assert picture.rows or picture.curves or len(picture.heat), claim.id


def test_counts_by_verdict_add_up():
    counts = count_verdicts(result for result in map(stored_result, (claim.id for claim in ALL)) if result is not None)
    assert sum(counts.values()) == sum(claim.measure is not None for claim in ALL)
    assert set(counts) == set(VERDICTS)


def test_claims_of_one_family_are_a_part():
    assert [claim for family in FAMILIES for claim in list_claims(family)] == ALL
    with pytest.raises(InputError, match="family must be 'xng', 'tiny', 'linearity' or 'splines', got 'other'"):
        list_claims("other")


@pytest.mark.parametrize("id", ["splines/tabel-1", "spline/table-1"])
def test_an_unknown_id_is_refused_with_similar_ones(id):
    assert find_claim("splines/table-1").place == "Table 1"
    with pytest.raises(InputError, match=rf"id must be the id of a claim, got '{id}'; did you mean splines/table-1"):
        find_claim(id)
