"""The studio as a program: a free port, an address with a token, a browser, and a clean shutdown."""

from __future__ import annotations

import secrets
import socket
import threading
import webbrowser
from collections.abc import Callable
from pathlib import Path

import uvicorn

from creases.errors import InputError
from creases.show.studio._app import make_app
from creases.show.studio._limits import Limits

HOST = "127.0.0.1"

#: The default port, and the number of ports to try if it is in use.
PORT, ATTEMPTS = 8642, 20


def serve(
    port: int | None = None,
    *,
    folder: str | Path = "",
    browser: bool = True,
    limits: Limits | None = None,
    ready: Callable[[str], None],
) -> None:
    """Serve the studio until interrupted.

    Parameters
    ----------
    port
        The port to listen on; by default the first free one from 8642.
    folder
        Folder of a model of a table to open, as ``creases grow`` writes it.
    browser
        Whether to open a browser.
    limits
        Bounds of data and networks.
    ready
        Called with the address once it can be opened.
    """
    limits = limits or Limits()
    listener = _listen(port)
    token = secrets.token_urlsafe(24)
    address = f"http://{HOST}:{listener.getsockname()[1]}/?token={token}"
    config = uvicorn.Config(
        make_app(token, limits, str(folder)),
        http="h11",
        log_level="error",
        access_log=False,  # addresses contain the token
        server_header=False,
        limit_concurrency=limits.connections,
        h11_max_incomplete_event_size=limits.head,
        timeout_keep_alive=5,
        ws_max_size=limits.message,
        ws_per_message_deflate=False,  # frames stay on this machine
        timeout_graceful_shutdown=2,
        lifespan="on",
    )
    with listener:
        _Server(config, lambda: _announce(address, browser, ready)).run(sockets=[listener])


class _Server(uvicorn.Server):
    """A server that calls a function once it has started."""

    def __init__(self, config: uvicorn.Config, on_start: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_start = on_start

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start the server, then call the function."""
        await super().startup(sockets)
        if self.started:
            self._on_start()


def _announce(address: str, browser: bool, ready: Callable[[str], None]) -> None:
    ready(address)
    if browser:  # some browsers block their caller
        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()


def _listen(port: int | None) -> socket.socket:
    """Return a socket at the given port, or at the first free one."""
    if port is not None and not 0 <= port < 2**16:
        raise InputError("port", "be from 0 to 65535", str(port))
    for candidate in range(PORT, PORT + ATTEMPTS) if port is None else [port]:
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, candidate))
            listener.listen(128)
            return listener
        except OSError as problem:
            listener.close()
            reason = problem.strerror
    if port is None:
        raise InputError("port", "be free", f"all from {PORT} to {PORT + ATTEMPTS - 1} in use", "choose another one")
    raise InputError("port", "be usable", f"{port} ({reason})", "choose another one, or none for a free one")
