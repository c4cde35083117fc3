"""Engines: where the chunks of a sweep run.

An engine has ``workers`` that each run a chunk at a time. Chunks have numbers; ``submit`` queues one, ``wait`` returns
the finished ones: for each number the chunk's :class:`~creases.lab._sweeps.functions.FinishedChunk`, or None if it was
lost with its worker (or with another's worker), as when memory runs out.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, Protocol

from creases._validation import check_choice, check_count
from creases.errors import InputError
from creases.lab._sweeps.functions import FinishedChunk
from creases.lab._sweeps.jobs import Job

ENGINES = ("local", "serial", "ray")


class Engine(Protocol):
    """Something that runs chunks of jobs."""

    workers: int

    def submit(self, number: int, jobs: list[Job]) -> None:
        """Queue a chunk."""

    def wait(self) -> dict[int, FinishedChunk | None]:
        """Wait until at least one chunk is finished or lost."""

    def close(self) -> None:
        """Stop all work at once."""


def check_engine(engine: str, n_jobs: int | None, address: str | None) -> None:
    """Refuse an engine that cannot be started, before anything is written."""
    check_choice(engine, ENGINES, "engine")
    if n_jobs is not None:
        check_count(n_jobs, "n_jobs")
    if engine == "serial" and n_jobs not in (None, 1):
        raise InputError(
            "n_jobs", "be 1 for the serial engine, which is this process", f"{n_jobs}", "use {0}", [("engine", "local")]
        )
    if engine == "ray" and find_spec("ray") is None:
        raise InputError("engine", "be installed", "'ray'", 'run: pip install "creases[ray]"')
    if engine != "ray" and address is not None:
        raise InputError("address", "be left out without a Ray cluster", repr(address), "use {0}", [("engine", "ray")])
    if address is not None:
        from creases.lab._sweeps.engines.ray import check_address

        check_address(address)


def start_engine(
    engine: str, function: str | Callable[..., Any], jobs: int, n_jobs: int | None, address: str | None
) -> Engine:
    """Start an engine by name, with no more workers than jobs."""
    if engine == "ray":
        from creases.lab._sweeps.engines.ray import Ray

        return Ray(function, jobs, n_jobs, address)
    if engine == "serial":
        from creases.lab._sweeps.engines.serial import Serial

        return Serial(function)
    import loky

    from creases.lab._sweeps.engines.local import Local

    return Local(function, min(jobs, n_jobs or loky.cpu_count()))
