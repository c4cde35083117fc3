"""MNIST and CIFAR-10 from the files that their authors published, or from OpenML."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from math import prod
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from creases._files import read_bytes
from creases._typing import Bytes
from creases._validation import check_choice
from creases.errors import FileError
from creases.problems.images._images import Images, Split

VARIABLE = "CREASES_DATA"

#: Largest size of a file when unpacked; MNIST's largest has 47 MB.
MAX_BYTES = 2**30

TEST = 10_000  #: images at the end of both sets in OpenML
RECORDS = 10_000  #: of a file of CIFAR-10
RECORD = 1 + 3 * 32 * 32  #: a label, then red, green and blue, each row by row

Labelled = tuple[Bytes, NDArray[np.int64]]


@dataclass(frozen=True)
class Source:
    """A set of images as it was published."""

    name: str
    title: str
    table: str  #: its name in OpenML
    shape: tuple[int, int, int]
    files: Mapping[str, tuple[str, ...]]  #: by split
    places: tuple[str, ...]  #: folders where they may be, below the one that is given
    read: Callable[[Sequence[Path]], Labelled]
    advice: str  #: what to do about missing files
    instead: Mapping[str, str]  #: files that may be there instead, and what is wrong with each
    classes: tuple[str, ...]
    test_counts: tuple[int, ...]  #: how often each class occurs among the test images
    description: str
    citation: str

    def load(self, split: Split, folder: str | Path | None, *, fetch: bool) -> Images:
        """Read a split from its files; if some are missing, fetch it or say what to do."""
        check_choice(split, ("train", "test"), "split")
        root = _data_folder(folder)
        paths = {name: _look(root, self.places, name) for name in self.files[split]}
        missing = [name for name, path in paths.items() if path is None]
        if not missing:
            images, labels = self.read([path for path in paths.values() if path is not None])
        elif fetch:
            images, labels = self._fetch(split)
        else:
            raise FileError(f"{self.title}: {self._what_is_there(root, missing)}. {self.advice}")
        return Images(self.name, split, images, labels, self.classes, self.description, self.citation)

    def _what_is_there(self, root: Path | None, missing: Sequence[str]) -> str:
        for name, why in self.instead.items():
            if path := _look(root, self.places, name):
                return f"{path} {why}"
        looked = f"no folder was given: set the environment variable {VARIABLE} or pass folder="
        if root is not None:
            looked = "looked in " + ", ".join(str(root / place) for place in self.places)
        return f"{', '.join(missing)} not found; {looked}"

    def _fetch(self, split: Split) -> Labelled:
        """Download a split of OpenML's table, which has the test images last: the counts of classes tell."""
        from sklearn.datasets import fetch_openml

        files = "put the official files into a folder and pass it as folder= or set CREASES_DATA"
        try:  # pandas parses it
            table = fetch_openml(self.table, version=1, as_frame=False, parser="pandas")
        except (OSError, ValueError) as error:
            raise FileError(
                f"fetch: {self.table} could not be downloaded from OpenML ({error}); check the connection, or {files}"
            ) from error
        pixels, labels = np.asarray(table.data), np.asarray(table.target).astype(np.int64)
        counts = tuple(np.bincount(labels[-TEST:], minlength=len(self.test_counts)).tolist())
        if pixels[0].size != prod(self.shape) or counts != self.test_counts:
            expected = f"rows of {prod(self.shape)} pixels, the official test images last"
            raise FileError(f"fetch: OpenML's {self.table} is not laid out as expected ({expected}); {files}")
        rows = slice(-TEST, None) if split == "test" else slice(None, -TEST)
        return pixels[rows].astype(np.uint8).reshape(-1, *self.shape), labels[rows]


def _data_folder(folder: str | Path | None) -> Path | None:
    """Return the folder, or else that of the environment variable CREASES_DATA, or else None; it must exist."""
    source, named = ("folder", folder) if folder is not None else (VARIABLE, os.environ.get(VARIABLE))
    if not named:
        return None
    path = Path(named)
    if not path.is_dir():
        what = "it is a file" if path.exists() else "there is no such folder"
        raise FileError(f"{source}: expected a folder with data, got {path}: {what}")
    return path


def _look(root: Path | None, places: tuple[str, ...], name: str) -> Path | None:
    """Return the first file of a name in one of the places under ``root``, gzipped or not, or as mirrors spell it."""
    dotted = name.replace("-idx", ".idx")  # train-images.idx3-ubyte
    names = (name, f"{name}.gz", dotted, f"{dotted}.gz")
    paths = [] if root is None else [root / place / spelled for place in places for spelled in names]
    return next((path for path in paths if path.is_file()), None)


