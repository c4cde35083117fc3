"""Engines: where the chunks of a sweep are done.

An engine has ``workers`` that each do a chunk at a time. Chunks have numbers; ``submit`` hands one over, ``wait``
returns what is finished by then: for each number the chunk's :class:`~creases.lab._sweeps.functions.Finished`, or None if it
was lost with its worker (or with another's worker), as when memory runs out.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, Protocol

from creases.errors import InputError
from creases.lab._sweeps.functions import Finished
from creases.lab._sweeps.jobs import Job

ENGINES = ("local", "serial", "ray")


class Engine(Protocol):
    """What does chunks."""

    workers: int

    def submit(self, number: int, jobs: list[Job]) -> None:
        """Hand over a chunk."""

    def wait(self) -> dict[int, Finished | None]:
        """Wait until at least one chunk is finished or lost."""

    def close(self) -> None:
        """End all work at once."""


def check(engine: str, processes: int | None, address: str | None) -> None:
    """Refuse what cannot be started, before anything is written."""
    if engine not in ENGINES:
        raise InputError(f"engine: expected one of {', '.join(ENGINES)}, got {engine!r}")
    if processes is not None and (not isinstance(processes, int) or processes < 1):
        raise InputError(f"processes: expected a whole number of at least 1, got {processes!r}")
    if engine == "serial" and processes not in (None, 1):
        raise InputError(f'processes: engine "serial" is this one process, got {processes}; say engine="local"')
    if engine == "ray" and find_spec("ray") is None:
        raise InputError('engine: Ray is not installed; install it with: pip install "creases[ray]"')
    if engine != "ray" and address is not None:
        raise InputError(f'address: only a Ray cluster has one, got {address!r}; say engine="ray"')
    if address is not None:
        from creases.lab._sweeps.engines.ray import check_address

        check_address(address)


def start(
    engine: str, function: str | Callable[..., Any], jobs: int, processes: int | None, address: str | None
) -> Engine:
    """Start an engine by name, with no more workers than jobs."""
    if engine == "ray":
        from creases.lab._sweeps.engines.ray import Ray

        return Ray(function, jobs, processes, address)
    if engine == "serial":
        from creases.lab._sweeps.engines.serial import Serial

        return Serial(function)
    import loky

    from creases.lab._sweeps.engines.local import Local

    return Local(function, min(jobs, processes or loky.cpu_count()))
