"""A run's folder: what is written in it, and when it may be written to."""

from __future__ import annotations

from pathlib import Path

from creases.errors import FileError, InputError
from creases.growth.experiment import _snapshots as moments
from creases.growth.experiment._settings import SETTINGS_FILE

CHECKPOINT_FILE = "checkpoint.pt"
SNAPSHOTS_FOLDER = "moments"  #: a folder: the networks on the way
MODEL_FILE = "model.safetensors"
DESCRIPTION_FILE = "model.json"
ONNX_FILE = "model.onnx"
HISTORY_FILE = "history.json"
PICTURE_FILE = "growth.png"
REPORT_FILE = "report.txt"

RUN_FILES = (
    SETTINGS_FILE,
    CHECKPOINT_FILE,
    SNAPSHOTS_FOLDER,
    MODEL_FILE,
    DESCRIPTION_FILE,
    ONNX_FILE,
    HISTORY_FILE,
    PICTURE_FILE,
    REPORT_FILE,
)


def prepare_folder(folder: Path, *, force: bool) -> None:
    """Make the folder of a new run; one that holds another is refused, or emptied of it if that is asked for."""
    if folder.exists() and not folder.is_dir():
        raise FileError(f"--out: {folder} is a file; give the name of a folder")
    there = [name for name in RUN_FILES if (folder / name).exists()]
    if there and not force:
        if SETTINGS_FILE in there:
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
    if path.name == SNAPSHOTS_FOLDER and path.is_dir():
        moments.clear_snapshots(path)
    else:
        path.unlink()
