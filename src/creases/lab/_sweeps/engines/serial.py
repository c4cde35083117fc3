"""The engine of this process: for debugging, or for functions that use a GPU or all cores by themselves."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from creases.lab._sweeps.functions import FinishedChunk, run_jobs
from creases.lab._sweeps.jobs import Job


class Serial:
    """The current process as the only worker."""

    workers = 1

    def __init__(self, function: str | Callable[..., Any]) -> None:
        self._function = function
        self._chunks: dict[int, list[Job]] = {}

    def submit(self, number: int, jobs: list[Job]) -> None:
        """Queue a chunk."""
        self._chunks[number] = jobs

    def wait(self) -> dict[int, FinishedChunk | None]:
        """Run the first queued chunk."""
        number = next(iter(self._chunks))
        return {number: run_jobs(self._function, self._chunks.pop(number), sys.path)}

    def close(self) -> None:
        """Do nothing: there is nothing to stop."""
