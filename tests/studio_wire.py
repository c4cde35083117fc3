"""A studio as its own process, and pages that talk with it through the wire."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

#: Seconds that anything is waited for: a busy machine is slow, a broken studio waits for ever.
PATIENCE = 300.0

#: What starts a studio, with limits of its own.
_SERVE = """
import json, sys
from contextlib import suppress
from pathlib import Path
from typing import Any
from creases.show.studio._limits import Limits
from creases.show.studio._server import serve
with suppress(KeyboardInterrupt):
    limits = Limits(**json.loads(sys.argv[1]))
    serve(0, folder=sys.argv[2], browser=False, limits=limits, ready=lambda address: print(address, flush=True))
"""


class Studio:
    """A studio in a process of its own; it opens the model in a folder, if there is one."""

    def __init__(self, folder: Path, run: str = "", **limits: float) -> None:
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "TMPDIR": str(folder)}
        command = [sys.executable, "-c", _SERVE, json.dumps(limits), run]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, cwd=folder
        )
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().strip()
        self.base, self.token = re.fullmatch(r"(http://127\.0\.0\.1:\d+)/\?token=(\S+)", self.address).groups()

    def socket(self, session: str = "", *, token: str | None = None, origin: str | None = None) -> ClientConnection:
        query = f"token={self.token if token is None else token}&session={session}"
        address = f"ws{self.base.removeprefix('http')}/ws?{query}"
        return connect(address, origin=origin or self.base, max_size=None, open_timeout=PATIENCE)

    def get(self, path: str, **more: Any) -> httpx.Response:
        """Ask for a page or a file."""
        return httpx.get(self.base + path, timeout=PATIENCE, **more)

    def workers(self) -> list[int]:
        """Its worker, once it is there."""
        return [number for number in children(self.process.pid) if "spawn_main" in _command(number)]

    def end(self, number: int = signal.SIGINT) -> tuple[int, str]:
        """End it; its exit code, and what it complained of."""
        self.process.send_signal(number)
        _, errors = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, errors


class Page:
    """A page of a studio: a connection, and the session it was given."""

    def __init__(self, studio: Studio, session: str = "") -> None:
        self.wire = studio.socket(session).__enter__()
        first = self.until("session")
        self.session, self.fresh = first["session"], first["fresh"]

    def send(self, do: str, **more: object) -> None:
        self.wire.send(json.dumps({"do": do, **more}))

    def read(self) -> dict | bytes:
        said = self.wire.recv(timeout=PATIENCE)
        return json.loads(said) if isinstance(said, str) else said

    def until(self, kind: str, **wanted: object) -> dict:
        """Read on until a message of this kind with these values."""
        while True:
            said = self.read()
            if isinstance(said, bytes):
                continue
            if said["type"] == kind and wanted.items() <= said.items():
                return said
            assert said["type"] != "error", said

    def closed(self) -> int:
        """Read on until the connection is closed; with which code."""
        with suppress(ConnectionClosed):
            while True:
                self.read()
        return self.wire.close_code

    def frame(self) -> bytes:
        """Read on until a frame."""
        while True:
            said = self.read()
            if isinstance(said, bytes):
                return said


def children(process: int) -> list[int]:
    """Processes that a process has started, and those started by them."""
    own = []
    for file in Path("/proc").glob(f"{process}/task/*/children"):  # any thread may have started them
        with suppress(OSError):
            own += [int(number) for number in file.read_text().split()]
    return [*own, *(one for child in own for one in children(child))]


def _command(process: int) -> str:
    try:
        with open(f"/proc/{process}/cmdline", "rb") as file:
            return file.read().decode()
    except OSError:
        return ""


def gone(processes: list[int]) -> bool:
    """Whether all these processes end."""
    until = time.monotonic() + PATIENCE
    while any(_command(number) for number in processes):
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True
