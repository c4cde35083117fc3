"""Every stored result says how it was made: by which command, on which machine, with which versions, in what time."""

from __future__ import annotations

import pytest

from creases_reproduction.catalogue import list_claims
from creases_reproduction.results import stored_result

#: Programs whose tables were made before their time was recorded; they need a GPU, or the networks of one.
WITHOUT_SECONDS = ("linearity.image_similarity",)

STORED = [result for claim in list_claims() if (result := stored_result(claim.id)) is not None]


def is_known_gap(command: str, programs: tuple[str, ...]) -> bool:
    return any(f"creases_reproduction.{program} " in command for program in programs)


@pytest.mark.parametrize("result", STORED, ids=[result.id for result in STORED])
def test_a_stored_result_says_how_it_was_made(result):
    assert result.scale == "full"
    assert result.command.startswith(("creases reproduce ", "python -m creases_reproduction."))
    assert result.machine
    assert (result.seconds > 0) != is_known_gap(result.command, WITHOUT_SECONDS)
    assert "torch" in result.versions
