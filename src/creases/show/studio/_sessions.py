"""Sessions: a page, its worker, and what happens when either of them goes away."""

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
from creases.show.studio._process import Worker

#: Codes with which the studio closes a connection for good: a page does not try again by itself.
WRONG_TOKEN, OPENED_ELSEWHERE, TOO_MANY = 4403, 4409, 4429

#: Websockets' own codes: the studio ends, a message is too large, a page does not keep up.
ENDED, TOO_LARGE, TOO_SLOW = 1001, 1009, 1013

#: Messages that wait for a page; one that takes no more is let go, and may come back.
WAITING = 1000

Message = str | bytes | int  #: JSON, a frame, or the code to close with


class Session:
    """One page's session."""

    def __init__(self, limits: Limits) -> None:
        self.id = secrets.token_urlsafe(16)
        self.exports: OrderedDict[str, Export] = OrderedDict()
        self.left = self._spoke = time.monotonic()
        self._limits = limits
        self._worker: Worker | None = None
        self._page: asyncio.Queue[Message] | None = None  #: what the page is told
        self._begun = False  #: whether the worker has a problem or a run
        self._later = ""  #: what the page is told when it comes back

    @property
    def connected(self) -> bool:
        return self._page is not None

    async def serve(self, socket: WebSocket) -> None:
        """Talk with a page until it goes."""
        if self._page is not None:
            self._page.put_nowait(OPENED_ELSEWHERE)
        page = self._page = asyncio.Queue[Message]()
        self._tell({"type": "session", "session": self.id, "fresh": not self._begun, "choices": choices()})
        if self._begun:
            await self._ask('{"do": "hello"}')
        else:
            self._tell({"type": "status", "state": "idle"})
        self._tell_later()
        sender = asyncio.create_task(_send(socket, page))
        try:
            await self._listen(socket)
        finally:
            sender.cancel()
            if self._page is page:
                self._page, self.left = None, time.monotonic()
            self._tell_later()  # where it is back already

    async def _listen(self, socket: WebSocket) -> None:
        while True:
            message = await socket.receive()
            if message["type"] == "websocket.disconnect":
                if message.get("code") == TOO_LARGE:
                    most = self._limits.message / 2**20
                    self._later = (
                        f"That was more than {most:.0f} MB, which the studio does not take; use a smaller table."
                    )
                return
            self._spoke = time.monotonic()
            if isinstance(text := message.get("text"), str):
                await self._ask(text)

    def _tell_later(self) -> None:
        if self._later and self._page is not None:
            self._error("problem", self._later)
            self._later = ""

    async def _ask(self, text: str) -> None:
        worker = self._worker or self.take(Worker(self._limits))
        await worker.ask(text)

    def take(self, worker: Worker) -> Worker:
        """Work with a worker from now on."""
        self._worker = worker
        worker.heard = self._heard
        return worker

    def _heard(self, said: tuple[Any, ...] | None) -> None:
        """What the worker says."""
        match said:
            case ("text", text):
                self._begun = self._begun or text.startswith('{"type":"run"')
                self._put(text)
            case ("frame", frame):
                self._put(frame)
            case ("export", name, media, content):
                self._offer(Export(name, media, content))
            case None:
                self._lose("The process of this session ended by itself, and its run is lost; press Start for another.")

    def _offer(self, export: Export) -> None:
        number = secrets.token_urlsafe(16)
        self.exports[number] = export
        while len(self.exports) > self._limits.exports:
            self.exports.popitem(last=False)
        self._tell({"type": "exported", "url": f"export/{number}/{quote(export.name)}", "name": export.name})

    def check(self, now: float) -> bool:
        """Asked now and then; whether the session is to be kept."""
        worker, limits = self._worker, self._limits
        if not self.connected and now - self.left > limits.away:
            self.end()
            return False
        if worker is not None and worker.silent > limits.answer:
            self._lose(f"This took longer than {limits.answer:.0f} seconds, and was ended; take fewer rows or units.")
        elif worker is not None and not worker.busy and now - self._spoke > limits.idle and self._begun:
            self._lose(f"Nothing was done for {limits.idle / 60:.0f} minutes, and the run was let go; press Start.")
        return True

    def end(self) -> None:
        """End the worker, and let the page go."""
        if self._worker is not None:
            self._worker.end()
            self._worker = None
        if self._page is not None:
            self._page.put_nowait(ENDED)

    def _lose(self, why: str) -> None:
        """Tell the page that its worker is gone; its next message starts another."""
        if self._worker is not None:
            self._worker.end()
        self._worker, self._begun = None, False
        self._error("run", why)
        self._tell({"type": "status", "state": "idle"})

    def _error(self, where: str, message: str) -> None:
        self._tell({"type": "error", "where": where, "message": message})

    def _tell(self, message: dict[str, Any]) -> None:
        self._put(json.dumps(message))

    def _put(self, message: Message) -> None:
        if self._page is not None:
            self._page.put_nowait(TOO_SLOW if self._page.qsize() > WAITING else message)


class Sessions:
    """All sessions of a studio."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._all: dict[str, Session] = {}
        self._spare: Worker | None = None  #: started ahead: the first page need not wait for it

    async def run(self) -> None:
        """Look after the sessions, until cancelled; then end them all."""
        self._spare = Worker(self.limits)
        try:
            while True:
                await asyncio.sleep(min(1.0, self.limits.away / 4))
                now = time.monotonic()
                self._all = {id: session for id, session in self._all.items() if session.check(now)}
        finally:
            for session in self._all.values():
                session.end()
            if self._spare is not None:
                self._spare.end()

    async def serve(self, socket: WebSocket, wanted: str) -> None:
        """Serve a page: its own session if it is still there, else a new one."""
        session = self._all.get(wanted)
        if session is None and (session := self._new()) is None:
            told = f"{len(self._all)} pages are open, as many as the studio takes; close one, then load this anew."
            await socket.send_json({"type": "error", "where": "run", "message": told})
            return await socket.close(TOO_MANY)
        await session.serve(socket)

    def export(self, number: str) -> Export | None:
        """A file that was made for some page."""
        return next((one.exports[number] for one in self._all.values() if number in one.exports), None)

    def _new(self) -> Session | None:
        if len(self._all) >= self.limits.sessions:
            away = [session for session in self._all.values() if not session.connected]
            if not away:
                return None
            oldest = min(away, key=lambda session: session.left)
            oldest.end()
            del self._all[oldest.id]
        session = Session(self.limits)
        if self._spare is not None and not self._spare.ended:
            session.take(self._spare)
        self._spare = None
        self._all[session.id] = session
        return session


async def _send(socket: WebSocket, page: asyncio.Queue[Message]) -> None:
    """Pass on what a page is told, in order, until it is to be closed."""
    with suppress(WebSocketDisconnect, RuntimeError):  # it has gone, which the listener hears of
        while True:
            match await page.get():
                case str(text):
                    await socket.send_text(text)
                case bytes(frame):
                    await socket.send_bytes(frame)
                case code:
                    return await socket.close(code)
