"""The catalogue of what the four sources claim: every table, figure, theorem and number that can be computed."""

from __future__ import annotations

from difflib import get_close_matches
from functools import cache
from importlib import import_module

from creases.errors import InputError
from creases_reproduction.claim import SOURCES, Claim

#: Modules of this package that have a list ``CLAIMS``, in the order of the catalogue.
MODULES: tuple[str, ...] = (
    "xng.claims",
    "linearity.chapter2_perceptrons",
    "linearity.chapter2_regions",
    "linearity.chapter3_others",
    "linearity.chapter3_functions",
    "linearity.chapter3_networks",
    "linearity.chapter3_optima",
    "linearity.chapter3_training",
    "linearity.chapter3_hardness",
    "linearity.chapter3_ten_bits",
    "linearity.chapter3_pruning",
    "linearity.chapter3_images",
    "linearity.chapter4_shapes",
    "linearity.chapter4_formulas",
    "linearity.chapter4_training",
    "linearity.chapter5",
    "linearity.chapter5_sine",
    "linearity.chapter6",
    "linearity.chapter6_images",
    "linearity.chapter7",
    "linearity.chapter7_images",
    "tiny.theorems",
    "tiny.corollaries",
    "tiny.greedy",
    "tiny.mnist",
    "splines.claims",
    "splines.training_claims",
    "splines.gap",
)


@cache
def _gathered() -> dict[str, Claim]:
    found: dict[str, Claim] = {}
    for module in MODULES:
        for claim in import_module(f"creases_reproduction.{module}").CLAIMS:
            if claim.id in found:
                raise RuntimeError(f"{module}: there is another claim {claim.id}")
            if claim.source not in SOURCES:
                raise RuntimeError(f"{module}: {claim.id} does not begin with a source's number")
            found[claim.id] = claim
    return found


def claims(source: str | None = None) -> list[Claim]:
    """All claims, sources one after the other, or those of one source ("000" to "003")."""
    if source is not None and source not in SOURCES:
        raise InputError(f"source: expected one of {', '.join(SOURCES)}, got {source!r}")
    found = [claim for claim in _gathered().values() if source in (None, claim.source)]
    return sorted(found, key=lambda claim: claim.source)  # within a source the modules' order stays


def find(id: str) -> Claim:
    """The claim of an id; an unknown one is refused with those that are spelt like it."""
    known = _gathered()
    if id not in known:
        near = get_close_matches(id, known, n=3, cutoff=0.4) or list(known)[:3]
        raise InputError(
            f"id: there is no claim {id!r}; did you mean {' or '.join(near)}? creases reproduce --list shows all"
        )
    return known[id]
