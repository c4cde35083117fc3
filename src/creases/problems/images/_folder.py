"""The folder of image data: an argument, or the environment variable CREASES_DATA."""

from __future__ import annotations

import os
from pathlib import Path

from creases.errors import FileError

VARIABLE = "CREASES_DATA"


def data_folder(folder: str | Path | None) -> Path | None:
    """Return the folder, or else that of the environment variable CREASES_DATA, or else None; it must exist."""
    if folder is not None:
        path, source = Path(folder), "folder"
    elif os.environ.get(VARIABLE):
        path, source = Path(os.environ[VARIABLE]), VARIABLE
    else:
        return None
    if not path.is_dir():
        what = "it is a file" if path.exists() else "there is no such folder"
        raise FileError(f"{source}: expected a folder with data, got {path}: {what}")
    return path


def look(root: Path | None, places: tuple[str, ...], names: tuple[str, ...]) -> Path | None:
    """Return the first file with one of these names in one of these places under ``root``; None if there is none."""
    if root is None:
        return None
    return next((root / place / name for place in places for name in names if (root / place / name).is_file()), None)


def where(root: Path | None, places: tuple[str, ...]) -> str:
    """Describe the folders that were searched."""
    if root is None:
        return f"no folder was given: set the environment variable {VARIABLE} or pass folder="
    return "looked in " + ", ".join(str(root / place) for place in places)
