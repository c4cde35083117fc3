"""The default growth method: folds where they measure best and are cheap, random units elsewhere."""

from __future__ import annotations

from collections.abc import Sized
from dataclasses import dataclass

from torch import nn

from creases.growth._proposal import Proposal
from creases.growth.methods._evidence import Evidence
from creases.growth.methods._fold.fold import Fold
from creases.growth.methods._fold.search import EXACT
from creases.growth.methods._fold.subnetwork import can_fold
from creases.growth.methods._random import Random
from creases.network import Place

#: Inputs of the model, and of a layer, up to which folds are worth their time: on MNIST's 784 random units end at
#: higher accuracy for the same compute, on tables folds do.
MAX_INPUTS = 100

#: Folds of one growth step where not all samples are searched (see EXACT); further units are random, which on tables of
#: 10,000 rows end at the same accuracy in half the time.
MAX_FOLDS = 16


@dataclass(frozen=True)
class Auto:
    """Growth by :class:`Fold` in narrow layers of models of few inputs, by :class:`Random` units in others.

    Random units are also taken where nothing can be folded (in convolutions, before a batch norm), and for losses other
    than the cross-entropy and the squared error.
    """

    count: int = 1

    def check(self, model: nn.Module, place: Place) -> str:
        """Return "": one of the two can grow every place."""
        return ""

    def __call__(self, model: nn.Module, place: Place, evidence: Evidence) -> Proposal:
        """Return the proposal for a place."""
        layer, example = model.get_submodule(place.name), evidence.samples.example()[0]
        if (
            isinstance(layer, nn.Linear)
            and max(example.numel(), layer.in_features) <= MAX_INPUTS
            and evidence.objective.task is not None
            and can_fold(model, place, example.shape)
        ):
            samples = len(evidence.samples) if isinstance(evidence.samples, Sized) else Fold.max_samples
            large = min(samples, Fold.max_samples) * layer.in_features**2 > EXACT
            return Fold(count=min(self.count, MAX_FOLDS) if large else self.count)(model, place, evidence)
        return Random(count=self.count)(model, place, evidence)
