"""CIFAR-10 from its binary version."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from creases._files import read_bytes
from creases._typing import Bytes
from creases.errors import FileError
from creases.problems.images._images import Images, Split, check_split, data_folder, fetch_images, look, where

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
FILES = {"train": tuple(f"data_batch_{i}.bin" for i in range(1, 6)), "test": ("test_batch.bin",)}
PLACES = ("", "cifar-10-batches-bin", "cifar10", "cifar10/cifar-10-batches-bin")
PICKLED_PLACES = (*PLACES, "cifar-10-batches-py", "cifar10/cifar-10-batches-py")

RECORDS = 10_000  # a file
PIXELS = 3 * 32 * 32
RECORD = 1 + PIXELS  # a label, then red, green and blue, each row by row

#: How often each class occurs among the 10,000 test images.
TEST_COUNTS = (1000,) * 10


def cifar10(split: Split = "train", *, folder: str | Path | None = None, fetch: bool = False) -> Images:
    """Read CIFAR-10: photographs of ten classes as bytes (n, 3, 32, 32), 50,000 to train and 10,000 to test.

    Parameters
    ----------
    split
        ``"train"`` or ``"test"``.
    folder
        Folder with the binary version's .bin files, or with a folder ``cifar-10-batches-bin`` or ``cifar10`` that has
        them. Default: the folder that the environment variable CREASES_DATA names. The Python version is refused:
        it is a pickle file, which can run arbitrary code when loaded.
    fetch
        If they are not there, have scikit-learn download CIFAR-10 (``CIFAR_10`` of OpenML), which keeps a copy.

    Examples
    --------
    >>> from creases.problems import cifar10
    >>> cifar10("test").images.shape  # doctest: +SKIP
    (10000, 3, 32, 32)
    """
    check_split(split)
    root = data_folder(folder)
    paths = {name: look(root, PLACES, (name,)) for name in FILES[split]}
    missing = [name for name, path in paths.items() if path is None]
    if missing and fetch:
        images, labels = fetch_images("CIFAR_10", split, (3, 32, 32), TEST_COUNTS)
    elif missing:
        raise FileError(_advice(root, missing))
    else:
        parts = [_read(path) for path in paths.values() if path is not None]
        images = np.concatenate([part[0] for part in parts])
        labels = np.concatenate([part[1] for part in parts])
    return Images(
        name="cifar10",
        split=split,
        images=images,
        labels=labels,
        classes=CLASSES,
        description="colour photographs, 32 x 32 pixels",
        citation="A. Krizhevsky 2009, Learning multiple layers of features from tiny images",
    )


def _read(path: Path) -> tuple[Bytes, NDArray[np.int64]]:
    data = read_bytes(path)
    if len(data) != RECORDS * RECORD:
        state = "cut off" if len(data) < RECORDS * RECORD else "too long"
        raise FileError(
            f"{path}: {state}: expected {RECORDS} records of {RECORD} bytes = {RECORDS * RECORD}, found {len(data)}; "
            "download it again"
        )
    records = np.frombuffer(data, np.uint8).reshape(RECORDS, RECORD)
    labels = records[:, 0].astype(np.int64)
    if labels.max() > 9:
        row = int((labels > 9).argmax())
        raise FileError(
            f"{path}: expected labels from 0 to 9, found {labels[row]} in record {row}: not CIFAR-10's binary version, "
            "or damaged; download it again"
        )
    return records[:, 1:].reshape(-1, 3, 32, 32), labels


def _advice(root: Path | None, missing: list[str]) -> str:
    """Return what is missing, where it was searched, and what to do."""
    message = f"CIFAR-10: {', '.join(missing)} not found; {where(root, PLACES)}."
    pickled = look(root, PICKLED_PLACES, tuple(name.removesuffix(".bin") for name in missing))
    if pickled is not None:
        return (
            f"{message} {pickled} is the Python version, a pickle file, which can run arbitrary code; creases does "
            'not open it. Get the "binary version" (cifar-10-binary.tar.gz) and unpack it, or pass fetch=True'
        )
    archive = look(root, PLACES, ("cifar-10-binary.tar.gz",))
    if archive is not None:
        return f"{message} Unpack {archive} next to it"
    return (
        f'{message} Get the "binary version" of CIFAR-10 (cifar-10-binary.tar.gz), unpack it and pass the folder, or '
        "pass fetch=True to download it"
    )
