"""The catalogue: ids of their own, known sources, nothing computable without a result at full scale."""

from __future__ import annotations

import re

import pytest

from creases.errors import InputError
from creases_reproduction.catalogue import MODULES, find_claim, list_claims
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


def test_every_claim_has_an_id_of_its_source_and_says_something():
    assert len({claim.id for claim in ALL}) == len(ALL) > 0
    for claim in ALL:
        assert claim.source in FAMILIES
        assert re.fullmatch(r"00\d-[A-Za-z0-9._-]+", claim.id)
        assert claim.place
        assert claim.says
        assert (claim.measure is None) == bool(claim.cannot), claim.id
        assert (claim.measure is None) == (claim.judge is None), claim.id


def test_modules_are_named_once():
    assert len(set(MODULES)) == len(MODULES)


def test_no_computable_claim_is_without_a_result_at_full_scale():
    missing = [claim.id for claim in ALL if claim.measure is not None and stored_result(claim.id) is None]
    assert missing == []


def test_every_stored_result_is_of_a_claim_at_full_scale_and_judged_as_it_would_be_now():
    computable = {claim.id for claim in ALL if claim.measure is not None}
    results = [read_result(path) for path in sorted(STORED_RESULTS.glob("*.json"))]
    assert {result.id for result in results} == computable
    for result in results:
        assert result.scale == "full"
        again = judge_again(result)
        assert (again.verdict, again.why) == (result.verdict, result.why), result.id


def test_every_stored_result_can_be_drawn_from():
    for claim in ALL:
        result = stored_result(claim.id)
        if claim.picture is not None and result is not None:
            picture = claim.picture(result.numbers)
            assert picture.rows or picture.curves or len(picture.heat), claim.id


def test_counts_by_verdict_add_up():
    found = count_verdicts(result for result in map(stored_result, (claim.id for claim in ALL)) if result is not None)
    assert sum(found.values()) == sum(claim.measure is not None for claim in ALL)
    assert set(found) == set(VERDICTS)


def test_claims_of_one_source_are_a_part():
    assert [claim for source in FAMILIES for claim in list_claims(source)] == ALL
    with pytest.raises(InputError, match="source: expected one of 000, 001, 002, 003, got '004'"):
        list_claims("004")


def test_an_unknown_id_is_refused_with_what_is_spelt_like_it():
    assert find_claim("splines/table-1").place == "Table 1"
    with pytest.raises(InputError, match=r"there is no claim 'splines/tabel-1'; did you mean splines/table-1"):
        find_claim("splines/tabel-1")
