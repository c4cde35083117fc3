"""A sweep's folder: its definition, its results, and who is at work on it.

``sweep.json``     the definition: function, seed, and the grid or the list of jobs
``parts/``         the results (see :mod:`creases.lab._sweeps.parts`)
``progress.json``  the process that works on it, or did so last, and how far it has got
``lock``           held while a process works on it; the system frees it when that process ends, however it ends
"""

from __future__ import annotations

import hashlib
import json
import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import filelock
import pyarrow as pa

from creases._files import write_atomically
from creases.errors import FileError, InputError
from creases.lab._sweeps import parts
from creases.lab._sweeps.functions import Outcome
from creases.lab._sweeps.jobs import canonical, expand, key

_VERSION = 1
DEFINITION = "sweep.json"

#: So many parts are merged into one as soon as they are there.
MANY = 200


class Store:
    """The folder of a sweep; only the process that holds its lock writes to it."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.parts = self.folder / "parts"
        self._lock = filelock.FileLock(self.folder / "lock")
        self._loose: list[tuple[int, int]] = []  # parts of this process that are not merged yet
        self._next = 0

    @contextmanager
    def writing(self, definition: dict[str, Any]) -> Iterator[None]:
        """Hold the folder, made if need be, of the sweep so defined; refused if another process does."""
        self._make()
        try:
            self._lock.acquire(timeout=1)  # a look at it from outside takes less
        except filelock.Timeout:
            raise InputError(
                f"folder: {self.folder} is being worked on by {self.worker()}; wait for it, or stop it, or give "
                "another folder"
            ) from None
        except OSError as error:
            raise FileError(f"folder: {self.folder} cannot be written to: {error.strerror}") from None
        try:
            if self.exists():
                self.check(definition)
            else:
                self._write(DEFINITION, {"creases-sweep": _VERSION, "digest": digest(definition), **definition})
            self._clean()
            self._next = max((last + 1 for _, last in parts.spans(self.parts)), default=0)
            yield
        finally:
            self._lock.release()

    def add(self, keys: Sequence[str], outcomes: Sequence[Outcome], finished: float) -> None:
        """Store what became of a chunk's jobs."""
        parts.write(self.parts, self._next, self._next, parts.records(keys, outcomes, finished))
        self._loose.append((self._next, self._next))
        self._next += 1
        if len(self._loose) >= MANY:
            parts.merge(self.parts, self._loose)
            self._loose = []

    def merge(self) -> None:
        """Make one part of all."""
        parts.merge(self.parts, parts.spans(self.parts))
        self._loose = []

    def states(self) -> dict[str, bool]:
        """Keys of the jobs that were done, each with whether it failed."""
        table = parts.read(self.parts, [parts.KEY, parts.ERROR])
        failed = table[parts.ERROR].is_valid().to_pylist()
        return dict(zip(table[parts.KEY].to_pylist(), failed, strict=True))

    def records(self) -> pa.Table:
        """All that is stored (see :mod:`creases.lab._sweeps.parts`)."""
        return parts.read(self.parts)

    def is_busy(self) -> bool:
        """Whether a process is at work on the folder."""
        try:
            with self._lock.acquire(timeout=0):
                return False
        except filelock.Timeout:
            return True
        except OSError:  # a folder that can only be read
            return False

    def note(self, **progress: Any) -> None:
        """Tell others how far this process has got."""
        self._write("progress.json", {"process": os.getpid(), "host": socket.gethostname(), **progress})

    def noted(self) -> dict[str, Any]:
        """What the process that works on the folder, or did so last, has told."""
        try:
            found = json.loads((self.folder / "progress.json").read_text())
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def worker(self) -> str:
        """The process that works on the folder, in words."""
        noted = self.noted()
        return f"process {noted['process']} on {noted['host']}" if "process" in noted else "another process"

    def definition(self) -> dict[str, Any]:
        """The definition of the sweep that the folder holds."""
        path = self.folder / DEFINITION
        try:
            found = json.loads(path.read_text())
            if found["creases-sweep"] != _VERSION:
                raise ValueError(f"version {found['creases-sweep']}, expected {_VERSION}")
            definition = {name: found[name] for name in ("function", "seed", "jobs")}
            if digest(definition) != found["digest"]:
                raise ValueError("its digest is not that of its content")
        except FileNotFoundError:
            raise FileError(f"folder: {self.folder} holds no sweep (there is no {DEFINITION} in it)") from None
        except NotADirectoryError:
            raise FileError(f"folder: {self.folder} is a file; give the folder of a sweep") from None
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise FileError(f"folder: {path} is damaged ({error})") from None
        return definition

    def exists(self) -> bool:
        """Whether the folder holds a sweep."""
        return (self.folder / DEFINITION).exists()

    def check(self, definition: dict[str, Any]) -> None:
        """Refuse another definition than the folder's; the order of jobs does not matter."""
        found = self.definition()
        if digest(found) == digest(definition):
            return
        other = f"the sweep in {self.folder} is another one"
        advice = "give another folder, or remove this one"
        for name in ("function", "seed"):
            if found[name] != definition[name]:
                raise InputError(f"{name}: {other}: its {name} is {found[name]}, not {definition[name]}; {advice}")
        theirs, ours = ({key(job) for job in expand(one["jobs"])} for one in (found, definition))
        if theirs != ours:
            raise InputError(
                f"jobs: {other}: {len(ours - theirs)} of these {len(ours)} jobs are not among its {len(theirs)}, and "
                f"{len(theirs - ours)} of its jobs are not among these; {advice}"
            )

    def _make(self) -> None:
        if self.folder.exists() and not self.folder.is_dir():
            raise FileError(f"folder: {self.folder} is a file; give the name of a folder")
        try:
            self.parts.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileError(f"folder: {self.folder} cannot be written to: {error.strerror}") from None

    def _clean(self) -> None:
        """Remove what a killed process left half-written."""
        parts.clean(self.parts)
        for pattern in (".sweep-*.json", ".progress-*.json"):
            for path in self.folder.glob(pattern):
                path.unlink(missing_ok=True)

    def _write(self, name: str, value: dict[str, Any]) -> None:
        try:
            with write_atomically(self.folder / name) as temporary:
                temporary.write_text(json.dumps(value, indent=1) + "\n")
        except OSError as error:
            raise FileError(f"folder: {self.folder / name} cannot be written: {error.strerror}") from None


def digest(definition: dict[str, Any]) -> str:
    """What a definition says, in 64 hexadecimal digits."""
    return hashlib.sha256(canonical(definition).encode()).hexdigest()
