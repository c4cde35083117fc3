"""The function of a sweep: how it likes its jobs, where it is found, and calling it."""

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
from creases.lab._sweeps.jobs import KEY, SEED, Job, plain

Row = dict[str, Any]
F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Calls:
    """How a function likes its jobs; see :func:`job`."""

    batched: bool = False
    same: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()
    cost: Callable[[Job], float] | None = None


@dataclass(frozen=True)
class Outcome:
    """What became of a job: its rows, or the error's traceback."""

    rows: list[Row]
    error: str | None = None
    seconds: float = 0.0  #: what it took; of jobs that were done at once, each an equal share


@dataclass(frozen=True)
class Finished:
    """A chunk that was done."""

    outcomes: list[Outcome]
    seconds: float  #: what it took the worker
    when: float  #: seconds since 1970
    first: bool  #: whether it was its worker's first: that one also imports and compiles


_called = False  # whether this process has done a chunk


def job(
    *,
    batched: bool = False,
    same: Sequence[str] = (),
    parameters: Sequence[str] = (),
    cost: Callable[[Job], float] | None = None,
) -> Callable[[F], F]:
    """A decorator that says how a sweep is to call a function.

    Parameters
    ----------
    batched
        The function takes a list of jobs (each a dict of its parameters and its ``seed``), as many as the sweep likes,
        and returns a list as long: for each job one row or a list of rows. Else it takes one job's parameters by
        name (and ``seed`` if it has such a parameter) and returns one row or a list of rows.
    same
        Parameters in which all the jobs of one batch agree: those that decide the shape of a network.
    parameters
        All that a batched function knows, as its signature does not tell: a job with another is refused at once.
    cost
        About how long a job takes, in any unit: estimates of the time left are by its shares. Without, jobs count
        alike.

    Examples
    --------
    >>> @job(batched=True, same=["width"], cost=lambda job: job["width"])
    ... def square(jobs):
    ...     return [{"square": job["width"] ** 2} for job in jobs]
    """
    if (same or parameters) and not batched:
        raise InputError("same, parameters: are for functions that take many jobs at once; say batched=True")

    def mark(function: F) -> F:
        function.calls = Calls(batched, tuple(same), tuple(parameters), cost)  # type: ignore[attr-defined]
        return function

    return mark


def calls(function: Callable[..., Any]) -> Calls:
    """How a function likes its jobs."""
    found = getattr(function, "calls", None)
    return found if isinstance(found, Calls) else Calls()


def find(function: str | Callable[..., Any]) -> Callable[..., Any]:
    """The function that ``module:function`` names, or the function itself."""
    if callable(function):
        return function
    if not isinstance(function, str) or function.count(":") != 1:
        raise InputError(f'function: expected a function or its place as "module:function", got {function!r}')
    module, _, name = function.partition(":")
    try:
        found: Any = importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise InputError(f"function: cannot import {module!r}: {error}") from None
    for part in name.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        raise InputError(f"function: {module} has no function {name!r}")
    return found  # type: ignore[no-any-return]


def place(function: str | Callable[..., Any]) -> str:
    """``module:function`` of a function."""
    if isinstance(function, str):
        return function
    return f"{function.__module__}:{getattr(function, '__qualname__', type(function).__qualname__)}"


def check_takes(function: Callable[..., Any], jobs: Sequence[Job]) -> None:
    """Refuse jobs with parameters that the function does not take, or without some that it needs."""
    if calls(function).batched:
        known = calls(function).parameters
        unknown = [name for job in jobs for name in job if name not in (*known, SEED)] if known else []
        if unknown:
            raise InputError(f"jobs: {place(function)} knows no {unknown[0]!r}, only {', '.join(known)}")
        return
    for names in dict.fromkeys(tuple(job) for job in jobs):
        try:
            inspect.signature(function).bind(**dict.fromkeys((*names, *_seed_name(function))))
        except TypeError as error:
            form = f"{place(function)}{inspect.signature(function)}"
            raise InputError(f"jobs: {form} cannot be called with {', '.join(names)}: {error}") from None


def call(function: str | Callable[..., Any], jobs: Sequence[Job], paths: Sequence[str] = ()) -> Finished:
    """Do jobs (each with its ``seed``), in a worker process.

    Nothing that the function raises gets out. Jobs of a batch that fails are done one by one, so that only those that
    cannot be done fail. ``paths`` are added to where modules are found.
    """
    global _called
    first, _called = not _called, True
    begun = perf_counter()
    sys.path.extend(path for path in paths if path not in sys.path)
    run = find(function)
    outcomes = _at_once(run, jobs) if calls(run).batched else [_alone(run, job) for job in jobs]
    return Finished(outcomes, perf_counter() - begun, time(), first)


def _alone(function: Callable[..., Any], job: Job) -> Outcome:
    own = set(_seed_name(function))
    begun = perf_counter()
    try:
        result = function(**{name: value for name, value in job.items() if name != SEED or name in own})
        return Outcome(_rows(result, job), None, perf_counter() - begun)
    except (Exception, SystemExit) as error:
        return Outcome([], _told(error), perf_counter() - begun)


def _at_once(function: Callable[..., Any], jobs: Sequence[Job]) -> list[Outcome]:
    begun = perf_counter()
    try:
        results = function([dict(job) for job in jobs])
        if not isinstance(results, list | tuple) or len(results) != len(jobs):
            count = f"{len(results)} results" if isinstance(results, list | tuple) else type(results).__name__
            raise TypeError(f"expected a list of {len(jobs)} results, one for each job; the function returned {count}")
        rows = [_rows(result, job) for result, job in zip(results, jobs, strict=True)]
    except (Exception, SystemExit) as error:
        if len(jobs) == 1:
            return [Outcome([], _told(error), perf_counter() - begun)]
        return [outcome for job in jobs for outcome in _at_once(function, [job])]
    share = (perf_counter() - begun) / len(jobs)
    return [Outcome(row, None, share) for row in rows]


def _seed_name(function: Callable[..., Any]) -> tuple[str, ...]:
    """("seed",) if the function takes a seed."""
    parameters = inspect.signature(function).parameters
    takes = SEED in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    return (SEED,) if takes else ()


def _rows(result: Any, job: Job) -> list[Row]:
    """What a function returned for a job, as rows of plain values."""
    if isinstance(result, Mapping):
        return [_row(result, job)]
    if isinstance(result, list | tuple) and all(isinstance(row, Mapping) for row in result):
        return [_row(row, job) for row in result]
    raise TypeError(
        f"expected a row (a mapping of column names to values) or a list of rows; the function returned {result!r:.60}"
    )


def _row(row: Mapping[Any, Any], job: Job) -> Row:
    found = {}
    for column, value in row.items():
        if not isinstance(column, str) or not column or column == KEY or column.startswith("sweep."):
            raise ValueError(f"a column cannot be called {column!r}")
        value = plain(value, f"column {column!r}")
        if column not in job:
            found[column] = value
        elif value != job[column] and value == value:
            raise ValueError(f"column {column!r} is {value!r}, but the job's parameter {column!r} is {job[column]!r}")
    return found


def _told(error: BaseException) -> str:
    """The traceback from the sweep's function on."""
    trace = error.__traceback__
    text = "".join(traceback.format_exception(type(error), error, trace and (trace.tb_next or trace)))
    return text.rstrip().encode(errors="backslashreplace").decode()
