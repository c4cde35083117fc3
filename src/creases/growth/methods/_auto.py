"""The default growth method: folds where they measure best and are cheap, random units elsewhere."""

from __future__ import annotations

from collections.abc import Sized
from dataclasses import dataclass

from torch import nn

from creases.growth._proposal import Proposal
from creases.growth.methods._evidence import Evidence
from creases.growth.methods._fold.fold import Fold
from creases.growth.methods._fold.subnetwork import can_fold
from creases.growth.methods._random import Random
from creases.network import Place

#: Samples times inputs of a layer up to which folds are worth their time, and how many of them a growth step has at
#: most: one fold of more takes as long as hundreds of training steps. Further units are random.
MAX_WORK, MAX_FOLDS = 5_000, 8


@dataclass(frozen=True)
class Auto:
    """Growth by :class:`Fold` in layers of few inputs on few samples, by :class:`Random` units in others.

    Random units are also taken where nothing can be folded (in convolutions, before a batch norm), and for losses other
    than the cross-entropy and the squared error.
    """

    count: int = 1

    def check(self, model: nn.Module, place: Place) -> str:
        """Return "": one of the two can grow every place."""
        return ""

    def __call__(self, model: nn.Module, place: Place, evidence: Evidence) -> Proposal:
        """Return the proposal for a place."""
        if _is_foldable(model, place, evidence):
            return Fold(count=min(self.count, MAX_FOLDS))(model, place, evidence)
        return Random(count=self.count)(model, place, evidence)

    def prepare(self, model: nn.Module, place: Place, evidence: Evidence) -> None:
        """Import what folds need, where there will be folds."""
        if _is_foldable(model, place, evidence):
            Fold().prepare(model, place, evidence)


def _is_foldable(model: nn.Module, place: Place, evidence: Evidence) -> bool:
    """Return whether folds are possible at a place, and worth their time."""
    layer, example = model.get_submodule(place.name), evidence.samples.example()[0]
    exact = evidence.objective.task is not None and can_fold(model, place, example.shape)
    if not isinstance(layer, nn.Linear) or not exact:
        return False
    samples = len(evidence.samples) if isinstance(evidence.samples, Sized) else Fold.max_samples
    return min(samples, Fold.max_samples) * layer.in_features <= MAX_WORK
