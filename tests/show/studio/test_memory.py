"""A worker that needs too much memory gets an error, and the page is told which limit it reached."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch

from creases.show.studio import _limits as _memory
from creases.show.studio._limits import is_out_of_memory
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
    command = [sys.executable, "-c", _ALLOCATE, _memory.__file__]
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
