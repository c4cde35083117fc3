"""Where the files of images are: a folder that is given, or fetched from OpenML."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from creases._typing import Bytes
from creases.errors import FileError
from creases.problems.images._images import Split

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


TEST = 10_000  # images at the end of both sets


def fetch_images(
    name: str, split: Split, shape: tuple[int, int, int], test_counts: tuple[int, ...]
) -> tuple[Bytes, NDArray[np.int64]]:
    """Download images (n, *shape) and labels (n,) of one split of OpenML's ``mnist_784`` or ``CIFAR_10``.

    OpenML keeps both splits in one table, the test images last; ``test_counts``, how often each class occurs among
    them, tells whether that is so.
    """
    from sklearn.datasets import fetch_openml

    parser = "pandas" if find_spec("pandas") else "liac-arff"  # the first is much faster, but needs pandas
    try:
        table = fetch_openml(name, version=1, as_frame=False, parser=parser)
    except (OSError, ValueError) as error:
        raise FileError(
            f"fetch: {name} could not be downloaded from OpenML ({error}); check the connection, or put the "
            "files into a folder and pass it as folder= or set CREASES_DATA"
        ) from error
    pixels, labels = np.asarray(table.data), np.asarray(table.target).astype(np.int64)
    counts = tuple(int(c) for c in np.bincount(labels[-TEST:], minlength=len(test_counts)))
    if pixels[0].size != np.prod(shape) or counts != test_counts:
        raise FileError(
            f"fetch: OpenML's {name} is not laid out as expected (rows of {np.prod(shape)} pixels, the official test "
            "images last); put the official files into a folder and pass it as folder= or set CREASES_DATA"
        )
    rows = slice(-TEST, None) if split == "test" else slice(None, -TEST)
    return pixels[rows].astype(np.uint8).reshape(-1, *shape), labels[rows]
