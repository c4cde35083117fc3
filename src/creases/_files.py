"""Reading and atomic writing of files."""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
import struct
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import count
from math import prod
from pathlib import Path
from tokenize import TokenError
from typing import IO, TYPE_CHECKING, Any, BinaryIO
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile

from creases._memory import free_memory
from creases.errors import FileError

if TYPE_CHECKING:
    import numpy as np
    from numpy.lib.npyio import NpzFile

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

#: A disk that is full, a quota or a size limit that is reached, a disk that fails.
DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)

#: Numbers of temporary files that are looked for; more than so many processes hardly ever write one file at a time.
_PROBED = 8


@contextmanager
def write_atomically(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path to write to, which replaces ``path`` on success and is deleted on any error.

    It is in the same folder and has the same suffix, for writers that choose the format by it. What killed processes
    left of writing ``path`` is removed.
    """
    path = Path(path)
    if not path.parent.is_dir():
        raise FileError(f"cannot write {path}: there is no folder {path.parent}; create it first")
    if path.is_dir():
        raise FileError(f"cannot write {path}: it is a folder; pass the name of a file")
    try:
        temporary, handle = _make_temporary(path)
    except OSError as error:
        raise FileError(f"cannot write {path}: {error.strerror}") from error
    try:
        yield temporary
        os.umask(mask := os.umask(0))
        temporary.chmod(0o666 & ~mask)
        temporary.replace(path)
    except BaseException as error:
        temporary.unlink(missing_ok=True)  # only here: once it has replaced ``path``, its name may be another writer's
        if isinstance(error, OSError) and error.errno in DISK_ERRORS:
            raise FileError(f"cannot write {path}: {error.strerror}; free some space on its disk") from error
        raise
    finally:
        if handle is not None:
            os.close(handle)


def _make_temporary(path: Path) -> tuple[Path, int | None]:
    """Create a temporary file beside ``path``; return a handle whose lock shows that its writer is alive.

    There is no handle where the system has no such locks. The files of several writers are numbered, so that those of
    killed ones are found without listing the folder, which takes long where there are many files.
    """
    for number in range(_PROBED):
        remove_abandoned(_temporary_path(path, number))
    for number in count():
        temporary = _temporary_path(path, number)
        try:
            handle = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:  # of another writer
            continue
        if not lock(handle, wait=True):
            os.close(handle)
            return temporary, None
        if os.fstat(handle).st_nlink:
            return temporary, handle
        os.close(handle)  # another process removed it before it was locked
    raise AssertionError("numbers do not end")


def _temporary_path(path: Path, number: int) -> Path:
    return path.with_name(f".{path.stem}-{number:08}{path.suffix}")


def lock(handle: int, *, wait: bool = False) -> bool:
    """Lock an open file or folder until it is closed; return False if another process has locked it.

    Also False where the system has no such locks.
    """
    try:
        fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (AttributeError, OSError):
        return False
    return True


def remove_abandoned(path: Path) -> None:
    """Remove a temporary file or folder that a killed process left: nobody has locked it."""
    if fcntl is None:
        return
    with suppress(OSError):
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
        try:
            is_same = lock(handle) and os.path.samestat(os.fstat(handle), path.lstat())  # nobody has replaced it since
            if is_same and path.is_dir():
                shutil.rmtree(path)
            elif is_same:
                path.unlink()
        finally:
            os.close(handle)


@contextmanager
def open_regular(path: str | Path) -> Iterator[BinaryIO]:
    """Open a file to read bytes from it; raise OSError for a pipe, a device or a folder, which have no end or no bytes.

    A pipe without a writer would block for ever.
    """
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file")
        yield file


def read_text(path: str | Path) -> str:
    """Return the text of a regular file in UTF-8."""
    with open_regular(path) as file:
        return file.read().decode()


def read_bytes(path: Path) -> bytes:
    """Return the content of a regular file; raise a FileError that names it."""
    try:
        with open_regular(path) as file:
            return file.read()
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}") from None


def parse_json(text: str | bytes, **hooks: Any) -> Any:
    """Return the value of a JSON text; what is none raises ValueError in plain words; ``hooks`` are those of json."""
    try:
        return json.loads(text, **hooks)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise ValueError("it is not JSON") from None


def write_json(value: Mapping[str, Any], path: str | Path) -> Path:
    """Write JSON atomically."""
    with write_atomically(path) as temporary:
        temporary.write_text(json.dumps(value, indent=1) + "\n")
    return Path(path)


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
    import numpy as np  # the help of commands needs none
    from numpy.lib.npyio import NpzFile

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
    from numpy.lib.format import read_array_header_1_0, read_array_header_2_0, read_magic

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
