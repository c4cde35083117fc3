"""Sweeps: one function, many jobs, and a table of results in a folder that survives any interruption.

A folder has

``sweep.json``       the function and the seed: results of others are refused
``log.jsonl``        a line for each job that ran, written as it ends: its key, its rows or its error
``results.parquet``  the table of all jobs of the last call
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import json
import sys
import traceback
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import product
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from creases._engines import Engine, check_engine, open_engine
from creases._files import parse_json, read_bytes, read_text, write_atomically, write_json
from creases._typing import Progress
from creases.errors import FileError, InputError

if TYPE_CHECKING:
    import pandas as pd

Job = dict[str, Any]  #: a job's parameters by name: plain values
Function = str | Callable[..., Any]

#: Columns of every table: the seed of a job, and the traceback of one that failed.
SEED, ERROR = "seed", "error"

#: The error of a job whose process disappeared.
LOST = (
    "The process running this job ended without an error message: it was killed (for example, out of memory), or the "
    "function exited."
)


def sweep(
    function: Function,
    jobs: Mapping[str, Any] | Iterable[Mapping[str, Any]],
    folder: str | Path,
    *,
    seed: int = 0,
    engine: str = "local",
    n_jobs: int | None = None,
    address: str | None = None,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Run a function for every job of a grid or a list, on many cores, and return the table of results.

    When it is interrupted, even killed, call it again with the same folder: jobs with a result are not repeated, those
    that failed are, and the table is the same as without the interruption. More jobs can be added later.

    Parameters
    ----------
    function
        A function or its path as ``"module:function"``. It takes a job's parameters by name, and the job's ``seed`` if
        it has a parameter of that name, and returns a row (a mapping of column names to plain values) or a list of
        rows.
    jobs
        A grid, as a mapping of names to lists of values (all combinations are jobs; a single value is a list of one),
        or a list of jobs, as mappings of names to values. Values are plain: None, bool, int, float, str, lists.
    folder
        Where results are stored as they arrive. It belongs to one function, compared by its path, and one seed.
    seed
        Each job has a seed that depends on this one and on its parameters, not on the other jobs.
    engine
        ``"local"``: processes on this machine, which share the cores' threads. ``"ray"``: a Ray cluster
        (``pip install "creases[ray]"``). ``"serial"``: this process, for debugging, or for functions that use all
        cores by themselves.
    n_jobs
        Number of worker processes; the number of cores by default.
    address
        Address of a running Ray cluster, such as ``"auto"`` or ``"10.0.0.1:6379"``, on which the function's module
        must be installed; by default one is started on this machine.
    progress
        Called as ``progress("jobs", done, total)``.

    Returns
    -------
    pandas.DataFrame
        Rows in the order of the jobs: parameters, seed, the function's columns, and ``error``, the traceback of a job
        that failed. ``results.parquet`` in the folder has the same.

    Examples
    --------
    >>> import tempfile
    >>> def area(width, height):
    ...     return {"area": width * height}
    >>> table = sweep(area, {"width": [1, 2], "height": [3, 4]}, tempfile.mkdtemp(), engine="serial")
    >>> table[["width", "height", "area"]]
       width  height  area
    0      1       3     3
    1      1       4     4
    2      2       3     6
    3      2       4     8
    """
    if not isinstance(seed, int) or isinstance(seed, bool):
        raise InputError("seed", "be an integer", repr(seed))
    check_engine(engine, n_jobs, address)
    every = expand_jobs(jobs)
    _check_parameters(_resolve(function), every)
    _check_sendable(function, engine)
    keys = [_key(job) for job in every]
    by_key = {key: {**job, SEED: _seed(job, seed)} for key, job in zip(keys, every, strict=True)}
    with _open_log(Path(folder), function, seed) as (records, store):
        left = [key for key in keys if key not in records or records[key][ERROR] is not None]
        if left:
            call = partial(_run_job, function, paths=sys.path)
            with open_engine(engine, call, len(left), n_jobs, address) as workers:
                for done, (key, record) in enumerate(_run(workers, left, by_key), len(keys) - len(left) + 1):
                    store(key, record)
                    records[key] = record
                    if progress is not None:
                        progress("jobs", done, len(keys))
        table = _table([(by_key[key], records[key]) for key in keys])
        _write_table(table, Path(folder) / "results.parquet")
    return table


