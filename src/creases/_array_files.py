"""Read ``.npy`` and ``.npz`` files that may be damaged: numbers only, and never more than the memory holds."""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from pathlib import Path
from tokenize import TokenError
from typing import IO, Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile

import numpy as np
from numpy.lib.format import read_array_header_1_0, read_array_header_2_0, read_magic
from numpy.lib.npyio import NpzFile
from numpy.typing import NDArray

from creases._files import open_regular
from creases._memory import free_memory

#: What numpy raises for a damaged .npz file, besides ValueError and OSError.
_DAMAGE = (
    EOFError,
    TypeError,
    KeyError,
    RuntimeError,  # also NotImplementedError and RecursionError
    SyntaxError,
    MemoryError,
    TokenError,
    BadZipFile,
    struct.error,
    zlib.error,
)

#: A file larger than this when unpacked, in bytes, and by this factor, is refused: arrays of numbers hardly compress.
_LARGE, _RATIO = 2**28, 100


@contextmanager
def open_npz(path: str | Path) -> Iterator[NpzFile]:
    """Yield the arrays of an .npz file; a damaged file raises OSError or ValueError, also when an array is read."""
    with open_regular(path) as file:  # numpy does not close a file that it cannot read
        try:
            with np.load(file, allow_pickle=False) as arrays:
                if not isinstance(arrays, NpzFile):
                    raise ValueError("it holds a single array")
                _check_sizes(arrays, os.fstat(file.fileno()).st_size)
                yield arrays
        except _DAMAGE as error:
            raise ValueError(str(error) or "it is truncated") from None


def _check_sizes(arrays: NpzFile, size: int) -> None:
    """Refuse arrays that claim more than the file holds, small files that would fill the memory, encrypted entries."""
    archive = arrays.zip
    assert archive is not None
    infos = archive.infolist()
    total = sum(info.file_size for info in infos)
    if total > _LARGE and total > _RATIO * size:
        raise ValueError(f"it would take {total / 1e9:.2g} GB of memory, {total // size} times its own size")
    if total > free_memory():
        raise ValueError(f"it would take {total / 1e9:.3g} GB of memory, more than is free")
    for info in infos:
        if info.flag_bits & 1:
            raise ValueError(f"{info.filename} is encrypted")
        if info.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
            raise ValueError(f"{info.filename} is compressed in a way that numpy does not write")
        with archive.open(info) as entry:
            _read_header(entry, info.filename, info.file_size)


def _read_header(file: IO[bytes], name: str, size: int) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Return the shape and the dtype of an array; refuse one that claims more entries than its file holds."""
    read_header = {(1, 0): read_array_header_1_0, (2, 0): read_array_header_2_0}.get(read_magic(file))
    if read_header is None:
        raise ValueError(f"{name} is in a format of numpy that is not known")
    shape, _, dtype = read_header(file)
    if any(n < 0 for n in shape) or prod(shape) * dtype.itemsize > size - file.tell():
        raise ValueError(f"{name} claims shape {shape} but has {size} bytes")
    return shape, dtype


def read_npy_header(path: str | Path) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Return the shape and the dtype of an .npy file; a damaged or truncated one raises OSError or ValueError."""
    with open_regular(path) as file:
        try:
            return _read_header(file, Path(path).name, os.fstat(file.fileno()).st_size)
        except _DAMAGE as error:
            raise ValueError(str(error) or "it is truncated") from None


def load_npy(path: str | Path) -> NDArray[Any]:
    """Return the array of an .npy file; a damaged file raises OSError or ValueError, before memory is taken."""
    read_npy_header(path)
    array: NDArray[Any] = np.load(path, allow_pickle=False)
    return array
