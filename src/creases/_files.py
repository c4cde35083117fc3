"""Reading and atomic writing of files."""

from __future__ import annotations

import json
import os
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.lib.npyio import NpzFile

from creases.errors import FileError


@contextmanager
def write_atomically(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path to write to, which replaces ``path`` on success and is deleted on any error.

    It is in the same folder and has the same suffix, for writers that choose the format by it.
    """
    path = Path(path)
    if not path.parent.is_dir():
        raise FileError(f"cannot write {path}: there is no folder {path.parent}; create it first")
    if path.is_dir():
        raise FileError(f"cannot write {path}: it is a folder; pass the name of a file")
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-", suffix=path.suffix)
    except OSError as error:
        raise FileError(f"cannot write {path}: {error.strerror}") from None
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def open_npz(path: str | Path) -> Iterator[NpzFile]:
    """Yield the arrays of an .npz file; a damaged file raises OSError or ValueError, also when an array is read."""
    with Path(path).open("rb") as file:  # numpy does not close a file that it cannot read
        try:
            with np.load(file, allow_pickle=False) as arrays:
                yield arrays
        except (EOFError, TypeError, BadZipFile, zlib.error) as error:
            raise ValueError(str(error) or "it is truncated") from None


def write_json(value: Mapping[str, Any], path: str | Path) -> Path:
    """Write JSON atomically."""
    with write_atomically(path) as temporary:
        temporary.write_text(json.dumps(value, indent=1) + "\n")
    return Path(path)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
