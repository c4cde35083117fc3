"""Engines: where many independent tasks run: processes of this machine, a Ray cluster, or this process.

An engine calls one function and has ``workers`` that each run a task at a time. Tasks have numbers; ``submit`` queues
one, ``wait`` returns the finished ones: for each number what the function returned, or None if the task was lost with
its worker (or with another's worker), as when memory runs out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from multiprocessing import current_process
from typing import Any, Protocol

from creases._validation import check_choice, check_count
from creases.errors import CreasesError, InputError

ENGINES = ("local", "serial", "ray")

#: Number of tasks where it is not known before: more than any engine has workers.
MANY = 10**9

#: How often a task may lose its worker before the whole is given up.
MAX_LOSSES = 3


class Engine(Protocol):
    """Something that runs tasks: calls of one function, which returns anything but None."""

    workers: int

    def submit(self, number: int, *arguments: Any) -> None:
        """Queue a task."""

    def wait(self) -> dict[int, Any | None]:
        """Wait until at least one task is finished or lost."""

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
        from creases._engines._ray import check_address

        check_address(address)


def choose_engine(engine: str | None, n_jobs: int | None, address: str | None) -> str:
    """Return the engine that options choose where serial is the default: with several ``n_jobs`` local processes."""
    name = engine or ("local" if n_jobs is not None and n_jobs != 1 else "serial")
    check_engine(name, n_jobs, address)
    return name


def start_engine(
    engine: str, function: Callable[..., Any], n_tasks: int, n_jobs: int | None, address: str | None
) -> Engine:
    """Start an engine by name that calls a function, with no more workers than tasks."""
    if engine == "ray":
        from creases._engines._ray import Ray

        return Ray(function, n_tasks, n_jobs, address)
    if engine == "serial" or current_process().daemon:  # a daemonic process may have no children; results are the same
        from creases._engines._local import Serial

        return Serial(function)
    import loky

    from creases._engines._local import Local

    return Local(function, min(n_tasks, n_jobs or loky.cpu_count()))


@contextmanager
def open_engine(
    engine: str, function: Callable[..., Any], n_tasks: int, n_jobs: int | None, address: str | None
) -> Iterator[Engine]:
    """Start an engine as :func:`start_engine` does, or run tasks in this process; stop it at the end.

    Whatever ends the block, such as Ctrl-C or the error of a task, all processes are stopped.
    """
    if n_tasks == 1 or n_jobs == 1:
        engine = "serial" if engine == "local" else engine
    workers = start_engine(engine, function, n_tasks, n_jobs, address)
    try:
        yield workers
    finally:
        workers.close()


def map_in_order(engine: Engine, tasks: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
    """Yield what the engine's function returns for the arguments of each task, in their order.

    A few tasks are taken ahead of the results that were asked for, so the number of results in memory is bounded. A
    task that was lost with its worker is run again.
    """
    waiting = iter(tasks)
    return run_in_order(engine, lambda: next(waiting, None), ahead=2 * engine.workers)


def run_in_order(engine: Engine, take: Callable[[], tuple[Any, ...] | None], ahead: int) -> Iterator[Any]:
    """Yield results in the order of tasks, where results may lead to further tasks.

    Parameters
    ----------
    take
        Returns the arguments of the next task; None if there is none before another result is seen.
    ahead
        Most tasks that were taken and whose results were not seen. With the same number the same tasks are taken after
        the same results, however many workers there are and whichever is first.
    """
    running: dict[int, tuple[Any, ...]] = {}
    finished: dict[int, Any] = {}
    losses: Counter[int] = Counter()
    at = taken = 0
    while True:
        while taken - at < ahead and (task := take()) is not None:
            running[taken] = task
            engine.submit(taken, *task)
            taken += 1
        if at == taken:
            return
        while at not in finished:
            for number, result in engine.wait().items():
                if result is not None:
                    finished[number] = result
                    del running[number]
                    continue
                losses[number] += 1
                if losses[number] > MAX_LOSSES:
                    hint = "a process may have run out of memory; take fewer at once (n_jobs), or a lower max_memory"
                    raise CreasesError(f"a task lost its process {losses[number]} times; {hint}")
                engine.submit(number, *running[number])
        yield finished.pop(at)
        at += 1
