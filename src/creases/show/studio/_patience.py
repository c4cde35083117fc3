"""Connections that send no complete request are closed, so that they cannot pile up."""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

#: Seconds that a connection has to send the head of a request.
HEAD = 5.0


class ImpatientProtocol(H11Protocol):
    """HTTP of uvicorn, which closes a connection without a complete request head after a few seconds.

    The time starts with the connection, and with the first byte of every further request; bytes that trickle in do not
    extend it.
    """

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start waiting for a request."""
        super().connection_made(transport)
        self._start_waiting()

    def data_received(self, data: bytes) -> None:
        """Handle data; wait for the rest of a request of which only a part has arrived."""
        super().data_received(data)
        is_answering = self.cycle is not None and not self.cycle.response_complete
        is_websocket = not isinstance(self.transport.get_protocol(), ImpatientProtocol)
        if is_answering or is_websocket:
            self._stop_waiting()
        else:
            self._start_waiting()

    def on_response_complete(self) -> None:
        """Answered: the keep-alive timeout of uvicorn follows."""
        self._stop_waiting()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _start_waiting(self) -> None:
        if self._deadline is None and not self.transport.is_closing():
            self._deadline = self.loop.call_later(HEAD, self._give_up)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        if not self.transport.is_closing():
            if self.conn.our_state is h11.IDLE:
                self.conn.send(h11.ConnectionClosed())
            self.transport.close()
