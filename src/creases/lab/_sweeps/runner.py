"""Running jobs: chunks go to the engine, results to the store, by one process that writes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import monotonic, time

from creases._engines import Engine
from creases.lab._sweeps.chunks import JobQueue
from creases.lab._sweeps.eta import TimeLeft, estimate_time_left
from creases.lab._sweeps.functions import FinishedChunk, Outcome
from creases.lab._sweeps.jobs import Job
from creases.lab._sweeps.progress_bar import Show
from creases.lab._sweeps.store import Store

#: Stored as the error of a job whose worker disappeared.
LOST = (
    "The process running this job ended without an error message: it was killed (for example, out of memory), or the "
    "function exited."
)


class Runner:
    """Runs the remaining jobs of a sweep.

    Parameters
    ----------
    keys
        The key of each job of the sweep.
    get_job
        Returns a job with its seed by its index.
    engine, store, queue
        Where jobs run, where results go, and the remaining jobs.
    show
        Called with the numbers of finished and of failed jobs, and the time left.
    """

    def __init__(
        self,
        keys: Sequence[str],
        get_job: Callable[[int], Job],
        engine: Engine,
        store: Store,
        queue: JobQueue,
        show: Show,
    ) -> None:
        self.keys, self.get_job = keys, get_job
        self.engine, self.store, self.queue, self.show = engine, store, queue, show
        self.running: dict[int, list[int]] = {}  # chunks by number
        self.suspects: list[list[int]] = []  # chunks that were lost: one of their jobs may have ended its worker
        self.measured: list[tuple[float, float]] = []  # cost and seconds of chunks, without the first of each worker
        self.measured_first: list[tuple[float, float]] = []
        self.start_time = monotonic()
        self.before = len(keys) - queue.count
        self.number = self.done = self.failed = 0

    def run(self) -> None:
        """Run all jobs of the queue."""
        while self.queue.count or self.running or self.suspects:
            alone = bool(self.suspects) and not self.running
            if alone:
                self._submit(self.suspects.pop())
            # Two chunks for each worker: one to work on, one to start next.
            while not self.suspects and not alone and self.queue.count and len(self.running) < 2 * self.engine.workers:
                self._submit(self.queue.take(self.engine.workers))
            for number, finished in self.engine.wait().items():
                self._collect(self.running.pop(number), finished, alone)

    def _submit(self, chunk: list[int]) -> None:
        self.number += 1
        self.running[self.number] = chunk
        self.engine.submit(self.number, [self.get_job(index) for index in chunk])

    def _collect(self, chunk: list[int], finished: FinishedChunk | None, alone: bool) -> None:
        """Store a finished chunk. Of a lost one, find the job that ended its worker: by halves, each run alone."""
        if finished is not None:
            self._store(chunk, finished)
        elif not alone:
            self.suspects.append(chunk)
        elif len(chunk) > 1:
            self.suspects += [chunk[: len(chunk) // 2], chunk[len(chunk) // 2 :]]
        else:
            self._store(chunk, FinishedChunk([Outcome([], LOST)], 0.0, time(), True))

    def _store(self, chunk: list[int], finished: FinishedChunk) -> None:
        self.store.add([self.keys[index] for index in chunk], finished.outcomes, finished.finished)
        self.done += len(chunk)
        self.failed += sum(outcome.error is not None for outcome in finished.outcomes)
        cost = float(self.queue.costs[chunk].sum())
        (self.measured_first if finished.first else self.measured).append((cost, finished.seconds))
        self.queue.measure(chunk, finished.seconds)
        left = self._time_left()
        self.store.write_progress(jobs=self.done, seconds=monotonic() - self.start_time, left=left, updated=time())
        self.show(self.before + self.done, self.failed, left)

    def _time_left(self) -> TimeLeft | None:
        running = [index for chunk in (*self.running.values(), *self.suspects) for index in chunk]
        cost = self.queue.cost + float(self.queue.costs[running].sum())
        measured = self.measured or self.measured_first
        return estimate_time_left(measured, cost, self.engine.workers, self.queue.largest)
