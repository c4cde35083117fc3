"""Sessions look after their workers: told by hand, without processes."""

from __future__ import annotations

import asyncio
import json
import time

import pytest

from creases.show.studio._limits import Limits
from creases.show.studio._sessions import Session


class Worker:
    """Stands in for a worker process."""

    def __init__(self, *, silent: float = 0.0, busy: bool = False) -> None:
        self.silent, self.busy, self.ended = silent, busy, False
        self.receive = lambda message: None

    def end(self) -> None:
        self.ended = True


def session(worker: Worker) -> tuple[Session, asyncio.Queue]:
    """A session with a page that hears what it is told."""
    made = Session(Limits())
    made.use(worker)
    made._page = asyncio.Queue()
    worker.receive(("text", '{"type":"run","run":{}}'))
    assert made._page.get_nowait()
    return made, made._page


def told(page: asyncio.Queue) -> list[dict]:
    return [json.loads(page.get_nowait()) for _ in range(page.qsize())]


@pytest.mark.parametrize(
    ("worker", "later", "words"),
    [
        (Worker(silent=121.0, busy=True), 0.0, "took longer than 120 seconds"),
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
    for number in range(12):
        worker.receive(("export", f"{number} ä.py", "text/x-python", b"..."))
    offers = told(page)
    assert offers[-1]["name"] == "11 ä.py"
    assert offers[-1]["url"].endswith("/11%20%C3%A4.py")
    assert [export.name for export in made.exports.values()] == [f"{number} ä.py" for number in range(4, 12)]


def test_a_page_that_does_not_keep_up_is_let_go():
    worker = Worker()
    _, page = session(worker)
    for _ in range(1002):
        worker.receive(("text", "{}"))
    assert [page.get_nowait() for _ in range(1002)][-1] == 1013
