"""The steps of an optimizer, counted where they are taken: in a loop that the library does not see."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakMethod

from torch import optim


class StepCount:
    """Counts the steps of an optimizer from now on, and calls a method after each as long as its object lives."""

    def __init__(self, optimizer: optim.Optimizer | None, after_step: Callable[[], None]) -> None:
        self.steps = 0  #: since the last :meth:`take`
        self._after_step = WeakMethod(after_step)  # the optimizer may outlive what watches it
        if optimizer is not None:
            optimizer.register_step_post_hook(self._count)

    def _count(self, *_: Any) -> None:
        self.steps += 1
        if (after_step := self._after_step()) is not None:
            after_step()

    def take(self) -> int:
        """Return the steps since the last call."""
        steps, self.steps = self.steps, 0
        return steps
