"""Results at full scale out of tables that come with the package: of runs too long to repeat for every claim.

    python -m creases_reproduction.kept

writes the result of every claim that has such a table, with the table's own command and versions.
"""

from __future__ import annotations

from collections.abc import Mapping

from creases_reproduction.catalogue import claims
from creases_reproduction.claim import Claim
from creases_reproduction.measured import PACKAGES
from creases_reproduction.running import STORED, Result, judged, plain, write

#: Where tables were made, by the device that their first lines tell.
MACHINES = {"cpu": "2 cores", "cuda": "an H200"}


def kept(claim: Claim) -> Result:
    """The result of a claim out of its table."""
    if claim.kept is None:
        raise ValueError(f"{claim.id} has no table of a full run")
    numbers, about = claim.kept()
    device = about.get("device", "cpu")
    numbers = plain(numbers)
    verdict, why = judged(claim, numbers)
    return Result(
        id=claim.id,
        scale="full",
        command=about["command"],
        versions={name: about[name] for name in ("python", *PACKAGES) if name in about},
        machine=MACHINES.get(device, device),
        seconds=_seconds(about),
        numbers=numbers,
        verdict=verdict,
        why=why,
    )


def _seconds(about: Mapping[str, str]) -> float:
    """What the run took, where the table tells it; else 0."""
    return float(about.get("cpu_seconds", 0))


if __name__ == "__main__":
    for one in claims():
        if one.kept is not None:
            write(kept(one), STORED)
