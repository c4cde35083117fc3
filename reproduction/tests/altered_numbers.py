"""Stored numbers of claims, altered: to be as printed, or to contradict it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any

from creases_reproduction.catalogue import find_claim
from creases_reproduction.claim import Judgement
from creases_reproduction.results import stored_result, to_json

#: A change of the stored numbers: a mapping that replaces some, or a function of all of them.
Change = Mapping[str, Any] | Callable[[dict[str, Any]], Mapping[str, Any]]

STORED: Change = {}

#: A theorem that fails at a case.
FAILS: Change = {"cases": 3, "failed": 1}


def as_printed(numbers: dict[str, Any]) -> dict[str, Any]:
    """Rows whose measured number is the printed one, with an interval that holds nothing else."""
    for row in numbers["rows"]:
        if row["printed"] is not None:
            row.update(measured=row["printed"], low=row["printed"], high=row["printed"])
    return numbers


def far_off(numbers: dict[str, Any]) -> dict[str, Any]:
    """Rows whose measured number is ten more than the printed one."""
    for row in as_printed(numbers)["rows"]:
        if row["printed"] is not None:
            row.update(measured=row["printed"] + 10, low=row["printed"] + 9.9, high=row["printed"] + 10.1)
    return numbers


def row_value(index: int, value: float) -> Change:
    """Return a change of the measured number of one row, with an interval that holds nothing else."""

    def change(numbers: dict[str, Any]) -> dict[str, Any]:
        numbers["rows"][index].update(measured=value, low=value, high=value)
        return numbers

    return change


def judge_altered(id: str, change: Change) -> Judgement:
    """Judge a claim on its stored numbers with a change."""
    claim, result = find_claim(id), stored_result(id)
    assert claim.judge is not None
    assert result is not None, f"{id} has no stored result"
    numbers = deepcopy(result.numbers)
    return claim.judge(to_json(change(numbers) if callable(change) else {**numbers, **change}))
