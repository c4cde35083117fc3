"""The engine of this process: for debugging, or for functions that use a GPU or all cores by themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Serial:
    """The current process as the only worker."""

    workers = 1

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._tasks: dict[int, tuple[Any, ...]] = {}

    def submit(self, number: int, *arguments: Any) -> None:
        """Queue a task."""
        self._tasks[number] = arguments

    def wait(self) -> dict[int, Any | None]:
        """Run the first queued task."""
        number = next(iter(self._tasks))
        return {number: self._function(*self._tasks.pop(number))}

    def close(self) -> None:
        """Do nothing: there is nothing to stop."""
