"""The folder of a sweep: its definition, its results, and the process that runs it.

``sweep.json``     the definition: function, seed, and the grid or the list of jobs
``parts/``         the results (see :mod:`creases.lab._sweeps.parts`)
``progress.json``  the process that runs it, or did so last, and its progress
``lock``           held while a process runs it; the system releases it when that process ends, even if killed
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

from creases._files import parse_json, write_atomically
from creases.errors import FileError, InputError
from creases.lab._sweeps import parts
from creases.lab._sweeps.functions import Outcome
from creases.lab._sweeps.jobs import canonical_json, expand_jobs, job_key

_VERSION = 1
DEFINITION = "sweep.json"

#: Number of parts that are merged into one.
MAX_LOOSE_PARTS = 200


class Store:
    """The folder of a sweep; only the process that holds its lock writes to it."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.parts = self.folder / "parts"
        self._lock = filelock.FileLock(self.folder / "lock")
        self._loose: list[tuple[int, int]] = []  # parts of this process that are not merged yet
        self._next = 0

    @contextmanager
    def open_for_writing(self, definition: dict[str, Any]) -> Iterator[None]:
        """Lock the folder of a sweep, made if missing; raise an error if another process holds it."""
        self._make_folder()
        try:
            self._lock.acquire(timeout=1)  # is_busy of another process holds it for less
        except filelock.Timeout:
            raise InputError(
                "folder",
                "not be in use",
                f"{self.folder}, in which {self.worker_name()} runs the sweep",
                "wait for it, stop it, or give another folder",
            ) from None
        except OSError as error:
            raise FileError(f"cannot write to {self.folder}: {error.strerror}; give another folder") from None
        try:
            if self.exists():
                self.check_definition(definition)
            else:
                self._write(DEFINITION, {"creases-sweep": _VERSION, "digest": digest(definition), **definition})
            self._clean()
            self._next = max((last + 1 for _, last in parts.spans(self.parts)), default=0)
            yield
        finally:
            self._lock.release()

    def add(self, keys: Sequence[str], outcomes: Sequence[Outcome], finished: float) -> None:
        """Store the outcomes of a chunk's jobs."""
        parts.write(self.parts, self._next, self._next, parts.records(keys, outcomes, finished))
        self._loose.append((self._next, self._next))
        self._next += 1
        if len(self._loose) >= MAX_LOOSE_PARTS:
            parts.merge(self.parts, self._loose)
            self._loose = []

    def merge(self) -> None:
        """Merge all parts into one."""
        parts.merge(self.parts, parts.spans(self.parts))
        self._loose = []

    def states(self) -> dict[str, bool]:
        """Return the keys of the jobs that ran, each with whether it failed."""
        table = parts.read(self.parts, [parts.KEY, parts.ERROR])
        failed = table[parts.ERROR].is_valid().to_pylist()
        return dict(zip(table[parts.KEY].to_pylist(), failed, strict=True))

    def records(self) -> pa.Table:
        """Return all stored records (see :mod:`creases.lab._sweeps.parts`)."""
        return parts.read(self.parts)

    def is_busy(self) -> bool:
        """Whether a process runs the sweep."""
        try:
            with self._lock.acquire(timeout=0):
                return False
        except filelock.Timeout:
            return True
        except OSError:  # a read-only folder
            return False

    def write_progress(self, **progress: Any) -> None:
        """Write the progress of this process, for other processes to read."""
        self._write("progress.json", {"process": os.getpid(), "host": socket.gethostname(), **progress})

    def read_progress(self) -> dict[str, Any]:
        """Return the progress of the process that runs the sweep, or did so last."""
        try:
            progress = parse_json((self.folder / "progress.json").read_text())
        except (OSError, ValueError):
            return {}
        return progress if isinstance(progress, dict) else {}

    def worker_name(self) -> str:
        """Return a description of the process that runs the sweep."""
        progress = self.read_progress()
        if "process" not in progress:
            return "another process"
        return f"process {progress['process']} on {progress['host']}"

    def definition(self) -> dict[str, Any]:
        """Return the definition of the sweep in the folder."""
        path = self.folder / DEFINITION
        try:
            content = parse_json(path.read_text())
            if content["creases-sweep"] != _VERSION:
                raise ValueError(f"version {content['creases-sweep']}, expected {_VERSION}")
            definition = {name: content[name] for name in ("function", "seed", "jobs")}
            if digest(definition) != content["digest"]:
                raise ValueError("its digest does not match its content")
        except FileNotFoundError:
            raise FileError(
                f"cannot open {self.folder}: it has no sweep (no file {DEFINITION}); give another folder"
            ) from None
        except NotADirectoryError:
            raise FileError(f"cannot open {self.folder}: it is a file; give the folder of a sweep") from None
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise FileError(f"cannot read {path}: it is damaged ({error})") from None
        return definition

    def exists(self) -> bool:
        """Whether the folder holds a sweep."""
        return (self.folder / DEFINITION).exists()

    def check_definition(self, definition: dict[str, Any]) -> None:
        """Refuse a definition other than the folder's; the order of jobs does not matter."""
        stored = self.definition()
        if digest(stored) == digest(definition):
            return
        hint = "give another folder, or remove this one"
        for name in ("function", "seed"):
            if stored[name] != definition[name]:
                raise InputError(
                    name, f"be {stored[name]}, as in the sweep in {self.folder}", f"{definition[name]}", hint
                )
        old, new = ({job_key(job) for job in expand_jobs(each["jobs"])} for each in (stored, definition))
        if old != new:
            raise InputError(
                "jobs",
                f"be the {len(old)} jobs of the sweep in {self.folder}",
                f"{len(new)} jobs, of which {len(new - old)} are not among those, and without {len(old - new)} of them",
                hint,
            )

    def _make_folder(self) -> None:
        if self.folder.exists() and not self.folder.is_dir():
            raise FileError(f"cannot write to {self.folder}: it is a file; give the name of a folder")
        try:
            self.parts.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileError(f"cannot write to {self.folder}: {error.strerror}; give another folder") from None

    def _clean(self) -> None:
        """Remove incomplete files of a killed process."""
        parts.clean(self.parts)
        for pattern in (".sweep-*.json", ".progress-*.json"):
            for path in self.folder.glob(pattern):
                path.unlink(missing_ok=True)

    def _write(self, name: str, value: dict[str, Any]) -> None:
        try:
            with write_atomically(self.folder / name) as temporary:
                temporary.write_text(json.dumps(value, indent=1) + "\n")
        except OSError as error:
            raise FileError(f"cannot write {self.folder / name}: {error.strerror}") from None


def digest(definition: dict[str, Any]) -> str:
    """Return a digest of a definition, 64 hexadecimal digits."""
    return hashlib.sha256(canonical_json(definition).encode()).hexdigest()
