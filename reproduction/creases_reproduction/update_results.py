"""Store the results of claims whose full runs are tables that come with the package.

    python -m creases_reproduction.update_results

writes the result of every claim that has such a table, with the command and the versions that the table names. Those
runs are too long to repeat for every claim.
"""

from __future__ import annotations

from creases_reproduction.catalogue import list_claims
from creases_reproduction.claim import Claim
from creases_reproduction.experiment import PACKAGES
from creases_reproduction.results import STORED_RESULTS, Result, judge_numbers, to_json, write_result

#: The machines on which tables were made, by the device that their first lines name.
MACHINES = {"cpu": "2 cores", "cuda": "an H200"}


def result_from_table(claim: Claim) -> Result:
    """Return the result of a claim from its table."""
    if claim.from_table is None:
        raise ValueError(f"{claim.id} has no table of a full run")
    numbers, about = claim.from_table()
    device = about.get("device", "cpu")
    numbers = to_json(numbers)
    verdict, why = judge_numbers(claim, numbers)
    return Result(
        id=claim.id,
        scale="full",
        command=about["command"],
        versions={name: about[name] for name in ("python", *PACKAGES) if name in about},
        machine=MACHINES.get(device, device),
        seconds=float(about.get("cpu_seconds") or about.get("seconds") or 0),
        numbers=numbers,
        verdict=verdict,
        why=why,
    )


def main() -> None:
    """Write the results of all claims that have a table."""
    for claim in list_claims():
        if claim.from_table is not None:
            write_result(result_from_table(claim), STORED_RESULTS)


if __name__ == "__main__":
    main()
