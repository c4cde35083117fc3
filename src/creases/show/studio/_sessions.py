"""Sessions of pages: each has a worker process, and survives a lost connection for a while."""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections import OrderedDict
from contextlib import suppress
from typing import Any
from urllib.parse import quote

from starlette.websockets import WebSocket, WebSocketDisconnect

from creases.show.studio._choices import choices
from creases.show.studio._exports import Export
from creases.show.studio._limits import Limits
from creases.show.studio._outbox import Outbox
from creases.show.studio._process import Worker, ensure_fork_server, stop_fork_server
from creases.show.studio._scratch import remove_abandoned_folders

#: Close codes after which a page does not reconnect.
WRONG_TOKEN, OPENED_ELSEWHERE, TOO_MANY = 4403, 4409, 4429

#: Standard close codes: the studio ends, a message is too large.
ENDED, TOO_LARGE = 1001, 1009

#: The message of a page that does not want to wait any longer; all others go to the worker.
STOP = '{"do":"stop"}'


class Session:
    """The session of a page; it begins with the model in a folder, if there is one."""

    def __init__(self, limits: Limits, folder: str = "") -> None:
        self.id = secrets.token_urlsafe(16)
        self._exports: OrderedDict[str, Export] = OrderedDict()
        self._offers: dict[str, dict[str, Any]] = {}  #: messages about exports that no page has downloaded yet
        self.disconnected_at = self._last_message = time.monotonic()
        self._limits, self._folder = limits, folder
        self._worker: Worker | None = None
        self._page: Outbox | None = None  #: messages to the page
        self._has_run = False  #: whether the worker has a problem or a run
        self._pending_error = ""  #: an error to send when the page reconnects

    @property
    def connected(self) -> bool:
        """Whether a page is connected."""
        return self._page is not None

    async def serve(self, socket: WebSocket) -> None:
        """Exchange messages with a page until it disconnects."""
        if self._page is not None:
            self._page.close(OPENED_ELSEWHERE)
        page = self._page = Outbox(self._limits.queue)
        shows = self._has_run or bool(self._folder)
        self._send_json({"type": "session", "session": self.id, "fresh": not shows, "choices": choices()})
        if shows:
            await self._forward('{"do": "hello"}')
        else:
            self._send_json({"type": "status", "state": "idle"})
        self._send_pending_error()
        for offer in self._offers.values():  # of which a lost connection did not tell
            self._send_json(offer)
        sender = asyncio.create_task(_send(socket, page))
        try:
            await self._listen(socket)
        finally:
            sender.cancel()
            if self._page is page:
                self._page, self.disconnected_at = None, time.monotonic()
            self._send_pending_error()  # it may have reconnected already

    async def _listen(self, socket: WebSocket) -> None:
        while True:
            message = await socket.receive()
            if message["type"] == "websocket.disconnect":
                if message.get("code") == TOO_LARGE:
                    limit = self._limits.message / 2**20
                    self._pending_error = f"Messages must be at most {limit:.0f} MB; use a smaller table."
                return
            self._last_message = time.monotonic()
            if (text := message.get("text")) == STOP:
                self._stop()
            elif isinstance(text, str):
                await self._forward(text)

    def _stop(self) -> None:
        """Stop work that the page does not want to wait for; without any, do nothing."""
        if self._worker is not None and self._worker.busy:
            lost = " The run was lost." if self._has_run else ""
            self._discard_worker(f"Stopped.{lost} Press Start for a new run.")

    def _send_pending_error(self) -> None:
        if self._pending_error and self._page is not None:
            self._error("problem", self._pending_error)
            self._pending_error = ""

    async def _forward(self, text: str) -> None:
        worker = self._worker or self.use(Worker(self._limits, self._folder))
        await worker.ask(text)

    def use(self, worker: Worker) -> Worker:
        """Use a worker from now on."""
        self._worker = worker
        worker.receive = self._receive
        return worker

    def _receive(self, message: tuple[Any, ...] | None) -> None:
        """Handle a message of the worker; None if it has ended."""
        match message:
            case ("text", text):
                self._has_run = self._has_run or text.startswith('{"type":"run"')
                self._put(text)
            case ("frame", frame):
                self._put(frame)
            case ("export", name, media, content):
                self._offer(Export(name, media, content))
            case ("restarting",):
                self._error("run", "The process of this session ended before it was ready. Starting it again…")
            case None:
                lost = " Its run was lost." if self._has_run else ""
                cause = self._worker.cause if self._worker is not None else ""
                self._discard_worker(f"The process of this session {cause}.{lost} Press Start for a new run.")

    def _offer(self, export: Export) -> None:
        number = secrets.token_urlsafe(16)
        self._exports[number] = export
        self._offers[number] = {
            "type": "exported",
            "url": f"export/{number}/{quote(export.name)}",
            "name": export.name,
        }
        while len(self._exports) > self._limits.exports:
            self._offers.pop(self._exports.popitem(last=False)[0], None)
        self._send_json(self._offers[number])

    def download(self, number: str) -> Export | None:
        """Return an exported file; None if it does not exist."""
        self._offers.pop(number, None)
        return self._exports.get(number)

    def check(self, now: float) -> bool:
        """Check the timeouts of the session; return whether to keep it."""
        worker, limits = self._worker, self._limits
        if not self.connected and now - self.disconnected_at > limits.away:
            self.end()
            return False
        if worker is not None and worker.silent > limits.answer:
            self._discard_worker(
                f"This took longer than {limits.answer / 60:g} minutes and was stopped. Use fewer rows or units, or "
                "start the studio with more time: creases studio --minutes N."
            )
        elif worker is not None and worker.silent > limits.slow:
            self._send_json({"type": "working", "seconds": int(worker.silent)})
        elif worker is not None and not worker.busy and now - self._last_message > limits.idle and self._has_run:
            self._discard_worker(
                f"The run was stopped after {limits.idle / 60:.0f} minutes of inactivity. Press Start for a new run."
            )
        return True

    def end(self) -> Worker | None:
        """End the worker and disconnect the page; return the worker, which may take a moment to end."""
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.end()
        if self._page is not None:
            self._page.close(ENDED)
        return worker

    def _discard_worker(self, why: str) -> None:
        """Report to the page that its worker is lost; its next message starts another."""
        if self._worker is not None:
            self._worker.end()
        self._worker, self._has_run = None, False
        self._error("run", why)
        self._send_json({"type": "status", "state": "idle"})

    def _error(self, where: str, message: str) -> None:
        self._send_json({"type": "error", "where": where, "message": message})

    def _send_json(self, message: dict[str, Any]) -> None:
        self._put(json.dumps(message))

    def _put(self, message: str | bytes) -> None:
        if self._page is not None:
            self._page.send(message)