def expand_jobs(jobs: Mapping[str, Any] | Iterable[Mapping[str, Any]]) -> list[Job]:
    """Return all jobs of a grid, the last parameter varying fastest, or of a list; refuse equal ones."""
    every: list[Any]
    if isinstance(jobs, Mapping):
        grid = {name: _grid_values(name, values) for name, values in jobs.items()}
        every = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())] if grid else []
    else:
        every = list(jobs)
    if not every:
        raise InputError("jobs", "have at least one job", "none")
    for index, job in enumerate(every):
        if not isinstance(job, Mapping):
            raise InputError(f"jobs[{index}]", "be a mapping of names to values", f"{job!r:.60}")
        if ERROR in job:
            raise InputError("jobs", f"have no parameter {ERROR!r}, which is a column of the table")
        if wrong := [name for name in job if not isinstance(name, str) or not name]:
            raise InputError("jobs", "have strings as names of parameters", repr(wrong[0]))
    plain = [{name: to_plain(value, name) for name, value in job.items()} for job in every]
    first: dict[str, int] = {}
    for index, job in enumerate(plain):
        if first.setdefault(_key(job), index) != index:
            found = f"{job!r:.120} as jobs {first[_key(job)]} and {index}"
            raise InputError("jobs", "be different", found, "to repeat a job, add a parameter such as run = 0, 1, 2")
        if SEED in job and not (isinstance(job[SEED], int) and 0 <= job[SEED] < 2**63):
            raise InputError("seed", "be an integer from 0 below 2**63", repr(job[SEED]))
    return plain


def to_plain(value: Any, name: str) -> Any:
    """Return a value as JSON stores it: NumPy numbers become Python's, arrays and tuples lists."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise InputError(name, "be valid Unicode text", f"{value!r:.60}") from None
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [to_plain(entry, name) for entry in value]
    allowed = "be None, bool, int, float, str, or a list of these"
    raise InputError(name, allowed, f"{type(value).__name__} {value!r:.60}")


def _grid_values(name: str, values: Any) -> list[Any]:
    """Return the values of a parameter of a grid; a single value is a list of one."""
    if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
        return [values]
    listed = list(values)
    if not listed:
        raise InputError("jobs", f"have at least one value of {name!r}", "none")
    return listed


def _key(job: Job) -> str:
    """Return 16 hexadecimal digits that do not depend on the order of parameters; 1, 1.0 and true differ."""
    return hashlib.sha256(json.dumps(job, sort_keys=True, separators=(",", ":")).encode()).hexdigest()[:16]


def _seed(job: Job, seed: int) -> int:
    """Return the seed of a job, below 2**63: its parameter ``seed``, or one derived from the sweep's seed and key."""
    if SEED in job:
        return int(job[SEED])
    return int.from_bytes(hashlib.sha256(f"{seed}:{_key(job)}".encode()).digest()[:8]) >> 1


def _resolve(function: Function) -> Callable[..., Any]:
    """Return the function that ``module:function`` names, or the function itself."""
    if callable(function):
        return function
    if not isinstance(function, str) or function.count(":") != 1:
        raise InputError("function", 'be a function or its path as "module:function"', repr(function))
    module, _, name = function.partition(":")
    try:
        resolved: Any = importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise InputError("function", "be in a module that can be imported", f"{module!r}: {error}") from None
    for part in name.split("."):
        resolved = getattr(resolved, part, None)
    if not callable(resolved):
        raise InputError("function", f"exist in {module}", repr(name))
    return resolved  # type: ignore[no-any-return]


