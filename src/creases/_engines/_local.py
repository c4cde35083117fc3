"""The engine of worker processes on this machine, by loky."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any

import loky
from loky.process_executor import TerminatedWorkerError

from creases.errors import InputError

#: Environment variables that limit the threads of libraries.
_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


class Local:
    """Worker processes that share this machine's cores and do not use more threads than there are."""

    def __init__(self, function: Callable[..., Any], n_jobs: int) -> None:
        self.workers = n_jobs
        self._function = function
        self._env = dict.fromkeys(_THREADS, str(max(1, loky.cpu_count() // n_jobs)))
        self._pool = self._start()
        self._numbers: dict[Future[Any], int] = {}

    def submit(self, number: int, *arguments: Any) -> None:
        """Queue a task."""
        self._numbers[self._pool.submit(self._function, *arguments)] = number

    def wait(self) -> dict[int, Any | None]:
        """Wait until at least one task is finished or lost; when a worker dies, all unfinished tasks are lost."""
        finished, _ = wait(self._numbers, return_when=FIRST_COMPLETED)
        tasks: dict[int, Any | None] = {}
        for future in finished:
            error = future.exception()
            if isinstance(error, TerminatedWorkerError):
                tasks |= dict.fromkeys(self._numbers.values())
                self._numbers = {}
                self.close()
                self._pool = self._start()
                return tasks
            if isinstance(error, BrokenProcessPool):
                reason = [line for line in str(error.__cause__ or error).splitlines() if line.strip('" ')][-1]
                raise InputError(
                    "function",
                    "be loadable in other processes",
                    f"an error ({reason})",
                    'define it in a module that they can import, and give its path as "module:function"',
                ) from error
            tasks[self._numbers.pop(future)] = future.result()
        return tasks

    def close(self) -> None:
        """Stop all processes at once."""
        self._pool.shutdown(wait=True, kill_workers=True)

    def _start(self) -> loky.ProcessPoolExecutor:
        return loky.ProcessPoolExecutor(
            self.workers, timeout=None, env=self._env, initializer=_initialise_worker, initargs=(os.getpid(),)
        )


def _initialise_worker(parent: int) -> None:
    """Prepare a worker.

    Ctrl-C is handled by the process that started it, which stops its workers. If that process is killed, they exit
    by themselves: otherwise they would wait for ever, or finish work that nobody stores.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_exit_with, args=(parent,), daemon=True).start()


def _exit_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


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
