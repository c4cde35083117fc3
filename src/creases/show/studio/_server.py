"""The studio as a program: a free port, an address with a token, a browser, and a clean end."""

from __future__ import annotations

import secrets
import socket
import threading
import webbrowser
from collections.abc import Callable

import uvicorn

from creases.errors import InputError
from creases.show.studio._app import make_app
from creases.show.studio._limits import Limits

HOST = "127.0.0.1"

#: Where the studio is if no port is asked for; where that is taken, at one of the next.
PORT, TRIED = 8642, 20


def serve(
    port: int | None = None, *, browser: bool = True, limits: Limits | None = None, ready: Callable[[str], None]
) -> None:
    """Serve until interrupted; ``ready`` is called with the address once it can be opened."""
    limits = limits or Limits()
    listening = _listen(port)
    token = secrets.token_urlsafe(24)
    address = f"http://{HOST}:{listening.getsockname()[1]}/?token={token}"
    config = uvicorn.Config(
        make_app(token, limits),
        log_level="warning",
        access_log=False,  # addresses have the token in them
        server_header=False,
        ws_max_size=limits.message,
        ws_per_message_deflate=False,  # frames go to the same machine
        timeout_graceful_shutdown=2,
        lifespan="on",
    )
    with listening:
        _Server(config, lambda: _opened(address, browser, ready)).run(sockets=[listening])


class _Server(uvicorn.Server):
    """Calls a function once the server answers."""

    def __init__(self, config: uvicorn.Config, begun: Callable[[], None]) -> None:
        super().__init__(config)
        self._begun = begun

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._begun()


def _opened(address: str, browser: bool, ready: Callable[[str], None]) -> None:
    ready(address)
    if browser:  # some browsers hold up whoever starts them
        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()


def _listen(port: int | None) -> socket.socket:
    """A socket at the port asked for, or at the first free one."""
    if port is not None and not 0 <= port < 2**16:
        raise InputError(f"--port: expected a number from 0 to 65535, got {port}")
    for tried in range(PORT, PORT + TRIED) if port is None else [port]:
        found = socket.socket()
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            found.bind((HOST, tried))
            found.listen(128)
            return found
        except OSError as problem:
            found.close()
            reason = problem.strerror
    if port is None:
        raise InputError(f"--port: all ports from {PORT} to {PORT + TRIED - 1} are in use; give another")
    raise InputError(f"--port: {port} cannot be used ({reason}); give another, or leave it out for a free one")
