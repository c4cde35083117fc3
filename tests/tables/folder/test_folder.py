"""A run's folder: one process at a time, and nothing left of writes that were cut off."""

from __future__ import annotations

import subprocess
import sys

import pytest

from creases.errors import FileError, InputError
from creases.tables import lock_folder

HOLD = """import sys, filelock
lock = filelock.FileLock(sys.argv[1])
lock.acquire()
print("held", flush=True)
sys.stdin.read()"""


def test_a_second_process_is_told_at_once(tmp_path):
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path / "lock")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        with (
            pytest.raises(InputError, match=r"folder must not be in use, got .*, which another process is using; wait"),
            lock_folder(tmp_path),
        ):
            pass
        other.kill()
        other.wait()
    with lock_folder(tmp_path):  # the system released the lock of the process that was killed
        pass


def test_what_interrupted_writes_left_is_removed(tmp_path):
    litter = [".growth-a1b2c3_z.png", ".model-abcdefgh.safetensors", ".checkpoint-abcdefgh.pt"]
    other = ["growth.png", ".notes-abcdefgh.txt", ".growth-short.png", "data.csv"]
    for name in (*litter, *other):
        (tmp_path / name).touch()
    with lock_folder(tmp_path):
        assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*other, "lock"])
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(other)


def test_a_missing_folder_is_made_and_a_file_is_refused(tmp_path):
    with lock_folder(tmp_path / "a" / "b"):
        assert (tmp_path / "a" / "b").is_dir()
    (tmp_path / "file").touch()
    with pytest.raises(FileError, match="is a file"), lock_folder(tmp_path / "file"):
        pass
