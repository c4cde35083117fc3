"""``creases studio``: watch and steer growth in the browser."""

from __future__ import annotations

import signal
from contextlib import suppress
from pathlib import Path
from typing import Annotated

from creases.cli.console import argument, note, option, out
from creases.errors import RequestError


def open_studio(
    run: Annotated[Path | None, argument("[RUN]", "Folder of a model of a table to read and edit.")] = None,
    port: Annotated[
        int | None, option("N", "Port to listen on; 0: any free port. Default: the first free port from 8642.")
    ] = None,
    browser: Annotated[bool, option("", "Open the page in a browser.", "--browser/--no-browser")] = True,
) -> None:
    """Change the model of a table, or steer growth, in the browser.

    Pick or draw a problem, watch a network grow on it region by region, steer it and export it. With the folder of a
    model of a table (creases fit FILE --target COLUMN --out RUN), read its curves and change them by hand.

    Only this machine can connect (127.0.0.1), and the address holds a new token each time. Stop it with Ctrl-C.
    """
    try:
        from creases.show.studio import serve
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] not in ("starlette", "uvicorn", "websockets"):
            raise
        raise RequestError(f"the studio needs {missing.name}: pip install 'creases[studio]'") from None
    if run is not None:
        from creases.tables import FitSettings, load

        FitSettings.load(run)  # refuses a folder without such a model, or a damaged one, before a page is opened
        load(run)

    def announce(address: str) -> None:
        out.print(f"[bold]creases studio[/] is running at [link={address}]{address}[/link]", soft_wrap=True)
        note("Press Ctrl-C to stop.")

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends it as Ctrl-C does
    with suppress(KeyboardInterrupt):  # how it is meant to end
        serve(port, folder=run or "", browser=browser, ready=announce)
    note("Stopped. Start again with: creases studio")
