"""The studio's side of a worker process: start it, exchange messages without blocking other sessions, end it."""

from __future__ import annotations

import asyncio
import multiprocessing
import sys
import threading
import time
from collections.abc import Callable
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from typing import Any

from creases.show.studio._limits import Limits
from creases.show.studio._worker import main

#: Seconds that a process has to end.
GRACE = 2.0


def start_context() -> Any:
    """Return the context that starts processes; on Linux a fork server with all imports done.

    Elsewhere forking is not safe, and each worker imports everything itself, which takes seconds.
    """
    if sys.platform != "linux":
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["creases.show.studio._worker"])
    forkserver.ensure_running()
    return context


class Worker:
    """A worker process; ``receive`` is called in the event loop with its messages, with None when it has ended."""

    def __init__(self, limits: Limits) -> None:
        self._loop = asyncio.get_running_loop()
        self.receive: Callable[[tuple[Any, ...] | None], None] = lambda message: None
        self._pending = 0  #: number of messages not handled yet
        self._running = False
        self._last_sign: float | None = None  #: time of its last message; None while it starts
        self._sending = asyncio.Lock()
        self.ended = False
        context = start_context()
        self._pipe, worker_end = context.Pipe()
        self._process = context.Process(target=main, args=(worker_end, limits), daemon=True)
        threading.Thread(target=self._listen, args=(worker_end,), daemon=True).start()

    @property
    def silent(self) -> float:
        """Seconds since the last message of a busy worker; 0 for an idle one."""
        return time.monotonic() - self._last_sign if self.busy and self._last_sign is not None else 0.0

    @property
    def busy(self) -> bool:
        """Whether it trains or has messages to handle."""
        return bool(self._pending) or self._running

    async def ask(self, text: str) -> None:
        """Send a message; ``receive`` reports whether the worker has ended."""
        if not self.busy and self._last_sign is not None:
            self._last_sign = time.monotonic()
        self._pending += 1
        async with self._sending:  # in order
            try:
                await asyncio.to_thread(self._pipe.send, text)
            except OSError:
                return  # it has ended, which the listener notices

    def end(self) -> None:
        """Kill the process."""
        self.receive = lambda message: None
        self.ended = True
        if self._process.pid is not None:
            self._process.kill()  # it has nothing to save
            self._process.join(GRACE)

    def _listen(self, worker_end: Connection) -> None:
        """Start the process, which may take long, and receive its messages; runs in a thread."""
        self._process.start()
        if self.ended:  # before it started
            self._process.kill()
        worker_end.close()  # so that the pipe closes with the process
        while True:
            try:
                message = self._pipe.recv()
            except (EOFError, OSError):
                message = None
                self._pipe.close()
            try:
                self._loop.call_soon_threadsafe(self._handle, message)
            except RuntimeError:
                return  # the loop has ended
            if message is None:
                return

    def _handle(self, message: tuple[Any, ...] | None) -> None:
        self._last_sign = time.monotonic()
        if message is not None and message[0] in ("ready", "handled", "worked"):
            self._running = message[1] == "running"
            self._pending -= message[0] == "handled"
            return
        self.ended = self.ended or message is None
        self.receive(message)
