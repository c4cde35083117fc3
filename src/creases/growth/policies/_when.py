"""Policies for the time of growth, called at the end of every epoch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from creases.errors import InputError
from creases.growth._state import State

#: From a run's state to whether to grow now.
When = Callable[[State], bool]


@dataclass(frozen=True)
class Plateau:
    """Grow when the training loss has not improved for some epochs since the last growth step.

    An improvement must be more than ``threshold``, relative to the best loss. With ``validation`` also when the
    validation loss, if there is one, has not fallen at all for as many epochs.
    """

    patience: int = 5  #: epochs
    threshold: float = 0.01
    validation: bool = False

    def __call__(self, state: State) -> bool:
        """Return whether to grow now."""
        if self.validation:
            losses = [epoch["validation_loss"] for epoch in state.history.since_growth()]
            losses = [loss for loss in losses if loss is not None]
            if len(losses) > self.patience and min(losses[-self.patience :]) >= min(losses[: -self.patience]):
                return True
        best, waited = float("inf"), 0
        for epoch in state.history.since_growth():
            if best == float("inf") or epoch["loss"] < best - self.threshold * abs(best):
                best, waited = epoch["loss"], 0
            else:
                waited += 1
        return waited >= self.patience


@dataclass(frozen=True)
class Every:
    """Grow every so many epochs or optimizer steps, at the end of an epoch."""

    epochs: int | None = None
    steps: int | None = None

    def __post_init__(self) -> None:
        numbers = [number for number in (self.epochs, self.steps) if number is not None]
        if len(numbers) != 1 or numbers[0] < 1:
            raise InputError("Every", "have either epochs or steps, a positive integer", str(self))

    def __call__(self, state: State) -> bool:
        """Return whether to grow now."""
        since = state.history.since_growth()
        if self.epochs is not None:
            return len(since) >= self.epochs
        start = state.history.records[-1].steps if state.history.records else 0
        assert self.steps is not None
        return bool(since) and state.history.last["steps"] - start >= self.steps


def resolve_when(when: str | int | When, patience: int = Plateau.patience) -> When:
    """Return the policy of that name; a number is that of epochs between growth steps."""
    if callable(when) and not isinstance(when, type):
        return when
    if isinstance(when, int) and not isinstance(when, bool):
        return Every(epochs=when)
    if not isinstance(when, str) or when != "plateau":  # "stages" has further options, which the configuration knows
        raise InputError("when", "be a number of epochs, a function, 'stages' or 'plateau'", repr(when))
    return Plateau(patience, validation=True)
