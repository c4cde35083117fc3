"""Numbers made up out of a claim's stored ones: as printed, or against what is printed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from importlib import import_module
from typing import Any

from creases_reproduction.catalogue import find_claim
from creases_reproduction.claim import Judgement
from creases_reproduction.results import stored_result, to_json

#: What to change of the stored numbers: nothing, some of them, or all by a function.
Change = Mapping[str, Any] | Callable[[dict[str, Any]], Mapping[str, Any]]

STORED: Change = {}

#: A theorem that fails at a case.
FAILS: Change = {"cases": 3, "failed": 1}


def as_printed(numbers: dict[str, Any]) -> dict[str, Any]:
    """Rows whose measured number is the printed one, with an interval that holds nothing else."""
    for one in numbers["rows"]:
        if one["printed"] is not None:
            one.update(measured=one["printed"], low=one["printed"], high=one["printed"])
    return numbers


def far_off(numbers: dict[str, Any]) -> dict[str, Any]:
    """Rows whose measured number is ten more than the printed one."""
    for one in as_printed(numbers)["rows"]:
        if one["printed"] is not None:
            one.update(measured=one["printed"] + 10, low=one["printed"] + 9.9, high=one["printed"] + 10.1)
    return numbers


def judged_with(id: str, change: Change) -> Judgement:
    """How a claim is judged on its stored numbers with a change."""
    claim, result = find_claim(id), stored_result(id)
    assert claim.judge is not None
    assert result is not None, f"{id} has no stored result"
    numbers = deepcopy(result.numbers)
    return claim.judge(to_json(change(numbers) if callable(change) else {**numbers, **change}))


def computable(*modules: str) -> set[str]:
    """Ids of the claims of modules that can be computed."""
    found = [import_module(f"creases_reproduction.{module}").CLAIMS for module in modules]
    return {claim.id for claims in found for claim in claims if claim.measure is not None}
