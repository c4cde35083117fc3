"""The worker process of a studio, which handles messages from a pipe; it ends with the pipe or the studio."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from importlib import import_module
from multiprocessing.connection import Connection, wait
from typing import Any

from creases.show.studio._exports import Export
from creases.show.studio._limits import Limits
from creases.show.studio._memory import limit_memory

#: The module that imports what every worker needs, and the studio's own process does not.
LIBRARIES = "creases.show.studio._controller"


def main(pipe: Connection, limits: Limits, folder: str = "") -> None:
    """Serve a session: handle the messages of the pipe, and train while there are none.

    ``folder`` is that of a model of a table to open first, if any.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C at the terminal ends the studio, which closes the pipe
    threading.Thread(target=_exit_with_studio, daemon=True).start()
    import_module(LIBRARIES)  # before memory is limited
    _use_one_thread()
    limit_memory(limits.memory)
    try:
        _serve(pipe, limits, folder)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return  # the studio or this session has ended


def _serve(pipe: Connection, limits: Limits, folder: str) -> None:
    from creases.show.studio._controller import Controller

    controller = Controller(
        lambda message: pipe.send(_pack(message)), limits, lambda: pipe.send(("worked", controller.state)), folder
    )
    warming = _warm_up(limits)
    pipe.send(("ready", controller.state))
    while True:
        if controller.state == "running" and not pipe.poll():
            controller.work()
            pipe.send(("worked", controller.state))
        elif controller.state == "idle" and not pipe.poll() and next(warming, "warm") != "warm":
            continue
        else:
            controller.handle(pipe.recv())
            pipe.send(("handled", controller.state))


def _pack(message: dict[str, Any] | bytes | Export) -> tuple[Any, ...]:
    """Return a message for the pipe: its kind and its content."""
    if isinstance(message, Export):
        return "export", *message
    if isinstance(message, bytes):
        return "frame", message
    return "text", json.dumps(message, separators=(",", ":"), allow_nan=False)


def _exit_with_studio() -> None:
    """Exit when the studio ends, also during long work that does not read the pipe."""
    studio = multiprocessing.parent_process()
    if studio is not None:
        wait([studio.sentinel])
        os._exit(1)


def _use_one_thread() -> None:
    """Use one thread: small batches train fastest so."""
    import torch
    from threadpoolctl import threadpool_limits

    torch.set_num_threads(1)
    threadpool_limits(1)


def _warm_up(limits: Limits) -> Iterator[None]:
    """Import, compile and load everything before the first run, from the start of the studio on.

    This is done in parts, between which messages are handled.
    """
    for name in ("scipy.optimize", "sklearn.linear_model", "sklearn.ensemble"):
        import_module(name)
        yield
    from creases.problems import get
    from creases.show.studio._live_run import LiveRun
    from creases.tables import RunSettings

    yield
    live = LiveRun(get("moons", n=20), RunSettings("moons"), limits)
    yield
    live.epoch()
    yield
    live.to_json()
