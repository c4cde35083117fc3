"""What a growth method sees of a run: its training samples, its loss, and a seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from torch import Tensor, nn

from creases.errors import InputError
from creases.growth._objective import Objective
from creases.growth._proposal import Proposal
from creases.growth._samples import Pair, SampleArrays, Samples
from creases.network import Place

#: Entries of a fold's explanation that hold sample numbers.
_SAMPLE_NUMBERS = frozenset({"instance", "examples", "alike", "mistakes", "fixed", "broken", "noise"})


@dataclass(frozen=True, eq=False)
class Evidence:
    """The training samples and the loss that a growth method may use."""

    samples: Samples
    objective: Objective
    seed: int  #: a different one for every growth step
    earlier: Sequence[Mapping[str, Any]] = ()  #: explanations of the growth steps so far
    untrained: bool = False  #: whether the network is untrained, so that new units may have weights of any size

    def draw(self, n: int) -> tuple[list[Pair], list[Pair] | None]:
        """Draw n samples at random, in batches, and as many others for validation; each rank gets its share."""
        return self.samples.draw(n, self.seed)


#: A growth method: from a model, one of its places and the evidence to a proposal. An object may have further methods:
#: ``check(model, place)`` returns why it cannot grow a place ("" where it can), ``check_evidence(evidence)`` refuses
#: what it cannot use, ``review(explanation, units, model, evidence)`` returns an explanation with what became of the
#: units, and ``alternatives(model, place, evidence, count)`` returns up to so many proposals of one unit each, the best
#: first.
GrowthMethod = Callable[[nn.Module, Place, Evidence], Proposal]


def message_of(check: Callable[[], Any]) -> str:
    """Return the message with which a check refuses; "" where it passes."""
    try:
        check()
    except InputError as problem:
        return str(problem)
    return ""


def check_printed(**options: tuple[Any, Any]) -> None:
    """Refuse options beside a source's own rule, by name their value and default."""
    for name, (value, default) in options.items():
        if value != default:
            raise InputError(name, f"be {default!r} as printed", repr(value))


def task_of(evidence: Evidence, method: str) -> Literal["classification", "regression"]:
    """Return the task of a run, for methods that only know the two standard losses."""
    task = evidence.objective.task
    if task is None:
        raise InputError(
            "loss",
            f"be the cross-entropy or the squared error for how={method!r}",
            hint="use {0} or {1}",
            settings=[("loss", "classification"), ("loss", "regression")],
        )
    return task


def drop_unweighted(arrays: SampleArrays) -> SampleArrays:
    """Return the samples without those of weight 0."""
    if arrays.weight is None or bool((arrays.weight > 0).all()):
        return arrays
    positive = torch.nonzero(arrays.weight > 0).flatten()
    numbers = positive.cpu() if arrays.rows is None else arrays.rows[positive.cpu()]
    return SampleArrays(arrays.X[positive], arrays.y[positive], arrays.weight[positive], numbers)


def renumber_proposal(proposal: Proposal, arrays: SampleArrays) -> Proposal:
    """Return a proposal whose explanation numbers samples as the run's data does."""
    if arrays.rows is None or not proposal.count:
        return proposal
    return replace(proposal, explanation=renumber_samples(dict(proposal.explanation), arrays.rows))


def renumber_samples(value: Any, rows: Tensor, name: str = "") -> Any:
    """Return a fold's explanation with sample k called ``rows[k]``."""
    if isinstance(value, Mapping):
        return {key: renumber_samples(entry, rows, key) for key, entry in value.items()}
    if name in _SAMPLE_NUMBERS:
        numbers = rows[value].tolist()
        return list(dict.fromkeys(numbers)) if isinstance(numbers, list) else numbers
    if isinstance(value, list):
        return [renumber_samples(entry, rows) for entry in value]
    return value