def _path(function: Function) -> str:
    if isinstance(function, str):
        return function
    return f"{function.__module__}:{getattr(function, '__qualname__', type(function).__qualname__)}"


def _check_parameters(function: Callable[..., Any], jobs: Sequence[Job]) -> None:
    """Refuse jobs with parameters that the function does not take, or without some that it needs."""
    signature = inspect.signature(function)
    for names in dict.fromkeys(tuple(job) for job in jobs):
        try:
            signature.bind(**dict.fromkeys((*names, *((SEED,) if _takes_seed(function) else ()))))
        except TypeError as error:
            form = f"{_path(function)}{signature}"
            raise InputError("jobs", f"have the parameters of {form}", f"{', '.join(names)}: {error}") from None


def _takes_seed(function: Callable[..., Any]) -> bool:
    parameters = inspect.signature(function).parameters
    return SEED in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())


def _check_sendable(function: Function, engine: str) -> None:
    """Refuse a function that cannot be sent to other processes."""
    if isinstance(function, str) or engine == "serial":
        return
    from loky.backend.reduction import dumps

    try:
        dumps(function)
    except Exception as error:
        hint = 'define it in a module, and give its path as "module:function"'
        found = f"{_path(function)}: {error}"
        raise InputError("function", "be one that can be sent to other processes", found, hint) from None


