"""Running a sweep: chunks to the engine, results to the store, one process that writes."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic, time
from typing import TYPE_CHECKING, Any

from creases.errors import InputError
from creases.lab._sweeps import engines, functions
from creases.lab._sweeps.chunks import Queue, group_names, job_costs
from creases.lab._sweeps.engines import Engine
from creases.lab._sweeps.eta import TimeLeft, time_left
from creases.lab._sweeps.functions import Finished, Outcome
from creases.lab._sweeps.progress_bar import Show, progress_bar

if TYPE_CHECKING:
    from creases.lab._sweeps.sweep import Status, Sweep

#: What is stored for a job whose worker ended without a word.
LOST = (
    "The process that did this job ended without an error: it was killed, as when memory runs out, or the function "
    "ended it."
)


def run(
    sweep: Sweep, *, engine: str, processes: int | None, address: str | None, chunk: int | None, progress: bool
) -> Status:
    """Do all jobs of a sweep that are not done; see :meth:`creases.lab.Sweep.run`."""
    if chunk is not None and (not isinstance(chunk, int) or chunk < 1):
        raise InputError(f"chunk: expected a whole number of at least 1, got {chunk!r}")
    engines.check(engine, processes, address)
    function = functions.find(sweep.function)
    functions.check_takes(function, sweep.jobs)
    _check_sendable(sweep.function)
    calls = functions.calls(function)
    groups, costs = group_names(sweep.jobs, calls.same), job_costs(sweep.jobs, calls)
    with sweep.store.writing(sweep.definition):
        states = sweep.store.states()
        left = [place for place, key in enumerate(sweep.keys) if states.get(key, True)]
        if left:
            queue = Queue(left, groups, costs, chunk)
            sweep.store.note()
            hands = engines.start(engine, sweep.function, len(left), processes, address)
            try:
                with progress_bar(len(sweep.jobs), len(sweep.jobs) - len(left), enabled=progress) as show:
                    _Run(sweep, hands, queue, show).all()
            finally:
                hands.close()
        sweep.store.merge()
    return sweep.status()


class _Run:
    """One process's work on a sweep."""

    def __init__(self, sweep: Sweep, engine: Engine, queue: Queue, show: Show) -> None:
        self.sweep, self.engine, self.queue, self.show = sweep, engine, queue, show
        self.at_work: dict[int, list[int]] = {}  # chunks by number
        self.suspects: list[list[int]] = []  # chunks that were lost: one of them may have ended its worker
        self.measured: list[tuple[float, float]] = []  # cost and seconds of chunks, without the first of each worker
        self.measured_first: list[tuple[float, float]] = []
        self.begun = monotonic()
        self.before = len(sweep.jobs) - queue.count
        self.number = self.done = self.failed = 0

    def all(self) -> None:
        """Until nothing is left."""
        while self.queue.count or self.at_work or self.suspects:
            alone = bool(self.suspects) and not self.at_work
            if alone:
                self._hand_over(self.suspects.pop())
            while not self.suspects and not alone and self.queue.count and len(self.at_work) < 2 * self.engine.workers:
                self._hand_over(self.queue.take(self.engine.workers))  # one to work on and one to go on with
            for number, finished in self.engine.wait().items():
                self._take_back(self.at_work.pop(number), finished, alone)

    def _hand_over(self, chunk: list[int]) -> None:
        self.number += 1
        self.at_work[self.number] = chunk
        self.engine.submit(self.number, [self.sweep.with_seed(place) for place in chunk])

    def _take_back(self, chunk: list[int], finished: Finished | None, alone: bool) -> None:
        """Keep what is finished. Of what is lost, find the job that is to blame: by halves, each alone at work."""
        if finished is not None:
            self._keep(chunk, finished)
        elif not alone:
            self.suspects.append(chunk)
        elif len(chunk) > 1:
            self.suspects += [chunk[: len(chunk) // 2], chunk[len(chunk) // 2 :]]
        else:
            self._keep(chunk, Finished([Outcome([], LOST)], 0.0, time(), True))

    def _keep(self, chunk: list[int], finished: Finished) -> None:
        self.sweep.store.add([self.sweep.keys[place] for place in chunk], finished.outcomes, finished.when)
        self.done += len(chunk)
        self.failed += sum(outcome.error is not None for outcome in finished.outcomes)
        cost = float(self.queue.costs[chunk].sum())
        (self.measured_first if finished.first else self.measured).append((cost, finished.seconds))
        self.queue.measure(chunk, finished.seconds)
        left = self._left()
        self.sweep.store.note(jobs=self.done, seconds=monotonic() - self.begun, left=left, updated=time())
        self.show(self.before + self.done, self.failed, left)

    def _left(self) -> TimeLeft | None:
        at_work = [place for chunk in (*self.at_work.values(), *self.suspects) for place in chunk]
        cost = self.queue.cost + float(self.queue.costs[at_work].sum())
        measured = self.measured or self.measured_first
        return time_left(measured, cost, self.engine.workers, self.queue.largest)


def _check_sendable(function: str | Callable[..., Any]) -> None:
    from loky.backend.reduction import dumps

    if isinstance(function, str):
        return
    try:
        dumps(function)
    except Exception as error:
        raise InputError(
            f"function: {functions.place(function)} cannot be sent to other processes ({error}); define it in a "
            'module, and give its place as "module:function"'
        ) from None
