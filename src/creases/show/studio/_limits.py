"""Limits of the studio, so that no table, formula or network can exhaust the machine."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

from creases._files import lock, remove_abandoned
from creases.errors import FileError, RequestError


@dataclass(frozen=True)
class Limits:
    """Limits of a studio; sizes in bytes, times in seconds."""

    connections: int = 100  #: open at the same time; beyond, requests are refused
    head: int = 16 * 2**10  #: of a request that is not complete
    memory: int = 4 * 2**30  #: of the worker, besides the libraries
    message: int = 32 * 2**20  #: a table of 20 MB, as JSON
    rows: int = 20_000
    columns: int = 500  #: inputs, after one-hot encoding
    numbers: int = 1_000_000  #: rows times columns
    classes: int = 50
    model: int = 20 * 10**6  #: a model file
    inputs: int = 4_096  #: of the network of a model file
    layers: int = 8
    units: int = 2_000
    regions: int = 200_000  #: in one frame
    epochs: int = 20_000
    marks: int = 100  #: growth steps that can be undone
    slices: int = 20
    frames: int = 64 * 2**20  #: cached
    work: float = 600.0  #: training without interaction before a run pauses
    slow: float = 10.0  #: silence of a busy worker after which the page says so, and offers to stop it
    exports: int = 8  #: files to download


# The memory limit of a worker, and the errors that libraries raise when it is reached.

#: What libraries say when memory runs out and they raise no MemoryError: torch's allocator, C++, threads.
_PHRASES = ("can't allocate memory", "not enough memory", "bad_alloc", "can't start new thread")


def limit_memory(size: int) -> None:
    """Limit the memory that this process can allocate from now on, in bytes, where the system can (Linux).

    The limit is relative to the memory in use: imported libraries reserve much more than they use.
    """
    if sys.platform != "linux":
        return
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    lines = Path("/proc/self/status").read_text().splitlines()
    used = next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmData:"))  # as the limit counts it
    limit = used + size
    resource.setrlimit(resource.RLIMIT_DATA, (limit if hard < 0 else min(limit, hard), hard))


def is_out_of_memory(problem: BaseException) -> bool:
    """Whether an error was raised because memory could not be allocated."""
    if isinstance(problem, MemoryError):
        return True
    return isinstance(problem, RuntimeError) and any(phrase in str(problem) for phrase in _PHRASES)


# A folder for files that a session writes and reads again.

PREFIX = "creases-studio-"


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Yield a temporary folder; a disk that is full or cannot be written to is an error in words for the page.

    Folders that killed processes left are removed: nobody holds their locks.
    """
    try:
        remove_abandoned_folders()
        with TemporaryDirectory(prefix=PREFIX) as folder, _hold(folder):
            yield Path(folder)
    except (FileError, OSError) as problem:
        cause = problem if isinstance(problem, OSError) else problem.__cause__
        if not isinstance(cause, OSError):
            raise
        raise RequestError(
            f"the machine that runs the studio cannot write the file: {cause.strerror or cause}; "
            "free some space on its disk, then try again"
        ) from problem


@contextmanager
def _hold(folder: str) -> Iterator[None]:
    """Lock a folder."""
    if os.name != "posix":
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        lock(handle, wait=True)
        yield
    finally:
        os.close(handle)


def remove_abandoned_folders() -> None:
    """Remove folders of this user that nobody holds."""
    try:
        folders = list(Path(gettempdir()).glob(f"{PREFIX}*"))
    except OSError:  # no folder for temporary files can be written to
        return
    for path in folders:
        with suppress(OSError):
            if os.name == "posix" and path.lstat().st_uid == os.getuid():
                remove_abandoned(path)
