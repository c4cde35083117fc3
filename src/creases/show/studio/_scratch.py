"""A folder for files that a session writes and reads again."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

from creases.errors import FileError, RequestError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

PREFIX = "creases-studio-"


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Yield a temporary folder; a disk that is full or cannot be written to is an error in words for the page.

    Folders that killed processes left are removed: nobody holds their locks.
    """
    try:
        remove_abandoned()
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
    if fcntl is None:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def remove_abandoned() -> None:
    """Remove folders of this user that nobody holds."""
    if fcntl is None:
        return
    try:
        folders = list(Path(gettempdir()).glob(f"{PREFIX}*"))
    except OSError:  # no folder for temporary files can be written to
        return
    for path in folders:
        with suppress(OSError):
            handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.fstat(handle).st_uid == os.getuid():
                    shutil.rmtree(path)
            finally:
                os.close(handle)
