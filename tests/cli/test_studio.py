"""``creases studio`` at the terminal: an address, an end, and what it says where it cannot begin."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from studio_wire import PATIENCE, children, gone


def start(folder: Path) -> subprocess.Popen[str]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TMPDIR": str(folder)}
    command = [sys.executable, "-m", "creases", "studio", "--no-browser", "--port", "0"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, cwd=folder, env=environment, **pipes)


@pytest.mark.slow
def test_the_studio_says_where_it_is_and_an_interrupt_ends_it_and_its_workers(tmp_path):
    studio = start(tmp_path)
    assert "creases studio is running at http://127.0.0.1:" in studio.stdout.readline()
    while len(found := children(studio.pid)) < 2:
        time.sleep(0.05)
    studio.send_signal(signal.SIGINT)
    _, errors = studio.communicate(timeout=PATIENCE)
    assert studio.returncode == 0
    assert errors.splitlines() == ["Press Ctrl-C to stop.", "Stopped. Start again with: creases studio"]
    assert gone(found)
    assert not any(path.is_file() for path in tmp_path.rglob("*"))


def test_a_port_that_is_taken_is_refused(run):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        result = run("studio", "--no-browser", "--port", port)
    assert result.exit_code == 2
    assert f"--port must be usable, got {port}" in result.stderr
    assert "choose another one, or none for a free one" in result.stderr


def test_a_folder_with_a_damaged_model_is_refused_before_a_page_is_opened(run, tmp_path):
    (tmp_path / "table.csv").write_text("a,y\n" + "".join(f"{i},{2 * i}\n" for i in range(40)))
    assert run("fit", tmp_path / "table.csv", "--target", "y", "--out", tmp_path / "run").exit_code == 0
    (tmp_path / "run" / "model.json").write_text("{")
    result = run("studio", tmp_path / "run", "--no-browser", "--port", 0)
    assert result.exit_code == 2
    assert "model.json is damaged" in result.stderr


def test_without_its_packages_the_studio_says_what_to_install(run, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("creases.show.studio")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    result = run("studio")
    assert result.exit_code == 2
    assert "the studio needs uvicorn: pip install 'creases[studio]'" in result.stderr
