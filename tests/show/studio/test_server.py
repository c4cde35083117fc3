"""The studio over the wire: who may come in, and that nothing one session does is felt by another."""

from __future__ import annotations

import json
import os
import signal
import socket
import time
from contextlib import ExitStack, suppress
from urllib.parse import urlsplit

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from creases.show.studio._controller import Controller
from creases.show.studio._limits import Limits
from studio_wire import PATIENCE, Page, Studio, gone

MOONS = {"kind": "builtin", "name": "moons"}
CIRCLE = {"kind": "builtin", "name": "circle"}
ENDLESS = {"how": "random", "when": "1000", "epochs": 20_000}  # a run that is not about to end


@pytest.mark.slow
def test_the_page_comes_with_strict_headers_and_loads_nothing_from_elsewhere(studio: Studio):
    for path in ("/", f"/?token={studio.token}", "/studio.js", "/studio.css"):
        answer = studio.get(path)
        assert answer.status_code == 200
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-cache"
        assert "://" not in answer.text.replace("http://www.w3.org", "") or path == "/studio.js"


def test_what_is_not_there_is_not_found_and_nothing_above_the_folder_is_served(studio: Studio):
    for path in ("/nothing", "/../frames.py", "/%2e%2e/frames.py", "/export/x/y"):
        assert studio.get(path).status_code == 404


@pytest.mark.parametrize(
    ("query", "headers"),
    [
        ("?token=wrong", {}),
        ("", {"Host": "evil.example"}),
        ("", {"Host": "127.0.0.1.evil.example:80"}),
        ("", {"Origin": "http://evil.example"}),
        ("", {"Origin": "null"}),
        ("", {"Origin": "http://127.0.0.1:1"}),
    ],
)
def test_a_wrong_token_host_or_origin_is_forbidden(studio: Studio, query, headers):
    assert studio.get("/" + query, headers=headers).status_code == 403


def test_a_connection_with_a_wrong_token_is_closed_with_a_code_of_its_own(studio: Studio):
    for token in ("", "wrong", studio.token + "x"):
        with studio.socket(token=token) as wire:
            with pytest.raises(ConnectionClosed):
                wire.recv(timeout=PATIENCE)
            assert wire.close_code == 4403


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1", "https://127.0.0.1"])
def test_a_connection_from_another_page_is_forbidden(studio: Studio, origin):
    with pytest.raises(InvalidStatus) as refused:
        studio.socket(origin=origin)
    assert refused.value.response.status_code == 403


def test_a_connection_that_does_not_say_where_it_comes_from_is_forbidden(studio: Studio):
    with pytest.raises(InvalidStatus):
        connect(f"ws{studio.base.removeprefix('http')}/ws?token={studio.token}")


