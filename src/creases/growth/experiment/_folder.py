"""A run's folder: what is written in it, and when it may be written to."""

from __future__ import annotations

from pathlib import Path

from creases.errors import FileError, InputError
from creases.growth.experiment import _moments as moments
from creases.growth.experiment._settings import NAME

CHECKPOINT = "checkpoint.pt"
MOMENTS = "moments"  #: a folder: the networks on the way
MODEL = "model.safetensors"
DESCRIPTION = "model.json"
ONNX = "model.onnx"
HISTORY = "history.json"
PICTURE = "growth.png"
REPORT = "report.txt"

OWN = (NAME, CHECKPOINT, MOMENTS, MODEL, DESCRIPTION, ONNX, HISTORY, PICTURE, REPORT)


def prepare(folder: Path, *, force: bool) -> None:
    """Make the folder of a new run; one that holds another is refused, or emptied of it if that is asked for."""
    if folder.exists() and not folder.is_dir():
        raise FileError(f"--out: {folder} is a file; give the name of a folder")
    there = [name for name in OWN if (folder / name).exists()]
    if there and not force:
        if NAME in there:
            raise InputError(
                f"--out: {folder} holds a growth run; go on with it by --resume {folder}, write over it with --force, "
                "or give another folder"
            )
        raise InputError(f"--out: {folder} holds {there[0]}; give another folder, or write over it with --force")
    try:
        for name in there:
            _remove(folder / name)
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise FileError(f"--out: {folder} cannot be written to: {problem.strerror}") from None


def _remove(path: Path) -> None:
    if path.name == MOMENTS and path.is_dir():
        moments.clear(path)
    else:
        path.unlink()
