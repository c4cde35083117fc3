"""The studio's end of a worker: starts the process, talks with it without holding up other sessions, ends it."""

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

#: Seconds that a process gets to end by itself.
GRACE = 2.0


def make_ready() -> Any:
    """What starts processes; on Linux one that has imported everything begins to stand by, to be forked from.

    Elsewhere forking is not safe, and every worker imports for itself, which takes seconds.
    """
    if sys.platform != "linux":
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["creases.show.studio._worker"])
    forkserver.ensure_running()
    return context


class Worker:
    """A worker process; ``heard`` is called in the event loop with what it says, ``None`` when it has ended."""

    def __init__(self, limits: Limits) -> None:
        self._loop = asyncio.get_running_loop()
        self.heard: Callable[[tuple[Any, ...] | None], None] = lambda said: None
        self._asked = 0  #: messages that it has not handled yet
        self._running = False
        self._sign: float | None = None  #: when it last gave one of life; None while it starts
        self._sending = asyncio.Lock()
        self.ended = False
        context = make_ready()
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=main, args=(theirs, limits), daemon=True)
        threading.Thread(target=self._listen, args=(theirs,), daemon=True).start()

    @property
    def silent(self) -> float:
        """Seconds since the last sign of life of a worker that has something to do; 0 for one that has not."""
        return time.monotonic() - self._sign if self.busy and self._sign is not None else 0.0

    @property
    def busy(self) -> bool:
        """Whether it trains, or has messages to handle."""
        return bool(self._asked) or self._running

    async def ask(self, text: str) -> None:
        """Give it a message; whether it lives is told by ``heard``."""
        if not self.busy and self._sign is not None:
            self._sign = time.monotonic()
        self._asked += 1
        async with self._sending:  # in the order in which they came
            try:
                await asyncio.to_thread(self._pipe.send, text)
            except OSError:
                return  # it has ended, which is heard of

    def end(self) -> None:
        """End the process; at once, whatever it does."""
        self.heard = lambda said: None
        self.ended = True
        if self._process.pid is not None:
            self._process.kill()  # it holds nothing that could be left half-done
            self._process.join(GRACE)

    def _listen(self, theirs: Connection) -> None:
        """In a thread, for starting may take long: start the process, then pass on what it says."""
        self._process.start()
        if self.ended:  # before it was there
            self._process.kill()
        theirs.close()  # so that the pipe ends with the process
        while True:
            try:
                said = self._pipe.recv()
            except (EOFError, OSError):
                said = None
                self._pipe.close()
            try:
                self._loop.call_soon_threadsafe(self._note, said)
            except RuntimeError:
                return  # the loop has ended
            if said is None:
                return

    def _note(self, said: tuple[Any, ...] | None) -> None:
        self._sign = time.monotonic()
        if said is not None and said[0] in ("ready", "handled", "worked"):
            self._running = said[1] == "running"
            self._asked -= said[0] == "handled"
            return
        self.ended = self.ended or said is None
        self.heard(said)
