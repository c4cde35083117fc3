"""How to grow, as small objects: each turns what a run knows into a proposal for one place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from torch import Tensor, nn

from creases.errors import InputError
from creases.growth._objective import Objective
from creases.growth._proposal import Proposal
from creases.growth._samples import Pair, SampleArrays, Samples
from creases.growth.methods._fold.crease_search import crease_search
from creases.growth.methods._fold.fold import fold
from creases.growth.methods._gradmax import gradmax
from creases.growth.methods._random import random_units
from creases.growth.methods._split import split, steepest_split
from creases.growth.methods._tiny.growth_sample import sample_size
from creases.growth.methods._tiny.tiny import tiny
from creases.network.surgery import Place, copy_sharing_parameters


@dataclass(frozen=True, eq=False)
class Evidence:
    """What a method may look at: the run's training samples and its loss."""

    samples: Samples
    objective: Objective
    seed: int  #: another for every growth step

    def drawn(self, n: int) -> tuple[list[Pair], list[Pair] | None]:
        """n samples at random in batches, and as many others, held out; each rank has its share."""
        return self.samples.drawn(n, self.seed)


#: A method: from a model, one of its places and the evidence to a proposal.
GrowthMethod = Callable[[nn.Module, Place, Evidence], Proposal]


@dataclass(frozen=True)
class Tiny:
    """:func:`creases.growth.methods.tiny`: the units that fix a bottleneck; as many as the spectrum asks for, up to a most.

    Units that are no stronger than chance make them are left out. ``samples`` are taken for the statistics, at most,
    and as many for the line search: on few, chance looks like gain.
    """

    max_units: int = 10
    tau: float = 1e-4
    beyond: Literal["second", "random"] | None = "random"
    samples: int = 10_000

    def __call__(self, model: nn.Module, place: Place, evidence: Evidence) -> Proposal:
        batches, heldout = evidence.drawn(self.samples)
        options: dict[str, Any] = {
            "max_units": self.max_units,
            "tau": self.tau,
            "beyond": self.beyond,
            "above_chance": True,
        }
        loss = evidence.objective.loss
        return tiny(model, place, batches, loss, heldout=heldout, seed=evidence.seed, **options)


@dataclass(frozen=True)
class GradMax:
    """:func:`creases.growth.methods.gradmax`: units that leave the function as it is and get the largest gradient."""

    count: int = 1
    samples: int | None = None

    def __call__(self, model: nn.Module, place: Place, evidence: Evidence) -> Proposal:
        batches, _ = evidence.drawn(self.samples or sample_size(model, place))
        return gradmax(model, place, batches, evidence.objective.loss, count=self.count)


@dataclass(frozen=True)
class Random:
    """:func:`creases.growth.methods.random_units`."""

    count: int = 1
    samples: int | None = None

    def __call__(self, model: nn.Module, place: Place, evidence: Evidence) -> Proposal:
        batches, _ = evidence.drawn(self.samples or sample_size(model, place))
        return random_units(model, place, batches, evidence.objective.loss, count=self.count, seed=evidence.seed)


@dataclass(frozen=True)
class Split:
    """:func:`creases.growth.methods.split`: copies of units (Net2Wider), parted by a little noise."""

    count: int = 1
    noise: float = 0.05

    def __call__(self, model: nn.Module, place: Place, evidence: Evidence) -> Proposal:
        batches, _ = evidence.drawn(100)
        options: dict[str, Any] = {"count": self.count, "noise": self.noise, "seed": evidence.seed}
        return split(model, place, batches, evidence.objective.loss, **options)


@dataclass(frozen=True)
class SteepestSplit:
    """:func:`creases.growth.methods.steepest_split`: units split along their worst curvature."""

    count: int = 1
    samples: int | None = None

    def __call__(self, model: nn.Module, place: Place, evidence: Evidence) -> Proposal:
        batches, _ = evidence.drawn(self.samples or sample_size(model, place))
        return steepest_split(model, place, batches, evidence.objective.loss, count=self.count)


@dataclass(frozen=True)
class Fold:
    """:func:`creases.growth.methods.fold`: one unit whose crease passes beside a typical mis-prediction."""

    eps: float = 0.05
    k: int = 3
    limit: int = 10_000  #: samples looked at, at most: the same ones in every growth step

    def __call__(self, model: nn.Module, place: Place, evidence: Evidence) -> Proposal:
        seen = drop_unweighted(evidence.samples.whole(self.limit))
        options: dict[str, Any] = {"eps": self.eps, "k": self.k, "seed": evidence.seed, "weight": seen.weight}
        return _numbered(
            fold(copy_sharing_parameters(model), place, seen.X, seen.y, loss=_task(evidence, "fold"), **options), seen
        )


@dataclass(frozen=True)
class CreaseSearch:
    """:func:`creases.growth.search`: the unit of many, with creases anywhere, that gets the largest gradient."""

    eps: float = 0.05
    limit: int = 10_000

    def __call__(self, model: nn.Module, place: Place, evidence: Evidence) -> Proposal:
        seen = drop_unweighted(evidence.samples.whole(self.limit))
        options: dict[str, Any] = {"eps": self.eps, "seed": evidence.seed, "weight": seen.weight}
        return crease_search(
            copy_sharing_parameters(model), place, seen.X, seen.y, loss=_task(evidence, "search"), **options
        )


METHODS: Mapping[str, Callable[[], GrowthMethod]] = {
    "tiny": Tiny,
    "fold": Fold,
    "gradmax": GradMax,
    "random": Random,
    "split": Split,
    "steepest_split": SteepestSplit,
    "search": CreaseSearch,
}


def resolve_method(how: str | GrowthMethod) -> GrowthMethod:
    """The method of that name, or the function itself."""
    if callable(how) and not isinstance(how, type):
        return how
    if not isinstance(how, str) or how not in METHODS:
        raise InputError(f"how: expected a function or one of {', '.join(map(repr, METHODS))}, got {how!r}")
    return METHODS[how]()


def drop_unweighted(seen: SampleArrays) -> SampleArrays:
    """Samples without those of weight 0."""
    if seen.weight is None or bool((seen.weight > 0).all()):
        return seen
    kept = torch.nonzero(seen.weight > 0).flatten()
    numbers = kept.cpu() if seen.rows is None else seen.rows[kept.cpu()]
    return SampleArrays(seen.X[kept], seen.y[kept], seen.weight[kept], numbers)


def _task(evidence: Evidence, name: str) -> Literal["classification", "regression"]:
    task = evidence.objective.task
    if task is None:
        raise InputError(
            f"loss: {name} knows cross-entropy and squared error; give loss='classification' or 'regression'"
        )
    return task


def _numbered(proposal: Proposal, seen: SampleArrays) -> Proposal:
    """The same with instances numbered as in the run's data."""
    if seen.rows is None or not proposal.count:
        return proposal
    return replace(proposal, explanation=renumber_samples(dict(proposal.explanation), seen.rows))


#: Entries of a fold's explanation that number instances.
_INSTANCES = frozenset({"instance", "examples", "mistakes", "fixed", "broken"})


def renumber_samples(value: Any, rows: Tensor, name: str = "") -> Any:
    """A fold's explanation with instance k called ``rows[k]``."""
    if isinstance(value, Mapping):
        return {key: renumber_samples(entry, rows, key) for key, entry in value.items()}
    if name in _INSTANCES:
        found = rows[value].tolist()
        return list(dict.fromkeys(found)) if isinstance(found, list) else found
    if isinstance(value, list):
        return [renumber_samples(entry, rows) for entry in value]
    return value