def _run(engine: Engine, keys: Sequence[str], jobs: Mapping[str, Job]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the record of each job as it ends.

    Jobs lost with a worker run again when no other runs, each alone: so the one that ends its worker is known.
    """
    waiting, suspects, running = list(keys)[::-1], list[str](), dict[int, str]()
    number = 0
    while waiting or suspects or running:
        alone = bool(suspects) and not running
        room = 1 if alone else 0 if suspects else 2 * engine.workers - len(running)  # one to work on, one to start next
        source = suspects if alone else waiting
        for _ in range(min(room, len(source))):
            running[number] = source.pop()
            engine.submit(number, jobs[running[number]])
            number += 1
        for ended, record in engine.wait().items():
            key = running.pop(ended)
            if record is not None:
                yield key, record
            elif alone:
                yield key, {"rows": [], ERROR: LOST}
            else:
                suspects.append(key)


def _run_job(function: Function, job: Job, paths: Sequence[str]) -> dict[str, Any]:
    """Run a job (with its seed), in a worker process; an error of the function becomes part of the record."""
    sys.path.extend(path for path in paths if path not in sys.path)
    resolved = _resolve(function)
    takes_seed = _takes_seed(resolved)
    try:
        result = resolved(**{name: value for name, value in job.items() if name != SEED or takes_seed})
        return {"rows": _rows(result, job), ERROR: None}
    except (Exception, SystemExit) as error:
        trace = error.__traceback__
        text = "".join(traceback.format_exception(type(error), error, trace and (trace.tb_next or trace)))
        return {"rows": [], ERROR: text.rstrip().encode(errors="backslashreplace").decode()}


def _rows(result: Any, job: Job) -> list[dict[str, Any]]:
    """Return the result of a function for a job as rows of plain values, without the job's own columns."""
    rows = [result] if isinstance(result, Mapping) else result
    if not isinstance(rows, list | tuple) or not all(isinstance(row, Mapping) for row in rows):
        form = "a row (a mapping of column names to values) or a list of rows"
        raise TypeError(f"expected {form}; the function returned {result!r:.60}")
    plain = []
    for row in rows:
        values = {}
        for column, value in row.items():
            if not isinstance(column, str) or not column or column == ERROR:
                raise ValueError(f"a column cannot be called {column!r}")
            value = to_plain(value, f"column {column!r}")
            if column not in job:
                values[column] = value
            elif value != job[column] and value == value:
                raise ValueError(f"column {column!r} is {value!r}, but the parameter {column!r} is {job[column]!r}")
        plain.append(values)
    return plain


Records = dict[str, dict[str, Any]]


@contextmanager
def _open_log(
    folder: Path, function: Function, seed: int
) -> Iterator[tuple[Records, Callable[[str, dict[str, Any]], None]]]:
    """Lock the folder, made if missing, and yield its records and a function that stores one more."""
    import filelock

    definition = {"function": _path(function), "seed": seed}
    if folder.exists() and not folder.is_dir():
        raise FileError(f"cannot write to {folder}: it is a file; give the name of a folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = filelock.FileLock(folder / "lock")
        lock.acquire(timeout=1)
    except filelock.Timeout:
        hint = "wait for it, stop it, or give another folder"
        raise InputError("folder", "not be in use by another process", str(folder), hint) from None
    except OSError as error:
        raise FileError(f"cannot write to {folder}: {error.strerror}; give another folder") from None
    try:
        _check_definition(folder / "sweep.json", definition)
        path = folder / "log.jsonl"
        records, size = _read_log(path)
        with path.open("ab") as log:
            log.truncate(size)
            yield records, partial(_append, log)
    finally:
        lock.release()


def _check_definition(path: Path, definition: dict[str, Any]) -> None:
    """Refuse a folder of another function or seed; write the definition into a new one."""
    if not path.exists():
        write_json(definition, path)
        return
    try:
        stored = parse_json(read_text(path))
        named = {name: stored[name] for name in definition}
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise FileError(f"cannot read {path}: it is damaged ({error}); give another folder") from None
    for name, value in definition.items():
        if named[name] != value:
            expected = f"be {named[name]}, as in the sweep in {path.parent}"
            raise InputError(name, expected, str(value), "give another folder, or remove this one")


def _append(log: IO[bytes], key: str, record: dict[str, Any]) -> None:
    """Write a line: a checksum, and the record; a line that a kill cut short has no end, and does not count."""
    text = json.dumps({"key": key, **record}).encode()
    log.write(b"%08x %s\n" % (zlib.crc32(text), text))
    log.flush()


def _read_log(path: Path) -> tuple[Records, int]:
    """Return the last record of each job, and the length of the log without a line that was cut short."""
    if not path.exists():
        return {}, 0
    content = read_bytes(path)
    content = content[: content.rfind(b"\n") + 1]
    records: Records = {}
    for number, line in enumerate(content.splitlines(), 1):
        checksum, _, text = line.partition(b" ")
        try:
            if int(checksum, 16) != zlib.crc32(text):
                raise ValueError("its checksum differs")
            record = json.loads(text)
            records[record["key"]] = {"rows": record["rows"], ERROR: record[ERROR]}
        except (ValueError, TypeError, KeyError) as error:
            hint = "remove the line to run its job again"
            raise FileError(f"cannot read {path}: line {number} is damaged ({error}); {hint}") from None
    return records, len(content)


def _table(results: Sequence[tuple[Job, dict[str, Any]]]) -> pd.DataFrame:
    """Return one row for each row of a result, and for each job that failed, in the order of jobs."""
    import pandas as pd

    rows = [
        {**job, **row, ERROR: record[ERROR]}
        for job, record in results
        for row in (record["rows"] or ([{}] if record[ERROR] is not None else []))
    ]
    parameters = dict.fromkeys(name for job, _ in results for name in job if name != SEED)
    own = dict.fromkeys(name for row in rows for name in row if name not in (*parameters, SEED, ERROR))
    return pd.DataFrame(rows, columns=[*parameters, SEED, *own, ERROR])


def _write_table(table: pd.DataFrame, path: Path) -> None:
    """Write a table as Parquet; a column of values of several kinds, such as numbers and texts, as texts."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    def column(values: pd.Series[Any]) -> pa.Array:
        try:
            return pa.array(values, from_pandas=True)
        except (pa.ArrowException, OverflowError):
            return pa.array([None if value is None else str(value) for value in values], pa.string())

    with write_atomically(path) as temporary:
        pq.write_table(pa.table({name: column(table[name]) for name in table.columns}), temporary)
