"""The session of a studio: the page that came last, and one worker process, which can be stopped."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import secrets
import signal
import threading
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from importlib import import_module
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any
from urllib.parse import quote

from starlette.websockets import WebSocket, WebSocketDisconnect

from creases.show.studio._exports import Export
from creases.show.studio._limits import Limits, limit_memory, remove_abandoned_folders
from creases.show.studio._page_input import choices

# The worker process of a studio, which handles messages from a pipe; it ends with the pipe or the studio.

#: The module that imports what every worker needs, and the studio's own process does not.
LIBRARIES = "creases.show.studio._controller"


def main(pipe: Connection, limits: Limits, folder: str = "") -> None:
    """Serve a session: handle the messages of the pipe, and train while there are none.

    ``folder`` is that of a model of a table to open first, if any.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C at the terminal ends the studio, which closes the pipe
    threading.Thread(target=_exit_with_studio, daemon=True).start()
    import_module(LIBRARIES)  # before memory is limited
    import_module("torch").set_num_threads(1)  # small batches train fastest so
    import_module("threadpoolctl").threadpool_limits(1)
    limit_memory(limits.memory)
    try:
        _serve(pipe, limits, folder)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return  # the studio or this session has ended


def _serve(pipe: Connection, limits: Limits, folder: str) -> None:
    from creases.show.studio._controller import Controller

    def say(message: dict[str, Any] | bytes | Export) -> None:
        if isinstance(message, Export):
            pipe.send(("export", *message))
        elif isinstance(message, bytes):
            pipe.send(("frame", message))
        else:
            pipe.send(("text", json.dumps(message, separators=(",", ":"), allow_nan=False)))

    controller = Controller(say, limits, lambda: pipe.send(("worked", controller.state)), folder)
    warming = _warm_up(limits)
    pipe.send(("ready", controller.state))
    if folder:
        controller.handle('{"do": "hello"}')  # opens it before a page asks
    while True:
        if controller.state == "running" and not pipe.poll():
            controller.work()
            pipe.send(("worked", controller.state))
        elif controller.state == "idle" and not pipe.poll() and next(warming, "warm") != "warm":
            continue
        else:
            controller.handle(pipe.recv())
            pipe.send(("handled", controller.state))


def _exit_with_studio() -> None:
    """Exit when the studio ends, also during long work that does not read the pipe."""
    studio = multiprocessing.parent_process()
    if studio is not None:
        wait([studio.sentinel])
        os._exit(1)


def _warm_up(limits: Limits) -> Iterator[None]:
    """Import, compile and load everything before the first run, from the start of the studio on.

    This is done in parts, between which messages are handled.
    """
    for name in ("scipy.optimize", "sklearn.linear_model", "sklearn.ensemble"):
        import_module(name)
        yield
    from creases.problems import get
    from creases.show.studio._live_run import LiveRun
    from creases.tables import RunSettings

    yield
    live = LiveRun(get("moons", n=20), RunSettings("moons"), limits)
    yield
    live.epoch()
    yield
    live.to_json()


#: Close codes after which a page does not reconnect.
WRONG_TOKEN, OPENED_ELSEWHERE = 4403, 4409

#: Standard close codes: the studio ends, a message is too large.
ENDED, TOO_LARGE = 1001, 1009

#: The message of a page that does not want to wait any longer; all others go to the worker.
STOP = '{"do":"stop"}'

#: Messages that a worker has to handle before more are accepted.
MAX_PENDING = 100

#: Seconds to wait for a process that was killed, and for its exit code.
GRACE = 2.0


