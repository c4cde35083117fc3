"""The messages that wait for a page."""

from __future__ import annotations

import asyncio

#: Standard close code: the page reads too slowly.
TOO_SLOW = 1013

#: Largest number of messages that wait for a page; beyond that it is disconnected, and may reconnect.
MAX_QUEUED = 1000

Message = str | bytes | int  #: JSON, a frame, or the code to close with


class Outbox(asyncio.Queue[Message]):
    """A queue of messages to a page, which disconnects a page that lets too many messages or bytes wait."""

    def __init__(self, max_bytes: int) -> None:
        super().__init__()
        self._max_bytes = max_bytes
        self._bytes = 0
        self._closing = False

    def send(self, message: str | bytes) -> None:
        """Add a message, unless the page is being disconnected."""
        if self._closing:
            return
        if self.qsize() >= MAX_QUEUED or (self.qsize() and self._bytes + len(message) > self._max_bytes):
            while not self.empty():
                self.get_nowait()  # the page gets the whole state when it reconnects
            return self.close(TOO_SLOW)
        self.put_nowait(message)

    def close(self, code: int) -> None:
        """Disconnect the page with a code, after the messages so far."""
        if not self._closing:
            self._closing = True
            self.put_nowait(code)

    def _put(self, item: Message) -> None:
        super()._put(item)
        self._bytes += _size(item)

    def _get(self) -> Message:
        item: Message = super()._get()
        self._bytes -= _size(item)
        return item


def _size(message: Message) -> int:
    return 0 if isinstance(message, int) else len(message)
