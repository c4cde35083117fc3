"""Which jobs are done next, and how many at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import isfinite

import numpy as np

from creases.errors import InputError
from creases.lab._sweeps.functions import Calls
from creases.lab._sweeps.jobs import Job, canonical

#: A chunk is to take about so long: seldom enough for the store and the engine, often enough to lose little to a kill.
SECONDS = 5.0

#: No chunk costs more than so many times the greatest that was measured.
GROWTH = 8.0


class Queue:
    """The jobs that are left, in an order of chance.

    Any part of the jobs that is done is then a fair sample of all: the time left can be judged by it, and the table
    of half a sweep shows all of it. Chance has a seed; it does not matter for the results.
    """

    def __init__(self, left: Sequence[int], groups: Sequence[str], costs: Sequence[float], size: int | None) -> None:
        rng = np.random.default_rng(0)
        self.costs = np.asarray(costs, np.float64)
        self._size = size
        self._rng = rng
        self._groups: dict[str, list[int]] = {}
        for place in rng.permutation(np.asarray(left, int)).tolist():
            self._groups.setdefault(groups[place], []).append(place)
        self._of = groups
        self._cost = {name: float(self.costs[places].sum()) for name, places in self._groups.items()}
        self._measured: dict[str, tuple[float, float]] = {}  # cost and seconds by group
        self._greatest = 0.0

    @property
    def count(self) -> int:
        """Jobs that are left."""
        return sum(map(len, self._groups.values()))

    @property
    def cost(self) -> float:
        """Of all jobs that are left."""
        return sum(self._cost.values())

    @property
    def largest(self) -> float:
        """Cost of the largest job that is left, about: the largest of those that come next in each group."""
        return max((float(self.costs[places[-1]]) for places in self._groups.values()), default=0.0)

    def take(self, workers: int) -> list[int]:
        """The next chunk: jobs of one group."""
        names, costs = list(self._cost), np.array(list(self._cost.values()))
        name = names[self._rng.choice(len(names), p=costs / costs.sum())] if len(names) > 1 else names[0]
        places, aim = self._groups[name], self._aim(name, workers)
        chunk: list[int] = []
        spent = 0.0
        while places and (len(chunk) < self._size if self._size else not chunk or spent < aim):
            chunk.append(places.pop())
            spent += self.costs[chunk[-1]]
        if places:
            self._cost[name] = max(self._cost[name] - spent, float(self.costs[places[-1]]))  # above 0 however rounded
        else:
            del self._groups[name], self._cost[name]
        return chunk

    def measure(self, chunk: Iterable[int], seconds: float) -> None:
        """A chunk is done."""
        chunk = list(chunk)
        name, spent = self._of[chunk[0]], float(self.costs[chunk].sum())
        cost, total = self._measured.get(name, (0.0, 0.0))
        self._measured[name] = (cost / 2 + spent, total / 2 + seconds)  # the first calls of a function are slow
        self._greatest = max(self._greatest, spent)

    def _aim(self, name: str, workers: int) -> float:
        """The cost of the next chunk of a group: a few seconds, and a fair share of what is left."""
        if not self._measured:
            return 0.0
        cost, seconds = self._measured.get(name) or map(sum, zip(*self._measured.values(), strict=True))
        aim = SECONDS * cost / seconds if seconds > 0 else np.inf
        return float(min(aim, GROWTH * self._greatest, self.cost / (2 * workers)))


def group_names(jobs: Sequence[Job], same: Sequence[str]) -> list[str]:
    """What the jobs of one chunk must agree in, for each job."""
    return [canonical([job.get(name) for name in same]) for job in jobs] if same else [""] * len(jobs)


def job_costs(jobs: Sequence[Job], calls: Calls) -> list[float]:
    """The cost of each job."""
    if calls.cost is None:
        return [1.0] * len(jobs)
    return [_cost(calls.cost, job) for job in jobs]


def _cost(cost: Callable[[Job], float], job: Job) -> float:
    found = float(cost(dict(job)))
    if not isfinite(found) or found <= 0:
        raise InputError(f"cost: expected a number above 0 for each job, got {found} for {job!r:.120}")
    return found
