"""The growth methods by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress

from torch import nn

from creases.errors import InputError, ReadError
from creases.growth.methods._auto import Auto
from creases.growth.methods._evidence import (
    Evidence,
    EvidenceCheck,
    GrowthMethod,
    OutcomeReview,
    PlaceCheck,
    Preparation,
)
from creases.growth.methods._fold.fold import Fold
from creases.growth.methods._gradmax import GradMax
from creases.growth.methods._random import Random
from creases.growth.methods._split import Split
from creases.growth.methods._tiny.tiny import Tiny
from creases.network import Place
from creases.network.surgery import copy_sharing_parameters, unwrap_module

#: Growth methods by name, each created with its default options.
METHODS: Mapping[str, Callable[[], GrowthMethod]] = {
    "auto": Auto,
    "tiny": Tiny,
    "fold": Fold,
    "gradmax": GradMax,
    "random": Random,
    "split": Split,
}


def resolve_method(how: str | GrowthMethod) -> GrowthMethod:
    """Return the method of that name; a method itself is returned as it is."""
    if callable(how) and not isinstance(how, type):
        return how
    if not isinstance(how, str) or how not in METHODS:
        raise InputError("how", f"be a function or one of {', '.join(map(repr, METHODS))}", repr(how))
    return METHODS[how]()


def refusal(how: str | GrowthMethod, model: nn.Module, place: Place) -> str:
    """Return why a method can never grow a place, in one sentence, without looking at data; "" where it may.

    A function of the user's own has no check, and is asked when it is time to grow.
    """
    method = resolve_method(how)
    return method.check(copy_sharing_parameters(unwrap_module(model)), place) if isinstance(method, PlaceCheck) else ""


def check_evidence(how: GrowthMethod, evidence: Evidence) -> None:
    """Refuse samples or a loss that a method cannot use."""
    if isinstance(how, EvidenceCheck):
        how.check_evidence(evidence)


def prepare_method(how: GrowthMethod, model: nn.Module, place: Place, evidence: Evidence) -> None:
    """Import what a method needs to grow a place, so that its first growth step takes no longer than others."""
    if isinstance(how, Preparation):
        with suppress(InputError, ReadError):  # what cannot grow is refused when it is time to grow
            how.prepare(copy_sharing_parameters(unwrap_module(model)), place, evidence)


def reviewer(how: GrowthMethod, name: str) -> OutcomeReview | None:
    """Return what reviews the units of the method of that name, with the options of ``how`` if it is that method."""
    method = METHODS[name]() if name in METHODS else None
    if not isinstance(method, OutcomeReview):
        return None
    return how if isinstance(how, type(method)) else method
