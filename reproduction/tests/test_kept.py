"""Results at full scale out of the tables that come with the package."""

from __future__ import annotations

import pytest

from creases_reproduction.catalogue import claims, find
from creases_reproduction.kept import kept
from creases_reproduction.running import stored

KEPT = [claim.id for claim in claims() if claim.kept is not None]


@pytest.mark.parametrize("id", KEPT)
def test_stored_results_are_those_of_their_tables(id):
    again, result = kept(find(id)), stored(id)
    assert result is not None
    assert (again.numbers, again.verdict, again.command) == (result.numbers, result.verdict, result.command)


def test_a_result_has_the_tables_own_command_and_versions():
    result = kept(find("002-fig-3.5"))
    assert result.command.startswith("python -m creases_reproduction.linearity.boolean_success --scale full")
    assert result.versions["torch"]
    assert result.seconds > 0


def test_a_claim_without_a_table_is_refused():
    with pytest.raises(ValueError, match=r"002-eq-2\.11 has no table of a full run"):
        kept(find("002-eq-2.11"))
