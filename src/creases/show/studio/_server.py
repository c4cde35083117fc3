"""The studio as a program: a free port, an address with a token, a browser, and a clean shutdown."""

from __future__ import annotations

import asyncio
import secrets
import socket
import threading
import webbrowser
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from importlib.resources import files
from pathlib import Path
from urllib.parse import quote

import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.requests import HTTPConnection, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket

from creases.errors import InputError
from creases.show.studio._limits import Limits
from creases.show.studio._session import WRONG_TOKEN, Session

# The web app of the studio: the built viewer, a websocket, downloads; local only.

#: Accepted host names; any other in the Host header is a DNS rebinding attack.
LOCAL_HOSTS = ("127.0.0.1", "localhost", "[::1]")


def make_app(token: str, limits: Limits, folder: str = "") -> Starlette:
    """Create the app; a page without the token gets the viewer, but no connection.

    ``folder`` is that of a model of a table that pages open first, if any.
    """
    session = Session(limits, folder)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        supervisor = asyncio.create_task(session.run())
        yield
        supervisor.cancel()
        with suppress(asyncio.CancelledError):
            await supervisor

    async def page(request: Request) -> Response:
        if not _has_token(request, token, missing=True):  # a reloaded page has no token in its address
            return _refusal("This link belongs to an earlier session; open the URL printed in the terminal.")
        return await viewer.get_response("index.html", request.scope)

    async def export(request: Request) -> Response:
        file = session.download(request.path_params["number"])
        if file is None:
            return PlainTextResponse("This file is no longer available; export it again.\n", 404)
        headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(file.name)}"}
        return Response(file.content, media_type=file.media, headers=headers)

    async def connect(socket: WebSocket) -> None:
        await socket.accept()
        if not _has_token(socket, token):
            return await socket.close(WRONG_TOKEN, "open the URL printed in the terminal")
        await session.serve(socket)

    viewer = StaticFiles(directory=str(files("creases.show._viewer") / "built"))
    routes = [
        Route("/", page),
        WebSocketRoute("/ws", connect),
        Route("/export/{number}/{name}", export),
        Mount("/", viewer),
    ]
    return Starlette(routes=routes, middleware=[Middleware(LocalOnly)], lifespan=lifespan)


class LocalOnly:
    """Middleware that accepts only requests to this machine from the studio's own pages, and sets the headers."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            return await self.app(scope, receive, send)
        if reason := _refusal_reason(scope):
            if scope["type"] == "websocket":
                return await send({"type": "websocket.close", "code": 1008})  # before accepting: HTTP 403
            return await _refusal(reason)(scope, receive, send)
        host = Headers(scope=scope)["host"]

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_headers(host))
            await send(message)

        await self.app(scope, receive, send_with_headers)


def _refusal_reason(scope: Scope) -> str:
    """Return why a request is refused; "" if it is accepted.

    With DNS rebinding, the host is the name of the attacker; a page of another site has that site as its origin, which
    browsers send with every websocket.
    """
    headers = Headers(scope=scope)
    host = headers.get("host", "")
    if host.rpartition(":")[0] not in LOCAL_HOSTS and host not in LOCAL_HOSTS:
        return "The studio accepts local connections only; open the URL printed in the terminal."
    origin = headers.get("origin")
    if origin is None:
        return "A WebSocket request must have an Origin header." if scope["type"] == "websocket" else ""
    if origin not in (f"http://{host}", f"https://{host}"):
        return "The studio accepts connections from its own page only."
    return ""


def _headers(host: str) -> dict[str, str]:
    policy = {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "img-src": "'self' data: blob:",
        "connect-src": f"'self' ws://{host} wss://{host}",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
    }
    return {
        "Content-Security-Policy": "; ".join(f"{name} {value}" for name, value in policy.items()),
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cache-Control": "no-cache",
    }


def _has_token(connection: HTTPConnection, token: str, *, missing: bool = False) -> bool:
    received = connection.query_params.get("token")
    return missing if received is None else secrets.compare_digest(received.encode(), token.encode())


def _refusal(reason: str) -> Response:
    return PlainTextResponse(reason + "\n", 403)


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

    def announce() -> None:
        ready(address)
        if browser:  # some browsers block their caller
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()

    with listener:
        _Server(config, announce).run(sockets=[listener])


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