class Session:
    """What a studio shows; it begins with the model in a folder, if there is one.

    A page that opens takes the session over, with its run. Without a page the worker goes on.
    """

    def __init__(self, limits: Limits, folder: str = "") -> None:
        self.id = secrets.token_urlsafe(16)
        self._limits, self._folder = limits, folder
        self._exports: OrderedDict[str, Export] = OrderedDict()
        self._offers: dict[str, dict[str, Any]] = {}  #: messages about exports that no page has downloaded yet
        self._worker: Worker | None = None
        self._page: WebSocket | None = None
        self._has_run = False  #: whether the worker has a problem or a run
        self._pending_error = ""  #: an error to send when the page reconnects

    async def run(self) -> None:
        """Start a worker in advance, and tell the page while it works long, until cancelled; then end it."""
        self._worker = Worker(self._limits, self._folder, self._receive)
        try:
            while True:
                await asyncio.sleep(1.0)
                if self._worker is not None and self._worker.silent > self._limits.slow:
                    await self._send_json({"type": "working", "seconds": int(self._worker.silent)})
        finally:
            if self._worker is not None:
                self._worker.kill()
                self._worker.wait()
            remove_abandoned_folders()

    async def serve(self, socket: WebSocket) -> None:
        """Exchange messages with a page until it disconnects."""
        if self._page is not None:
            closing = asyncio.create_task(_close(self._page, OPENED_ELSEWHERE))  # a stuck page takes its time
            closing.add_done_callback(lambda task: task.exception())
        self._page = socket
        shows = self._has_run or bool(self._folder)
        opening = "" if self._has_run or not self._folder else Path(self._folder).resolve().name
        message = {"type": "session", "session": self.id, "fresh": not shows, "opening": opening}
        await self._send_json(message | {"choices": choices()})
        if shows:
            await self._ask('{"do": "hello"}')
        else:
            await self._send_json({"type": "status", "state": "idle"})
        if self._pending_error:
            await self._error("problem", self._pending_error)
            self._pending_error = ""
        for offer in self._offers.values():  # of which a lost connection did not tell
            await self._send_json(offer)
        try:
            await self._listen(socket)
        finally:
            if self._page is socket:
                self._page = None

    async def _listen(self, socket: WebSocket) -> None:
        while True:
            message = await socket.receive()
            if message["type"] == "websocket.disconnect":
                if message.get("code") == TOO_LARGE:
                    limit = self._limits.message / 2**20
                    self._pending_error = f"Messages must be at most {limit:.0f} MB; use a smaller table."
                return
            if (text := message.get("text")) == STOP:
                await self._stop()
            elif isinstance(text, str):
                await self._ask(text)

    async def _stop(self) -> None:
        """Stop work that the page does not want to wait for; without any, do nothing."""
        if self._worker is not None and self._worker.busy:
            await self._replace_worker(f"Stopped.{' The run was lost.' if self._has_run else ''}")

    async def _ask(self, text: str) -> None:
        self._worker = self._worker or Worker(self._limits, self._folder, self._receive)
        await self._worker.ask(text)

    async def _receive(self, message: tuple[Any, ...] | None) -> None:
        """Handle a message of the worker; None if it has ended by itself."""
        match message:
            case ("text", text):
                self._has_run = self._has_run or text.startswith('{"type":"run"')
                await self._send(text)
            case ("frame", frame):
                await self._send(frame)
            case ("export", name, media, content):
                await self._offer(Export(name, media, content))
            case None if self._worker is not None:
                lost = " Its run was lost." if self._has_run else ""
                await self._replace_worker(f"The process of this session {self._worker.cause}.{lost}")

    async def _replace_worker(self, why: str) -> None:
        """Report to the page that its worker is lost; one that was ready has a successor at once."""
        if self._worker is not None:
            self._worker.kill()
            ready = self._worker.ready
            self._worker = Worker(self._limits, self._folder, self._receive) if ready else None
        self._has_run = False
        await self._error("run", f"{why} Press Start for a new run.")
        await self._send_json({"type": "status", "state": "idle"})

    async def _offer(self, export: Export) -> None:
        number = secrets.token_urlsafe(16)
        self._exports[number] = export
        url = f"export/{number}/{quote(export.name)}"
        self._offers[number] = {"type": "exported", "url": url, "name": export.name}
        while len(self._exports) > self._limits.exports:
            self._offers.pop(self._exports.popitem(last=False)[0], None)
        await self._send_json(self._offers[number])

    def download(self, number: str) -> Export | None:
        """Return an exported file; None if it does not exist."""
        self._offers.pop(number, None)
        return self._exports.get(number)

    async def _error(self, where: str, message: str) -> None:
        await self._send_json({"type": "error", "where": where, "message": message})

    async def _send_json(self, message: dict[str, Any]) -> None:
        await self._send(json.dumps(message))

    async def _send(self, message: str | bytes) -> None:
        """Send a message to the page, if there is one; a page that reads slowly slows the worker down."""
        if self._page is not None:
            send = self._page.send_text if isinstance(message, str) else self._page.send_bytes
            with suppress(WebSocketDisconnect, RuntimeError):  # disconnected, which the listener notices
                await send(message)  # type: ignore[arg-type]


