"""The session looks after its worker: told by hand, without processes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable

import pytest

from creases.show.studio import _session
from creases.show.studio._limits import Limits
from creases.show.studio._session import Session, describe_exit


class Worker:
    """Stands in for a worker process."""

    def __init__(self, *_: object) -> None:
        self.silent, self.busy, self.ready, self.killed = 0.0, False, True, False
        self.cause = "stopped unexpectedly"

    def kill(self) -> None:
        self.killed = True

    def wait(self) -> None:
        pass


class Socket:
    """Stands in for the websocket of a page that disconnects at once."""

    def __init__(self) -> None:
        self.sent: list[dict] = []

    async def send_text(self, text: str) -> None:
        self.sent.append(json.loads(text))

    async def receive(self) -> dict:
        return {"type": "websocket.disconnect"}


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> Session:
    """A session with a worker and a page that has a run."""
    monkeypatch.setattr(_session, "Worker", Worker)
    made = Session(Limits())
    made._worker, made._page = Worker(), Socket()
    asyncio.run(made._receive(("text", '{"type":"run","run":{}}')))
    made._page.sent.clear()
    return made


def told(session: Session, do: Callable[..., Awaitable[None]], *arguments: object) -> list[dict]:
    """What the page is told when something is done."""
    session._page.sent.clear()
    asyncio.run(do(*arguments))
    return list(session._page.sent)


def test_a_page_is_told_of_work_that_takes_long(session, monkeypatch):
    monkeypatch.setattr(_session, "Worker", lambda *_: working)
    working = Worker()
    working.silent = 45.5

    async def watch() -> None:
        task = asyncio.create_task(session.run())
        await asyncio.sleep(1.2)
        task.cancel()
        await asyncio.wait([task])

    assert told(session, watch) == [{"type": "working", "seconds": 45}]
    assert working.killed  # with the studio


def test_a_page_may_stop_a_busy_worker_and_gets_another(session):
    worker = session._worker
    worker.busy = True
    error, status = told(session, session._stop)
    assert worker.killed
    assert session._worker is not worker
    assert error["message"] == "Stopped. The run was lost. Press Start for a new run."
    assert status == {"type": "status", "state": "idle"}


def test_there_is_nothing_to_stop_in_an_idle_session(session):
    assert told(session, session._stop) == []
    assert not session._worker.killed


def test_a_page_is_told_why_its_process_ended(session):
    session._worker.cause = describe_exit(-9)
    error, status = told(session, session._receive, None)
    assert error["message"].startswith("The process of this session was killed, possibly by the system")
    assert "Its run was lost" in error["message"]
    assert status["state"] == "idle"


def test_a_process_that_could_not_start_is_not_started_over_and_over(session):
    session._worker.ready = False
    asyncio.run(session._receive(None))
    assert session._worker is None  # until the page asks for something


def test_exports_are_offered_and_only_the_last_are_kept(session):
    offers = []
    for number in range(12):
        offers += told(session, session._receive, ("export", f"{number} ä.py", "text/x-python", b"..."))
    assert offers[-1]["name"] == "11 ä.py"
    assert offers[-1]["url"].endswith("/11%20%C3%A4.py")
    files = [session.download(offer["url"].split("/")[1]) for offer in offers]
    assert files[:4] == [None] * 4
    assert [file.name for file in files[4:]] == [f"{number} ä.py" for number in range(4, 12)]


def test_an_export_that_finished_while_the_connection_was_lost_is_offered_again_until_it_is_downloaded():
    made = Session(Limits())
    asyncio.run(made._receive(("export", "run.gif", "image/gif", b"GIF")))

    def offers() -> list[dict]:
        socket = Socket()
        asyncio.run(made.serve(socket))
        return [message for message in socket.sent if message["type"] == "exported"]

    (offer,) = offers()
    assert offers() == [offer]
    assert made.download(offer["url"].split("/")[1]).content == b"GIF"
    assert offers() == []
