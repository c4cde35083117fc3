import errno
import os
import signal
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import numpy as np
import pytest

from creases._files import open_npz, parse_json, read_npy_header, write_atomically
from creases.cli._arguments import read_npy
from creases.errors import FileError

#: Writes a file and waits in the middle of it.
_WRITE = """
import signal, sys, time
from creases._files import write_atomically
signal.signal(signal.SIGINT, signal.default_int_handler)  # where the tests run in the background it is ignored
with write_atomically(sys.argv[1]) as temporary:
    temporary.write_text("half")
    print("writing", flush=True)
    time.sleep(60)
"""


def test_a_file_appears_under_its_name_with_the_usual_rights(tmp_path):
    with write_atomically(tmp_path / "a.txt") as temporary:
        temporary.write_text("new")
        assert temporary.suffix == ".txt"
        assert not (tmp_path / "a.txt").exists()
    assert (tmp_path / "a.txt").read_text() == "new"
    (tmp_path / "b.txt").touch()
    assert (tmp_path / "a.txt").stat().st_mode == (tmp_path / "b.txt").stat().st_mode


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_interrupted_write_leaves_the_old_file_and_nothing_else(tmp_path, error):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(error), write_atomically(path) as temporary:  # noqa: PT012
        temporary.write_text("half")
        raise error
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_missing_folder_is_named(tmp_path):
    with (
        pytest.raises(FileError, match=r"there is no folder .*nowhere; create it first"),
        write_atomically(tmp_path / "nowhere/a"),
    ):
        pass


def test_a_folder_is_not_overwritten(tmp_path):
    with pytest.raises(FileError, match="it is a folder"), write_atomically(tmp_path):
        pass


def test_the_next_write_removes_what_a_killed_one_left_and_nothing_of_a_living_one(tmp_path):
    path = tmp_path / "a.txt"
    writers = [subprocess.Popen([sys.executable, "-c", _WRITE, path], stdout=subprocess.PIPE) for _ in range(2)]
    try:
        for writer in writers:
            assert writer.stdout.readline() == b"writing\n"
        assert len(os.listdir(tmp_path)) == 2
        writers[0].kill()
        writers[0].wait()
        with write_atomically(path) as temporary:
            temporary.write_text("new")
        assert path.read_text() == "new"
        (left,) = set(os.listdir(tmp_path)) - {"a.txt"}
        assert (tmp_path / left).read_text() == "half"
        writers[1].send_signal(signal.SIGINT)  # a write that is interrupted cleans up itself
        writers[1].wait()
        assert os.listdir(tmp_path) == ["a.txt"]
    finally:
        for writer in writers:
            writer.kill()
            writer.communicate()


def test_what_several_killed_writers_left_is_removed_without_listing_the_folder(tmp_path, monkeypatch):
    for number in (0, 2, 5):
        (tmp_path / f".a-{number:08}.txt").write_text("half")

    def refuse(*arguments):
        raise AssertionError("the folder is listed")

    with monkeypatch.context() as patch:
        for name in ("scandir", "listdir"):
            patch.setattr(os, name, refuse)
        with write_atomically(tmp_path / "a.txt") as temporary:
            temporary.write_text("new")
    assert os.listdir(tmp_path) == ["a.txt"]


def test_many_writers_of_one_file_do_not_disturb_each_other(tmp_path):
    with ExitStack() as stack:
        temporaries = [stack.enter_context(write_atomically(tmp_path / "a.txt")) for _ in range(20)]
        assert len(set(temporaries)) == 20
        for number, temporary in enumerate(temporaries):
            temporary.write_text(str(number))
    assert (tmp_path / "a.txt").read_text() == "0"  # the last to end is the first that began
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.slow
def test_writes_at_the_same_time_all_succeed(tmp_path):
    def write(number):
        for _ in range(200):
            with write_atomically(tmp_path / "a.txt") as temporary:
                temporary.write_text(str(number))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(8)))
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_full_disk_is_named_with_the_file_and_leaves_the_old_one(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    words = r"cannot write .*a\.txt: No space left on device; free some space"
    with pytest.raises(FileError, match=words), write_atomically(path) as temporary:  # noqa: PT012
        temporary.write_text("half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_an_encrypted_array_is_refused(tmp_path):
    path = tmp_path / "arrays.npz"
    np.savez(path, x=np.ones(3))
    content = bytearray(path.read_bytes())
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(signature) + offset] |= 1  # the flag of encryption
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"x\.npy is encrypted"), open_npz(path):
        pass


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_an_array_in_a_compression_that_numpy_does_not_write_is_refused(tmp_path, method):
    np.save(tmp_path / "x.npy", np.ones(3))
    with zipfile.ZipFile(tmp_path / "arrays.npz", "w", method) as archive:
        archive.write(tmp_path / "x.npy", "x.npy")
    words = r"x\.npy is compressed in a way that numpy does not write"
    with pytest.raises(ValueError, match=words), open_npz(tmp_path / "arrays.npz"):
        pass


def test_an_array_that_claims_more_than_its_file_holds_is_refused(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, np.arange(6.0).reshape(2, 3))
    assert read_npy_header(path) == ((2, 3), np.dtype(float))
    np.testing.assert_array_equal(read_npy(path, "x"), [[0, 1, 2], [3, 4, 5]])
    intact = path.read_bytes()
    damaged = [intact[:-1], intact[:20], b"", intact.replace(b"(2, 3), }         ", b"(2, 99999999999), }"[:18], 1)]
    for content in damaged:
        path.write_bytes(content)
        with pytest.raises(FileError, match=r"cannot read .*x\.npy as an \.npy file of numbers: ."):
            read_npy(path, "x")


def test_json_of_endless_brackets_raises_a_value_error():
    assert parse_json('{"a": [1]}') == {"a": [1]}
    with pytest.raises(ValueError, match="nested too deeply"):
        parse_json("[" * 100_000)
