"""Sessions look after their workers: told by hand, without processes."""

from __future__ import annotations

import asyncio
import json
import time

import pytest

from creases.show.studio._limits import Limits
from creases.show.studio._outbox import Outbox
from creases.show.studio._sessions import Session


class Worker:
    """Stands in for a worker process."""

    def __init__(self, *, silent: float = 0.0, busy: bool = False) -> None:
        self.silent, self.busy, self.ended, self.cause = silent, busy, False, "stopped unexpectedly"
        self.receive = lambda message: None

    def end(self) -> None:
        self.ended = True


def session(worker: Worker) -> tuple[Session, Outbox]:
    """A session with a page that hears what it is told."""
    made = Session(Limits())
    made.use(worker)
    made._page = Outbox(1000)
    worker.receive(("text", '{"type":"run","run":{}}'))
    assert made._page.get_nowait()
    return made, made._page


def told(page: Outbox) -> list[dict]:
    return [json.loads(page.get_nowait()) for _ in range(page.qsize())]


@pytest.mark.parametrize(
    ("worker", "later", "words"),
    [
        (Worker(silent=3601.0, busy=True), 0.0, "took longer than 60 minutes"),
        (Worker(), 3601.0, "The run was stopped after 60 minutes of inactivity"),
    ],
)
def test_a_worker_that_is_stuck_or_idle_is_ended_and_the_page_told(worker, later, words):
    made, page = session(worker)
    assert made.check(time.monotonic() + later)
    assert worker.ended
    error, status = told(page)
    assert error["where"] == "run"
    assert words in error["message"]
    assert status == {"type": "status", "state": "idle"}


def test_a_worker_that_works_is_left_alone_also_when_nobody_speaks_for_long():
    worker = Worker(silent=1.0, busy=True)
    made, page = session(worker)
    assert made.check(time.monotonic() + 10_000)
    assert not worker.ended
    assert told(page) == []


def test_a_page_is_told_of_work_that_takes_long_and_may_stop_it():
    worker = Worker(silent=45.5, busy=True)
    made, page = session(worker)
    assert made.check(time.monotonic())
    assert told(page) == [{"type": "working", "seconds": 45}]
    assert not worker.ended
    made._stop()
    assert worker.ended
    error, status = told(page)
    assert error["message"] == "Stopped. The run was lost. Press Start for a new run."
    assert status == {"type": "status", "state": "idle"}


def test_there_is_nothing_to_stop_in_an_idle_session():
    worker = Worker()
    made, page = session(worker)
    made._stop()
    assert not worker.ended
    assert told(page) == []


def test_a_session_whose_page_stays_away_ends():
    worker = Worker(busy=True)
    made, _ = session(worker)
    made._page = None
    assert made.check(made.disconnected_at + 59)
    assert not made.check(made.disconnected_at + 61)
    assert worker.ended


def test_exports_are_offered_and_only_the_last_are_kept():
    worker = Worker()
    made, page = session(worker)
    offers = []
    for number in range(12):
        worker.receive(("export", f"{number} ä.py", "text/x-python", b"..."))
        (*_, offer) = told(page)
        offers.append(offer)
    assert offers[-1]["name"] == "11 ä.py"
    assert offers[-1]["url"].endswith("/11%20%C3%A4.py")
    numbers = [offer["url"].split("/")[1] for offer in offers]
    files = [made.download(number) for number in numbers]
    assert files[:4] == [None] * 4
    assert [file.name for file in files[4:]] == [f"{number} ä.py" for number in range(4, 12)]


class Socket:
    """Stands in for the websocket of a page that disconnects at once."""

    def __init__(self) -> None:
        self.sent: list[dict] = []

    async def send_text(self, text: str) -> None:
        self.sent.append(json.loads(text))

    async def receive(self) -> dict:
        for _ in range(10):
            await asyncio.sleep(0)  # lets the queued messages go out
        return {"type": "websocket.disconnect"}


def test_an_export_that_finished_while_the_connection_was_lost_is_offered_again_until_it_is_downloaded():
    made = Session(Limits())
    worker = Worker()
    made.use(worker)
    worker.receive(("export", "run.gif", "image/gif", b"GIF"))

    def offers() -> list[dict]:
        socket = Socket()
        asyncio.run(made.serve(socket))
        return [message for message in socket.sent if message["type"] == "exported"]

    (offer,) = offers()
    assert offers() == [offer]
    assert made.download(offer["url"].split("/")[1]).content == b"GIF"
    assert offers() == []


def test_a_page_is_told_why_its_process_ended_and_that_one_is_started_again():
    worker = Worker()
    _, page = session(worker)
    worker.receive(("restarting",))
    (error,) = told(page)
    assert error["message"].startswith("The process of this session ended before it was ready.")
    worker.cause = "was killed, possibly by the system because memory ran out"
    worker.receive(None)
    error, status = told(page)
    assert error["message"].startswith("The process of this session was killed, possibly by the system")
    assert "Its run was lost" in error["message"]
    assert status["state"] == "idle"
