import os

import pytest

from creases._files import write_atomically
from creases.errors import FileError


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
