"""The studio's side of a worker process: start it, exchange messages without blocking other sessions, end it."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any, cast

from creases.show.studio._limits import Limits
from creases.show.studio._worker import LIBRARIES, main

#: How often a process is started that is killed before it is ready, and the seconds between two attempts: a fork server
#: that was killed refuses connections a moment before the system says that it has ended.
ATTEMPTS, PAUSE = 3, 0.5

#: Messages that a worker has to handle before more are accepted.
MAX_PENDING = 100

#: Seconds to wait for a process that was killed, and for its exit code.
GRACE = 2.0


def start_context() -> Any:
    """Return the context that starts processes; on Linux a fork server with all imports done.

    Elsewhere forking is not safe, and each worker imports everything itself, which takes seconds.
    """
    if sys.platform != "linux":
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([LIBRARIES])
    ensure_fork_server()
    return context


def ensure_fork_server() -> None:
    """Start the fork server again if it was killed."""
    if sys.platform == "linux":
        with suppress(OSError):  # the system has no process or file to give; workers that need it report that
            forkserver.ensure_running()


def stop_fork_server() -> None:
    """Kill the fork server: by itself it ends when its imports are done, and holds the terminal until then."""
    process = getattr(forkserver, "_forkserver", None)  # there is no public way
    number = getattr(process, "_forkserver_pid", None)
    if number is not None:
        with suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)


class Worker:
    """A worker process; ``receive`` is called in the event loop with its messages, with None when it has ended."""

    def __init__(self, limits: Limits, folder: str = "") -> None:
        self._limits, self._folder, self._loop = limits, folder, asyncio.get_running_loop()
        self.receive: Callable[[tuple[Any, ...] | None], None] = lambda message: None
        self._pending = 0  #: number of messages not handled yet
        self._room = asyncio.Semaphore(MAX_PENDING)
        self._outgoing: SimpleQueue[str | None] = SimpleQueue()
        self._running = False
        self._last_sign = time.monotonic()  #: time of its last message
        self._process: Any = None
        self._started = False
        self.ended = False
        self.cause = ""  #: why it ended by itself, in words
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    @property
    def silent(self) -> float:
        """Seconds since the last message of a busy worker; 0 for an idle one."""
        return time.monotonic() - self._last_sign if self.busy else 0.0

    @property
    def busy(self) -> bool:
        """Whether it trains or has messages to handle."""
        return bool(self._pending) or self._running

    async def ask(self, text: str) -> None:
        """Send a message, as soon as the worker has handled most of the earlier ones."""
        await self._room.acquire()
        if self.ended:
            return self._room.release()
        if not self.busy:
            self._last_sign = time.monotonic()
        self._pending += 1
        self._outgoing.put(text)

    def end(self) -> None:
        """Kill the process."""
        self.receive = lambda message: None
        self.ended = True
        self._kill()
        self._outgoing.put(None)
        self._room.release()

    def wait(self) -> None:
        """Wait for a moment until the killed process has ended; one that is still starting has written nothing."""
        if self._started:
            self._listener.join(GRACE)

    def _listen(self) -> None:
        """Start the process, which may take long, and receive its messages; runs in a thread."""
        pipe = self._start()
        if pipe is not None:
            self._started = True
            threading.Thread(target=self._send, args=(pipe,), daemon=True).start()
            with suppress(EOFError, OSError):
                while True:
                    self._post(pipe.recv())
            self._outgoing.put(None)
            process, self._process = self._process, None
            process.join(GRACE)
            self.cause = describe_exit(process.exitcode)
        self._post(None)

    def _start(self) -> Connection | None:
        """Return the pipe of a started process; None if it did not start.

        Until the process is ready it has received nothing: if it or the fork server is killed, another takes its place.
        """
        for _ in range(ATTEMPTS):
            with suppress(EOFError, OSError):
                return self._launch()
            self._process = None
            if self.ended:
                return None
            self._post(("restarting",))
            time.sleep(PAUSE)
        self.cause = f"could not be started in {ATTEMPTS} attempts"
        return None

    def _launch(self) -> Connection:
        """Start a process and return its pipe once it is ready."""
        context = start_context()
        pipe, worker_end = context.Pipe()
        self._process = context.Process(target=main, args=(worker_end, self._limits, self._folder), daemon=True)
        try:
            self._process.start()
            if self.ended:  # meanwhile
                self._kill()
            worker_end.close()  # so that the pipe closes with the process
            self._post(pipe.recv())
        except BaseException:
            worker_end.close()
            pipe.close()
            raise
        return cast(Connection, pipe)

    def _send(self, pipe: Connection) -> None:
        """Send the messages, in order, until there are no more; runs in a thread."""
        with suppress(OSError):  # it has ended, which the listener notices
            while (text := self._outgoing.get()) is not None:
                pipe.send(text)

    def _post(self, message: tuple[Any, ...] | None) -> None:
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._handle, message)

    def _handle(self, message: tuple[Any, ...] | None) -> None:
        self._last_sign = time.monotonic()
        if message is not None and message[0] in ("ready", "handled", "worked"):
            self._running = message[1] == "running"
            if message[0] == "handled":
                self._pending -= 1
                self._room.release()
            return
        if message is None:
            self.ended = True
            self._room.release()
        self.receive(message)

    def _kill(self) -> None:
        """Kill the process, also where multiprocessing takes it for dead because the fork server is."""
        process = self._process
        if process is None or process.pid is None:
            return
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL) if sys.platform == "linux" else process.kill()


def describe_exit(code: int | None) -> str:
    """Return why a process ended, in words, from its exit code."""
    if code == -9:  # SIGKILL
        return "was killed, possibly by the system because memory ran out"
    if code is not None and code < 0:
        return f"crashed ({signal.Signals(-code).name})"
    return "stopped unexpectedly"
