"""A session's own process: a desk at the end of a pipe. It ends when the pipe, or the studio, does."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from multiprocessing.connection import Connection, wait
from typing import Any

from creases.show.studio._desk import Desk
from creases.show.studio._exports import Export
from creases.show.studio._limits import Limits


def main(pipe: Connection, limits: Limits) -> None:
    """Serve one session: handle what comes through the pipe, train while there is nothing."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C at the terminal is the studio's: it ends the pipe
    threading.Thread(target=_end_with_the_studio, daemon=True).start()
    _one_thread()
    try:
        _serve(pipe, limits)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return  # the studio has gone, or has done with this session


def _serve(pipe: Connection, limits: Limits) -> None:
    desk = Desk(lambda said: pipe.send(_packed(said)), limits, lambda: pipe.send(("worked", desk.state)))
    warming, asked = _warm_up(limits), False
    pipe.send(("ready", desk.state))
    while True:
        if desk.state == "running" and not pipe.poll():
            desk.work()
            pipe.send(("worked", desk.state))
        elif asked and desk.state == "idle" and not pipe.poll() and next(warming, "warm") != "warm":
            continue
        else:
            desk.handle(pipe.recv())
            pipe.send(("handled", desk.state))
            asked = True


def _packed(said: dict[str, Any] | bytes | Export) -> tuple[Any, ...]:
    """What goes through the pipe: its kind, and what it is."""
    if isinstance(said, Export):
        return "export", *said
    if isinstance(said, bytes):
        return "frame", said
    return "text", json.dumps(said, separators=(",", ":"), allow_nan=False)


def _end_with_the_studio() -> None:
    """Also in the middle of long work, when the pipe is not looked at."""
    studio = multiprocessing.parent_process()
    if studio is not None:
        wait([studio.sentinel])
        os._exit(1)


def _one_thread() -> None:
    """Small batches are trained quickest on one thread, and other sessions have theirs."""
    import torch
    from threadpoolctl import threadpool_limits

    torch.set_num_threads(1)
    threadpool_limits(1)


def _warm_up(limits: Limits) -> Iterator[None]:
    """What is imported, compiled or loaded once should not hold up the first run: after the page shows its problem.

    In pieces, between which the page is heard.
    """
    from creases import problems
    from creases.growth.experiment import Settings
    from creases.show.studio._live import Live

    yield
    live = Live(problems.get("moons", n=20), Settings("moons"), limits)
    yield
    live.epoch()
    yield
    live.whole()
