"""The catalogue of claims: every table, figure, theorem and number of the sources that can be computed.

A family is a package whose ``MODULES`` names its modules with a list ``CLAIMS``, in the order of the catalogue. The
first part of an id names the family, so that looking up a claim imports this family only.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from functools import cache
from importlib import import_module

from creases._validation import check_choice
from creases.errors import InputError
from creases_reproduction.claim import FAMILIES, Claim


def list_claims(family: str | None = None) -> list[Claim]:
    """Return all claims, family by family, or those of one family."""
    if family is not None:
        check_choice(family, FAMILIES, "family")
    return [claim for name in FAMILIES if family in (None, name) for claim in _load_family(name).values()]


def find_claim(id: str) -> Claim:
    """Return the claim with an id; for an unknown one, the error suggests similar ids."""
    family = id.partition("/")[0]
    if family in FAMILIES and id in _load_family(family):
        return _load_family(family)[id]
    known = [claim.id for claim in list_claims()]
    similar = get_close_matches(id, known, n=3, cutoff=0.4) or known[:3]
    raise InputError("id", "be the id of a claim", repr(id), f"did you mean {' or '.join(similar)}?")


def module_of(id: str) -> str:
    """Return the name of the module that lists a claim; "" if none does."""
    family = id.partition("/")[0]
    names = [f"creases_reproduction.{family}.{name}" for name in _modules(family)] if family in FAMILIES else []
    return next((name for name in names if any(claim.id == id for claim in import_module(name).CLAIMS)), "")


def _modules(family: str) -> Sequence[str]:
    names: Sequence[str] = import_module(f"creases_reproduction.{family}").MODULES
    return names


@cache
def _load_family(family: str) -> dict[str, Claim]:
    """Import the modules of a family and return its claims by id."""
    package = f"creases_reproduction.{family}"
    claims: dict[str, Claim] = {}
    for module in _modules(family):
        for claim in import_module(f"{package}.{module}").CLAIMS:
            if claim.family != family:
                raise RuntimeError(f"{package}.{module}: the id {claim.id} does not begin with {family}/")
            if claim.id in claims:
                raise RuntimeError(f"{package}.{module}: the id {claim.id} is not unique")
            claims[claim.id] = claim
    return claims
