"""When a run ends: asked at the end of every epoch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from creases.errors import InputError
from creases.grow.policies.where import worth_of
from creases.grow.state import State

#: From a run's state to the reason to end, "" to go on.
Stop = Callable[[State], str]


@dataclass(frozen=True)
class Target:
    """When the score reaches a number (share of right decisions, R^2), or the loss does."""

    score: float | None = None
    loss: float | None = None
    on: Literal["validation", "training"] | None = None  #: by default validation data where there are any

    def __call__(self, state: State) -> str:
        last = state.history.last
        kind = self.on or ("training" if last["validation_loss"] is None else "validation")
        prefix = "validation_" if kind == "validation" else ""
        score, loss = last[prefix + "score"], last[prefix + "loss"]
        if self.score is not None and score is not None and score >= self.score:
            return f"the {kind} score is {score:.4g}, the target {self.score:.4g}"
        if self.loss is not None and loss is not None and loss <= self.loss:
            return f"the {kind} loss is {loss:.4g}, the target {self.loss:.4g}"
        return ""


@dataclass(frozen=True)
class Budget:
    """When the model has its size; the last growth step adds no more than what is left.

    Asked when it is time to grow, so that the last units are trained.
    """

    parameters: int | None = None
    flops: int | None = None  #: of one forward pass for one sample
    growth_steps: int | None = None

    def __call__(self, state: State) -> str:
        if not state.due:
            return ""
        if self.growth_steps is not None and len(state.history.records) >= self.growth_steps:
            return f"{self.growth_steps} growth steps were made"
        if self.parameters is not None and all(self.room(state, place.cost) < 1 for place in state.places):
            return (
                f"no unit fits into the budget of {self.parameters} parameters any more ({state.parameters} are there)"
            )
        if self.flops is not None and (there := state.flops) >= self.flops:
            return f"a forward pass takes {there} operations, the budget is {self.flops}"
        return ""

    def room(self, state: State, cost: int) -> int:
        """How many more units of a cost fit."""
        return 10**9 if self.parameters is None else max(self.parameters - state.parameters, 0) // max(cost, 1)


@dataclass(frozen=True)
class NoImprovement:
    """When some growth steps, trained out, have not bettered the best validation loss.

    A growth step counts if it lowers the loss by more than ``threshold`` of it. Without validation data, the training
    loss is taken.
    """

    patience: int = 2  #: growth steps
    threshold: float = 1e-3

    def __call__(self, state: State) -> str:
        if not state.due:
            return ""
        kind = "loss" if state.history.last["validation_loss"] is None else "validation_loss"
        best, waited, start = float("inf"), -1, 0
        for stop in [*(record.epoch for record in state.history.records), len(state.history.epochs)]:
            reached = min((epoch[kind] for epoch in state.history.epochs[start:stop]), default=float("inf"))
            better = reached < best * (1 - self.threshold) if best < float("inf") else True
            best, waited, start = min(best, reached), 0 if better else waited + 1, stop
        if waited < self.patience:
            return ""
        return f"{waited} growth steps in a row have not lowered the {kind.replace('_', ' ')} (best {best:.4g})"


@dataclass(frozen=True)
class NothingToAdd:
    """When no place gets a unit, or none whose predicted gain is more than ``tau`` of the training loss."""

    tau: float = 0.0

    def __call__(self, state: State) -> str:
        if not state.due:
            return ""
        reasons = []
        for place in state.where(state):
            proposal = state.propose(place)
            if proposal.count and (not self.tau or worth_of(proposal) > self.tau * state.history.last["loss"]):
                return ""
            why = proposal.explanation.get("reason") or f"a gain of {worth_of(proposal):.3g} is not worth it"
            reasons.append(f"{place.name!r}: {why}")
        return "nothing is worth adding (" + "; ".join(reasons or ["the model has no place that can grow"]) + ")"


@dataclass(frozen=True)
class Epochs:
    """After so many epochs."""

    most: int = 1000

    def __call__(self, state: State) -> str:
        return f"{self.most} epochs were trained" if len(state.history.epochs) >= self.most else ""


def stop_policies(stop: Stop | Sequence[Stop], max_epochs: int) -> list[Stop]:
    """All reasons to end: the given ones, nothing to add, and the most epochs."""
    given = [stop] if callable(stop) else list(stop)
    for one in given:
        if not callable(one):
            raise InputError(f"stop: expected a policy such as Budget(parameters=500), or several, got {one!r}")
    if not any(isinstance(one, NothingToAdd) for one in given):
        given.append(NothingToAdd())
    return [*given, Epochs(max_epochs)]
