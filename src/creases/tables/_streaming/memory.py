"""A limit on the memory of all processes of a fit: how many are started, what they take, and when they are too many.

The memory of a process is what it holds of the machine's (its resident set), the largest at any time; what processes
share counts for each. Of this process, what it held before counts up to ``LIBRARIES``: tables that the user has in
memory anyway are no part of the fit.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from creases._engines import Engine, start_engine
from creases.errors import InputError

#: What ``max_memory`` is by default, in bytes.
MAX_MEMORY = 4e9

#: Bytes of Python and its libraries at most, in this process.
LIBRARIES = 300_000_000

#: Bytes of a process that reads blocks, without a block; and of a fit to the sample, in this process.
WORKER, SAMPLE = 260_000_000, 650_000_000


def held_memory() -> int:
    """Return how many bytes of the machine's memory this process holds now."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    return peak_memory()


def peak_memory() -> int:
    """Return how many bytes this process held at most; 0 where the system does not say."""
    with suppress(OSError, ValueError, StopIteration):  # not of the process before exec, as the other counts it
        lines = Path("/proc/self/status").read_text().splitlines()
        return 1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1])
    with suppress(ImportError):
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return 0


@dataclass(frozen=True)
class MemoryLimit:
    """The bytes that all processes together may hold."""

    limit: float = MAX_MEMORY
    held: int = field(default_factory=held_memory)  #: by this process, before
    peak: int = field(default_factory=peak_memory)  #: of this process, before

    def own(self) -> int:
        """Return the most bytes that count of this process since the limit was set."""
        peak = peak_memory()
        now = peak if peak > self.peak else held_memory()
        return max(now - self.held, 0) + min(self.held, LIBRARIES)

    def plan(self, n_jobs: int, block: float) -> int:
        """Return how many of ``n_jobs`` processes fit, each with a block of so many bytes; 1 means this process."""
        free = self.limit - self.own() - SAMPLE
        if free < block:
            raise self.error(self.limit - free + block)
        n_fit = int(free // (WORKER + block))
        return min(n_jobs, n_fit) if n_fit > 1 else 1

    def error(self, needed: float) -> InputError:
        """Return the error that says how much the fit takes."""
        expected = f"be larger than {needed / 1e9:.2f} GB, which a fit of this table takes"
        hint = "fewer columns take less, and Parquet files with smaller row groups"
        return InputError("max_memory", expected, f"{self.limit / 1e9:g} GB", hint)


class LimitedEngine:
    """Processes of this machine, or this process alone, that call a function and keep to a limit of memory.

    Every task says how much its process took at most. If all processes together might take more than the limit, fewer
    go on; if this process alone does, the work ends with an error.
    """

    def __init__(self, function: Callable[..., Any], n_jobs: int, limit: MemoryLimit) -> None:
        self._function, self._limit = partial(_measure, function), limit
        self._tasks: dict[int, tuple[Any, ...]] = {}
        self._largest = 0
        self._start(n_jobs)

    def _start(self, n_jobs: int) -> None:
        self._engine: Engine = start_engine("serial" if n_jobs == 1 else "local", self._function, n_jobs, n_jobs, None)
        self.workers = self._engine.workers
        for number, arguments in self._tasks.items():
            self._engine.submit(number, *arguments)

    def submit(self, number: int, *arguments: Any) -> None:
        """Queue a task."""
        self._tasks[number] = arguments
        self._engine.submit(number, *arguments)

    def wait(self) -> dict[int, Any | None]:
        """Wait until at least one task is finished or lost."""
        results: dict[int, Any | None] = {}
        for number, measured in self._engine.wait().items():
            del self._tasks[number]
            results[number] = None
            if measured is not None:
                process, peak, results[number] = measured
                self._largest = max(self._largest, peak if process != os.getpid() else 0)
        self._keep_limit()
        return results

    def close(self) -> None:
        """Stop all work at once."""
        self._engine.close()

    def _keep_limit(self) -> None:
        """Go on with fewer processes if those that run might take too much together."""
        own = self._limit.own()
        if own > self._limit.limit:
            raise self._limit.error(own)
        if self.workers == 1 or own + self.workers * self._largest <= self._limit.limit:
            return
        n_fit = int((self._limit.limit - own) // self._largest)
        self.close()
        self._start(n_fit if n_fit > 1 else 1)


def _measure(function: Callable[..., Any], *arguments: Any) -> tuple[int, int, Any]:
    """Return the number of this process, the most bytes it ever held, and what a function returns."""
    result = function(*arguments)
    return os.getpid(), peak_memory(), result
