"""Sweeps: one function, many jobs, and a table of results in a folder."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from creases._validation import check_count
from creases.errors import FileError, InputError
from creases.lab._sweeps import functions
from creases.lab._sweeps.eta import TimeLeft
from creases.lab._sweeps.jobs import ERROR, KEY, SEED, Job, expand_jobs, grid_values, job_key, job_seed

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from numpy.typing import NDArray

    from creases.lab._sweeps.store import Store


@dataclass(frozen=True)
class Status:
    """The progress of a sweep."""

    jobs: int
    done: int  #: with a result
    failed: int  #: with an error; they run again when the sweep is resumed
    running: str | None = None  #: description of the process that runs it
    rate: float | None = None  #: jobs per second of the process that runs it, or of the last one
    left: TimeLeft | None = None  #: seconds to the end, while a process runs it
    last: Job | None = None  #: parameters and result of the last finished job

    @property
    def waiting(self) -> int:
        """The number of jobs that have not run yet."""
        return self.jobs - self.done - self.failed


class Sweep:
    """A function run for every job of a grid or a list, on many cores, with results in a folder.

    A sweep that is interrupted, even killed, resumes where it stopped when it runs again: no stored job is repeated,
    and the table is the same as without the interruption.

    Parameters
    ----------
    function
        A function or its path as ``"module:function"``. It takes a job's parameters by name, and the job's ``seed`` if
        it has a parameter of that name, and returns a row (a mapping of column names to plain values) or a list of
        rows. A function decorated with :func:`creases.lab.job` can take many jobs at once.
    jobs
        A grid, as a mapping of names to lists of values (all combinations are jobs; a single value is a list of one),
        or a list of jobs, as mappings of names to values. Values are plain: None, bool, int, float, str, lists.
    folder
        Where definition and results are stored. A folder holds one sweep: another definition is refused (the function
        is compared by its path, not by its code).
    seed
        Each job has a seed that depends on this one and on its parameters, not on the other jobs.

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
            raise InputError("seed", "be an integer", repr(seed))
        self.function = function
        self.folder = Path(folder)
        self.seed = seed
        jobs = jobs if isinstance(jobs, Mapping) else list(jobs)
        self.jobs = expand_jobs(jobs)
        self._grid = (
            {name: grid_values(name, values) for name, values in jobs.items()} if isinstance(jobs, Mapping) else None
        )

    @classmethod
    def open(cls, folder: str | Path) -> Sweep:
        """Open the sweep in a folder."""
        from creases.lab._sweeps.store import Store

        definition = Store(folder).definition()
        return cls(definition["function"], definition["jobs"], folder, seed=definition["seed"])

    def run(
        self,
        *,
        engine: str = "local",
        n_jobs: int | None = None,
        address: str | None = None,
        chunk: int | None = None,
        progress: bool = True,
    ) -> Status:
        """Run all jobs without a result, including those that failed before, and store results as they arrive.

        A job that raises an error is stored as failed, and the sweep continues. Ctrl-C stops it at once; stored results
        stay.

        Parameters
        ----------
        engine
            ``"local"``: processes on this machine, which share the cores' threads. ``"ray"``: a Ray cluster
            (``pip install "creases[ray]"``). ``"serial"``: this process, for debugging, or for functions that use a
            GPU or all cores by themselves.
        n_jobs
            Number of worker processes; the number of cores by default.
        address
            Address of a running Ray cluster, such as ``"auto"`` or ``"10.0.0.1:6379"``, on which the function's module
            must be installed; by default one is started on this machine.
        chunk
            Number of jobs that a worker receives at a time; by default as many as take about five seconds.
        progress
            Whether to show a bar with the time left on stderr, if that is a terminal.
        """
        from creases._engines import check_engine, start_engine
        from creases.lab._sweeps.chunks import JobQueue, job_costs, job_groups
        from creases.lab._sweeps.progress_bar import progress_bar
        from creases.lab._sweeps.runner import Runner

        if chunk is not None:
            check_count(chunk, "chunk")
        check_engine(engine, n_jobs, address)
        function = functions.resolve_function(self.function)
        functions.check_parameters(function, self.jobs)
        _check_sendable(self.function)
        options = functions.call_options(function)
        groups, costs = job_groups(self.jobs, options.same), job_costs(self.jobs, options)
        with self.store.open_for_writing(self.definition):
            states = self.store.states()
            left = [index for index, key in enumerate(self.keys) if states.get(key, True)]
            if left:
                queue = JobQueue(left, groups, costs, chunk)
                self.store.write_progress()
                call = partial(functions.run_jobs, self.function, paths=sys.path)
                workers = start_engine(engine, call, len(left), n_jobs, address)
                try:
                    with progress_bar(len(self.jobs), len(self.jobs) - len(left), enabled=progress) as show:
                        Runner(self.keys, self.job_with_seed, workers, self.store, queue, show).run()
                finally:
                    workers.close()
            self.store.merge()
        return self.status()

    def status(self) -> Status:
        """Return the progress, also while another process runs the sweep."""
        from creases.lab._sweeps import parts

        store = self.store
        if not store.exists():
            return Status(len(self.jobs), 0, 0)
        store.check_definition(self.definition)
        states = store.states()
        progress, running = store.read_progress(), store.worker_name() if store.is_busy() else None
        failed = sum(states.values())
        rate = progress["jobs"] / progress["seconds"] if progress.get("seconds") else None
        left = TimeLeft(*progress["left"]) if running and progress.get("left") else None
        last = self._last_result(parts.last(store.parts))
        return Status(len(self.jobs), len(states) - failed, failed, running, rate, left, last)

    def table(self) -> pd.DataFrame:
        """Return all results so far: for each row the job's key, its parameters, its seed and the function's columns.

        Rows are in the order of the jobs. A column with both numbers and strings has strings; missing values are NaN or
        None. Jobs that failed are in :meth:`failures`.
        """
        from creases.lab._sweeps import parts

        stored = self._records()
        stored = stored.filter(stored[parts.ROW].is_valid())
        indices = self._indices(stored[parts.KEY])
        order = np.lexsort((stored[parts.ROW].to_numpy(), indices))
        stored, indices = stored.take(order), indices[order]
        results = stored.select(_result_columns(stored[parts.COLUMNS]))
        return _side_by_side(self._job_columns(indices), results).to_pandas()

    def failures(self) -> pd.DataFrame:
        """Return the jobs that failed: key, parameters, seed, and ``error``, the traceback."""
        from creases.lab._sweeps import parts

        stored = self._records()
        stored = stored.filter(stored[parts.ERROR].is_valid())
        indices = self._indices(stored[parts.KEY])
        order = np.argsort(indices)
        errors = stored.select([parts.ERROR]).rename_columns([ERROR]).take(order)
        return _side_by_side(self._job_columns(indices[order]), errors).to_pandas()

    def job_seconds(self) -> NDArray[np.float64]:
        """Return how long each finished job took, in seconds."""
        from creases.lab._sweeps import parts

        stored = self._records().select([parts.KEY, parts.SECONDS]).to_pandas()
        return np.asarray(stored.drop_duplicates(parts.KEY)[parts.SECONDS].dropna(), np.float64)

    @cached_property
    def keys(self) -> list[str]:
        """The key of each job."""
        return [job_key(job) for job in self.jobs]

    @cached_property
    def _index_of(self) -> dict[str, int]:
        return {key: index for index, key in enumerate(self.keys)}

    @cached_property
    def store(self) -> Store:
        """The folder of the sweep."""
        from creases.lab._sweeps.store import Store

        return Store(self.folder)

    @cached_property
    def definition(self) -> dict[str, Any]:
        """Everything that the results depend on, as stored in the folder."""
        jobs = self.jobs if self._grid is None else self._grid
        return {"function": functions.function_path(self.function), "seed": self.seed, "jobs": jobs}

    def job_with_seed(self, index: int) -> Job:
        """Return the parameters of a job and its seed."""
        return {**self.jobs[index], SEED: job_seed(self.jobs[index], self.seed)}

    def _records(self) -> pa.Table:
        self.store.check_definition(self.definition)
        return self.store.records()

    def _indices(self, keys: pa.ChunkedArray) -> NDArray[np.intp]:
        return np.array([self._index(key) for key in keys.to_pylist()], np.intp)

    def _index(self, key: str) -> int:
        """Return the number of the job with a key."""
        try:
            return self._index_of[key]
        except KeyError:
            raise FileError(f"cannot read {self.folder}: it has results of a job that is not of this sweep") from None

    def _job_columns(self, indices: NDArray[np.intp]) -> pa.Table:
        """Return key, parameters and seed of jobs."""
        import pyarrow as pa

        from creases.lab._sweeps.parts import column

        names = dict.fromkeys([*(name for job in self.jobs for name in job), SEED])
        jobs = [self.job_with_seed(index) for index in indices]
        columns = {name: column([job.get(name) for job in jobs]) for name in names}
        return pa.table({KEY: pa.array([self.keys[index] for index in indices], pa.string()), **columns})

    def _last_result(self, last: tuple[str, Job] | None) -> Job | None:
        """Return parameters and results of a stored row."""
        if last is None:
            return None
        return {**self.jobs[self._index(last[0])], **last[1]}


def _result_columns(columns: pa.ChunkedArray) -> list[str]:
    """Return the columns of all rows, those of the first row first."""
    return list(dict.fromkeys(name for text in columns.unique().to_pylist() for name in json.loads(text)))


def _side_by_side(left: pa.Table, right: pa.Table) -> pa.Table:
    """Put two tables side by side; a column of both (a parameter of one job, a result of another) becomes one."""
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


def _check_sendable(function: str | Callable[..., Any]) -> None:
    """Refuse a function that cannot be sent to other processes."""
    from loky.backend.reduction import dumps

    if isinstance(function, str):
        return
    try:
        dumps(function)
    except Exception as error:
        raise InputError(
            "function",
            "be one that can be sent to other processes",
            f"{functions.function_path(function)}: {error}",
            'define it in a module, and give its path as "module:function"',
        ) from None