async def _close(socket: WebSocket, code: int) -> None:
    with suppress(WebSocketDisconnect, RuntimeError):
        await socket.close(code)


class Worker:
    """A worker process; ``receive`` is awaited with its messages, and with None when it has ended by itself."""

    def __init__(
        self, limits: Limits, folder: str, receive: Callable[[tuple[Any, ...] | None], Awaitable[None]]
    ) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, end = context.Pipe()
        self._process = context.Process(target=main, args=(end, limits, folder), daemon=True)
        self._process.start()
        end.close()  # so that the pipe closes with the process
        self.ready = False
        self.cause = ""  #: why it ended by itself, in words
        self._receive = receive
        self._ended = False
        self._running = False
        self._pending = 0  #: number of messages not handled yet
        self._last_sign = time.monotonic()  #: time of its last message
        self._room = asyncio.Semaphore(MAX_PENDING)
        self._outgoing: asyncio.Queue[str | None] = asyncio.Queue()
        self._tasks = [asyncio.create_task(self._listen()), asyncio.create_task(self._write())]

    @property
    def busy(self) -> bool:
        """Whether it trains or has messages to handle."""
        return bool(self._pending) or self._running

    @property
    def silent(self) -> float:
        """Seconds since the last message of a busy worker; 0 for an idle one."""
        return time.monotonic() - self._last_sign if self.busy else 0.0

    async def ask(self, text: str) -> None:
        """Send a message, as soon as the worker has handled most of the earlier ones."""
        await self._room.acquire()
        if self._ended:
            return self._room.release()
        if not self.busy:
            self._last_sign = time.monotonic()
        self._pending += 1
        self._outgoing.put_nowait(text)

    def kill(self) -> None:
        """Kill the process."""
        self._process.kill()
        self._end()

    def wait(self) -> None:
        """Wait for a moment until the killed process has ended."""
        self._process.join(GRACE)

    def _end(self) -> None:
        self._ended = True
        self._outgoing.put_nowait(None)
        self._room.release()

    async def _listen(self) -> None:
        with suppress(EOFError, OSError):
            while not self._ended:
                message = await asyncio.to_thread(self._pipe.recv)
                self._last_sign = time.monotonic()
                if message[0] not in ("ready", "handled", "worked"):
                    await self._receive(message)
                    continue
                self.ready, self._running = True, message[1] == "running"
                if message[0] == "handled":
                    self._pending -= 1
                    self._room.release()
        await asyncio.to_thread(self._process.join, GRACE)
        if not self._ended:
            self._end()
            self.cause = describe_exit(self._process.exitcode)
            await self._receive(None)

    async def _write(self) -> None:
        while (text := await self._outgoing.get()) is not None:
            with suppress(OSError):  # it has ended, which the listener notices
                await asyncio.to_thread(self._pipe.send, text)


def describe_exit(code: int | None) -> str:
    """Return why a process ended, in words, from its exit code."""
    if code == -9:  # SIGKILL
        return "was killed, possibly by the system because memory ran out"
    if code is not None and code < 0:
        return f"crashed ({signal.Signals(-code).name})"
    return "stopped unexpectedly"
