"""Processes on this machine, by loky."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any

import loky
from loky.process_executor import TerminatedWorkerError

from creases.errors import InputError
from creases.lab._sweeps.functions import Finished, call
from creases.lab._sweeps.jobs import Job

#: What libraries read when they decide how many threads to start.
_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


class Local:
    """Worker processes that share this machine's cores: each has so many threads that no core has two."""

    def __init__(self, function: str | Callable[..., Any], processes: int) -> None:
        self.workers = processes
        self._function = function
        self._env = dict.fromkeys(_THREADS, str(max(1, loky.cpu_count() // processes)))
        self._pool = self._start()
        self._numbers: dict[Future[Finished], int] = {}

    def submit(self, number: int, jobs: list[Job]) -> None:
        """Hand over a chunk."""
        self._numbers[self._pool.submit(call, self._function, jobs, sys.path)] = number

    def wait(self) -> dict[int, Finished | None]:
        """Wait until at least one chunk is finished or lost: all that are not finished are, when one worker dies."""
        finished, _ = wait(self._numbers, return_when=FIRST_COMPLETED)
        found: dict[int, Finished | None] = {}
        for future in finished:
            error = future.exception()
            if isinstance(error, TerminatedWorkerError):
                return found | self._lost()
            if isinstance(error, BrokenProcessPool):
                reason = [line for line in str(error.__cause__ or error).splitlines() if line.strip('" ')][-1]
                raise InputError(
                    f"function: it cannot be loaded in other processes ({reason}); define it in a module that they can "
                    'import, and give its place as "module:function"'
                ) from error
            found[self._numbers.pop(future)] = future.result()
        return found

    def close(self) -> None:
        """End all processes at once."""
        self._pool.shutdown(wait=True, kill_workers=True)

    def _lost(self) -> dict[int, Finished | None]:
        lost = dict.fromkeys(self._numbers.values())
        self._numbers = {}
        self.close()
        self._pool = self._start()
        return lost

    def _start(self) -> loky.ProcessPoolExecutor:
        return loky.ProcessPoolExecutor(
            self.workers, timeout=None, env=self._env, initializer=_begin, initargs=(os.getpid(),)
        )


def _begin(parent: int) -> None:
    """A worker's first steps.

    Ctrl-C is for the process that runs the sweep, which ends its workers. If that process is killed, they end
    themselves: else they would wait for ever, or finish work that nobody stores.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)
