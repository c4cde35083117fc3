"""The steps of an optimizer, counted where they are taken: in a loop that the library does not see."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakMethod, ref

from torch import optim


class StepCount:
    """Counts the steps of an optimizer from now on, and calls a method after each as long as its object lives."""

    def __init__(self, optimizer: optim.Optimizer | None, after_step: Callable[[], None]) -> None:
        self.steps = 0  #: since the last :meth:`take`
        counter, method = ref(self), WeakMethod(after_step)  # the optimizer may outlive what watches it

        def count(*_: Any) -> None:
            if (this := counter()) is not None:
                this.steps += 1
            if (call := method()) is not None:
                call()

        if optimizer is not None:
            optimizer.register_step_post_hook(count)

    def take(self) -> int:
        """Return the steps since the last call."""
        steps, self.steps = self.steps, 0
        return steps
