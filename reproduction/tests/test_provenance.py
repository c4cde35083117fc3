"""Every stored result says how it was made: by which command, on which machine, with which versions, in what time."""

from __future__ import annotations

import pytest

from creases._versions import NOT_INSTALLED
from creases_reproduction.catalogue import list_claims
from creases_reproduction.results import Result, stored_result

STORED = [result for claim in list_claims() if (result := stored_result(claim.id)) is not None]


def is_complete(result: Result) -> bool:
    """Whether a result names its seconds and all versions."""
    named = {"python", "creases", "numpy", "torch"} <= result.versions.keys()
    return result.seconds > 0 and named and NOT_INSTALLED not in result.versions.values()


@pytest.mark.parametrize("result", STORED, ids=[result.id for result in STORED])
def test_a_stored_result_says_how_it_was_made(result):
    assert result.scale == "full"
    assert result.command.startswith(("creases reproduce ", "python -m creases_reproduction."))
    assert result.machine
    assert is_complete(result)
