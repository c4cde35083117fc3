"""The steps of an optimizer, counted where they are taken: in a loop that the library does not see."""

from __future__ import annotations

from typing import Any

from torch import optim


class StepCount:
    """Counts the steps of an optimizer from now on."""

    def __init__(self, optimizer: optim.Optimizer | None) -> None:
        self._steps = 0
        if optimizer is not None:
            optimizer.register_step_post_hook(self._count)

    def _count(self, *_: Any) -> None:
        self._steps += 1

    def take(self) -> int:
        """Return the steps since the last call."""
        steps, self._steps = self._steps, 0
        return steps
