"""Where to grow, when to grow, when growth ends and when a run ends: each asked at the end of an epoch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from creases._text import plural
from creases._validation import check_choice
from creases.errors import InputError
from creases.growth._state import State
from creases.network import Place

#: From a run's state to places, the best first; the first that gets units is grown.
Where = Callable[[State], Sequence[Place]]

#: From a run's state to whether to grow now.
When = Callable[[State], bool]

#: From a run's state to the reason to end the run, "" to continue.
Stop = Callable[[State], str]

#: Fraction of the best loss by which a growth step must lower it to count as an improvement.
IMPROVEMENT = 1e-3

#: How often in a row a method that draws new samples at each call may propose nothing.
REFUSALS = 3


@dataclass(frozen=True)
class At:
    """Grow some places, by name: in stages all of them, otherwise the first that gets units. No name is every place."""

    names: str | tuple[str, ...] = ()

    def __call__(self, state: State) -> Sequence[Place]:
        """Return the places in the order in which to try them."""
        by_name = {place.name: place for place in state.places}
        names = (self.names,) if isinstance(self.names, str) else self.names or tuple(by_name)
        for name in names:
            if name not in by_name:
                raise InputError("where", f"be a place of the model that can grow, one of {list(by_name)}", repr(name))
        return [by_name[name] for name in names]


def resolve_where(where: str | Where) -> Where:
    """Return the policy that a name stands for: "all", or a place."""
    if callable(where) and not isinstance(where, type):
        return where
    if not isinstance(where, str):
        expected, hint = "be 'all', a place's name, or a function of the state", "for several places use At(('0', '2'))"
        raise InputError("where", expected, repr(where), hint)
    return At() if where == "all" else At(where)


def named_places(state: State) -> Sequence[Place]:
    """Return the places that ``where`` names; all of them where a function of the state decides."""
    return state.where(state) if isinstance(state.where, At) else state.places


def grows_every_place(state: State) -> bool:
    """Return whether each growth step is for all places."""
    return state.where == At()


def resolve_when(when: str | int | When) -> When:
    """Return the policy for the time of growth; a number counts the epochs between growth steps."""
    if callable(when) and not isinstance(when, type):
        return when
    if not isinstance(when, int) or isinstance(when, bool):
        raise InputError("when", "be 'stages', a number of epochs, or a function", repr(when))
    if when < 1:
        raise InputError("when", "be at least 1 epoch", repr(when))
    return lambda state: len(state.history.since_growth()) >= when


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


def as_stops(stop: Stop | Sequence[Stop]) -> list[Stop]:
    """Return one reason to end a run, or several, as a list."""
    stops = [stop] if callable(stop) else list(stop) if isinstance(stop, Sequence) else [stop]
    for policy in stops:
        if not callable(policy) or isinstance(policy, type):
            raise InputError("stop", "be a policy such as Target(score=0.99), a function, or several", repr(policy))
    return stops


def no_improvement(state: State, patience: int | None) -> str:
    """Return why growth ends: as many growth steps in a row, each with training, did not improve the validation loss.

    Without validation data, the training loss is used; without patience, growth goes on.
    """
    kind = "loss" if state.history.last["validation_loss"] is None else "validation_loss"
    best, waited, start = float("inf"), -1, 0
    for stop in [*(record.epoch for record in state.history.records), len(state.history.epochs)]:
        reached = min((epoch[kind] for epoch in state.history.epochs[start:stop]), default=float("inf"))
        better = best == float("inf") or reached < best - IMPROVEMENT * abs(best)
        best, waited, start = min(best, reached), 0 if better else waited + 1, stop
    if patience is None or waited < patience:
        return ""
    return f"{plural(waited, 'growth step')} brought no improvement in {kind.replace('_', ' ')} (best {best:.4g})"


def nothing_to_add(state: State) -> str:
    """Return why growth ends: the method has refused every place several times in a row."""
    reasons = []
    for place in state.where(state):
        proposal = state.propose(place)
        if proposal.count:
            return ""
        reasons.append(f"{place.name!r}: {proposal.explanation.get('reason', 'nothing was proposed')}")
    if state.history.idle + 1 < REFUSALS and reasons:
        return ""
    return "no unit is worth adding (" + "; ".join(reasons or ["no layer of the model can grow"]) + ")"
