"""Files of a session are in folders that no kill leaves behind, and a full disk is told in words."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from creases.errors import RequestError
from creases.show.studio import _limits as _scratch
from creases.show.studio._limits import scratch_folder

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
    command = [sys.executable, "-c", _HOLD, _scratch.__file__]
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