def _unpack(path: Path) -> bytes:
    """Return the content of a file, gzipped or not, by its first bytes."""
    data = read_bytes(path)
    if not data.startswith(b"\x1f\x8b"):
        return data
    try:
        with gzip.open(BytesIO(data)) as file:
            unpacked = file.read(MAX_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise FileError(f"{path}: the gzip file is damaged or cut off ({error}); download it again") from None
    if len(unpacked) > MAX_BYTES:
        raise FileError(f"{path}: more than {MAX_BYTES >> 20} MB when unpacked; download it again")
    return unpacked


def _check_length(path: Path, found: int, expected: int, sizes: str) -> None:
    if found != expected:
        state = "cut off" if found < expected else "too long"
        raise FileError(f"{path}: {state}: {sizes} = {expected} bytes, it holds {found}; download it again")


def _check_labels(path: Path, labels: NDArray[np.uint8]) -> None:
    if labels.max() > 9:
        row = int((labels > 9).argmax())
        raise FileError(f"{path}: expected labels from 0 to 9, found {labels[row]} in record {row}; download it again")


def read_idx(path: Path, ndim: int) -> NDArray[np.uint8]:
    """Read an idx file of unsigned bytes with ``ndim`` axes.

    The format: two zero bytes, the type (8: unsigned byte), the number of axes, their sizes as 32-bit big-endian
    integers, then the data. Everything is checked, the length included.
    """
    data, header, magic = _unpack(path), 4 + 4 * ndim, bytes([0, 0, 8, ndim])
    if data[:4] != magic:
        start = data[:4].hex() or "nothing"
        expected = f"an idx file that begins with {magic.hex()}"
        raise FileError(f"{path}: expected {expected}, found {start}; download it again")
    if len(data) < header:
        raise FileError(f"{path}: cut off within its header ({len(data)} of {header} bytes); download it again")
    shape = np.frombuffer(data, ">u4", ndim, offset=4).tolist()
    _check_length(path, len(data) - header, prod(shape), f"its header says {' x '.join(map(str, shape))}")
    return np.frombuffer(data, np.uint8, offset=header).reshape(shape).copy()


def _read_mnist(paths: Sequence[Path]) -> Labelled:
    images, labels = read_idx(paths[0], 3), read_idx(paths[1], 1)
    if images.shape[1:] != (28, 28) or len(images) == 0:
        sizes = " x ".join(map(str, images.shape))
        raise FileError(f"{paths[0]}: expected images of 28 x 28 pixels, found {sizes}")
    if len(images) != len(labels):
        counts = f"{paths[0]} has {len(images)} images and {paths[1]} {len(labels)} labels"
        raise FileError(f"{counts}: they do not belong together; download both again")
    _check_labels(paths[1], labels)
    return images[:, None], labels.astype(np.int64)


def _read_cifar(paths: Sequence[Path]) -> Labelled:
    parts = []
    for path in paths:
        data = _unpack(path)
        _check_length(path, len(data), RECORDS * RECORD, f"expected {RECORDS} records of {RECORD} bytes")
        records = np.frombuffer(data, np.uint8).reshape(RECORDS, RECORD)
        _check_labels(path, records[:, 0])
        parts.append(records)
    every = np.concatenate(parts)
    return every[:, 1:].reshape(-1, 3, 32, 32), every[:, 0].astype(np.int64)


_PICKLED = "is the Python version, a pickle file, which can run arbitrary code; creases does not open it"

MNIST = Source(
    name="mnist",
    title="MNIST",
    table="mnist_784",
    shape=(1, 28, 28),
    files={
        "train": ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"),
        "test": ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"),
    },
    places=("", "mnist", "MNIST/raw"),  # the last is where torchvision puts them
    read=_read_mnist,
    advice="Put its four files (train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte, "
    "t10k-labels-idx1-ubyte; .gz or unpacked) into one folder and pass that folder, or pass fetch=True",
    instead={},
    classes=tuple("0123456789"),
    test_counts=(980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009),
    description="handwritten digits, 28 x 28 pixels",
    citation="Y. LeCun, L. Bottou, Y. Bengio & P. Haffner 1998, Gradient-based learning applied to document "
    "recognition",
)

CIFAR10 = Source(
    name="cifar10",
    title="CIFAR-10",
    table="CIFAR_10",
    shape=(3, 32, 32),
    files={"train": tuple(f"data_batch_{i}.bin" for i in range(1, 6)), "test": ("test_batch.bin",)},
    places=(
        *("", "cifar-10-batches-bin", "cifar10", "cifar10/cifar-10-batches-bin"),
        *("cifar-10-batches-py", "cifar10/cifar-10-batches-py"),
    ),
    read=_read_cifar,
    advice='Get the "binary version" of CIFAR-10 (cifar-10-binary.tar.gz), unpack it and pass the folder, or pass '
    "fetch=True to download it",
    instead={"data_batch_1": _PICKLED, "test_batch": _PICKLED, "cifar-10-binary.tar.gz": "is still packed"},
    classes=("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"),
    test_counts=(1000,) * 10,
    description="colour photographs, 32 x 32 pixels",
    citation="A. Krizhevsky 2009, Learning multiple layers of features from tiny images",
)


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
    return MNIST.load(split, folder, fetch=fetch)


def cifar10(split: Split = "train", *, folder: str | Path | None = None, fetch: bool = False) -> Images:
    """Read CIFAR-10: photographs of ten classes as bytes (n, 3, 32, 32), 50,000 to train and 10,000 to test.

    Parameters are those of :func:`mnist`. The folder has the binary version's .bin files, or a folder
    ``cifar-10-batches-bin`` or ``cifar10`` that has them; the Python version is a pickle file, which can run arbitrary
    code when loaded, and is refused. OpenML has them as ``CIFAR_10``.
    """
    return CIFAR10.load(split, folder, fetch=fetch)
