"""The growth methods by name, and the default one: folds where they measure best and are cheap, else random units."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sized
from dataclasses import dataclass, replace
from typing import Any

from torch import nn

from creases.errors import InputError
from creases.growth._proposal import Proposal
from creases.growth.methods._evidence import Evidence, GrowthMethod
from creases.growth.methods._fold.fold import MAX_FOLDS, Fold
from creases.growth.methods._fold.subnetwork import can_fold
from creases.growth.methods._gradmax import GradMax
from creases.growth.methods._random import Random
from creases.growth.methods._split import Split
from creases.growth.methods._tiny.tiny import Tiny
from creases.network import Place
from creases.network.surgery import copy_sharing_parameters, unwrap_module

#: Samples times inputs of a layer up to which folds are worth their time: one fold of more takes as long as hundreds of
#: training steps.
MAX_WORK = 5_000


@dataclass(frozen=True)
class Auto:
    """Growth by :class:`Fold` in layers of few inputs on few samples, by :class:`Random` units in others.

    Random units are also taken beside a batch norm, where nothing can be folded (in convolutions), for losses other
    than the cross-entropy and the squared error, and where more units are wanted than folds supply.
    """

    count: int = 1
    folds: int = MAX_FOLDS  #: at most; where more units are wanted, all are random

    def __call__(self, model: nn.Module, place: Place, evidence: Evidence) -> Proposal:
        """Return the proposal for a place."""
        if self.count <= self.folds and _is_foldable(model, place, evidence):
            folds = Fold(count=self.count)(model, place, evidence)
            if folds.count == self.count or self.count == 1:
                return folds
        proposal = Random(count=self.count)(model, place, evidence)
        return _usual_weights(proposal) if evidence.untrained else proposal


def _usual_weights(proposal: Proposal) -> Proposal:
    """Return random units whose outgoing weights are as large as in an untrained network of the width to come.

    Otherwise networks that began with fewer units would learn more slowly than those that began with more.
    """
    width = proposal.place.width
    size = math.sqrt(width / (width + proposal.count))  # relative to those of the existing units
    scaled = proposal.scale(1.0, size / proposal.explanation["fan_out"])
    return replace(scaled, gain=0.0, explanation={**proposal.explanation, "fan_out": size, "gain": 0.0})


def _is_foldable(model: nn.Module, place: Place, evidence: Evidence) -> bool:
    """Return whether folds are possible at a place, and worth their time."""
    layer, example = model.get_submodule(place.name), evidence.samples.example()[0]
    exact = evidence.objective.task is not None and not place.norm and can_fold(model, place, example.shape)
    if not isinstance(layer, nn.Linear) or not exact:
        return False
    samples = len(evidence.samples) if isinstance(evidence.samples, Sized) else Fold.max_samples
    return min(samples, Fold.max_samples) * layer.in_features <= MAX_WORK


#: Growth methods by name, each created with its default options.
METHODS: Mapping[str, Callable[[], GrowthMethod]] = {
    "auto": Auto,
    "tiny": Tiny,
    "fold": Fold,
    "gradmax": GradMax,
    "random": Random,
    "split": Split,
}

#: Methods that can keep to their source to the letter.
PRINTED: Mapping[Any, Callable[..., GrowthMethod]] = {"fold": Fold, "tiny": Tiny}


def resolve_method(how: str | GrowthMethod, as_printed: bool = False) -> GrowthMethod:
    """Return the method of that name, ``as_printed`` by its source; a method itself is returned as it is."""
    if as_printed and not (isinstance(how, str) and how in PRINTED):
        raise InputError("as_printed", "be True for fold and tiny only", f"True, with how={how!r}")
    if callable(how) and not isinstance(how, type):
        return how
    if not isinstance(how, str) or how not in METHODS:
        raise InputError("how", f"be a function or one of {', '.join(map(repr, METHODS))}", repr(how))
    return PRINTED[how](as_printed=True) if as_printed else METHODS[how]()


def refusal(how: str | GrowthMethod, model: nn.Module, place: Place) -> str:
    """Return why a method can never grow a place, in one sentence, without looking at data; "" where it may.

    A function of the user's own has no check, and is asked when it is time to grow.
    """
    check = getattr(resolve_method(how), "check", None)
    return "" if check is None else str(check(copy_sharing_parameters(unwrap_module(model)), place))


def check_evidence(how: GrowthMethod, evidence: Evidence) -> None:
    """Refuse samples or a loss that a method cannot use."""
    if (check := getattr(how, "check_evidence", None)) is not None:
        check(evidence)


def reviewer(how: GrowthMethod, name: str) -> Callable[..., Mapping[str, Any]] | None:
    """Return what reviews the units of the method of that name, with the options of ``how`` if it is that method."""
    method = METHODS[name]() if name in METHODS else None
    review: Callable[..., Mapping[str, Any]] | None
    review = getattr(how if method is not None and isinstance(how, type(method)) else method, "review", None)
    return review
