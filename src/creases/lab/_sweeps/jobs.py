"""The jobs of a sweep: plain values by name, each job with a key and a seed of its own."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any

import numpy as np

from creases.errors import InputError

Job = dict[str, Any]  #: a job's parameters by name: plain values

#: Columns of the tables of results and failures that are not the job's own.
KEY, SEED, ERROR = "key", "seed", "error"


def expand(jobs: Mapping[str, Any] | Iterable[Mapping[str, Any]]) -> list[Job]:
    """All jobs, checked: of a grid, the last name's values changing first; or those of a list, as they are."""
    if isinstance(jobs, Mapping):
        names = {name: choices(name, values) for name, values in jobs.items()}
        if not names:
            raise InputError("jobs: the grid is empty; give at least one parameter with its values")
        found = [dict(zip(names, values, strict=True)) for values in product(*names.values())]
    else:
        found = [dict(_mapping(place, job)) for place, job in enumerate(jobs)]
    if not found:
        raise InputError("jobs: the list is empty; give at least one job")
    return _distinct([{_name(name): plain(value, name) for name, value in job.items()} for job in found])


def plain(value: Any, name: str) -> Any:
    """A value as JSON knows it (numbers of NumPy become Python's, arrays and tuples lists), or an error."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, str) and not _is_unicode(value):
        raise InputError(f"{name}: {value!r:.60} is no valid Unicode text")
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [plain(entry, name) for entry in value]
    raise InputError(
        f"{name}: expected plain values (None, bool, int, float, str, or lists of them), got {type(value).__name__} "
        f"{value!r:.60}"
    )


def key(job: Job) -> str:
    """A job's key, 16 hexadecimal digits: the same whatever the order of the parameters, and of no other job."""
    return hashlib.sha256(canonical(job).encode()).hexdigest()[:16]


def canonical(value: Any) -> str:
    """Plain values as one text; 1, 1.0 and true are three different values."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def job_seed(job: Job, seed: int) -> int:
    """A job's seed, below 2**63: its own parameter ``seed`` if it has one, else from the sweep's seed and its key."""
    if SEED in job:
        return int(job[SEED])
    digest = hashlib.sha256(f"{seed}:{key(job)}".encode()).digest()
    return int.from_bytes(digest[:8]) >> 1


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def choices(name: str, values: Any) -> list[Any]:
    """Values of a parameter of a grid; a single value is a choice of one."""
    if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
        return [plain(values, name)]
    found = [plain(value, name) for value in values]
    if not found:
        raise InputError(f"jobs: the grid has no values for {name!r}; give at least one")
    return found


def _mapping(place: int, job: Any) -> Mapping[str, Any]:
    if not isinstance(job, Mapping):
        raise InputError(f"jobs: expected a mapping of names to values for job {place}, got {job!r:.60}")
    return job


def _name(name: Any) -> str:
    if not isinstance(name, str) or not name:
        raise InputError(f"jobs: a parameter's name must be a text, got {name!r}")
    if name in (KEY, ERROR):
        raise InputError(f"jobs: a parameter cannot be called {name!r}; a table has a column of that name")
    return name


def _distinct(jobs: list[Job]) -> list[Job]:
    places: dict[str, int] = {}
    for place, job in enumerate(jobs):
        first = places.setdefault(key(job), place)
        if first != place:
            raise InputError(
                f"jobs: {first} and {place} are the same, {job!r:.120}; to do a job many times, tell them apart by a "
                "parameter, such as run = 0, 1, 2"
            )
        if SEED in job and not (isinstance(job[SEED], int) and 0 <= job[SEED] < 2**63):
            raise InputError(f"seed: expected a whole number from 0 below 2**63, got {job[SEED]!r}")
    return jobs
