"""MNIST from its four original files."""

from __future__ import annotations

import gzip
import zlib
from io import BytesIO
from math import prod
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from creases._files import read_bytes
from creases.errors import FileError
from creases.problems.images._images import Images, Split, check_split, data_folder, fetch_images, look, where

FILES = {
    "train": ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"),
    "test": ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"),
}
PLACES = ("", "mnist", "MNIST/raw")  # the last is where torchvision puts them

#: How often each digit occurs among the 10,000 test images.
TEST_COUNTS = (980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009)


def mnist(split: Split = "train", *, folder: str | Path | None = None, fetch: bool = False) -> Images:
    """Read MNIST: handwritten digits as bytes (n, 1, 28, 28), 60,000 to train and 10,000 to test.

    Parameters
    ----------
    split
        ``"train"`` or ``"test"``.
    folder
        Folder with the original idx files, gzipped or not, or with a folder ``mnist`` or ``MNIST/raw`` that has them.
        Default: the folder that the environment variable CREASES_DATA names.
    fetch
        If they are not there, have scikit-learn download MNIST (``mnist_784`` of OpenML), which keeps a copy.

    Examples
    --------
    >>> from creases.problems import mnist
    >>> mnist("test").images.shape  # doctest: +SKIP
    (10000, 1, 28, 28)
    """
    check_split(split)
    root = data_folder(folder)
    paths = {name: look(root, PLACES, (name, f"{name}.gz", *_dotted_names(name))) for name in FILES[split]}
    missing = [name for name, path in paths.items() if path is None]
    if missing and fetch:
        images, labels = fetch_images("mnist_784", split, (1, 28, 28), TEST_COUNTS)
    elif missing:
        needed = ", ".join(name for pair in FILES.values() for name in pair)
        raise FileError(
            f"MNIST: {' and '.join(missing)} not found; {where(root, PLACES)}. Put its four files ({needed}; "
            ".gz or unpacked) into one folder and pass that folder, or pass fetch=True to download them"
        )
    else:
        images_path, labels_path = (path for path in paths.values() if path is not None)
        images, labels = _read(images_path, labels_path)
    return Images(
        name="mnist",
        split=split,
        images=images,
        labels=labels,
        classes=tuple("0123456789"),
        description="handwritten digits, 28 x 28 pixels",
        citation="Y. LeCun, L. Bottou, Y. Bengio & P. Haffner 1998, Gradient-based learning applied to document "
        "recognition",
    )


def _read(images_path: Path, labels_path: Path) -> tuple[np.ndarray, np.ndarray]:
    images, labels = read_idx(images_path, 3), read_idx(labels_path, 1)
    if images.shape[1:] != (28, 28) or len(images) == 0:
        raise FileError(f"{images_path}: expected images of 28 x 28 pixels, found {' x '.join(map(str, images.shape))}")
    if len(images) != len(labels):
        raise FileError(
            f"{images_path} has {len(images)} images and {labels_path} {len(labels)} labels: they do not belong "
            "together; download both again"
        )
    if labels.max() > 9:
        raise FileError(f"{labels_path}: expected labels from 0 to 9, found {labels.max()}; download it again")
    return images[:, None], labels.astype(np.int64)


def _dotted_names(name: str) -> tuple[str, str]:
    """Return the names of a file on some mirrors, ``train-images.idx3-ubyte``, plain and gzipped."""
    dotted = name.replace("-idx", ".idx")
    return dotted, f"{dotted}.gz"


UNSIGNED_BYTE = 8
_MAX_BYTES = 2**30  #: of a file when unpacked; MNIST's largest has 47 MB


def read_idx(path: Path, ndim: int) -> NDArray[np.uint8]:
    """Read an idx file of unsigned bytes with ``ndim`` axes; gzipped or not, by its first bytes.

    The format: two zero bytes, the type (8: unsigned byte), the number of axes, their sizes as 32-bit big-endian
    integers, then the data. Everything is checked, the length included.
    """
    data = _unpack(path)
    header = 4 + 4 * ndim
    magic = bytes([0, 0, UNSIGNED_BYTE, ndim])
    if data[:4] != magic:
        start = data[:4].hex() or "nothing"
        raise FileError(
            f"{path}: expected an idx file that begins with {magic.hex()}, found {start}; download it again"
        )
    if len(data) < header:
        raise FileError(f"{path}: cut off within its header ({len(data)} of {header} bytes); download it again")
    shape = tuple(int(size) for size in np.frombuffer(data, ">u4", ndim, offset=4))
    expected, found_size = prod(shape), len(data) - header
    if found_size != expected:
        state = "cut off" if found_size < expected else "too long"
        sizes = " x ".join(map(str, shape))
        raise FileError(
            f"{path}: {state}: its header says {sizes} = {expected} bytes, it holds {found_size}; download it again"
        )
    return np.frombuffer(data, np.uint8, offset=header).reshape(shape).copy()


def _unpack(path: Path) -> bytes:
    data = read_bytes(path)
    if not data.startswith(b"\x1f\x8b"):
        return data
    try:
        with gzip.open(BytesIO(data)) as file:
            unpacked = file.read(_MAX_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise FileError(f"{path}: the gzip file is damaged or cut off ({error}); download it again") from None
    if len(unpacked) > _MAX_BYTES:
        raise FileError(f"{path}: more than {_MAX_BYTES >> 20} MB when unpacked; download it again")
    return unpacked
