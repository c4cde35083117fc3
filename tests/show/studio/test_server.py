"""The studio over the wire: who may come in, and what it survives."""

from __future__ import annotations

import os
import signal
import socket
import time
from contextlib import ExitStack, suppress
from urllib.parse import urlsplit

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

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


@pytest.mark.thorough
def test_a_page_that_comes_back_finds_its_run_further_on_and_the_newest_page_has_it(studio: Studio):
    page = Page(studio)
    page.send("start", problem=MOONS, **ENDLESS)
    page.until("status", state="running")
    before = page.until("changes")["epochs"][1]["epoch"][-1]
    last, until = before, time.monotonic() + PATIENCE
    back = page
    while last <= before:  # the run goes on while no page is there
        assert time.monotonic() < until
        back.wire.close()
        back = Page(studio)
        assert (back.session, back.fresh) == (page.session, False)
        run = back.until("run")["run"]
        last = run["epochs"]["epoch"][-1]
    assert run["moments"][0]["kind"] == "start"
    assert back.until("status")["state"] == "running"
    again = Page(studio)
    assert back.closed() == 4409
    again.send("pause")
    again.until("status", state="paused")
    again.send("problem", problem={"kind": "formula", "formula": "nonsense("})
    error: dict | bytes = b""
    while isinstance(error, bytes) or error["type"] != "error":
        error = again.read()
    assert error["where"] == "problem"
    again.send("export", what="code")
    offer = again.until("exported")
    answer = studio.get(f"/{offer['url']}")
    assert answer.headers["content-disposition"].startswith("attachment; filename*=UTF-8")
    assert "problems.get('moons')" in answer.text
    again.wire.close()


@pytest.mark.thorough
def test_work_can_be_stopped_and_another_run_begins(studio: Studio):
    page = Page(studio)
    page.send("start", problem=MOONS, **ENDLESS)
    page.until("status", state="running")
    (worker,) = studio.workers()
    page.wire.send('{"do":"stop"}')
    said: dict | bytes = b""
    while isinstance(said, bytes) or said["type"] != "error":
        said = page.read()
    assert said["message"] == "Stopped. The run was lost. Press Start for a new run."
    assert gone([worker])
    page.send("start", problem=CIRCLE, epochs=3)
    page.until("status", state="ended")
    page.wire.close()


@pytest.mark.thorough
def test_a_killed_worker_is_told_of_in_place_and_the_session_begins_anew(studio: Studio):
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


@pytest.mark.slow
def test_connections_without_a_request_are_bounded_and_the_page_lives_on(tmp_path):
    studio = Studio(tmp_path, connections=30)
    page = Page(studio)
    address = urlsplit(studio.base)
    with ExitStack() as open_now:
        for _ in range(100):
            one = open_now.enter_context(socket.create_connection((address.hostname, address.port), timeout=PATIENCE))
            one.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1")
        assert studio.get("/").status_code == 503  # while they are held
        page.send("start", problem=CIRCLE, epochs=3)
        page.until("status", state="ended")
    until = time.monotonic() + PATIENCE
    while studio.get("/").status_code != 200:
        assert time.monotonic() < until
    assert studio.end()[0] == 0


def test_a_head_that_does_not_end_is_refused(studio: Studio):
    address = urlsplit(studio.base)
    with socket.create_connection((address.hostname, address.port), timeout=PATIENCE) as one:
        with suppress(OSError):
            one.sendall(b"GET / HTTP/1.1\r\nHost: " + b"x" * 2**20)
        with suppress(ConnectionResetError):
            assert b"400" in one.recv(100)
    assert studio.get("/").status_code == 200


def test_a_message_that_is_too_large_is_refused_with_words_when_the_page_is_back(studio: Studio):
    page = Page(studio)
    huge = {"kind": "csv", "name": "huge.csv", "text": "1,2\n" * 25_000_000, "target": ""}  # 100 MB
    with suppress(ConnectionClosed):
        page.send("problem", problem=huge)
    assert page.closed() in (1009, 1006)  # the second: it was closed before all was sent
    back = Page(studio)
    assert back.session == page.session
    error = back.until("error")
    assert error["where"] == "problem"
    assert error["message"].startswith("Messages must be at most 1 MB")
    back.wire.close()


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
