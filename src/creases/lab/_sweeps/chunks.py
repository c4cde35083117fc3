"""The order in which jobs run, and how many at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import isfinite

import numpy as np

from creases.errors import InputError
from creases.lab._sweeps.functions import CallOptions
from creases.lab._sweeps.jobs import Job, canonical_json

#: A chunk should take about this long: rare enough for the store and the engine, short enough to lose little.
CHUNK_SECONDS = 5.0

#: No chunk costs more than this many times the largest one measured.
MAX_GROWTH = 8.0


class JobQueue:
    """The remaining jobs, in random order.

    The finished jobs are then a fair sample of all: they predict the time left, and the table of half a sweep covers
    all parameters. The order has a fixed seed and does not affect the results.
    """

    def __init__(self, left: Sequence[int], groups: Sequence[str], costs: Sequence[float], size: int | None) -> None:
        rng = np.random.default_rng(0)
        self.costs = np.asarray(costs, np.float64)
        self._size = size
        self._rng = rng
        self._groups: dict[str, list[int]] = {}
        for index in rng.permutation(np.asarray(left, int)).tolist():
            self._groups.setdefault(groups[index], []).append(index)
        self._group_of = groups
        self._cost = {name: float(self.costs[jobs].sum()) for name, jobs in self._groups.items()}
        self._measured: dict[str, tuple[float, float]] = {}  # cost and seconds by group
        self._largest_measured = 0.0

    @property
    def count(self) -> int:
        """The number of remaining jobs."""
        return sum(map(len, self._groups.values()))

    @property
    def cost(self) -> float:
        """The cost of all remaining jobs."""
        return sum(self._cost.values())

    @property
    def largest(self) -> float:
        """The approximate cost of the largest remaining job: the largest of those that come next in each group."""
        return max((float(self.costs[jobs[-1]]) for jobs in self._groups.values()), default=0.0)

    def take(self, workers: int) -> list[int]:
        """Return the next chunk: jobs of one group."""
        names, costs = list(self._cost), np.array(list(self._cost.values()))
        name = names[self._rng.choice(len(names), p=costs / costs.sum())] if len(names) > 1 else names[0]
        jobs, target = self._groups[name], self._target_cost(name, workers)
        chunk: list[int] = []
        spent = 0.0
        while jobs and (len(chunk) < self._size if self._size else not chunk or spent < target):
            chunk.append(jobs.pop())
            spent += self.costs[chunk[-1]]
        if jobs:
            self._cost[name] = max(self._cost[name] - spent, float(self.costs[jobs[-1]]))  # above 0 despite rounding
        else:
            del self._groups[name], self._cost[name]
        return chunk

    def measure(self, chunk: Iterable[int], seconds: float) -> None:
        """Record how long a finished chunk took."""
        chunk = list(chunk)
        name, spent = self._group_of[chunk[0]], float(self.costs[chunk].sum())
        cost, total = self._measured.get(name, (0.0, 0.0))
        self._measured[name] = (cost / 2 + spent, total / 2 + seconds)  # the first calls of a function are slow
        self._largest_measured = max(self._largest_measured, spent)

    def _target_cost(self, name: str, workers: int) -> float:
        """Return the cost of the next chunk of a group: a few seconds, and a fair share of what remains."""
        if not self._measured:
            return 0.0
        cost, seconds = self._measured.get(name) or map(sum, zip(*self._measured.values(), strict=True))
        target = CHUNK_SECONDS * cost / seconds if seconds > 0 else np.inf
        return float(min(target, MAX_GROWTH * self._largest_measured, self.cost / (2 * workers)))


def job_groups(jobs: Sequence[Job], same: Sequence[str]) -> list[str]:
    """Return the group of each job: jobs of one chunk have equal values of the parameters ``same``."""
    return [canonical_json([job.get(name) for name in same]) for job in jobs] if same else [""] * len(jobs)


def job_costs(jobs: Sequence[Job], options: CallOptions) -> list[float]:
    """Return the cost of each job."""
    if options.cost is None:
        return [1.0] * len(jobs)
    return [_cost(options.cost, job) for job in jobs]


def _cost(cost: Callable[[Job], float], job: Job) -> float:
    value = float(cost(dict(job)))
    if not isfinite(value) or value <= 0:
        raise InputError("cost", "return a number above 0 for each job", f"{value} for {job!r:.120}")
    return value
