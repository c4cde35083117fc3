"""When to grow: asked at the end of every epoch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from creases.errors import InputError
from creases.growth._state import State

#: From a run's state to whether it is time to grow.
When = Callable[[State], bool]


@dataclass(frozen=True)
class Plateau:
    """When the training loss has not fallen below its best since the last growth step for some epochs.

    A fall counts if it is more than ``threshold`` of the best.
    """

    patience: int = 5  #: epochs
    threshold: float = 0.01

    def __call__(self, state: State) -> bool:
        best, waited = float("inf"), 0
        for epoch in state.history.since_growth():
            if best == float("inf") or epoch["loss"] < best - self.threshold * abs(best):
                best, waited = epoch["loss"], 0
            else:
                waited += 1
        return waited >= self.patience


@dataclass(frozen=True)
class Every:
    """Every so many epochs, or every so many steps of the optimizer (at the end of the epoch)."""

    epochs: int | None = None
    steps: int | None = None

    def __post_init__(self) -> None:
        given = [number for number in (self.epochs, self.steps) if number is not None]
        if len(given) != 1 or given[0] < 1:
            raise InputError(f"Every: expected epochs or steps, at least 1, got {self.epochs!r} and {self.steps!r}")

    def __call__(self, state: State) -> bool:
        since = state.history.since_growth()
        if self.epochs is not None:
            return len(since) >= self.epochs
        start = state.history.records[-1].steps if state.history.records else 0
        assert self.steps is not None
        return bool(since) and state.history.last["steps"] - start >= self.steps


@dataclass(frozen=True)
class Converged:
    """When the mean loss of the last epochs is within ``tolerance`` of that of as many before them."""

    tolerance: float = 1e-3
    window: int = 5  #: epochs

    def __call__(self, state: State) -> bool:
        losses = [epoch["loss"] for epoch in state.history.since_growth()]
        if len(losses) < 2 * self.window:
            return False
        now = sum(losses[-self.window :]) / self.window
        before = sum(losses[-2 * self.window : -self.window]) / self.window
        return bool(before - now <= self.tolerance * abs(before))


WHEN_POLICIES: Mapping[str, When] = {"plateau": Plateau(), "converged": Converged()}


def resolve_when(when: str | int | When) -> When:
    """The policy of that name; a number is that of epochs between growth steps."""
    if callable(when) and not isinstance(when, type):
        return when
    if isinstance(when, int) and not isinstance(when, bool):
        return Every(epochs=when)
    if not isinstance(when, str) or when not in WHEN_POLICIES:
        raise InputError(
            f"when: expected a number of epochs, a function, or one of {list(WHEN_POLICIES)}, got {when!r}"
        )
    return WHEN_POLICIES[when]
