"""The idx format: magic number, sizes, bytes (MNIST's files, plain or gzipped)."""

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
