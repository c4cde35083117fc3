"""Results at full scale from the tables that come with the package."""

from __future__ import annotations

import pytest

from creases_reproduction.catalogue import find_claim, list_claims
from creases_reproduction.results import stored_result
from creases_reproduction.update_results import result_from_table

WITH_TABLE = [claim.id for claim in list_claims() if claim.from_table is not None]


@pytest.mark.parametrize("id", WITH_TABLE)
def test_stored_results_are_those_of_their_tables(id):
    again, result = result_from_table(find_claim(id)), stored_result(id)
    assert result is not None
    assert (again.numbers, again.verdict, again.command) == (result.numbers, result.verdict, result.command)


def test_a_result_has_the_tables_own_command_and_versions():
    result = result_from_table(find_claim("linearity/figure-3.5"))
    assert result.command.startswith("python -m creases_reproduction.linearity.boolean_success --scale full")
    assert result.versions["torch"]
    assert result.seconds > 0


def test_a_claim_without_a_table_is_refused():
    with pytest.raises(ValueError, match=r"linearity/equation-2\.11 has no table of a full run"):
        result_from_table(find_claim("linearity/equation-2.11"))
