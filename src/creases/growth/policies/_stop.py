"""When a run ends: asked at the end of every epoch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from creases.errors import InputError
from creases.growth._proposal import Proposal
from creases.growth._state import State
from creases.growth.policies._where import proposal_worth
from creases.network.surgery import Place

#: From a run's state to the reason to end, "" to go on.
Stop = Callable[[State], str]

#: More units than any model has.
UNBOUNDED = 10**9


@dataclass(frozen=True)
class Target:
    """When the score reaches a number (share of right decisions, R^2), or the loss does."""

    score: float | None = None
    loss: float | None = None
    on: Literal["validation", "training"] | None = None  #: by default validation data where there are any

    def __post_init__(self) -> None:
        if self.score is None and self.loss is None:
            raise InputError("Target: expected a score or a loss to reach, such as Target(score=0.99)")
        if self.on not in (None, "validation", "training"):
            raise InputError(f"Target: expected on='validation' or 'training', got {self.on!r}")

    def __call__(self, state: State) -> str:
        last = state.history.last
        kind = self.on or ("training" if last["validation_loss"] is None else "validation")
        prefix = "validation_" if kind == "validation" else ""
        score, loss = last[prefix + "score"], last[prefix + "loss"]
        if loss is None:
            raise InputError("stop: Target(on='validation') needs validation data; give some, or on='training'")
        if self.score is not None and score is None:
            raise InputError("stop: there is no score for this loss; use Target(loss=...), or a function of the state")
        if self.score is not None and score >= self.score:
            return f"the {kind} score is {score:.4g}, the target {self.score:.4g}"
        if self.loss is not None and loss <= self.loss:
            return f"the {kind} loss is {loss:.4g}, the target {self.loss:.4g}"
        return ""


@dataclass(frozen=True)
class Budget:
    """When the model has its size; the last growth step adds no more than what is left.

    Asked when it is time to grow, so that the last units are trained.
    """

    parameters: int | None = None
    flops: int | None = None  #: of one forward pass for one sample
    units: int | None = None  #: of all places together
    growth_steps: int | None = None  #: drawing dead units anew is none

    def __post_init__(self) -> None:
        limits = (self.parameters, self.flops, self.units, self.growth_steps)
        given = [number for number in limits if number is not None]
        if not given or min(given) < 0:
            raise InputError(f"Budget: expected parameters, flops or growth_steps, or units, at least 0, got {self}")

    def __call__(self, state: State) -> str:
        if not state.due:
            return ""
        made = sum(record.action != "revive" for record in state.history.records)
        if self.growth_steps is not None and made >= self.growth_steps:
            return f"{made} growth steps were made"
        places = state.where(state)
        if places and all(self.room(state, place) < 1 for place in places):
            within = [f"{self.parameters} parameters ({state.parameters} are there)"] * (self.parameters is not None)
            within += [f"{self.flops} operations a sample ({state.flops} are there)"] * (self.flops is not None)
            within += [f"{self.units} units ({_units(state)} are there)"] * (self.units is not None)
            return f"no unit fits into the budget of {' and '.join(within)} any more" if within else ""
        return ""

    def room(self, state: State, place: Place) -> int:
        """How many more units fit at a place."""
        left = [UNBOUNDED]
        if self.parameters is not None:
            left.append((self.parameters - state.parameters) // max(place.cost, 1))
        if self.flops is not None:
            left.append((self.flops - state.flops) // max(state.flops_of_unit(place), 1))
        if self.units is not None:
            left.append(self.units - _units(state))
        return max(min(left), 0)


def _units(state: State) -> int:
    return sum(place.width for place in state.places)


@dataclass(frozen=True)
class NoImprovement:
    """When some growth steps, trained out, have not bettered the best loss or score on validation data.

    A growth step counts if it betters it by more than ``threshold`` of it. Without validation data, the training
    loss or score is taken.
    """

    patience: int = 2  #: growth steps
    threshold: float = 1e-3
    by: Literal["loss", "score"] = "loss"

    def __post_init__(self) -> None:
        if self.by not in ("loss", "score"):
            raise InputError(f"NoImprovement: expected by='loss' or 'score', got {self.by!r}")

    def __call__(self, state: State) -> str:
        if not state.due:
            return ""
        kind = self.by if state.history.last[f"validation_{self.by}"] is None else f"validation_{self.by}"
        if state.history.last[kind] is None:
            raise InputError("stop: NoImprovement(by='score') needs a loss that is scored; give by='loss'")
        sign = 1.0 if self.by == "loss" else -1.0
        best, waited, start = float("inf"), -1, 0
        for stop in [*(record.epoch for record in state.history.records), len(state.history.epochs)]:
            reached = min((sign * epoch[kind] for epoch in state.history.epochs[start:stop]), default=float("inf"))
            better = best == float("inf") or reached < best - self.threshold * abs(best)
            best, waited, start = min(best, reached), 0 if better else waited + 1, stop
        if waited < self.patience:
            return ""
        name = kind.replace("_", " ")
        return f"{waited} growth steps in a row have not bettered the {name} (best {sign * best:.4g})"


@dataclass(frozen=True)
class NothingToAdd:
    """When no place gets a unit, or none whose predicted gain is more than ``tau`` of the training loss.

    A method looks at other samples each time it is asked, so one refusal may be chance: so many in a row are not.
    """

    tau: float = 0.0
    patience: int = 3

    def __call__(self, state: State) -> str:
        if not state.due:
            return ""
        reasons = []
        for place in state.where(state):
            proposal = state.propose(place)
            if self.enough(state, proposal):
                return ""
            why = proposal.explanation.get("reason") or f"a gain of {proposal_worth(proposal):.3g} is not worth it"
            reasons.append(f"{place.name!r}: {why}")
        if state.history.idle + 1 < self.patience and reasons:
            return ""
        return "nothing is worth adding (" + "; ".join(reasons or ["the model has no place that can grow"]) + ")"

    def enough(self, state: State, proposal: Proposal) -> bool:
        """Whether a proposal is worth adding."""
        return proposal.count > 0 and (
            not self.tau or proposal_worth(proposal) > self.tau * abs(state.history.last["loss"])
        )


@dataclass(frozen=True)
class Epochs:
    """After so many epochs."""

    most: int = 1000

    def __call__(self, state: State) -> str:
        return f"{self.most} epochs were trained" if len(state.history.epochs) >= self.most else ""


def resolve_stops(stop: Stop | Sequence[Stop], max_epochs: int) -> list[Stop]:
    """All reasons to end: the given ones, nothing to add, and the most epochs."""
    given = [stop] if callable(stop) else list(stop) if isinstance(stop, Sequence) else [stop]
    for one in given:
        if not callable(one) or isinstance(one, type):
            raise InputError(f"stop: expected a policy such as Budget(parameters=500), or several, got {one!r}")
    if not any(isinstance(one, NothingToAdd) for one in given):
        given.append(NothingToAdd())
    return [*given, Epochs(max_epochs)]


def is_worth_adding(stops: Sequence[Stop], state: State, proposal: Proposal) -> bool:
    """Whether a proposal is worth adding to all policies that ask for that."""
    return all(stop.enough(state, proposal) for stop in stops if isinstance(stop, NothingToAdd))


def available_units(stops: Sequence[Stop], state: State, place: Place) -> int:
    """How many more units all budgets leave room for at a place."""
    return min((stop.room(state, place) for stop in stops if isinstance(stop, Budget)), default=UNBOUNDED)
