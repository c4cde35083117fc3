"""The studio's web app: the built viewer, a websocket for each page, downloads; for this machine only."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from importlib.resources import files
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.requests import HTTPConnection, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket

from creases.show.studio._limits import Limits
from creases.show.studio._sessions import WRONG_TOKEN, Sessions

#: Names of this machine; any other in the Host header is a page elsewhere that pretends to be here.
HERE = ("127.0.0.1", "localhost", "[::1]")


def make_app(token: str, limits: Limits) -> Starlette:
    """The app; a page that comes without the token gets the viewer, but no connection."""
    sessions = Sessions(limits)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        looking = asyncio.create_task(sessions.run())
        yield
        looking.cancel()
        with suppress(asyncio.CancelledError):
            await looking

    async def page(request: Request) -> Response:
        if not _knows(request, token, missing=True):  # a page that is loaded anew has put the token away
            return _refusal("This address is of another start of the studio: open the one that it printed.")
        return await viewer.get_response("index.html", request.scope)

    async def export(request: Request) -> Response:
        found = sessions.export(request.path_params["number"])
        if found is None:
            return PlainTextResponse("This file is not kept any more: export it again.\n", 404)
        named = {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(found.name)}"}
        return Response(found.content, media_type=found.media, headers=named)

    async def connect(socket: WebSocket) -> None:
        await socket.accept()
        if not _knows(socket, token):
            return await socket.close(WRONG_TOKEN, "open the address that the studio printed")
        await sessions.serve(socket, socket.query_params.get("session", ""))

    viewer = StaticFiles(directory=str(files("creases.show.viewer") / "built"))
    routes = [
        Route("/", page),
        WebSocketRoute("/ws", connect),
        Route("/export/{number}/{name}", export),
        Mount("/", viewer),
    ]
    return Starlette(routes=routes, middleware=[Middleware(Door)], lifespan=lifespan)


class Door:
    """Lets in only what comes from this machine by its own name, and pages of the studio itself; sets the headers."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            return await self.app(scope, receive, send)
        if reason := _stranger(scope):
            if scope["type"] == "websocket":
                return await send({"type": "websocket.close", "code": 1008})  # before it is accepted: 403
            return await _refusal(reason)(scope, receive, send)
        host = Headers(scope=scope)["host"]

        async def headed(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_headers(host))
            await send(message)

        await self.app(scope, receive, headed)


def _stranger(scope: Scope) -> str:
    """Why a request is refused; "" where it is not.

    A page elsewhere that has a name of its own resolve to this machine says that name as the host; one that asks from
    elsewhere says so as the origin, which browsers send with every websocket.
    """
    headers = Headers(scope=scope)
    host = headers.get("host", "")
    if host.rpartition(":")[0] not in HERE and host not in HERE:
        return "The studio answers on this machine only: open the address that it printed."
    origin = headers.get("origin")
    if origin is None:
        return "A connection has to say where it comes from." if scope["type"] == "websocket" else ""
    if origin not in (f"http://{host}", f"https://{host}"):
        return "The studio answers its own page only."
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


def _knows(connection: HTTPConnection, token: str, *, missing: bool = False) -> bool:
    given = connection.query_params.get("token")
    return missing if given is None else secrets.compare_digest(given.encode(), token.encode())


def _refusal(reason: str) -> Response:
    return PlainTextResponse(reason + "\n", 403)
