"""The folder of a growth run: its files, and how it is prepared."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path

from creases.errors import FileError, InputError


class RunFile(StrEnum):
    """Names of the files in a run's folder."""

    SETTINGS = "run.json"  #: all that the run depends on
    CHECKPOINT = "checkpoint.pt"
    MODEL = "model.safetensors"  #: the network, for rows in the table's own units
    DESCRIPTION = "model.json"  #: names of its inputs and classes, its scores
    ENCODING = "encoding.json"  #: how the columns of the table become the network's inputs
    ROWS = "rows.npz"  #: the encoded rows of the table, for when it has moved
    ONNX = "model.onnx"  #: the network as ONNX
    BASELINES = "baselines.npz"  #: predictions of the model and of the baselines, for reports
    HELD = "held.npz"  #: predictions of held-out rows, for intervals and sets
    METRICS = "metrics.json"  #: every measure of the network, and of the baselines on the test rows
    HISTORY = "history.json"  #: every epoch and every growth step
    PICTURE = "growth.png"  #: the regions, the learning curves
    REPORT = "report.txt"  #: the result as text


SNAPSHOTS_FOLDER = "snapshots"
LOCK_FILE = "lock"  #: held while a process runs in the folder
RUN_FILES = (*RunFile, SNAPSHOTS_FOLDER)

_ENDINGS = (rf"{re.escape(Path(name).stem)}-[a-z0-9_]{{8}}{re.escape(Path(name).suffix)}" for name in RUN_FILES)
_TEMPORARY = re.compile(rf"\.({'|'.join(_ENDINGS)})")


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Keep other processes out of a run's folder, made if missing; refuse one that another run is using.

    What interrupted writes left in the folder is removed. The system releases the lock when the process ends, even if
    it is killed.
    """
    import filelock

    if folder.exists() and not folder.is_dir():
        raise FileError(f"{folder} is a file; pass a folder")
    lock = filelock.FileLock(folder / LOCK_FILE)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=0)
    except filelock.Timeout:
        hint = "wait for it, stop it, or choose another folder"
        raise InputError("folder", "not be in use", f"{folder}, which another process is using", hint) from None
    except OSError as problem:
        raise FileError(f"cannot write to {folder}: {problem.strerror}") from None
    try:
        for path in folder.iterdir():  # what killed processes left of writing files
            if _TEMPORARY.fullmatch(path.name) and path.is_file():
                path.unlink()
        yield
    finally:
        (folder / LOCK_FILE).unlink(missing_ok=True)
        lock.release()


def prepare_folder(folder: Path, *, force: bool) -> None:
    """Make the folder of a new run; refuse one that holds another run, or with ``force`` remove its files."""
    if folder.exists() and not folder.is_dir():
        raise FileError(f"{folder} is a file; pass a folder")
    present = [name for name in RUN_FILES if (folder / name).exists()]
    if present and not force:
        hint = "overwrite it with {0}, or choose another folder"
        if RunFile.SETTINGS in present:
            hint = "resume it with {1}, " + hint
        got = f"{folder} with {present[0]}" + (" of a growth run" if RunFile.SETTINGS in present else "")
        settings = [("force", True), ("resume", str(folder))]
        raise InputError("folder", "not contain a growth run or files of the same names", got, hint, settings)
    try:
        for name in present:
            if name == SNAPSHOTS_FOLDER and (folder / name).is_dir():
                from creases.tables._fit.snapshots import clear_snapshots  # imports torch

                clear_snapshots(folder / name)
            else:
                (folder / name).unlink()
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise FileError(f"cannot write to {folder}: {problem.strerror}") from None
