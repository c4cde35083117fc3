"""The function of a sweep: its options, its path, and running it."""

from __future__ import annotations

import importlib
import inspect
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter, time
from typing import Any, TypeVar

from creases.errors import InputError
from creases.lab._sweeps.jobs import KEY, SEED, Job, to_plain

Row = dict[str, Any]
F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class CallOptions:
    """How a sweep calls a function; see :func:`job`."""

    batched: bool = False
    same: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()
    cost: Callable[[Job], float] | None = None


@dataclass(frozen=True)
class Outcome:
    """The outcome of a job: its rows, or the error's traceback."""

    rows: list[Row]
    error: str | None = None
    seconds: float = 0.0  #: run time; for a batch of jobs an equal part each


@dataclass(frozen=True)
class FinishedChunk:
    """The outcomes of a chunk of jobs."""

    outcomes: list[Outcome]
    seconds: float  #: run time of the worker
    finished: float  #: seconds since 1970
    first: bool  #: whether it was its worker's first, which also imports and compiles


_ran_before = False  # whether this process has run a chunk


def job(
    *,
    batched: bool = False,
    same: Sequence[str] = (),
    parameters: Sequence[str] = (),
    cost: Callable[[Job], float] | None = None,
) -> Callable[[F], F]:
    """Declare how a sweep calls a function; use it as a decorator.

    Parameters
    ----------
    batched
        Whether the function takes a list of jobs (each a dict of its parameters and its ``seed``) of any length, and
        returns a list of the same length: for each job a row or a list of rows. Otherwise it takes one job's
        parameters by name (and ``seed`` if it has such a parameter) and returns a row or a list of rows.
    same
        Parameters that must be equal for all jobs of a batch, such as those that determine the shape of a network.
    parameters
        All parameters of a batched function, which its signature does not show: jobs with others are refused.
    cost
        Function that estimates how long a job takes, in any unit, to predict the time left. Without it all jobs count
        the same.

    Examples
    --------
    >>> @job(batched=True, same=["width"], cost=lambda job: job["width"])
    ... def square(jobs):
    ...     return [{"square": job["width"] ** 2} for job in jobs]
    """
    if (same or parameters) and not batched:
        raise InputError(
            "same" if same else "parameters",
            "be empty for a function of single jobs",
            hint="use {0}",
            settings=[("batched", True)],
        )

    def mark(function: F) -> F:
        function.call_options = CallOptions(batched, tuple(same), tuple(parameters), cost)  # type: ignore[attr-defined]
        return function

    return mark


def call_options(function: Callable[..., Any]) -> CallOptions:
    """Return how a sweep calls a function."""
    options = getattr(function, "call_options", None)
    return options if isinstance(options, CallOptions) else CallOptions()


def resolve_function(function: str | Callable[..., Any]) -> Callable[..., Any]:
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


def function_path(function: str | Callable[..., Any]) -> str:
    """Return the path of a function as ``module:function``."""
    if isinstance(function, str):
        return function
    return f"{function.__module__}:{getattr(function, '__qualname__', type(function).__qualname__)}"


def check_parameters(function: Callable[..., Any], jobs: Sequence[Job]) -> None:
    """Refuse jobs with parameters that the function does not take, or without some that it needs."""
    if call_options(function).batched:
        known = call_options(function).parameters
        unknown = [name for job in jobs for name in job if name not in (*known, SEED)] if known else []
        if unknown:
            raise InputError(
                "jobs", f"have only the parameters {', '.join(known)} of {function_path(function)}", repr(unknown[0])
            )
        return
    for names in dict.fromkeys(tuple(job) for job in jobs):
        try:
            inspect.signature(function).bind(**dict.fromkeys((*names, *_seed_name(function))))
        except TypeError as error:
            form = f"{function_path(function)}{inspect.signature(function)}"
            raise InputError("jobs", f"have the parameters of {form}", f"{', '.join(names)}: {error}") from None


def run_jobs(function: str | Callable[..., Any], jobs: Sequence[Job], paths: Sequence[str] = ()) -> FinishedChunk:
    """Run jobs (each with its ``seed``), in a worker process.

    Errors of the function become outcomes. Jobs of a batch that fails are run one by one, so that only those fail that
    must. ``paths`` are added to ``sys.path``.
    """
    global _ran_before
    first, _ran_before = not _ran_before, True
    start = perf_counter()
    sys.path.extend(path for path in paths if path not in sys.path)
    resolved = resolve_function(function)
    if call_options(resolved).batched:
        outcomes = _run_batch(resolved, jobs)
    else:
        outcomes = [_run_job(resolved, job) for job in jobs]
    return FinishedChunk(outcomes, perf_counter() - start, time(), first)


def _run_job(function: Callable[..., Any], job: Job) -> Outcome:
    names = set(_seed_name(function))
    start = perf_counter()
    try:
        result = function(**{name: value for name, value in job.items() if name != SEED or name in names})
        return Outcome(_rows(result, job), None, perf_counter() - start)
    except (Exception, SystemExit) as error:
        return Outcome([], _format_error(error), perf_counter() - start)


def _run_batch(function: Callable[..., Any], jobs: Sequence[Job]) -> list[Outcome]:
    start = perf_counter()
    try:
        results = function([dict(job) for job in jobs])
        if not isinstance(results, list | tuple) or len(results) != len(jobs):
            count = f"{len(results)} results" if isinstance(results, list | tuple) else type(results).__name__
            raise TypeError(f"expected a list of {len(jobs)} results, one for each job; the function returned {count}")
        rows = [_rows(result, job) for result, job in zip(results, jobs, strict=True)]
    except (Exception, SystemExit) as error:
        if len(jobs) == 1:
            return [Outcome([], _format_error(error), perf_counter() - start)]
        return [outcome for job in jobs for outcome in _run_batch(function, [job])]
    seconds = (perf_counter() - start) / len(jobs)
    return [Outcome(row, None, seconds) for row in rows]


def _seed_name(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return ("seed",) if the function takes a seed, else ()."""
    parameters = inspect.signature(function).parameters
    takes = SEED in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    return (SEED,) if takes else ()


def _rows(result: Any, job: Job) -> list[Row]:
    """Return the result of a function for a job as rows of plain values."""
    if isinstance(result, Mapping):
        return [_row(result, job)]
    if isinstance(result, list | tuple) and all(isinstance(row, Mapping) for row in result):
        return [_row(row, job) for row in result]
    raise TypeError(
        f"expected a row (a mapping of column names to values) or a list of rows; the function returned {result!r:.60}"
    )


def _row(row: Mapping[Any, Any], job: Job) -> Row:
    values = {}
    for column, value in row.items():
        if not isinstance(column, str) or not column or column == KEY or column.startswith("sweep."):
            raise ValueError(f"a column cannot be called {column!r}")
        value = to_plain(value, f"column {column!r}")
        if column not in job:
            values[column] = value
        elif value != job[column] and value == value:
            raise ValueError(f"column {column!r} is {value!r}, but the job's parameter {column!r} is {job[column]!r}")
    return values


def _format_error(error: BaseException) -> str:
    """Format the traceback from the sweep's function on."""
    trace = error.__traceback__
    text = "".join(traceback.format_exception(type(error), error, trace and (trace.tb_next or trace)))
    return text.rstrip().encode(errors="backslashreplace").decode()
