"""A worker that needs too much memory gets an error, and the page is told which limit it reached."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import torch

from creases.errors import RequestError
from creases.show.studio import _limits as limits
from creases.show.studio._limits import is_out_of_memory, scratch_folder
from creases.show.studio._live_run import LiveRun
from studio_page import MOONS, Page

#: Allocates 50 MB, then 500 MB, with a limit of 200 MB.
_ALLOCATE = """
import runpy, sys
runpy.run_path(sys.argv[1])["limit_memory"](200 * 2**20)
some = bytearray(50 * 2**20)
try:
    more = bytearray(500 * 2**20)
except MemoryError:
    print("refused")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the memory of a process")
def test_a_process_cannot_allocate_more_than_its_limit():
    command = [sys.executable, "-c", _ALLOCATE, limits.__file__]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "refused\n"


def test_errors_of_torch_for_lack_of_memory_are_known():
    with pytest.raises(RuntimeError) as refused:
        torch.empty(2**60)
    assert is_out_of_memory(refused.value)
    assert is_out_of_memory(MemoryError())
    assert not is_out_of_memory(RuntimeError("mat1 and mat2 shapes cannot be multiplied"))


def test_the_page_is_told_which_limit_was_reached(monkeypatch):
    page = Page(memory=3 * 2**29).start(MOONS)

    def fail(live: LiveRun) -> None:
        torch.empty(2**60)

    monkeypatch.setattr(LiveRun, "epoch", fail)
    page.work()
    error = next(message for message in page.said if message.get("type") == "error")
    assert error["message"].startswith("This needs more than 1.5 GB of memory, the limit of a session; use fewer rows")
    assert page.status["state"] == "paused"


# Files of a session are in folders that no kill leaves behind, and a full disk is told in words.


#: Holds a folder until it is killed.
_HOLD = """
import runpy, sys, time
with runpy.run_path(sys.argv[1])["scratch_folder"]() as folder:
    (folder / "growth.gif").write_bytes(b"half")
    print("writing", flush=True)
    time.sleep(60)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs locks of folders")
def test_the_folder_of_a_killed_process_is_removed_by_the_next_and_that_of_a_living_one_stays(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    command = [sys.executable, "-c", _HOLD, limits.__file__]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, "TMPDIR": str(tmp_path)}) as process:
        try:
            assert process.stdout.readline() == b"writing\n"
            with scratch_folder():
                assert len(os.listdir(tmp_path)) == 2
            assert len(os.listdir(tmp_path)) == 1
        finally:
            process.kill()
    with scratch_folder() as folder:
        assert os.listdir(tmp_path) == [folder.name]
    assert os.listdir(tmp_path) == []


def test_a_full_disk_is_told_in_words():
    with pytest.raises(RequestError, match="cannot write the file: No space left on device; free some space"):  # noqa: SIM117
        with scratch_folder():
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.slow
def test_a_full_disk_during_an_export_is_told_at_the_export(ended, monkeypatch):
    def fail(path: Path, content: bytes) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_bytes", fail)
    for what in ("model", "onnx"):
        where, message = ended.refused("export", what=what)
        assert where == "export"
        assert message.startswith("The machine that runs the studio cannot write the file: No space left on device")
