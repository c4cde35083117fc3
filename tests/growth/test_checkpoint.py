"""A run in a file: the same network comes back, and other files are refused."""

from __future__ import annotations

import pytest
import torch

from creases.errors import FileError, InputError
from creases.growth import _checkpoint as checkpoint
from creases.growth._checkpoint import ModelState, resize
from growth_runs import classes, mlp


def test_a_write_that_fails_leaves_the_last_file_whole(tmp_path):
    checkpoint.save_checkpoint(tmp_path / "run.pt", {"steps": 1})
    with pytest.raises(AttributeError, match="local object"):
        checkpoint.save_checkpoint(tmp_path / "run.pt", {"steps": lambda: 2})
    assert checkpoint.load_checkpoint(tmp_path / "run.pt") == {"steps": 1}
    assert [path.name for path in tmp_path.iterdir()] == ["run.pt"]


class Trap:
    def __reduce__(self):
        return (print, ("this must not run",))


def test_nothing_in_a_file_is_run(tmp_path, capsys):
    torch.save({"creases-checkpoint": 1, "trap": Trap()}, tmp_path / "run.pt")
    with pytest.raises(FileError, match=r"cannot read .*run\.pt as a checkpoint"):
        checkpoint.load_checkpoint(tmp_path / "run.pt")
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("content", [b"", b"not a checkpoint", b"PK\x03\x04 broken"])
def test_other_files_are_refused_by_name(tmp_path, content):
    (tmp_path / "run.pt").write_bytes(content)
    with pytest.raises(FileError, match=r"cannot read .*run\.pt as a checkpoint"):
        checkpoint.load_checkpoint(tmp_path / "run.pt")


@pytest.mark.parametrize("content", [{"creases-checkpoint": 99}, {"steps": 1}, [1, 2]])
def test_files_of_torch_that_are_no_checkpoints_are_refused(tmp_path, content):
    torch.save(content, tmp_path / "run.pt")
    with pytest.raises(FileError, match="is not a checkpoint of a growth run of this version"):
        checkpoint.load_checkpoint(tmp_path / "run.pt")


def test_the_checkpoint_of_another_model_is_refused():
    x, _ = classes(4)
    with pytest.raises(InputError, match="checkpoint must come from the same model, got one that grew 'gone'"):
        resize(mlp(3, 2, 2), {"gone": 3}, x)
    other = mlp(3, 2, 3)
    with pytest.raises(InputError, match="checkpoint must come from the same model"):
        ModelState.from_model(other, {"0": 2}).restore(mlp(3, 2, 2), x)
