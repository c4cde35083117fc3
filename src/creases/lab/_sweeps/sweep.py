"""Sweeps: one function, many jobs, a table that grows in a folder."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from creases.errors import InputError
from creases.lab._sweeps import functions
from creases.lab._sweeps.eta import TimeLeft
from creases.lab._sweeps.jobs import ERROR, KEY, SEED, Job, choices, expand, job_seed, key

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from numpy.typing import NDArray

    from creases.lab._sweeps.store import Store


@dataclass(frozen=True)
class Status:
    """How far a sweep has got."""

    jobs: int
    done: int  #: with a result
    failed: int  #: with an error; they are done again when the sweep is resumed
    running: str | None = None  #: the process at work on it, in words
    rate: float | None = None  #: jobs a second, of the process at work on it, or of the last one
    left: TimeLeft | None = None  #: seconds to the end, if a process is at work on it
    last: Job | None = None  #: parameters and result of the job that was finished last

    @property
    def waiting(self) -> int:
        """Jobs that were not tried yet."""
        return self.jobs - self.done - self.failed


class Sweep:
    """Calls a function for every job of a grid or a list, on many cores, and keeps the results in a folder.

    A sweep that is stopped, however roughly, goes on where it was when it is run again: nothing that is stored is
    repeated, and the table is the same as if it had never been stopped.

    Parameters
    ----------
    function
        A function or its place as ``"module:function"``. It takes a job's parameters by name, and the job's ``seed``
        if it has a parameter of that name, and returns a row (a mapping of column names to plain values) or a list of
        rows. A function marked by :func:`creases.lab.job` can take many jobs at once.
    jobs
        A grid, as a mapping of names to lists of values (all combinations are jobs; a single value is a list of one),
        or a list of jobs, as mappings of names to values. Values are plain: None, bool, int, float, str, lists.
    folder
        Where definition and results are kept. A folder holds one sweep: another definition is refused (the function's
        code is not compared, only its place).
    seed
        Each job has a seed that depends on this one and on its own parameters: not on its place or its company.

    Examples
    --------
    >>> import tempfile
    >>> def area(width, height):
    ...     return {"area": width * height}
    >>> sweep = Sweep(area, {"width": [1, 2], "height": [3, 4]}, tempfile.mkdtemp())
    >>> sweep.run(engine="serial").done
    4
    >>> sweep.table()[["width", "height", "area"]]
       width  height  area
    0      1       3     3
    1      1       4     4
    2      2       3     6
    3      2       4     8
    """

    def __init__(
        self,
        function: str | Callable[..., Any],
        jobs: Mapping[str, Any] | Iterable[Mapping[str, Any]],
        folder: str | Path,
        *,
        seed: int = 0,
    ) -> None:
        if not isinstance(seed, int) or isinstance(seed, bool):
            raise InputError(f"seed: expected a whole number, got {seed!r}")
        self.function = function
        self.folder = Path(folder)
        self.seed = seed
        jobs = jobs if isinstance(jobs, Mapping) else list(jobs)
        self.jobs = expand(jobs)
        self._grid = (
            {name: choices(name, values) for name, values in jobs.items()} if isinstance(jobs, Mapping) else None
        )

    @classmethod
    def open(cls, folder: str | Path) -> Sweep:
        """The sweep that a folder holds."""
        from creases.lab._sweeps.store import Store

        found = Store(folder).definition()
        return cls(found["function"], found["jobs"], folder, seed=found["seed"])

    def run(
        self,
        *,
        engine: str = "local",
        processes: int | None = None,
        address: str | None = None,
        chunk: int | None = None,
        progress: bool = True,
    ) -> Status:
        """Do all jobs that are not done, also those that failed before; results are stored as they come.

        A job that raises is stored as failed, and the sweep goes on. Ctrl-C stops it at once; what is stored stays.

        Parameters
        ----------
        engine
            ``"local"``: processes on this machine, each with its share of the cores' threads. ``"ray"``: a Ray cluster
            (``pip install "creases[ray]"``). ``"serial"``: this process, to debug a function, or one that uses a GPU or
            all cores by itself.
        processes
            How many jobs or batches are done at a time; else as many as there are cores.
        address
            Of a Ray cluster that is there, such as ``"auto"`` or ``"10.0.0.1:6379"``; else one is started on this
            machine. The function's module must be there too.
        chunk
            How many jobs a worker is given at a time; else as many as take it about five seconds.
        progress
            Show a bar with the time left on stderr, if that is a terminal.
        """
        from creases.lab._sweeps.running import run

        return run(self, engine=engine, processes=processes, address=address, chunk=chunk, progress=progress)

    def status(self) -> Status:
        """How far it has got, also while another process is at work on it."""
        from creases.lab._sweeps import parts

        store = self.store
        if not store.exists():
            return Status(len(self.jobs), 0, 0)
        store.check(self.definition)
        states = store.states()
        noted, running = store.noted(), store.worker() if store.is_busy() else None
        failed = sum(states.values())
        rate = noted["jobs"] / noted["seconds"] if noted.get("seconds") else None
        left = TimeLeft(*noted["left"]) if running and noted.get("left") else None
        last = self._told(parts.last(store.parts))
        return Status(len(self.jobs), len(states) - failed, failed, running, rate, left, last)

    def table(self) -> pd.DataFrame:
        """All results so far, a line for each row: the job's key, its parameters, its seed, the function's columns.

        In the order of the jobs. A column that holds both numbers and texts is text; values that are missing are NaN
        or None. Jobs that failed are in :meth:`failures`.
        """
        from creases.lab._sweeps import parts

        stored = self._records()
        stored = stored.filter(stored[parts.ROW].is_valid())
        places = self._places(stored[parts.KEY])
        order = np.lexsort((stored[parts.ROW].to_numpy(), places))
        stored, places = stored.take(order), places[order]
        own = stored.select(_in_order(stored[parts.COLUMNS]))
        return _beside(self._job_columns(places), own).to_pandas()

    def failures(self) -> pd.DataFrame:
        """The jobs that failed: key, parameters, seed, and ``error``, the traceback."""
        from creases.lab._sweeps import parts

        stored = self._records()
        stored = stored.filter(stored[parts.ERROR].is_valid())
        places = self._places(stored[parts.KEY])
        order = np.argsort(places)
        errors = stored.select([parts.ERROR]).rename_columns([ERROR]).take(order)
        return _beside(self._job_columns(places[order]), errors).to_pandas()

    def job_seconds(self) -> NDArray[np.float64]:
        """Return how long each finished job took, in seconds."""
        from creases.lab._sweeps import parts

        stored = self._records().select([parts.KEY, parts.SECONDS]).to_pandas()
        return np.asarray(stored.drop_duplicates(parts.KEY)[parts.SECONDS].dropna(), np.float64)

    @cached_property
    def keys(self) -> list[str]:
        """The key of each job."""
        return [key(job) for job in self.jobs]

    @cached_property
    def store(self) -> Store:
        """The folder."""
        from creases.lab._sweeps.store import Store

        return Store(self.folder)

    @cached_property
    def definition(self) -> dict[str, Any]:
        """All that the results depend on, for the folder."""
        given = self.jobs if self._grid is None else self._grid
        return {"function": functions.place(self.function), "seed": self.seed, "jobs": given}

    def with_seed(self, place: int) -> Job:
        """A job's parameters and its seed."""
        return {**self.jobs[place], SEED: job_seed(self.jobs[place], self.seed)}

    def _records(self) -> pa.Table:
        self.store.check(self.definition)
        return self.store.records()

    def _places(self, keys: pa.ChunkedArray) -> NDArray[np.intp]:
        place = {key: place for place, key in enumerate(self.keys)}
        return np.array([place[key] for key in keys.to_pylist()], np.intp)

    def _job_columns(self, places: NDArray[np.intp]) -> pa.Table:
        """Key, parameters and seed of jobs."""
        import pyarrow as pa

        from creases.lab._sweeps.parts import column

        names = dict.fromkeys([*(name for job in self.jobs for name in job), SEED])
        jobs = [self.with_seed(place) for place in places]
        columns = {name: column([job.get(name) for job in jobs]) for name in names}
        return pa.table({KEY: pa.array([self.keys[place] for place in places], pa.string()), **columns})

    def _told(self, last: tuple[str, Job] | None) -> Job | None:
        """Parameters and results of a stored row."""
        if last is None:
            return None
        return {**self.jobs[self.keys.index(last[0])], **last[1]}


def _in_order(columns: pa.ChunkedArray) -> list[str]:
    """All columns of rows, those of the first row first."""
    return list(dict.fromkeys(name for text in columns.unique().to_pylist() for name in json.loads(text)))


def _beside(left: pa.Table, right: pa.Table) -> pa.Table:
    """Two tables side by side; a column that both have (one job's parameter, another job's result) is one column."""
    from creases.lab._sweeps.parts import column

    for name in right.column_names:
        values = right[name]
        if name not in left.column_names:
            left = left.append_column(name, values)
            continue
        pairs = zip(left[name].to_pylist(), values.to_pylist(), strict=True)
        merged = column([b if a is None else a for a, b in pairs])
        left = left.set_column(left.column_names.index(name), name, merged)
    return left
