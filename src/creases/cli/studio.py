"""``creases studio``: growth runs to watch and to steer in a browser."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated

import typer

from creases.cli.console import note, out
from creases.errors import RequestError


def open_studio(
    port: Annotated[
        int | None, typer.Option(metavar="N", help="Port to listen at; 0 for any. By default the first free from 8642.")
    ] = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Whether to open it in a browser.")] = True,
) -> None:
    """Watch and steer growth in a browser.

    Pick or draw a problem, watch a network grow on it region by region, steer it, export it.

    Listens on this machine only (127.0.0.1), at an address that holds a new token each time. Ends with Ctrl-C.
    """
    try:
        from creases.show.studio import serve
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] not in ("starlette", "uvicorn", "websockets"):
            raise
        raise RequestError(f"the studio needs {missing.name}: pip install 'creases[studio]'") from None
    with suppress(KeyboardInterrupt):  # how it is meant to end
        serve(port, browser=browser, ready=_ready)
    note("the studio has ended")


def _ready(address: str) -> None:
    out.print(f"[bold]creases studio[/] is at [link={address}]{address}[/link]", soft_wrap=True)
    note("Ctrl-C ends it")
