"""Policies for the end of growth and of a run, called at the end of every epoch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from creases._text import plural
from creases._validation import check_choice
from creases.errors import InputError
from creases.growth._proposal import DepthProposal, Proposal
from creases.growth._state import State
from creases.growth.policies._where import proposal_worth
from creases.network import Place

#: From a run's state to the reason to stop, "" to continue.
Stop = Callable[[State], str]

#: More units than any model has.
UNBOUNDED = 10**9


@dataclass(frozen=True)
class Target:
    """Stop the run when the score (accuracy, R^2) or the loss reaches a value."""

    score: float | None = None
    loss: float | None = None
    on: Literal["validation", "training"] | None = None  #: by default validation data, if there are any

    def __post_init__(self) -> None:
        if self.score is None and self.loss is None:
            raise InputError("Target", "have a score or a loss to reach", hint="use Target(score=0.99), for example")
        check_choice(self.on, ("validation", "training", None), "on")

    def __call__(self, state: State) -> str:
        """Return the reason to stop, "" to continue."""
        last = state.history.last
        kind = self.on or ("training" if last["validation_loss"] is None else "validation")
        prefix = "validation_" if kind == "validation" else ""
        score, loss = last[prefix + "score"], last[prefix + "loss"]
        if loss is None:
            raise InputError(
                "validation", "be given for Target(on='validation')", hint="pass validation data, or use on='training'"
            )
        if self.score is not None and score is None:
            raise InputError(
                "stop", "have a target for the loss, as this loss has no score", hint="use Target(loss=...)"
            )
        if self.score is not None and score >= self.score:
            return f"the {kind} score reached {score:.4g} (target {self.score:.4g})"
        if self.loss is not None and loss <= self.loss:
            return f"the {kind} loss reached {loss:.4g} (target {self.loss:.4g})"
        return ""


@dataclass(frozen=True)
class SizeLimit:
    """Stop growth when the model reaches a size; the last growth step adds no more units than fit.

    It is checked when it is time to grow, so that the last units are trained.
    """

    parameters: int | None = None
    flops: int | None = None  #: of one forward pass for one sample
    units: int | None = None  #: of all places together
    growth_steps: int | None = None  #: without reinitialisations of dead layers

    def __post_init__(self) -> None:
        limits = (self.parameters, self.flops, self.units, self.growth_steps)
        numbers = [number for number in limits if number is not None]
        if not numbers or min(numbers) < 0:
            raise InputError("SizeLimit", "have parameters, flops, units or growth_steps of at least 0", str(self))

    def __call__(self, state: State) -> str:
        """Return the reason to stop, "" to continue."""
        if not state.due:
            return ""
        steps = sum(record.action != "revive" for record in state.history.records)
        if self.growth_steps is not None and steps >= self.growth_steps:
            return f"reached the limit of {plural(self.growth_steps, 'growth step')}"
        places = state.where(state)
        if places and all(self.available_units(state, place) < 1 for place in places):
            within = []
            if self.parameters is not None:
                within.append(f"{plural(self.parameters, 'parameter')} (it has {state.parameters})")
            if self.flops is not None:
                within.append(f"{self.flops} operations per sample (it needs {state.flops})")
            if self.units is not None:
                within.append(f"{plural(self.units, 'unit')} (it has {_units(state)})")
            return f"no further unit fits: the network is limited to {' and '.join(within)}" if within else ""
        return ""

    def available_units(self, state: State, place: Place | DepthProposal) -> int:
        """Return how many more units fit at a place; of a proposed layer all of its units or none."""
        if isinstance(place, DepthProposal):
            return place.count if self._has_room(state, place) else 0
        left = [UNBOUNDED]
        if self.parameters is not None:
            left.append((self.parameters - state.parameters) // max(place.cost, 1))
        if self.flops is not None:
            left.append((self.flops - state.flops) // max(state.flops_per_unit(place), 1))
        if self.units is not None:
            left.append(self.units - _units(state))
        return max(min(left), 0)

    def _has_room(self, state: State, layer: DepthProposal) -> bool:
        """Return whether a proposed layer fits."""
        flops = state.flops + 2 * layer.multiply_adds
        return self.admits(state.parameters + layer.parameters, flops, _units(state) + layer.count)

    def admits(self, parameters: int, flops: int, units: int) -> bool:
        """Return whether a model of this size is within the limits."""
        pairs = ((self.parameters, parameters), (self.flops, flops), (self.units, units))
        return all(limit is None or size <= limit for limit, size in pairs)


def _units(state: State) -> int:
    return sum(place.width for place in state.places)


@dataclass(frozen=True)
class NoImprovement:
    """Stop growth after some growth steps, each with training, that did not improve the validation loss or score.

    An improvement must be more than ``threshold``, relative to the best. Without validation data, the training loss or
    score is used.
    """

    patience: int = 2  #: growth steps
    threshold: float = 1e-3
    by: Literal["loss", "score"] = "loss"

    def __post_init__(self) -> None:
        check_choice(self.by, ("loss", "score"), "by")

    def __call__(self, state: State) -> str:
        """Return the reason to stop, "" to continue."""
        if not state.due:
            return ""
        kind = self.by if state.history.last[f"validation_{self.by}"] is None else f"validation_{self.by}"
        if state.history.last[kind] is None:
            raise InputError("stop", "use NoImprovement(by='loss'), as this loss has no score", "by='score'")
        sign = 1.0 if self.by == "loss" else -1.0
        best, waited, start = float("inf"), -1, 0
        for stop in [*(record.epoch for record in state.history.records), len(state.history.epochs)]:
            reached = min((sign * epoch[kind] for epoch in state.history.epochs[start:stop]), default=float("inf"))
            better = best == float("inf") or reached < best - self.threshold * abs(best)
            best, waited, start = min(best, reached), 0 if better else waited + 1, stop
        if waited < self.patience:
            return ""
        name = kind.replace("_", " ")
        return f"{plural(waited, 'growth step')} brought no improvement in {name} (best {sign * best:.4g})"


@dataclass(frozen=True)
class NothingToAdd:
    """Stop growth when no place has a unit whose predicted gain, relative to the loss, exceeds ``tau``.

    A method draws new samples at each call, so one refusal may be chance; ``patience`` refusals in a row stop growth.
    """

    tau: float = 0.0
    patience: int = 3

    def __call__(self, state: State) -> str:
        """Return the reason to stop, "" to continue."""
        if not state.due:
            return ""
        reasons = []
        for place in state.where(state):
            proposal = state.propose(place)
            if self.is_worth_adding(state, proposal):
                return ""
            why = (
                proposal.explanation.get("reason") or f"a predicted gain of {proposal_worth(proposal):.3g} is too small"
            )
            reasons.append(f"{place.name!r}: {why}")
        if state.history.idle + 1 < self.patience and reasons:
            return ""
        return "no unit is worth adding (" + "; ".join(reasons or ["no layer of the model can grow"]) + ")"

    def is_worth_adding(self, state: State, proposal: Proposal | DepthProposal) -> bool:
        """Return whether a proposal is worth adding."""
        return proposal.count > 0 and (
            not self.tau or proposal_worth(proposal) > self.tau * abs(state.history.last["loss"])
        )


#: Policies that end growth, not the run.
GROWTH_STOPS: tuple[type, ...] = (SizeLimit, NoImprovement, NothingToAdd)


def as_stops(stop: Stop | Sequence[Stop]) -> list[Stop]:
    """Return one policy, or several, as a list."""
    stops = [stop] if callable(stop) else list(stop) if isinstance(stop, Sequence) else [stop]
    for policy in stops:
        if not callable(policy) or isinstance(policy, type):
            raise InputError("stop", "be a policy such as SizeLimit(parameters=500), or several", repr(policy))
    return stops


def resolve_stops(stop: Stop | Sequence[Stop]) -> list[Stop]:
    """Return all reasons to stop: those given, and nothing to add."""
    stops = as_stops(stop)
    if not any(isinstance(policy, NothingToAdd) for policy in stops):
        stops.append(NothingToAdd())
    return stops


def is_worth_adding(stops: Sequence[Stop], state: State, proposal: Proposal | DepthProposal) -> bool:
    """Return whether a proposal is worth adding according to all policies."""
    return all(stop.is_worth_adding(state, proposal) for stop in stops if isinstance(stop, NothingToAdd))


def available_units(stops: Sequence[Stop], state: State, place: Place | DepthProposal) -> int:
    """Return how many more units fit at a place within all budgets; of a proposed layer all of its units or none."""
    return min((stop.available_units(state, place) for stop in stops if isinstance(stop, SizeLimit)), default=UNBOUNDED)


def size_room(state: State) -> float:
    """Return by what factor the network may be larger within the limits of size."""
    ratios = [float(UNBOUNDED)]
    units = sum(place.width for place in state.places)
    for stop in state.stops:
        if isinstance(stop, SizeLimit):
            sizes = ((stop.units, units), (stop.parameters, state.parameters), (stop.flops, state.flops))
            ratios += [limit / max(size + 1, 1) for limit, size in sizes if limit is not None]
    return min(ratios)