class Sessions:
    """All sessions of a studio; each begins with the model in a folder, if there is one."""

    def __init__(self, limits: Limits, folder: str = "") -> None:
        self.limits, self._folder = limits, folder
        self._all: dict[str, Session] = {}
        self._spare: Worker | None = None  #: started in advance, so that the first page need not wait

    async def run(self) -> None:
        """Check the sessions regularly until cancelled; then end them all."""
        self._spare = Worker(self.limits, self._folder)
        try:
            while True:
                await asyncio.sleep(min(1.0, self.limits.away / 4))
                ensure_fork_server()
                now = time.monotonic()
                self._all = {id: session for id, session in self._all.items() if session.check(now)}
        finally:
            self._end()

    def _end(self) -> None:
        """End all processes, and remove what they were writing."""
        workers = [worker for session in self._all.values() if (worker := session.end()) is not None]
        if self._spare is not None:
            self._spare.end()
            workers.append(self._spare)
        for worker in workers:
            worker.wait()
        stop_fork_server()
        remove_abandoned_folders()

    async def serve(self, socket: WebSocket, session_id: str) -> None:
        """Serve a page: continue its session if it still exists, otherwise create one."""
        session = self._all.get(session_id)
        if session is None and (session := self._create()) is None:
            message = f"{len(self._all)} pages are open, the maximum. Close one, then reload this page."
            await socket.send_json({"type": "error", "where": "run", "message": message})
            return await socket.close(TOO_MANY)
        await session.serve(socket)

    def export(self, number: str) -> Export | None:
        """Return an exported file of any session; None if it does not exist."""
        files = (session.download(number) for session in self._all.values())
        return next((file for file in files if file is not None), None)

    def _create(self) -> Session | None:
        if len(self._all) >= self.limits.sessions:
            disconnected = [session for session in self._all.values() if not session.connected]
            if not disconnected:
                return None
            oldest = min(disconnected, key=lambda session: session.disconnected_at)
            oldest.end()
            del self._all[oldest.id]
        session = Session(self.limits, self._folder)
        if self._spare is not None and not self._spare.ended:
            session.use(self._spare)
        self._spare = None
        self._all[session.id] = session
        return session


async def _send(socket: WebSocket, page: Outbox) -> None:
    """Send the queued messages to a page, in order, until a close code."""
    with suppress(WebSocketDisconnect, RuntimeError):  # disconnected, which the listener notices
        while True:
            match await page.get():
                case str(text):
                    await socket.send_text(text)
                case bytes(frame):
                    await socket.send_bytes(frame)
                case code:
                    return await socket.close(code)