def losses(problem, seed: int) -> list[float]:
    """Those of a run alone, in this process."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    said: list = []
    controller = Controller(said.append, Limits())
    controller.handle(json.dumps({"do": "start", "problem": problem, "seed": seed, "epochs": 40, "when": "12"}))
    while controller.state == "running":
        controller.work()
    torch.set_num_threads(threads)
    return [loss for one in said if "epochs" in one for loss in one["epochs"]["loss"]]


@pytest.mark.thorough
@pytest.mark.slow
def test_two_sessions_at_once_do_not_disturb_each_other(studio: Studio):
    pages = {1: (Page(studio), MOONS), 2: (Page(studio), CIRCLE)}
    assert pages[1][0].session != pages[2][0].session
    for seed, (page, problem) in pages.items():
        page.send("start", problem=problem, seed=seed, epochs=40, when="12")
    for seed, (page, problem) in pages.items():
        found: list[float] = []
        while True:
            said = page.read()
            found += said["epochs"]["loss"] if said["type"] == "changes" and "epochs" in said else []
            assert said["type"] != "error"
            if said.get("state") == "ended":
                break
        assert found == losses(problem, seed)
        page.send("frame", moment=0, slice=0)
        assert page.frame()[:4] == b"CRZ1"
    one, other = (page for page, _ in pages.values())
    one.send("problem", problem={"kind": "formula", "formula": "nonsense("})
    assert one.until("error")["where"] == "problem"
    other.send("export", what="code")
    offer = other.until("exported")
    answer = studio.get(f"/{offer['url']}")
    assert answer.headers["content-disposition"] == "attachment; filename*=UTF-8''circle.py"
    assert "problems.get('circle')" in answer.text
    for page, _ in pages.values():
        page.wire.close()


@pytest.mark.thorough
@pytest.mark.slow
def test_a_page_that_comes_back_finds_its_run_further_on_and_one_that_does_not_is_let_go(studio: Studio):
    assert alone(studio)
    page = Page(studio)
    page.send("start", problem=MOONS, **ENDLESS)
    page.until("status", state="running")
    before = page.until("changes")["epochs"]["epoch"][-1]
    last, until = before, time.monotonic() + PATIENCE
    back = page
    while last <= before:  # the run goes on while no page is there
        assert time.monotonic() < until
        back.wire.close()
        back = Page(studio, page.session)
        assert (back.session, back.fresh) == (page.session, False)
        run = back.until("run")["run"]
        last = run["epochs"]["epoch"][-1]
    assert run["moments"][0]["kind"] == "start"
    assert back.until("status")["state"] == "running"
    again = Page(studio, page.session)  # the same session in another tab: the newest has it
    assert back.closed() == 4409
    again.send("pause")
    again.until("status", state="paused")
    (worker,) = studio.workers()
    again.wire.close()
    assert alone(studio), worker
    fresh = Page(studio, page.session)
    assert fresh.fresh
    assert fresh.session != page.session
    fresh.wire.close()


def alone(studio: Studio) -> bool:
    """Whether all workers end within a while, those of pages that were left included."""
    until = time.monotonic() + PATIENCE
    while studio.workers() and time.monotonic() < until:
        time.sleep(0.1)
    return not studio.workers()


@pytest.mark.thorough
def test_a_killed_worker_is_told_of_in_place_and_the_session_begins_anew(studio: Studio):
    assert alone(studio)
    page = Page(studio)
    page.send("start", problem=MOONS, **ENDLESS)
    page.until("status", state="running")
    (worker,) = studio.workers()
    os.kill(worker, signal.SIGKILL)
    error = page.until("error")
    assert error["where"] == "run"
    assert "was killed, possibly by the system because memory ran out" in error["message"]
    assert page.until("status")["state"] == "idle"
    page.send("start", problem=CIRCLE, epochs=3)
    page.until("status", state="ended")
    page.wire.close()


@pytest.mark.thorough
@pytest.mark.slow
def test_a_killed_fork_server_is_replaced_and_costs_no_run(tmp_path):
    studio = Studio(tmp_path)
    page = Page(studio)
    os.kill(studio.fork_server(), signal.SIGKILL)  # most likely before it is ready
    page.send("start", problem=MOONS, **ENDLESS)
    reach(page, "running")
    os.kill(studio.fork_server(), signal.SIGKILL)
    page.send("pause")
    page.until("status", state="paused")
    other = Page(studio)
    other.send("start", problem=CIRCLE, epochs=3)
    reach(other, "ended")
    assert studio.end() == (0, "")


def reach(page: Page, state: str) -> None:
    """Read on until a state; a page may be told that its process is started again."""
    said: dict | bytes = b""
    while isinstance(said, bytes) or said.get("state") != state:
        said = page.read()
        assert isinstance(said, bytes) or said["type"] != "error" or "Starting it again" in said["message"]


@pytest.mark.slow
def test_connections_without_a_whole_request_are_closed_after_a_few_seconds(studio: Studio):
    address = urlsplit(studio.base)
    with ExitStack() as open_now:
        silent, half, slow = (
            open_now.enter_context(socket.create_connection((address.hostname, address.port), timeout=PATIENCE))
            for _ in range(3)
        )
        half.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1")
        until = time.monotonic() + PATIENCE
        with suppress(OSError):
            while time.monotonic() < until:  # a byte now and then does not help
                slow.sendall(b"G")
                time.sleep(0.2)
        assert time.monotonic() < until
        for one in (silent, half):
            assert one.recv(100) == b""
    assert studio.get("/").status_code == 200


def test_a_message_that_is_too_large_is_refused_with_words_when_the_page_is_back(studio: Studio):
    page = Page(studio)
    huge = {"kind": "csv", "name": "huge.csv", "text": "1,2\n" * 25_000_000, "target": ""}  # 100 MB
    with suppress(ConnectionClosed):
        page.send("problem", problem=huge)
    assert page.closed() in (1009, 1006)  # the second: it was closed before all was sent
    back = Page(studio, page.session)
    assert back.session == page.session
    error = back.until("error")
    assert error["where"] == "problem"
    assert error["message"].startswith("Messages must be at most 1 MB")
    back.wire.close()


@pytest.mark.slow
def test_more_pages_than_the_studio_takes_are_told_so(studio: Studio):
    assert alone(studio)
    pages = [Page(studio) for _ in range(4)]
    with studio.socket() as wire:
        said = json.loads(wire.recv(timeout=PATIENCE))
        assert said["type"] == "error"
        assert said["message"].startswith("4 pages are open")
        with pytest.raises(ConnectionClosed):
            wire.recv(timeout=PATIENCE)
        assert wire.close_code == 4429
    for page in pages:
        page.wire.close()


@pytest.mark.thorough
def test_a_killed_studio_leaves_no_worker_and_no_file(tmp_path):
    studio = Studio(tmp_path)
    page = Page(studio)
    page.send("start", problem=CIRCLE, **ENDLESS)
    page.until("status", state="running")
    workers = studio.workers()
    assert len(workers) == 1
    assert studio.end(signal.SIGKILL)[0] == -signal.SIGKILL
    assert gone(workers)
    assert not any(path.is_file() for path in tmp_path.rglob("*"))
    assert page.closed() == 1006
