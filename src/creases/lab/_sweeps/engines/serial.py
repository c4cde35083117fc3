"""This very process: to debug a function, or one that uses a GPU or all cores by itself."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from creases.lab._sweeps.functions import Finished, call
from creases.lab._sweeps.jobs import Job


class Serial:
    """One worker: this process."""

    workers = 1

    def __init__(self, function: str | Callable[..., Any]) -> None:
        self._function = function
        self._chunks: dict[int, list[Job]] = {}

    def submit(self, number: int, jobs: list[Job]) -> None:
        """Hand over a chunk."""
        self._chunks[number] = jobs

    def wait(self) -> dict[int, Finished | None]:
        """Do the chunk that was handed over first."""
        number = next(iter(self._chunks))
        return {number: call(self._function, self._chunks.pop(number), sys.path)}

    def close(self) -> None:
        """Nothing is to be ended."""
