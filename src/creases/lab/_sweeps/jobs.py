"""The jobs of a sweep: plain values by name, each job with its own key and seed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any

import numpy as np

from creases.errors import InputError

Job = dict[str, Any]  #: a job's parameters by name: plain values

# Columns of the tables of results and failures besides parameters and results.
KEY = "key"  #: column of a sweep's tables: identifies the job
SEED = "seed"  #: column of a sweep's tables: the job's seed
ERROR = "error"  #: column of the table of failures: the message


def expand_jobs(jobs: Mapping[str, Any] | Iterable[Mapping[str, Any]]) -> list[Job]:
    """Return all jobs of a grid, the last parameter varying fastest, or of a list."""
    if isinstance(jobs, Mapping):
        names = {name: grid_values(name, values) for name, values in jobs.items()}
        if not names:
            raise InputError("jobs", "have at least one parameter with its values", "an empty grid")
        every = [dict(zip(names, values, strict=True)) for values in product(*names.values())]
    else:
        every = [dict(_check_mapping(index, job)) for index, job in enumerate(jobs)]
    if not every:
        raise InputError("jobs", "have at least one job", "an empty list")
    return _check_distinct([{_check_name(name): to_plain(value, name) for name, value in job.items()} for job in every])


def to_plain(value: Any, name: str) -> Any:
    """Return a value as JSON stores it: NumPy numbers become Python's, arrays and tuples lists."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, str) and not _is_unicode(value):
        raise InputError(name, "be valid Unicode text", f"{value!r:.60}")
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [to_plain(entry, name) for entry in value]
    raise InputError(
        name, "be None, bool, int, float, str, or a list of these", f"{type(value).__name__} {value!r:.60}"
    )


def job_key(job: Job) -> str:
    """Return the key of a job, 16 hexadecimal digits that do not depend on the order of its parameters."""
    return hashlib.sha256(canonical_json(job).encode()).hexdigest()[:16]


def canonical_json(value: Any) -> str:
    """Return plain values as a string; 1, 1.0 and true give three different ones."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def job_seed(job: Job, seed: int) -> int:
    """Return the seed of a job, below 2**63: its parameter ``seed``, or one derived from the sweep's seed and key."""
    if SEED in job:
        return int(job[SEED])
    digest = hashlib.sha256(f"{seed}:{job_key(job)}".encode()).digest()
    return int.from_bytes(digest[:8]) >> 1


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def grid_values(name: str, values: Any) -> list[Any]:
    """Return the values of a parameter of a grid; a single value is a list of one."""
    if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
        return [to_plain(values, name)]
    listed = [to_plain(value, name) for value in values]
    if not listed:
        raise InputError("jobs", f"have at least one value of {name!r}", "none")
    return listed


def _check_mapping(index: int, job: Any) -> Mapping[str, Any]:
    if not isinstance(job, Mapping):
        raise InputError(f"jobs[{index}]", "be a mapping of names to values", f"{job!r:.60}")
    return job


def _check_name(name: Any) -> str:
    if not isinstance(name, str) or not name:
        raise InputError("jobs", "have strings as names of parameters", repr(name))
    if name in (KEY, ERROR):
        raise InputError("jobs", f"have no parameter {name!r}, which is a column of the table")
    return name


def _check_distinct(jobs: list[Job]) -> list[Job]:
    indices: dict[str, int] = {}
    for index, job in enumerate(jobs):
        first = indices.setdefault(job_key(job), index)
        if first != index:
            raise InputError(
                "jobs",
                "be different",
                f"{job!r:.120} as jobs {first} and {index}",
                "to repeat a job, add a parameter such as run = 0, 1, 2",
            )
        if SEED in job and not (isinstance(job[SEED], int) and 0 <= job[SEED] < 2**63):
            raise InputError("seed", "be an integer from 0 below 2**63", repr(job[SEED]))
    return jobs
