"""A folder for files that a session writes and reads again."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

from creases._files import lock, remove_abandoned
from creases.errors import FileError, RequestError

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
